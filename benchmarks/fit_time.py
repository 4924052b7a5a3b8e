"""Seconds of a fit and of its parts on synthetic tables, LightGBM with early stopping beside it in the same run.

usage: python benchmarks/fit_time.py [--effort balanced] [--rounds 3] [--only 1000x9] [--parts]

The sides take turns round by round, and the fastest round counts: other programs' load only ever slows a side down.
Seconds of CPU time, of both threads together, it spoils less.
Parts come from one more fit under a profiler, which slows calls of Python down, and are shares of that fit.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import lightgbm
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import train_test_split

import lambdak

# What a fit does, as functions that contain it: file and name.
PARTS = {
    "read and encode": ("draft.py", "draft"),
    "moments": ("coordinates.py", "design_moments"),
    "pilots": ("pilots.py", "explore"),
    "trials": ("choice.py", "choose_capacity"),
    "members": ("members.py", "run_members"),
    "L-BFGS": ("lbfgs.py", "refine"),
    "refit": ("members.py", "refit_members"),
    "finish": ("finish.py", "finished"),
}


@dataclass(frozen=True)
class Shape:
    """A synthetic table."""

    rows: int
    columns: int
    classes: int = 0  # 0: regression

    @property
    def name(self) -> str:
        """As the command line spells it."""
        return f"{self.rows}x{self.columns}" + (f"c{self.classes}" if self.classes else "")

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """Normal columns; six of them matter, with curves, an interaction and noise of a third of the spread."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.rows, self.columns))
        signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + 0.5 * X[:, 4] + 0.3 * X[:, 5] ** 2
        y = signal + 0.3 * signal.std() * rng.standard_normal(self.rows)
        if self.classes:
            return X, np.digitize(y, np.quantile(y, np.linspace(0, 1, self.classes + 1)[1:-1]))
        return X, y


SHAPES = (
    Shape(1_000, 9),
    Shape(5_800, 85, 2),
    Shape(10_000, 23, 2),
    Shape(6_400, 36, 6),
    Shape(15_000, 27),
    Shape(150_000, 10),
)


def ours(effort: str, X: np.ndarray, y: np.ndarray) -> None:
    kind = lambdak.SpectralClassifier if y.dtype.kind == "i" else lambdak.SpectralRegressor
    kind(effort=effort, random_state=0, n_jobs=2).fit(X, y)


def theirs(X: np.ndarray, y: np.ndarray) -> None:
    kind = lightgbm.LGBMClassifier if y.dtype.kind == "i" else lightgbm.LGBMRegressor
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.1, random_state=0)
    model = kind(n_estimators=2000, n_jobs=2, verbose=-1, random_state=0)
    model.fit(train, y_train, eval_X=test, eval_y=y_test, callbacks=[lightgbm.early_stopping(50, verbose=False)])


def seconds(call: Callable[[], None]) -> tuple[float, float]:
    """Wall and CPU time."""
    start, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - start, time.process_time() - cpu


def parts(call: Callable[[], None]) -> dict[str, float]:
    """Seconds of the parts of a fit, under a profiler."""
    profile = cProfile.Profile()
    profile.runcall(call)
    found = dict.fromkeys(PARTS, 0.0)
    for (path, _, function), (_, _, _, cumulative, _) in pstats.Stats(profile).stats.items():
        for part, (file, name) in PARTS.items():
            if os.path.basename(path) == file and function == name:
                found[part] += cumulative
    return found


def measured(shape: Shape, options: argparse.Namespace) -> list[str]:
    """A row of the results."""
    X, y = shape.table()
    mine, peer = partial(ours, options.effort, X, y), partial(theirs, X, y)
    found = np.min([(*seconds(mine), *seconds(peer)) for _ in range(options.rounds)], axis=0)
    more = parts(mine).values() if options.parts else ()
    wall, cpu, other = found[:3]
    return [f"{wall:.2f} s", f"{other:.2f} s", f"{wall / other:.1f}x", f"{cpu:.2f} s", *(f"{x:.2f}" for x in more)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", default="balanced", choices=("fast", "balanced", "best"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="shapes, such as 1000x9 or 6400x36c6")
    parser.add_argument("--parts", action="store_true", help="seconds of the parts as well")
    options = parser.parse_args()
    table = Table(title=f"fit, effort={options.effort!r}, 2 threads, load before {os.getloadavg()[0]:.1f}")
    for name in ("table", "lambdak", "LightGBM", "ratio", "CPU", *(PARTS if options.parts else ())):
        table.add_column(name, justify="right")
    for shape in (shape for shape in SHAPES if not options.only or shape.name in options.only):
        table.add_row(shape.name, *measured(shape, options))
    Console(width=130).print(table)
    print(f"load after: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
