"""Do curves over time keep what is promised, and find what is known? On final outputs, with simulated truths.

    python benchmarks/survival_outputs.py [--rows 1000000] [--pairs 1000000] [--only curves orders intervals …]

- ``curves``: rows at knots, far outside, missing and of unseen levels × 200 times (0, knots and the floats beside them,
  tiny, huge): how many curves of survival rise, or leave [0, 1]; conditional ones, too.
- ``orders``: pairs of rows, of which one has more in a rising column, by one float, by a knot, or beyond the training
  range, before and after save and load: how many pairs are out of order at any of these times, by how much, and how
  many by more than twice the rounding of raw scores that the certificate states.
- ``intervals``: interval-censored rows of a known law beside middles of intervals as times.
- ``entries``: late entry to a known law beside a fit that knows no entries.
- ``causes``: cumulative incidences in two groups beside Aalen and Johansen's estimate, and incidences that fall.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import lambdak
from lambdak import SpectralCompetingRisks, SpectralSurvival
from standings import print_rows

BLOCK = 5000  # rows at a time
N_TIMES = 200
HORIZONS = (0.5, 1.0, 2.0)
SHAPE = 1.5  # of the Weibull laws


# ---- models and rows ----------------------------------------------------------------------------------------------


def table(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """A rising column, one with few values and gaps, a free one with gaps, and a category with gaps."""
    return pd.DataFrame({
        "age": rng.gamma(4.0, 12.0, rows),
        "late": np.where(rng.random(rows) < 0.2, np.nan, rng.integers(0, 6, rows)),
        "score": np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows)),
        "region": rng.choice(np.array(["north", "south", "east", None], object), rows),
    })  # fmt: skip


@cache
def models() -> list[SpectralSurvival]:
    """With each link; the second one is also what save and load make of it."""
    rng = np.random.default_rng(0)
    X = table(rng, 1500)
    risk = 0.03 * X["age"] + 0.3 * X["late"].fillna(2) + np.sin(2 * X["score"].fillna(0)) + (X["region"] == "north")
    time = (rng.exponential(size=len(X)) / np.exp(risk - 3)) ** (1 / SHAPE)
    seen = rng.exponential(2.0, size=len(X))
    rising = {"monotonic_cst": {"age": 1, "late": 1}, "effort": "fast", "random_state": 0, "n_jobs": 1}
    found = []
    for link, dim in (("cloglog", 3), ("logit", 5)):
        model = SpectralSurvival(link, dim=dim, **rising).fit(X, (np.minimum(time, seen), time <= seen))
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.safetensors")
            found += [model, lambdak.load(Path(folder) / "model.safetensors")]
    return found


def times_of(model: SpectralSurvival) -> np.ndarray:
    """200 times: zero, knots and the floats beside them, and from tiny to huge."""
    knots = model.event_times_
    beside = [np.nextafter(knots, 0), knots, np.nextafter(knots, np.inf), [0.0, 1e-300, 1e-30, 1e30, 1e300]]
    special = np.concatenate(beside)
    return np.sort(np.concatenate([special, np.geomspace(knots[0] / 100, 100 * knots[-1], N_TIMES - len(special))]))


def odd_rows(rng: np.random.Generator, model: SpectralSurvival, rows: int) -> pd.DataFrame:
    """Rows of which many cells are at knots, beside them, or far outside."""
    X = table(rng, rows)
    for column in model.model_.encoder.columns:
        if column.is_number:
            places = nodes(column)
            chosen = rng.choice(np.concatenate([places, np.nextafter(places, -np.inf), [-1e9, 0.0, 1e9]]), rows)
            X[column.name] = np.where(rng.random(rows) < 0.3, chosen, X[column.name])
    X["region"] = X["region"].where(pd.Series(rng.random(rows) > 0.05), "unseen")
    return X


def nodes(column: object) -> np.ndarray:
    """Knots of a curve, or the ends of the training range."""
    return np.asarray(column.knots if hasattr(column, "knots") else [column.low, column.high], float)


# ---- promises -----------------------------------------------------------------------------------------------------


def curves(rows: int, pairs: int) -> None:
    """Survival that rises with time, or is no probability."""
    lines = []
    for number, model in enumerate(models()):
        rng, times = np.random.default_rng([1, number]), times_of(model)
        rising = wrong = conditional = 0
        for _ in range(-(-rows // (BLOCK * len(models())))):
            X = odd_rows(rng, model, BLOCK)
            survival = model.predict_survival_function(X, times)
            rising += int((np.diff(survival, axis=1) > 0).any(axis=1).sum())
            wrong += int((~((survival >= 0) & (survival <= 1))).any(axis=1).sum())
            after = model.predict_survival_function(X[: BLOCK // 10], times, conditional_after=model.event_times_[1])
            conditional += int((np.diff(after, axis=1) > 0).any(axis=1).sum())
        tried = BLOCK * -(-rows // (BLOCK * len(models())))
        lines.append([name(number, model), f"{tried:,} × {len(times)}", str(rising), str(wrong), str(conditional)])
    print_rows(["model", "rows × times", "rise", "outside [0, 1]", "rise, conditional (a tenth of the rows)"], lines)


def orders(rows: int, pairs: int) -> None:
    """Pairs out of order at any time, by how much, and beyond rounding."""
    lines = []
    for number, model in enumerate(models()):
        rng, times = np.random.default_rng([2, number]), times_of(model)
        allowed = 2 * float(model.certify().claims[0].margin)
        reversed_, beyond, worst, tried, scores = 0, 0, 0.0, 0, 0
        while tried < pairs // len(models()):
            X = odd_rows(rng, model, BLOCK)
            more = X.copy()
            for column in model.model_.encoder.columns:
                if column.name in ("age", "late"):
                    more[column.name] = raised(rng, X[column.name].to_numpy(float), nodes(column))
            less, above = model.curves(more), model.curves(X)
            gap = less.survival(times) - above.survival(times)
            short = above.scores(times[times > 0]) - less.scores(times[times > 0])
            reversed_ += int((gap > 0).any(axis=1).sum())
            beyond += int((short > allowed).any(axis=1).sum())
            scores += int((model.predict(more) < model.predict(X)).sum())
            worst, tried = max(worst, float(gap.max())), tried + BLOCK
        lines.append(
            [name(number, model), f"{tried:,} × {len(times)}", str(reversed_), f"{worst:.1e}", str(scores), str(beyond)]
        )
    print_rows(["model", "pairs × times", "reversed", "at most by", "risk reversed", "beyond rounding"], lines)


def raised(rng: np.random.Generator, x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """More, or the same where it is missing: by one float, by a little, to the next knot, by much."""
    after = places[np.minimum(np.searchsorted(places, x), len(places) - 1)]
    choices = [np.nextafter(x, np.inf), x + 1e-9, np.maximum(x, after), x + rng.exponential(20.0, len(x)), x + 1e9]
    return np.where(np.isnan(x), x, np.choose(rng.integers(len(choices), size=len(x)), choices))


def name(number: int, model: SpectralSurvival) -> str:
    """How a model of :func:`models` is called."""
    return f"{model.link}{', loaded' if number % 2 else ''}"


# ---- known truths -------------------------------------------------------------------------------------------------


def risks(X: np.ndarray) -> np.ndarray:
    """Logarithms of hazard ratios."""
    return 0.8 * X[:, 0] - 0.5 * X[:, 1]


def law(X: np.ndarray) -> np.ndarray:
    """True survival (rows, horizons)."""
    return np.exp(-np.exp(risks(X))[:, None] * np.array(HORIZONS) ** SHAPE)


def drawn(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and the times of their events."""
    X = rng.normal(size=(rows, 3))
    return X, (rng.exponential(size=rows) / np.exp(risks(X))) ** (1 / SHAPE)


def against_law(fits: dict[str, Callable[[np.random.Generator], SpectralSurvival]], repeats: int = 3) -> None:
    """Bias and mean absolute error of survival at the horizons, on unseen rows, over a few drawn tables."""
    lines, unseen = [], np.random.default_rng(99).normal(size=(2000, 3))
    for words, fit in fits.items():
        gaps = [
            fit(np.random.default_rng([3, i])).predict_survival_function(unseen, HORIZONS) - law(unseen)
            for i in range(repeats)
        ]
        bias, error = np.mean(gaps, axis=(0, 1)), np.abs(gaps).mean(axis=(0, 1))
        lines.append([words, *(f"{b:+.3f} ({e:.3f})" for b, e in zip(bias, error, strict=True))])
    print_rows(["bias (mean absolute error)", *(f"S({t:g})" for t in HORIZONS)], lines)


def new() -> SpectralSurvival:
    """What is fitted: the default but for its effort."""
    return SpectralSurvival("cloglog", effort="fast", random_state=0, n_jobs=1)


def intervals(rows: int, pairs: int) -> None:
    """Interval-censored rows beside middles of intervals, and beside times that are known."""

    def visited(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        X, time = drawn(rng, 2000)
        visits = np.cumsum(rng.exponential(0.7, size=(len(X), 3)), axis=1)
        edges = np.column_stack([np.zeros(len(X)), visits, np.full(len(X), np.inf)])
        place, own = (visits < time[:, None]).sum(axis=1), np.arange(len(X))
        return X, time, edges[own, place], edges[own, place + 1]

    def as_intervals(rng: np.random.Generator) -> SpectralSurvival:
        X, _, lower, upper = visited(rng)
        return new().fit(X, lower=lower, upper=upper)

    def as_middles(rng: np.random.Generator) -> SpectralSurvival:
        X, _, lower, upper = visited(rng)
        happened = np.isfinite(upper)
        return new().fit(X, (np.where(happened, (lower + np.where(happened, upper, 0)) / 2, lower), happened))

    def exactly(rng: np.random.Generator) -> SpectralSurvival:
        X, time, *_ = visited(rng)
        return new().fit(X, (time, np.ones(len(X), bool)))

    against_law({"intervals": as_intervals, "middles as times": as_middles, "exact times": exactly})


def entries(rows: int, pairs: int) -> None:
    """Rows that entered late, with and without their entries."""

    def late(rng: np.random.Generator, told: bool) -> SpectralSurvival:
        X, time = drawn(rng, 4000)
        entry, seen = rng.uniform(0, 1.5, len(X)), rng.exponential(3.0, len(X))
        kept = entry < np.minimum(time, entry + seen)
        time, end, entry = time[kept], (entry + seen)[kept], entry[kept]
        return new().fit(X[kept], (np.minimum(time, end), time <= end), **({"entry": entry} if told else {}))

    against_law({"entries": lambda rng: late(rng, True), "without entries": lambda rng: late(rng, False)})


def causes(rows: int, pairs: int) -> None:
    """Cumulative incidences in two groups, and whether any falls or all together are not 1 − S."""
    rng = np.random.default_rng(4)
    group = rng.integers(0, 2, 3000)
    X = np.column_stack([group, rng.normal(size=3000)])
    first = (rng.exponential(size=3000) / np.exp(0.7 * group)) ** (1 / SHAPE)
    second = rng.exponential(size=3000) / (0.7 - 0.4 * group)
    seen = rng.uniform(0.5, 5.0, 3000)
    time = np.minimum(np.minimum(first, second), seen)
    cause = np.where(seen <= time, 0, np.where(first <= second, 1, 2))
    model = SpectralCompetingRisks(new()).fit(X, (time, cause))
    incidence, lines = model.predict_cumulative_incidence(X, HORIZONS), []
    for own in (0, 1):
        for k in (1, 2):
            found, mine = (
                aalen_johansen(time[group == own], cause[group == own], k),
                incidence[group == own, k - 1].mean(0),
            )
            lines.append([f"group {own}, cause {k}", *(f"{m:.3f} ({f:.3f})" for m, f in zip(mine, found, strict=True))])
    print_rows(["mean incidence (Aalen–Johansen)", *(f"t = {t:g}" for t in HORIZONS)], lines)
    times = np.concatenate([[0.0], np.geomspace(1e-6, 1e6, N_TIMES - 1)])
    falls, apart = 0, 0.0
    for _ in range(max(rows // (10 * BLOCK), 1)):
        odd = np.column_stack([rng.integers(0, 2, BLOCK), 10.0 ** rng.integers(-3, 9, BLOCK) * rng.normal(size=BLOCK)])
        whole = model.predict_cumulative_incidence(odd, times)
        falls += int((np.diff(whole, axis=2) < 0).any(axis=(1, 2)).sum())
        apart = max(apart, float(np.abs(whole.sum(axis=1) + model.predict_survival_function(odd, times) - 1).max()))
    tried = BLOCK * max(rows // (10 * BLOCK), 1)
    print(f"\n{tried:,} rows × {N_TIMES} times: {falls} incidences fall, all and S add up to 1 but for {apart:.1e}")


def aalen_johansen(time: np.ndarray, cause: np.ndarray, k: int) -> np.ndarray:
    """The estimate of a cumulative incidence at the horizons, by its definition."""
    survival, incidence, found = 1.0, 0.0, []
    order = np.argsort(time)
    at_risk, points = len(time), iter(zip(time[order], cause[order], strict=True))
    point = next(points, None)
    for horizon in HORIZONS:
        while point is not None and point[0] <= horizon:
            incidence += survival * (point[1] == k) / at_risk
            survival *= 1 - (point[1] > 0) / at_risk
            at_risk, point = at_risk - 1, next(points, None)
        found.append(incidence)
    return np.array(found)


PARTS = {own.__name__: own for own in (curves, orders, intervals, entries, causes)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    for own in arguments.only:
        print(f"\n## {own}\n", flush=True)
        PARTS[own](arguments.rows, arguments.pairs)


if __name__ == "__main__":
    sys.exit(main())
