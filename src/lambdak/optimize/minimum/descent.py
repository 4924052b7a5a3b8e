"""The best point found so far, and the two ways down to it: by columns, and by convex functions above the score.

By columns: from many starts, one column or one pair of columns at a time.

By majorants: the step of the convex–concave procedure puts the tangent of the convex Λ_{k+1} in the place of that in
f = Λ_k − Λ_{k+1} (Λ_k = λ_k + … + λ_d, Ky Fan). With U the eigenvectors of λ_1, …, λ_k at the last point, and V the
others, Courant, Fischer and Ky Fan say of every matrix A

    λ_k(A) ≤ λ_max(Uᵀ A U) ≤ Λ_k(A) − tr(Vᵀ A V),

equal at the last point, and the right side is what the procedure minimises. The middle is convex too, nowhere above it,
and a semidefinite program of k instead of d rows: so no step falls less, and :mod:`lambdak.optimize.convex` solves it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen import eigenpair
from lambdak.optimize.convex.solver import minimize_convex
from lambdak.optimize.frontier import Best, Clock
from lambdak.optimize.minimum.problem import Minimization
from lambdak.optimize.relaxation import compression
from lambdak.optimize.scores import Score

_STARTS = 32
_SWEEPS = 12
_FINEST = 2.0**-20  # of a column's range: the last step of a polish
_STEPS = np.array([1.0, 0.5, 0.25, 0.125])
_MOST_STEPS = 100
_LEAST_FALL = 1e-6  # of the objective's spread: a step that gains less is the last one
_SOLVED = 0.1  # of what a step gains: how far its minimum may be
_MOST_CHECKED = 16  # points, best first, that may turn out to miss a limit in the last digit


@final
@dataclass(eq=False)
class Incumbent(Best):
    """The best point that meets all constraints of a problem, and where it is looked for."""

    problem: Minimization = field(kw_only=True)

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
        x, value = descend_by_columns(self.problem, starts)
        for i in np.argsort(value)[:4]:
            first, best = best_of(self.problem, x[[i]])
            if first is not None:
                self.offer(*polish(self.problem, first, best, _SWEEPS))


def best_of(problem: Minimization, points: Float64Array) -> tuple[Float64Array | None, float]:
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


def descend_by_columns(problem: Minimization, x: Float64Array) -> tuple[Float64Array, Float64Array]:
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
    problem: Minimization, x: Float64Array, value: Float64Array, tried: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """The best of each row's points (n, m, axes), or the row itself."""
    flat = tried.reshape(-1, tried.shape[-1])
    found = np.where(problem.linear.hold(flat), problem.values(flat), np.inf).reshape(tried.shape[:2])
    at = found.argmin(axis=1)
    rows = np.arange(len(x))
    better = found[rows, at] < value
    return np.where(better[:, None], tried[rows, at], x), np.where(better, found[rows, at], value)


def polish(problem: Minimization, x: Float64Array, value: float, sweeps: int) -> tuple[Float64Array, float]:
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


def straight_score(problem: Minimization) -> Score | None:
    """The score that is minimised, up to linear terms, if that is all there is and its columns are straight."""
    score = problem.only_score()
    if score is None or any(axis.whole or len(axis.points) > 2 for axis in score.axes):
        return None
    return score


def descend_by_majorants(
    problem: Minimization, score: Score, x: Float64Array, clock: Clock
) -> tuple[Float64Array, float]:
    """Step after step from a point (axes,) that meets the constraints, and the value where it ends: never above."""
    value = float(problem.values(x[None])[0])
    for _ in range(_MOST_STEPS):
        if clock.is_over:
            break
        there, low = step(problem, score, x, clock)
        if there is None or not value - low > _LEAST_FALL * problem.spread:
            break
        x, value = there, low
    return x, value


def step(problem: Minimization, score: Score, x: Float64Array, clock: Clock) -> tuple[Float64Array | None, float]:
    """A low point of the convex function that touches the score at x, and its value in the problem."""
    here, least = float(problem.values(x[None])[0]), _LEAST_FALL * problem.spread

    def is_close(value: float, bound: float) -> bool:
        return value - bound <= max(_SOLVED * (here - value), least) or bound > here - least

    inner = Clock(is_close, clock.time_limit - clock.seconds)
    found = minimize_convex(majorant(score, x), problem.linear, inner, problem.costs())
    return (None, np.inf) if found.x is None else best_of(problem, found.x[None])


def majorant(score: Score, x: Float64Array) -> Score:
    """A score nowhere below this one and equal to it at x (axes,): start + Σ_m w_m λ_max(U_mᵀ A_m U_m)."""
    rank = score.index + 1
    vectors = eigenpair(score.packed(x[None])[:, 0], score.dim, tuple(range(rank)))[1]
    compress = compression(np.asarray(vectors, np.float64))  # (members, R, D)
    turned = compress.swapaxes(-1, -2)
    return replace(
        score,
        constant=np.matmul(compress, score.constant[..., None])[..., 0],
        curves=tuple(np.matmul(curve, turned) for curve in score.curves),
    )
