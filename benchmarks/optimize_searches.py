"""Searches that prove nothing, restarted with other seeds until their time is over, so that none ends early."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import differential_evolution, dual_annealing


def evolve(values: Callable[[np.ndarray], np.ndarray], bounds: list[tuple[float, float]], seconds: float) -> Any:
    """Differential evolution, all points of a generation at once, restarted until the time is over."""

    def run(seed: int, over: Callable[[], bool]) -> Any:
        return differential_evolution(
            lambda x: values(np.atleast_2d(x.T)) if x.ndim == 2 else values(x[None])[0], bounds, rng=seed,
            vectorized=True, updating="deferred", maxiter=10**6, callback=lambda *a, **k: over(),
        )  # fmt: skip

    return restarted(run, seconds)


def anneal(values: Callable[[np.ndarray], np.ndarray], bounds: list[tuple[float, float]], seconds: float) -> Any:
    """Dual annealing with its own local search, restarted until the time is over."""

    def run(seed: int, over: Callable[[], bool]) -> Any:
        return dual_annealing(lambda x: values(x[None])[0], bounds, rng=seed, callback=lambda *a, **k: over())

    return restarted(run, seconds)


def restarted(run: Callable[..., Any], seconds: float) -> Any:
    end, found = time.perf_counter() + seconds, []
    while not found or time.perf_counter() < end:
        found.append(run(len(found), lambda: time.perf_counter() >= end))
    return min(found, key=lambda each: each.fun).x
