"""What a line of the table of weaknesses is, and how contestants are fitted for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contest import median_seconds, parts
from peers import METHODS, Fit
from tables import MEASURE, Problem, score

OURS = ("lambdak-fast", "lambdak-balanced")
THREADS = 2
FIT = "fit s"

Figures = dict[str, dict[str, float]]  # metric, then contestant
Case = tuple[Problem, np.ndarray, np.ndarray]  # with training and test rows


@dataclass(frozen=True)
class Weakness:
    """One line: what is measured, how, and what the issue had found."""

    title: str
    before: str
    measure: Callable[[Path, int], Figures]  # of the folder of the tables and the number of the split


def split_of(problem: Problem, split: int) -> Case:
    return problem, *parts(len(problem.y), split)


def contest(
    make: Callable[[Path, int], Case],
    peers: Sequence[str] = ("LightGBM",),
    others: dict[str, Fit] | None = None,
    repeats: int = 1,
) -> Callable[[Path, int], Figures]:
    """The metric and the fit time of ours, of some peers, and of contestants of this line alone."""
    fits = {name: METHODS[name].fit for name in (*OURS, *peers) if METHODS[name].installed} | (others or {})

    def measure(folder: Path, split: int) -> Figures:
        problem, train, test = make(folder, split)
        metric = MEASURE[problem.task]
        figures: Figures = {metric: {}, FIT: {}}
        for name, fit in fits.items():
            predict, seconds = median_seconds(lambda fit=fit: fit(problem, train, split, THREADS), repeats)
            figures[metric][name], figures[FIT][name] = score(problem, test, predict(test)), seconds
        return figures

    return measure


def seconds_of(call: Callable[[], object], calls: int) -> float:
    """The median time of one call."""
    taken = []
    for _ in range(calls):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return float(np.median(taken))
