"""What follows from the results of a comparison: tables of metrics and times, mean ranks, wins, and a picture."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from contest import Result
from tables import MEASURE, SMALLER_IS_BETTER

OURS, UNIT = "lambdak-", "LightGBM"
SECONDS = {"fit": "seconds of a fit", "cpu": "CPU seconds of a fit"}
LEVEL = {"classes": 0.05, "poisson": 0.05}  # a metric is behind beyond this share of the best, or .003 of R² and AUC


class Standings:
    """Results that were scored, by table and contestant."""

    def __init__(self, results: Iterable[Result]) -> None:
        self.failed = [result for result in results if result.score is None]
        self.scored = [result for result in results if result.score is not None]
        self.tables = list(dict.fromkeys(result.table for result in self.scored))
        self.methods = list(dict.fromkeys(result.method for result in self.scored))
        self.task = {result.table: result.task for result in self.scored}
        self._cells: dict[tuple[str, str], list[Result]] = {}
        for result in self.scored:
            self._cells.setdefault((result.table, result.method), []).append(result)

    def column(self, table: str, method: str, field: str) -> np.ndarray:
        """A field of the results of all splits; empty where the contestant has none."""
        return np.array([getattr(result, field) for result in self._cells.get((table, method), [])])

    def metric(self, table: str, method: str) -> float:
        """The mean over the splits, larger if better; NaN where the contestant has none."""
        found = self.column(table, method, "score")
        sign = -1 if self.task[table] in SMALLER_IS_BETTER else 1
        return float(sign * found.mean()) if len(found) else np.nan

    def ranks(self, methods: list[str]) -> np.ndarray:
        """1 for the best of those that have a metric on the table, (tables, methods)."""
        metrics = np.array([[self.metric(table, method) for method in methods] for table in self.tables])
        return rankdata(-metrics, axis=1, nan_policy="omit") if metrics.size else metrics

    def time_ratio(self, method: str, field: str) -> float:
        """Geometric mean, over the tables, of a time divided by LightGBM's."""
        pairs = [[self.column(table, name, field) for name in (method, UNIT)] for table in self.tables]
        logs = [np.log(np.median(own) / np.median(unit)) for own, unit in pairs if len(own) and len(unit)]
        return float(np.exp(np.mean(logs))) if logs else np.nan

    def wins(self, method: str, peer: str) -> str:
        """On how many of the tables that both have the metric is better."""
        pairs = [(self.metric(table, method), self.metric(table, peer)) for table in self.tables]
        both = [(own, other) for own, other in pairs if own == own and other == other]
        return f"{sum(own > other for own, other in both)} of {len(both)}" if both else ""


def with_error(values: np.ndarray) -> str:
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}" if len(values) > 1 else ""
    return f"{values.mean():.4f}{error}"


def print_rows(headers: list[str], rows: Iterable[list[str]]) -> None:
    """A table in Markdown."""
    print(f"| {' | '.join(headers)} |\n|{'---|' * len(headers)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def print_table(standings: Standings, table: str) -> None:
    """All contestants on one table."""
    rows = next(result.rows for result in standings.scored if result.table == table)
    print(f"\n## {table}: {rows:,} rows, {MEASURE[standings.task[table]]}\n")
    methods = [m for m in standings.methods if len(standings.column(table, m, "score"))]
    lines = []
    for method in methods:
        score, fit, predict, load = (standings.column(table, method, f) for f in ("score", "fit", "predict", "load"))
        times = [f"{np.median(fit):.3f}", f"{np.median(predict):.4f}", f"{load.max():.1f}"]
        lines.append([method, with_error(score), *times])
    print_rows(["", "mean ± s.e. over splits", "fit s", "predict s", "load"], lines)


def print_overview(standings: Standings, time: str = "fit") -> None:
    """One row per table, one column per contestant: the metric, and the seconds of a fit."""
    print(f"\n## Metric ({SECONDS[time]})\n")
    lines = []
    for table in standings.tables:
        line = [f"{table}, {MEASURE[standings.task[table]]}"]
        for method in standings.methods:
            score, fit = (standings.column(table, method, field) for field in ("score", time))
            line.append(f"{score.mean():.4f} ({np.median(fit):.2f})" if len(score) else "")
        lines.append(line)
    print_rows(["table", *standings.methods], lines)


def mean_rank(ranks: np.ndarray) -> str:
    """Over the tables on which the contestant has a metric, and how many these are."""
    return f"{np.nanmean(ranks):.2f} ({np.isfinite(ranks).sum()})" if np.isfinite(ranks).any() else ""


def print_ranks(standings: Standings) -> None:
    """Mean ranks of all, and of one effort of ours at a time among the peers; and times beside LightGBM's."""
    ours = [method for method in standings.methods if method.startswith(OURS)]
    peers = [method for method in standings.methods if method not in ours]
    groups = {"all": standings.methods} | {f"peers and {own}": [own, *peers] for own in ours}
    columns = {title: dict(zip(g, standings.ranks(g).T, strict=True)) for title, g in groups.items()}
    print(f"\n## Mean rank (tables), and geometric means of times in those of {UNIT}\n")
    lines = []
    for method in standings.methods:
        ranks = [mean_rank(column[method]) if method in column else "" for column in columns.values()]
        times = [f"{standings.time_ratio(method, field):.2f}" for field in ("fit", "predict")]
        lines.append([method, *ranks, *times])
    print_rows(["", *columns, "fit", "predict"], lines)


def print_wins(standings: Standings) -> None:
    """How often each contestant's metric is better than each other's."""
    print("\n## Tables on which the row is better than the column\n")
    lines = [
        [method, *(standings.wins(method, peer) if peer != method else "" for peer in standings.methods)]
        for method in standings.methods
    ]
    print_rows(["", *standings.methods], lines)


def print_behind(standings: Standings) -> None:
    """On which tables one of ours is behind the best peer by more than LEVEL says."""
    print("\n## Behind the best peer: by more than .003 of R² or AUC, or 5 % of log-loss or deviance\n")
    ours = [method for method in standings.methods if method.startswith(OURS)]
    peers = [method for method in standings.methods if method not in ours]
    lines = []
    for table in standings.tables:
        metrics = {peer: standings.metric(table, peer) for peer in peers}
        best = max(metrics, key=lambda peer: np.nan_to_num(metrics[peer], nan=-np.inf), default=None)
        for method in ours if best else ():
            allowed = LEVEL[task] * abs(metrics[best]) if (task := standings.task[table]) in LEVEL else 0.003
            if standings.metric(table, method) < metrics[best] - allowed:
                pair = [f"{abs(metric):.4f}" for metric in (standings.metric(table, method), metrics[best])]
                lines.append([f"{table}, {MEASURE[task]}", method, *pair, best])
    print_rows(["table", "", "its metric", "the best peer's", "the best peer"], lines)


def rank_points(standings: Standings) -> dict[str, tuple[float, float]]:
    """The geometric mean of the fit time in LightGBM's, and the mean rank, of each contestant."""
    ranks = np.nanmean(standings.ranks(standings.methods), axis=0)
    pairs = zip(standings.methods, ranks, strict=True)
    return {method: (standings.time_ratio(method, "fit"), rank) for method, rank in pairs}


def draw(points: dict[str, tuple[float, float]], labels: tuple[str, str], file: Path, bars: Any = None) -> None:
    """Accuracy against time, ours in colour; ``bars`` are the distances to the ends of intervals, (2, contestants)."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    times, heights = zip(*points.values(), strict=True)
    if bars is not None:
        axes.errorbar(times, heights, yerr=bars, fmt="none", ecolor="0.75", zorder=1)
    for method, point in points.items():
        ours = method.startswith(OURS)
        axes.scatter(*point, s=50, color="C0" if ours else "C7", zorder=2)
        style = {"xytext": (0, -15), "weight": "bold"} if ours else {"xytext": (0, 8)}  # ours below, others above
        axes.annotate(method, point, textcoords="offset points", ha="center", **style)
    axes.set_xscale("log")
    axes.margins(0.18)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.grid(alpha=0.3)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def print_standings(results: list[Result], picture: Path | None = None) -> None:
    """Everything."""
    standings = Standings(results)
    for table in standings.tables:
        print_table(standings, table)
    print_overview(standings)
    print_ranks(standings)
    print_wins(standings)
    for result in standings.failed:
        print(f"\n{result.method} has no metric on {result.table}, split {result.split}: {result.error}")
    if picture is not None:
        time = f"fit time, in {UNIT}'s (geometric mean over {len(standings.tables)} tables)"
        draw(rank_points(standings), (time, f"mean rank of {len(standings.methods)}, 1 is best"), picture)
