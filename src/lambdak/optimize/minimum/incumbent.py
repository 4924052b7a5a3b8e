"""The best point found so far, and how it is found: from many starts, one column or one pair of columns at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from lambdak._types import Float64Array
from lambdak.optimize.minimum.problem import Problem

_STARTS = 32
_SWEEPS = 12
_FINEST = 2.0**-20  # of a column's range: the last step of a polish
_STEPS = np.array([1.0, 0.5, 0.25, 0.125])
_MOST_CHECKED = 16  # points, best first, that may turn out to miss a limit in the last digit


@final
@dataclass(eq=False)
class Incumbent:
    """The best point that meets all constraints: x (axes,) or None, and its value."""

    problem: Problem
    x: Float64Array | None = None
    value: float = np.inf

    def try_points(self, points: Float64Array) -> None:
        """Keep the best of these points if it is better; a better one is polished."""
        x, value = best_of(self.problem, points)
        if x is None or value >= self.value:
            return
        self.x, self.value = x, value
        self.offer(*polish(self.problem, x, value, _SWEEPS // 4))

    def begin(self, rng: np.random.Generator) -> None:
        """Search from many starts."""
        starts = self.problem.starts(_STARTS, rng)
        if not len(starts):
            return
        x, value = descend(self.problem, starts)
        for i in np.argsort(value)[:4]:
            first, own = best_of(self.problem, x[[i]])
            if first is not None:
                self.offer(*polish(self.problem, first, own, _SWEEPS))

    def offer(self, x: Float64Array, value: float) -> None:
        """Keep a point that meets the constraints if it is better."""
        if value < self.value:
            self.x, self.value = x, value


def best_of(problem: Problem, points: Float64Array) -> tuple[Float64Array | None, float]:
    """The best of these points that meets the constraints, and its value."""
    allowed = points[problem.linear.hold(points)]
    if not len(allowed):
        return None, np.inf
    values = problem.values(allowed)
    for i in np.argsort(values, kind="stable")[:_MOST_CHECKED]:
        if values[i] == np.inf:
            break
        if problem.meets(allowed[i]):
            return allowed[i], float(values[i])
    return None, np.inf


def descend(problem: Problem, x: Float64Array) -> tuple[Float64Array, Float64Array]:
    """From starts (n, axes) column by column to the best of its points, until nothing changes: points and values."""
    value = problem.values(x)
    for _ in range(_SWEEPS):
        before = value
        for i, axis in enumerate(problem.axes):
            tried = np.repeat(x[:, None], len(axis.points), axis=1)
            tried[:, :, i] = axis.points
            x, value = _better(problem, x, value, tried)
        if np.array_equal(before, value):
            break
    return x, value


def _better(
    problem: Problem, x: Float64Array, value: Float64Array, tried: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """The best of each row's points (n, m, axes), or the row itself."""
    flat = tried.reshape(-1, tried.shape[-1])
    found = np.where(problem.linear.hold(flat), problem.values(flat), np.inf).reshape(tried.shape[:2])
    at = found.argmin(axis=1)
    rows = np.arange(len(x))
    better = found[rows, at] < value
    return np.where(better[:, None], tried[rows, at], x), np.where(better, found[rows, at], value)


def polish(problem: Problem, x: Float64Array, value: float, sweeps: int) -> tuple[Float64Array, float]:
    """Smaller and smaller steps along columns, and pairs of them that keep a constraint; and where that ends."""
    directions = problem.directions()
    size, left = 0.25, sweeps
    while size > _FINEST and left:
        steps = (size * _STEPS)[:, None, None] * directions
        tried = problem.rounded(x + np.concatenate([steps, -steps]).reshape(-1, len(x)))
        new, found = best_of(problem, tried)
        if new is not None and found < value:
            left -= value - found < 1e-9 * abs(value)
            x, value = new, found
        else:
            size /= 8.0
    return x, value
