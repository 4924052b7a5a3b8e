"""The least value of a convex raw score, with a proof: an interior-point method, inside branch and bound for levels.

A score is convex if it reads the last eigenvalue and its curves are convex, or straight. Levels and whole numbers may
be mixed in the interior-point method (:mod:`lambdak.optimize.convex.lifted`), which bounds them from below; boxes in
which they are chosen more precisely follow, until the gap is closed.
"""

from __future__ import annotations

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.eigen.blas import single_threaded_blas
from lambdak.optimize.convex.lifted import Cost
from lambdak.optimize.convex.search import Search
from lambdak.optimize.linear import LinearRows
from lambdak.optimize.scores import Score
from lambdak.optimize.solution import Clock, Solution, Status

METHOD = "interior point"
_STRAIGHT = 1e-9  # relative to the matrices: what bends may lack, which the gap then keeps


def is_convex(score: Score) -> bool:
    """Whether the gap of :func:`minimize_convex` closes; its bound holds in any case.

    The last eigenvalue is read, and no slope of a column of numbers falls by more than rounding does.
    """
    if not _reads_last(score):
        return False
    lacking = sum((_lacking(score, i) for i in range(len(score.axes))), np.zeros(len(score.weights)))
    return bool((lacking <= _STRAIGHT * score.size).all())


def _reads_last(score: Score) -> bool:
    return score.index == score.dim - 1 and bool((score.weights >= 0).all())


def _lacking(score: Score, i: int) -> Float64Array:
    """How far curve i is from convex, in units of its matrices, (members,)."""
    axis, curve = score.axes[i], score.curves[i]
    if axis.levels or len(axis.points) < 3:
        return np.zeros(len(curve))
    lengths = np.diff(axis.points)
    bends = np.diff(np.diff(curve, axis=1) / lengths[:, None], axis=1)
    least = np.minimum(eigenvalue(bends, score.dim, 0), 0.0)
    return np.asarray(-least @ np.minimum(lengths[1:], lengths[:-1]))


def minimize_convex(score: Score, linear: LinearRows, clock: Clock, cost: Cost = ()) -> Solution:
    """The least value of a convex score on its axes and within linear constraints.

    ``cost`` is added to the score: of each axis its values at the points, straight between them, and convex. If score
    or cost are not convex the bound holds nevertheless, but the gap may stay open: see :func:`is_convex`.
    """
    if not _reads_last(score):
        raise ValueError(f"a convex score reads the last eigenvalue, {score.dim - 1}; this one reads {score.index}")
    search = Search(score, linear, clock, cost)
    try:
        with single_threaded_blas():
            search.run()
        status = search.status()
        clock.note(search.value, search.bound, search.work)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return Solution(search.x, search.value, search.bound, status, METHOD, tuple(clock.trace))
