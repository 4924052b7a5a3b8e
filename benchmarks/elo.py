"""Elo ratings and mean ranks with bootstrap intervals, on any folder of tables: ours and peers, accuracy and time.

usage: python benchmarks/elo.py --results FILE [--data DIR] [--only california ...] [--splits 1] [--max-rows 100000]
                                [--methods lambdak-balanced LightGBM ...] [--optional] [--limit 1800] [--threads 1]
                                [--again lambdak ...] [--show] [--picture FILE] [--bootstrap 1000]

--data DIR is a folder of Parquet or CSV files with a column ``__y`` each (tables.py); each split holds out a fifth of
the rows for the test, which nothing sees before the metric. peers.py says how each contestant is set; all have one
thread.
--optional adds EBM, RealMLP and TabM, which run in processes of their own, each for at most --limit seconds.

Every result is a line of JSON, added to --results as soon as it is there: a run that was ended continues where it was.
A result counts whatever the version of the contestant, and versions that are mixed are named. --again NAME measures the
contestants whose names begin so again, where the version of a result is not the one that is installed: ``--again
lambdak`` after a change of the library. --show measures nothing.

Ratings are those of Bradley and Terry: of the contestants i and j, i has the better metric on a split with probability
1 / (1 + 10^((Elo_j − Elo_i) / 400)), LightGBM has 1000, and each table counts as one match of each pair, its splits as
parts of it. One drawn match more of each pair keeps ratings finite where one always wins. A contestant that has no
metric on a table has no match there. Intervals: 2.5 % to 97.5 % of the ratings on tables, and splits in them, that are
drawn with replacement. Times are CPU seconds of one fit, which a busy machine changes little.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

import lambdak
from contest import MAX_ROWS, Entry, Result, limited, measured, read_results
from peers import METHODS, chosen_methods
from standings import UNIT, Standings, draw, print_behind, print_overview, print_rows, print_wins
from tables import DATA, SMALLER_IS_BETTER, TARGET, load, names_in

PER_RATING = 400 / np.log(10)  # of the logarithm of the odds
REFERENCE = 1000.0  # the rating of LightGBM, or the mean of all where it is not there
STEPS = 50  # of Newton's method: log-concave, about 10 suffice


# ---- ratings ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Matches:
    """The metrics of all contestants on all splits, larger if better; NaN where there is none."""

    methods: list[str]
    metrics: np.ndarray  # (tables, splits, methods)

    @classmethod
    def of(cls, standings: Standings) -> Matches:
        """All results that were scored."""
        splits = sorted({result.split for result in standings.scored})
        metrics = np.full((len(standings.tables), len(splits), len(standings.methods)), np.nan)
        for result in standings.scored:
            place = (standings.tables.index(result.table), splits.index(result.split))
            sign = -1 if result.task in SMALLER_IS_BETTER else 1
            metrics[(*place, standings.methods.index(result.method))] = sign * result.score
        return cls(standings.methods, metrics)

    def wins(self) -> np.ndarray:
        """How much of each table's match the row won against the column, (tables, methods, methods)."""
        own, other = self.metrics[..., :, None], self.metrics[..., None, :]
        played = np.isfinite(own) & np.isfinite(other) & ~np.eye(len(self.methods), dtype=bool)
        won = np.where(played, (own > other) + 0.5 * (own == other), 0.0)
        return won.sum(axis=1) / np.maximum(played.sum(axis=1), 1)

    def ratings(self) -> np.ndarray:
        """The Elo rating of each contestant."""
        return elo(self.wins().sum(axis=0), self.methods)

    def mean_ranks(self) -> np.ndarray:
        """The mean over the tables of the mean rank over the splits, 1 for the best of those that have a metric."""
        ranks = rankdata(-self.metrics, axis=2, nan_policy="omit")
        return _mean(_mean(ranks))

    def drawn(self, rng: np.random.Generator) -> Matches:
        """As many tables, drawn with replacement, and of each as many of its splits."""
        tables, splits, _ = self.metrics.shape
        own = rng.integers(tables, size=tables)
        return replace(self, metrics=self.metrics[own[:, None], rng.integers(splits, size=(tables, splits))])


def _mean(values: np.ndarray) -> np.ndarray:
    """Over the last axis but one, of what is not NaN."""
    there = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.where(there, values, 0.0).sum(axis=-2) / there.sum(axis=-2)


def elo(wins: np.ndarray, methods: list[str]) -> np.ndarray:
    """Maximum-likelihood ratings for a table of wins, (methods, methods), by Newton's method."""
    count = len(methods)
    won = wins + 0.5 * (1 - np.eye(count))  # one drawn match of each pair
    matches, log_odds = won + won.T, np.zeros(count)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(log_odds[None, :] - log_odds[:, None]))
        slope = (won - matches * chance).sum(axis=1)
        curvature = matches * chance * (1 - chance)
        hessian = np.diag(curvature.sum(axis=1)) - curvature
        step = np.linalg.solve(hessian + 1 / count, slope)  # the added constant fixes the mean, which nothing else does
        log_odds += step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < 1e-9:
            break
    base = log_odds[methods.index(UNIT)] if UNIT in methods else log_odds.mean()
    return REFERENCE + PER_RATING * (log_odds - base)


def intervals(matches: Matches, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """The 95 % intervals of ratings and of mean ranks, (2, methods) each."""
    rng = np.random.default_rng(0)
    again = [matches.drawn(rng) for _ in range(draws)]
    both = (np.array([own.ratings() for own in again]), np.array([own.mean_ranks() for own in again]))
    return tuple(np.nanpercentile(values, (2.5, 97.5), axis=0) for values in both)


# ---- what is printed ----------------------------------------------------------------------------------------------


def print_ratings(standings: Standings, draws: int, picture: Path | None) -> None:
    """A row for each contestant, the best first, and the picture of rating against time."""
    matches = Matches.of(standings)
    ratings, ranks = matches.ratings(), matches.mean_ranks()
    of_ratings, of_ranks = intervals(matches, draws)
    tables = np.isfinite(matches.metrics).any(axis=1).sum(axis=0)
    print(f"\n## Elo and mean rank [95 %] over {len(standings.tables)} tables; times in {UNIT}'s, geometric means\n")
    lines = []
    for i in np.argsort(-ratings):
        times = [f"{standings.time_ratio(matches.methods[i], field):.2f}" for field in ("cpu", "predict")]
        elo_of = f"{ratings[i]:.0f} [{of_ratings[0, i]:.0f}, {of_ratings[1, i]:.0f}]"
        rank_of = f"{ranks[i]:.2f} [{of_ranks[0, i]:.2f}, {of_ranks[1, i]:.2f}]"
        lines.append([matches.methods[i], elo_of, rank_of, str(tables[i]), *times])
    print_rows(["", "Elo", "mean rank", "tables", "CPU of a fit", "predict"], lines)
    if picture is not None:
        points = {m: (standings.time_ratio(m, "cpu"), r) for m, r in zip(matches.methods, ratings, strict=True)}
        labels = (f"CPU time of a fit, in {UNIT}'s (geometric mean)", f"Elo, {UNIT} is {REFERENCE:.0f}")
        draw(points, labels, picture, np.abs(of_ratings - ratings))


def print_all(results: list[Result], draws: int, picture: Path | None) -> None:
    """Metrics, ratings, wins, and where ours are behind."""
    standings = Standings(results)
    if not standings.scored:
        print("no results yet")
        return
    print_overview(standings, "cpu")
    print_ratings(standings, draws, picture)
    print_wins(standings)
    print_behind(standings)
    for method in standings.methods:
        if len(versions := sorted({result.version for result in standings.scored if result.method == method})) > 1:
            print(f"\n{method} has results of several versions ({', '.join(versions)}): --again {method}")
    for result in standings.failed:
        print(f"\n{result.method} has no metric on {result.table}, split {result.split}: {result.error}")


# ---- what is measured ---------------------------------------------------------------------------------------------


def known_results(file: Path, again: tuple[str, ...]) -> dict[Entry, Result]:
    """The newest results by what was measured, of any version, but for those that are to be measured again."""
    known = {}
    for result in read_results(file):
        if not result.method.startswith(again) or result.version == METHODS[result.method].version:
            known[replace(result.entry, version="")] = result
    return known


def contest(arguments: argparse.Namespace) -> list[Result]:
    """All results on all tables, measured where they are not known."""
    known = known_results(arguments.results, tuple(arguments.again))
    total = len(arguments.only) * arguments.splits * len(arguments.methods)
    results, at = [], 0
    for name in arguments.only:
        problem = limited(load(name, arguments.data), arguments.max_rows)
        for split in range(arguments.splits):
            for method in arguments.methods:
                at += 1
                entry = Entry(name, split, method, len(problem.y), arguments.threads, "")
                if entry not in known and not arguments.show:
                    print(f"{at} of {total}: ", end="", flush=True)
                    named = replace(entry, version=METHODS[method].version)
                    known[entry] = measured(problem, named, arguments.data, arguments.limit, 1, arguments.results)
                results += [known[entry]] if entry in known else []
    return results


def parsed(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of tables")
    parser.add_argument("--results", type=Path, required=True, help="file of results, one per line")
    parser.add_argument("--only", nargs="+", metavar="TABLE", help="default: all tables of the folder")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--max-rows", type=int, default=MAX_ROWS, help="of longer tables, so many random rows")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--methods", nargs="+", help="of peers.py; default: all that are not optional")
    parser.add_argument("--optional", action="store_true", help="also EBM, RealMLP and TabM, which take minutes")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for one fit of these")
    parser.add_argument("--again", nargs="+", default=[], metavar="NAME", help="contestants with a new version")
    parser.add_argument("--show", action="store_true", help="measure nothing")
    parser.add_argument("--picture", type=Path, help="file for the picture, .png or .svg")
    parser.add_argument("--bootstrap", type=int, default=1000, help="draws of tables and splits")
    arguments = parser.parse_args(words)
    names = names_in(arguments.data)
    arguments.only = arguments.only or names
    if not names:
        parser.error(f"--data must have Parquet or CSV files with a column {TARGET}; {arguments.data} has none")
    if unknown := set(arguments.only) - set(names):
        parser.error(f"--only must be some of {', '.join(names)}; got {', '.join(sorted(unknown))}")
    arguments.methods = chosen_methods(parser, arguments.methods, arguments.optional)
    return arguments


def main(words: list[str] | None = None) -> None:
    arguments = parsed(words)
    lambdak.show_config()
    print_all(contest(arguments), arguments.bootstrap, arguments.picture)


if __name__ == "__main__":
    main()
