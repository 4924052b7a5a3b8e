"""Soak: memory over very many predictions of single rows, and over very many fits, in one process.

usage: python benchmarks/soak.py [--predictions 1000000] [--fits 200]

Predictions go through one predictor, dicts and tuples of a regression, of classes and of quantiles in turns, with
missing and unknown cells among them, and every thousandth row is refused. Fits are of a small table with fast effort,
each with another seed. Memory is what the system has given to the process, sampled 40 times. The slope is that of the
least-squares line through the second half of the samples: what a leak would show as, whatever the start takes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import psutil
from rich.console import Console
from rich.table import Table

from lambdak import SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor

SAMPLES = 40
SMALL: dict[str, Any] = {"effort": "fast", "max_iter": 3, "random_state": 0}
REFUSED_EVERY = 1000


def frame(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"n{i}": rng.normal(size=rows) for i in range(6)})
    X["town"] = rng.choice(["Bonn", "Köln", "Mainz"], rows)
    X["n5"] = np.where(rng.random(rows) < 0.1, np.nan, X["n5"])
    return X, (X.n0 * X.n1 + (X.town == "Bonn") + 0.1 * rng.normal(size=rows)).to_numpy()


def predictions() -> Callable[[int], None]:
    """One prediction, by its number."""
    X, y = frame(500, 0)
    models = [
        SpectralRegressor(**SMALL).fit(X, y),
        SpectralClassifier(**SMALL).fit(X, y > 0),
        SpectralQuantileRegressor(**SMALL).fit(X, y),
    ]
    predictors = [model.predictor() for model in models]
    rows: list[Any] = X.head(300).to_dict("records")
    rows[::7] = [row | {"town": "nowhere", "n0": None} for row in rows[::7]]
    rows[::2] = [tuple(row.values()) for row in rows[::2]]

    def one(i: int) -> None:
        if i % REFUSED_EVERY == 0:
            try:
                predictors[i % 3]({"n0": "much"})
            except ValueError:
                return
        predictors[i % 3](rows[i % len(rows)])

    return one


def fits() -> Callable[[int], None]:
    """One fit, by its number."""
    X, y = frame(300, 0)

    def one(i: int) -> None:
        SpectralRegressor(effort="fast", random_state=i).fit(X, y).predict(X)

    return one


def soak(one: Callable[[int], None], count: int) -> tuple[np.ndarray, float]:
    """Megabytes at samples evenly spread over the calls, the first before any; and seconds."""
    process, marks = psutil.Process(), np.linspace(0, count, SAMPLES + 1).astype(int)
    memory, start = [process.memory_info().rss / 2**20], time.perf_counter()
    for first, last in pairwise(marks):
        for i in range(first, last):
            one(i)
        memory.append(process.memory_info().rss / 2**20)
    return np.array(memory), time.perf_counter() - start


def line(name: str, one: Callable[[int], None], count: int) -> list[str]:
    one(1)  # what is imported and built once
    memory, seconds = soak(one, count)
    late = memory[SAMPLES // 2 :]
    slope = np.polyfit(np.linspace(0.5, 1.0, len(late)), late, 1)[0]
    shown = [memory[0], memory[SAMPLES // 2], memory[-1], memory.max(), slope]
    return [name, f"{count:,}", f"{seconds:.0f}", *(f"{each:.1f}" for each in shown)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--predictions", type=int, default=1_000_000)
    parser.add_argument("--fits", type=int, default=200)
    arguments = parser.parse_args()
    shown = Table(title="memory, MB", title_justify="left")
    for title in ("", "calls", "seconds", "first", "half-way", "last", "peak", "slope"):
        shown.add_column(title, justify="left" if not title else "right")
    if arguments.predictions:
        shown.add_row(*line("predictions", predictions(), arguments.predictions))
    if arguments.fits:
        shown.add_row(*line("fits", fits(), arguments.fits))
    Console().print(shown)


if __name__ == "__main__":
    main()
