r"""Convex functions above a score that touch it at a point, and the way down that their minima lead.

The step of the convex–concave procedure puts the tangent of the convex Λ_{k+1} in the place of that in
f = Λ_k − Λ_{k+1} (Λ_k = λ_k + … + λ_d, Ky Fan). With U the eigenvectors of λ_1, …, λ_k at the last point, and V the
others, Courant, Fischer and Ky Fan say of every matrix A

    λ_k(A) ≤ λ_max(Uᵀ A U) ≤ Λ_k(A) − tr(Vᵀ A V),

equal at the last point, and the right side is what the procedure minimises. The middle is convex too, nowhere above it,
and a semidefinite program of k instead of d rows: so no step falls less, and :mod:`lambdak.optimize.convex` solves it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen import eigenpair
from lambdak.optimize.convex.solver import minimize_convex
from lambdak.optimize.minimum.incumbent import best_of
from lambdak.optimize.minimum.problem import Problem
from lambdak.optimize.relaxation import compression
from lambdak.optimize.scores import Score
from lambdak.optimize.solution import Clock

_MOST_STEPS = 100
_LEAST_FALL = 1e-6  # of the goal's spread: a step that gains less is the last one
_SOLVED = 0.1  # of what a step gains: how far its minimum may be


def straight_score(problem: Problem) -> Score | None:
    """The score that is minimised, up to linear terms, if that is all there is and its columns are straight."""
    score = problem.only_score()
    if score is None or any(axis.whole or len(axis.points) > 2 for axis in score.axes):
        return None
    return score


def descend(problem: Problem, score: Score, x: Float64Array, clock: Clock) -> tuple[Float64Array, float]:
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


def step(problem: Problem, score: Score, x: Float64Array, clock: Clock) -> tuple[Float64Array | None, float]:
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
