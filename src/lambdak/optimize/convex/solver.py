"""The least value of a convex raw score, with a proof: an interior-point method, inside branch and bound for levels.

A score is convex if it reads the last eigenvalue and its curves are convex, or straight. Levels and whole numbers may
be mixed in the interior-point method (:mod:`lambdak.optimize.convex.lifted`), which bounds them from below; boxes in
which they are chosen more precisely follow, until the gap is closed. Without them there is one box.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple, final

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.eigen.blas import single_threaded_blas
from lambdak.optimize.axes import Axis
from lambdak.optimize.convex.interior import Iterate, iterates
from lambdak.optimize.convex.lifted import Cost, Lifted, cheapest, is_infeasible, lift, narrow
from lambdak.optimize.frontier import Clock, Solution, Status
from lambdak.optimize.linear import LinearRows
from lambdak.optimize.scores import Score

METHOD = "interior point"
_STRAIGHT = 1e-9  # relative to the matrices: what bends may lack, which the gap then keeps
_WHOLE = 1e-6  # a number this close to a whole one is that one


class _Box(NamedTuple):
    """A box to search: no point of it is below ``bound``."""

    bound: float
    order: int
    low: Float64Array
    high: Float64Array


@final
class Search:
    """One run: the best point, the open boxes, and the least bounds of the current and of the closed ones."""

    def __init__(self, score: Score, linear: LinearRows, clock: Clock, cost: Cost) -> None:
        self.score, self.linear, self.clock, self.cost = score, linear, clock, cost
        self.whole = np.array([axis.whole for axis in score.axes], np.bool_)
        self.x: Float64Array | None = None
        self.value = self.closed = self.current = np.inf
        self.work, self._proven, self._order = 0, -np.inf, count()
        low, high = (np.array([getattr(axis, end) for axis in score.axes]) for end in ("low", "high"))
        self.heap = [_Box(-np.inf, next(self._order), low, high)]

    @property
    def bound(self) -> float:
        """No feasible point is below it."""
        lowest = min(self.closed, self.current, self.heap[0].bound if self.heap else np.inf)
        self._proven = max(self._proven, min(lowest, self.value))
        return self._proven

    def status(self) -> Status:
        """Why the search ended."""
        if self.bound == np.inf:
            return Status.INFEASIBLE
        if self._is_close(self.value, self.bound):
            return Status.OPTIMAL
        return Status.TIME_LIMIT if self.clock.is_over else Status.STALLED

    def run(self) -> None:
        """Search the boxes, the one with the least bound first; an interrupt loses none."""
        while self.heap and not self.clock.is_over and not self._is_close(self.value, self.bound):
            self.current = self.heap[0].bound
            self._search(heapq.heappop(self.heap))
            self.current = np.inf

    def _search(self, box: _Box) -> None:
        score, cost = narrow(self.score, self.cost, box.low, box.high)
        if is_infeasible(score.axes, self.linear):
            return
        lifted = lift(score, self.linear, cost)
        last = self._relax(score, lifted)
        mixed = np.flatnonzero(self.whole & (box.low < box.high))
        if len(mixed):
            self._round(score, lifted, last)
        if len(mixed) and not self.clock.is_over and not self._is_close(self.value, self.current):
            self._split(box, score, lifted, last)
        else:
            self.closed = min(self.closed, self.current)

    def _relax(self, score: Score, lifted: Lifted, bounds: bool = True) -> Iterate:
        """Improve point and bound of a box until it is solved, or has nothing better; it ``bounds`` the current one."""
        mixed = any(axis.whole and len(axis.points) > 1 for axis in score.axes)
        bound = self.current if bounds else -np.inf
        for iterate in iterates(lifted):
            x = point(score, lifted, iterate.mu)
            bound = max(bound, lifted.bound(iterate.packed, iterate.multipliers))
            self.current = bound if bounds else self.current
            value = np.inf
            if self.linear.hold(x[None])[0]:
                value = lifted.value(iterate.mu) if mixed else self._offer(x)
            self.work += 1
            self.clock.note(self.value, self.bound, self.work)
            if self.clock.is_over or self._is_close(min(value, self.value), bound):
                break
        return iterate

    def _value(self, x: Float64Array) -> float:
        """Score and cost at a point."""
        axes = self.score.axes
        paid = sum(float(np.interp(x[i], axes[i].points, own)) for i, own in enumerate(self.cost))
        return float(self.score.values(x[None])[0]) + paid

    def _offer(self, x: Float64Array) -> float:
        """The value of a feasible point, which is kept if it is the best so far."""
        value = self._value(x)
        if value < self.value:
            self.x, self.value = x, value
        return value

    def _is_close(self, value: float, bound: float) -> bool:
        return bool(np.isfinite(value)) and self.clock.is_close(value, bound)

    def _round(self, score: Score, lifted: Lifted, last: Iterate) -> None:
        """Offer a point whose levels and whole numbers are near those of a mix, the other columns at their best."""
        near = cheapest(score.axes, lifted, last.packed) if len(self.linear) else nearest(score, lifted, last.mu)
        if near is None:
            return
        low = np.where(self.whole, np.round(near), [axis.low for axis in score.axes])
        high = np.where(self.whole, np.round(near), [axis.high for axis in score.axes])
        fixed, cost = narrow(self.score, self.cost, low, high)
        if not is_infeasible(fixed.axes, self.linear):
            self._relax(fixed, lift(fixed, self.linear, cost), bounds=False)

    def _split(self, box: _Box, score: Score, lifted: Lifted, last: Iterate) -> None:
        """Open the parts of a box, with the bounds that its last dual matrices prove for them."""
        i, parts = _parts(score, lifted, last.mu)
        for first, end in parts:
            low, high = box.low.copy(), box.high.copy()
            low[i], high[i] = first, end
            part, cost = narrow(self.score, self.cost, low, high)
            bound = max(self.current, lift(part, self.linear, cost).bound(last.packed, last.multipliers))
            heapq.heappush(self.heap, _Box(bound, next(self._order), low, high))


def point(score: Score, lifted: Lifted, mu: Float64Array) -> Float64Array:
    """The coordinates (axes,) of a mix."""
    low, high = (np.array([getattr(axis, end) for axis in score.axes]) for end in ("low", "high"))
    x = low.copy()
    x[low < high] = lifted.coordinates(mu)
    return np.asarray(np.clip(x, low, high))


def nearest(score: Score, lifted: Lifted, mu: Float64Array) -> Float64Array:
    """The coordinates (axes,) next to a mix: the level that has most of it, and the nearest whole number."""
    x = point(score, lifted, mu)
    for i, own in _mixes(score, lifted, mu):
        axis = score.axes[i]
        x[i] = axis.points[own.argmax()] if axis.levels else round(x[i]) if axis.whole else x[i]
    return x


def _mixes(score: Score, lifted: Lifted, mu: Float64Array) -> Iterator[tuple[int, Float64Array]]:
    """Positions of the axes that have several points, and their parts of a mix."""
    several = [i for i, axis in enumerate(score.axes) if len(axis.points) > 1]
    return zip(several, np.split(mu, lifted.first[1:]), strict=True)


def _parts(score: Score, lifted: Lifted, mu: Float64Array) -> tuple[int, list[tuple[float, float]]]:
    """The axis that is farthest from whole, and its parts: every level, or the numbers below and above."""
    x = point(score, lifted, mu)
    far = {i: _distance(score.axes[i], x[i], own) for i, own in _mixes(score, lifted, mu) if score.axes[i].whole}
    i = max(far, key=far.__getitem__)
    axis, next_one = score.axes[i], round(x[i])
    if axis.levels:
        return i, [(level, level) for level in axis.points.tolist()]
    if far[i] > _WHOLE:
        return i, [(axis.low, float(np.floor(x[i]))), (float(np.ceil(x[i])), axis.high)]
    parts = [(axis.low, next_one - 1.0), (float(next_one), float(next_one)), (next_one + 1.0, axis.high)]
    return i, [(low, high) for low, high in parts if low <= high]


def _distance(axis: Axis, x: float, own: Float64Array) -> float:
    return float(1 - own.max()) if axis.levels else abs(x - round(x))


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
