"""The least value of a convex raw score, with a proof: an interior-point method, inside branch and bound for levels.

A score is convex if it reads the last eigenvalue and its curves are convex, or straight. Levels and whole numbers may
be mixed in the interior-point method (:mod:`lambdak.optimize.convex.lifted`), which bounds them from below; boxes in
which they are chosen more precisely follow, until the gap is closed. Without them there is one box.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import final

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.eigen.blas import single_threaded_blas
from lambdak.optimize.axes import Axis
from lambdak.optimize.convex.interior import Iterate, iterates
from lambdak.optimize.convex.lifted import Cost, Lifted, cheapest, is_infeasible, lift, narrow
from lambdak.optimize.frontier import Clock, Frontier, Open, Solution, Status
from lambdak.optimize.linear import LinearRows
from lambdak.optimize.scores import Score

METHOD = "interior point"
_STRAIGHT = 1e-9  # relative to the matrices: what bends may lack, which the gap then keeps
_WHOLE = 1e-6  # a number this close to a whole one is that one


@final
class ConvexSearch:
    """One run: the frontier, and the bound that was proven so far."""

    def __init__(self, score: Score, linear: LinearRows, clock: Clock, cost: Cost) -> None:
        self.score, self.linear, self.clock, self.cost = score, linear, clock, cost
        self.whole = np.array([axis.whole for axis in score.axes], np.bool_)
        self.frontier, self._proven = Frontier(Open.root(score.axes), clock), -np.inf

    @property
    def bound(self) -> float:
        """No feasible point is below it."""
        self._proven = max(self._proven, self.frontier.bound)
        return self._proven

    def status(self) -> Status:
        """Return why the search ended."""
        if self.bound == np.inf:
            return Status.INFEASIBLE
        if self.frontier.is_closed(self.bound):
            return Status.OPTIMAL
        return Status.TIME_LIMIT if self.clock.is_over else Status.STALLED

    def run(self) -> None:
        """Search the boxes, the one with the least bound first; an interrupt loses none."""
        while self.frontier.open.size and not self.clock.is_over and not self.frontier.is_closed(self.bound):
            first = int(np.argmin(self.frontier.open.bound))
            parts = self._parts(first)
            self.frontier.open = self.frontier.open.without(np.array([first])).joined(parts)

    def note(self) -> None:
        """Add where the search stands to the trace."""
        self.clock.note(self.frontier.best.value, self.bound, self.frontier.work)

    def _parts(self, k: int) -> Open:
        """Return the parts of an open box that are still to be searched; its bound rises meanwhile."""
        box = self.frontier.open.take(np.array([k]))
        none = box.take(np.zeros(0, np.intp))
        score, cost = narrow(self.score, self.cost, box.low[0], box.high[0])
        if is_infeasible(score.axes, self.linear):
            return none
        lifted = lift(score, self.linear, cost)
        last = self._relax(score, lifted, k)
        mixed = np.flatnonzero(self.whole & (box.low[0] < box.high[0]))
        if len(mixed):
            self._round(score, lifted, last)
        current = self.frontier.open.bound[[k]]
        if len(mixed) and not self.clock.is_over and not self.frontier.is_closed(float(current[0])):
            return self._split(box._replace(bound=current), score, lifted, last)
        self.frontier.settle(current)
        return none

    def _relax(self, score: Score, lifted: Lifted, k: int | None = None) -> Iterate:
        """Improve point and bound of a box until it is solved, or has nothing better; of an open one the bound, too."""
        mixed = any(axis.whole and len(axis.points) > 1 for axis in score.axes)
        bound = -np.inf if k is None else float(self.frontier.open.bound[k])
        for iterate in iterates(lifted):
            x = point(score, lifted, iterate.mu)
            bound = max(bound, lifted.bound(iterate.packed, iterate.multipliers))
            if k is not None:
                self.frontier.open.bound[k] = bound
            value = np.inf
            if self.linear.hold(x[None])[0]:
                value = lifted.value(iterate.mu) if mixed else self._offer(x)
            self.frontier.work += 1
            self.note()
            if self.clock.is_over or self._is_close(min(value, self.frontier.best.value), bound):
                break
        return iterate

    def _value(self, x: Float64Array) -> float:
        """Return score and cost at a point."""
        axes = self.score.axes
        paid = sum(float(np.interp(x[i], axes[i].points, prices)) for i, prices in enumerate(self.cost))
        return float(self.score.values(x[None])[0]) + paid

    def _offer(self, x: Float64Array) -> float:
        """Return the value of a feasible point, which is kept if it is the best so far."""
        value = self._value(x)
        self.frontier.best.offer(x, value)
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
            self._relax(fixed, lift(fixed, self.linear, cost))

    def _split(self, box: Open, score: Score, lifted: Lifted, last: Iterate) -> Open:
        """Return the parts of a box, with the bounds that its last dual matrices prove for them."""
        i, parts = _parts(score, lifted, last.mu)
        low, high = (np.repeat(end, len(parts), axis=0) for end in (box.low, box.high))
        low[:, i], high[:, i] = np.array(parts).T
        bounds = []
        for first, end in zip(low, high, strict=True):
            part, cost = narrow(self.score, self.cost, first, end)
            bounds.append(lift(part, self.linear, cost).bound(last.packed, last.multipliers))
        return Open.of(low, high, np.array([max(float(box.bound[0]), bound) for bound in bounds]))


def point(score: Score, lifted: Lifted, mu: Float64Array) -> Float64Array:
    """The coordinates (axes,) of a mix."""
    low, high = (np.array([getattr(axis, end) for axis in score.axes]) for end in ("low", "high"))
    x = low.copy()
    x[low < high] = lifted.coordinates(mu)
    return np.asarray(np.clip(x, low, high))


def nearest(score: Score, lifted: Lifted, mu: Float64Array) -> Float64Array:
    """The coordinates (axes,) next to a mix: the level that has most of it, and the nearest whole number."""
    x = point(score, lifted, mu)
    for i, mix in _mixes(score, lifted, mu):
        axis = score.axes[i]
        x[i] = axis.points[mix.argmax()] if axis.levels else round(x[i]) if axis.whole else x[i]
    return x


def _mixes(score: Score, lifted: Lifted, mu: Float64Array) -> Iterator[tuple[int, Float64Array]]:
    """Positions of the axes that have several points, and their parts of a mix."""
    several = [i for i, axis in enumerate(score.axes) if len(axis.points) > 1]
    return zip(several, np.split(mu, lifted.first[1:]), strict=True)


def _parts(score: Score, lifted: Lifted, mu: Float64Array) -> tuple[int, list[tuple[float, float]]]:
    """The axis that is farthest from whole, and its parts: every level, or the numbers below and above."""
    x = point(score, lifted, mu)
    far = {i: _distance(score.axes[i], x[i], mix) for i, mix in _mixes(score, lifted, mu) if score.axes[i].whole}
    i = max(far, key=far.__getitem__)
    axis, next_one = score.axes[i], round(x[i])
    if axis.levels:
        return i, [(level, level) for level in axis.points.tolist()]
    if far[i] > _WHOLE:
        return i, [(axis.low, float(np.floor(x[i]))), (float(np.ceil(x[i])), axis.high)]
    parts = [(axis.low, next_one - 1.0), (float(next_one), float(next_one)), (next_one + 1.0, axis.high)]
    return i, [(low, high) for low, high in parts if low <= high]


def _distance(axis: Axis, x: float, mix: Float64Array) -> float:
    return float(1 - mix.max()) if axis.levels else abs(x - round(x))


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
    search = ConvexSearch(score, linear, clock, cost)
    try:
        with single_threaded_blas():
            search.run()
        status = search.status()
        search.note()
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return replace(search.frontier.solution(status, METHOD), bound=search.bound)
