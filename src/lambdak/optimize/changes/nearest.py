"""The cheapest point that reaches a goal: best-first branch and bound over boxes, by price."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.optimize.changes.decisions import Region
from lambdak.optimize.changes.price_bounds import box_bounds
from lambdak.optimize.changes.prices import Price
from lambdak.optimize.relaxation import Boxes
from lambdak.optimize.solution import Clock, Solution, Status

_MOST_AT_ONCE = 32  # boxes that are halved in one round
_MOST_FLOATS = 1 << 24  # of the matrices of one round
_FURTHER = (0.0, 0.05, 0.2, 0.5, 1.0)  # shares of a move that are added to it
_CHEAPER = 0.8  # than before: axes are then shortened again
_NARROW = 1e-11  # relative: narrower boxes are not halved


class _Open(NamedTuple):
    """Boxes that may hold the cheapest point: ends (n, axes), bounds (n,), and what each axis does, (n, axes).

    They are replaced all at once, so that whatever interrupts a round leaves their bounds true.
    """

    low: Float64Array
    high: Float64Array
    bound: Float64Array
    effects: Float64Array

    def take(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> _Open:
        """Boxes at these positions, or where a mask is true."""
        return _Open(*(own[which] for own in self))

    def join(self, other: _Open) -> _Open:
        """Boxes of this set and of another one."""
        return _Open(*(np.concatenate(both) for both in zip(self, other, strict=True)))


@final
@dataclass(eq=False)
class Nearest:
    """One search for the cheapest point that reaches a goal.

    Attributes
    ----------
    region : Region
    price : Price
    clock : Clock
    reached : callable
        Whether ``predict`` says that points (n, axes) reach the goal, (n,).
    closer : callable
        A cheaper point close to one that reaches it.
    """

    region: Region
    price: Price
    clock: Clock
    reached: Callable[[Float64Array], NDArray[np.bool_]]
    closer: Callable[[Float64Array], Float64Array]
    x: Float64Array | None = None
    best: float = np.inf
    work: int = 0
    shortened: float = np.finfo(np.float64).max  # the price that axes were shortened for
    open: _Open = field(init=False)

    def run(self, low: Float64Array, high: Float64Array, starts: Iterable[Float64Array] = ()) -> Solution:
        """The cheapest point in any of the boxes (n, axes); ``starts`` are valid points to begin with."""
        self.open = _Open(low, high, self.price.joined(self.price.least(low, high)), np.ones(low.shape))
        try:
            for x in starts:
                self._offer(x)
            self._shorten(low, high)
            self.open = self._bounded(low, high, self.open.bound)
            status = self._loop(low, high)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return Solution(self.x, self.best, self._lowest, status, "branch and bound", tuple(self.clock.trace))

    @property
    def _lowest(self) -> float:
        return float(min(self.open.bound.min(initial=np.inf), self.best))

    def _shorten(self, low: Float64Array, high: Float64Array) -> None:
        """Leave out of the axes what is too dear anywhere in the boxes to search."""
        if self.best > _CHEAPER * self.shortened:
            return
        first, last = self.price.affordable(low, high, self.best)
        full = (first <= last).all(axis=1)
        if full.any():
            self.region = self.region.within(first[full].min(axis=0), last[full].max(axis=0))
        self.shortened = self.best

    def _loop(self, low: Float64Array, high: Float64Array) -> Status:
        at_once = 1
        while True:
            self._shorten(low, high)
            self.open = self.open.take(self.open.bound < self.best)
            self.clock.note(self.best, self._lowest, self.work)
            if not len(self.open.bound):
                return Status.INFEASIBLE if self.x is None else Status.OPTIMAL
            if self.clock.is_close(self.best, self._lowest):
                return Status.OPTIMAL
            if self.clock.is_over:
                return Status.TIME_LIMIT
            if not self._round(at_once):
                return Status.STALLED
            at_once = min(2 * at_once, self._most)

    @property
    def _most(self) -> int:
        """Boxes in one round: fewer where columns have many levels."""
        floats = sum(curve.size for score in self.region.scores for curve in score.curves)
        return max(1, min(_MOST_AT_ONCE, _MOST_FLOATS // floats))

    # ---- boxes

    def _round(self, at_once: int) -> bool:
        """Halve the boxes with the lowest bounds; False if the first of them is too narrow."""
        chosen = np.argsort(self.open.bound, kind="stable")[:at_once]
        axis = self._axis(self.open.take(chosen))
        if axis[0] < 0:
            return False
        chosen, axis = chosen[axis >= 0], axis[axis >= 0]
        some = self.open.take(chosen)
        found = self._bounded(*self._halves(some, axis), np.repeat(some.bound, 2))
        self.open = self.open.take(~np.isin(np.arange(len(self.open.bound)), chosen)).join(found)
        return True

    def _axis(self, some: _Open) -> NDArray[np.intp]:
        """Along which axis each box is halved: that with the largest effect; -1 if all are narrow."""
        wide = some.high - some.low > _NARROW * (np.abs(some.low) + np.abs(some.high) + 1 / self.price.unit)
        effects = np.where(wide, some.effects, -1.0)
        return np.where(wide.any(axis=1), effects.argmax(axis=1), -1)

    def _halves(self, some: _Open, axis: NDArray[np.intp]) -> tuple[Float64Array, Float64Array]:
        low, high = np.repeat(some.low, 2, axis=0), np.repeat(some.high, 2, axis=0)
        for i in np.unique(axis):
            own = np.flatnonzero(axis == i)
            end, begin = self._split(int(i), low[2 * own, i], high[2 * own, i])
            high[2 * own, i], low[2 * own + 1, i] = end, begin
        return low, high

    def _split(self, i: int, low: Float64Array, high: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Where intervals of an axis are halved; of a category first the row's own level, which costs nothing."""
        end, begin = self.region.axes[i].split(low, high)
        own = self.price.levels[i] & (low == self.price.start[i])
        return np.where(own, low, end), np.where(own, low + 1, begin)

    def _bounded(self, low: Float64Array, high: Float64Array, least: Float64Array) -> _Open:
        """Boxes without what is too dear, and those of them that may hold a better point; ``least`` bounds them all."""
        low, high = self.price.affordable(low, high, self.best)
        full = (low <= high).all(axis=1)
        low, high, least = low[full], high[full], least[full]
        if not len(low):
            return _Open(low, high, least, low)
        found = box_bounds(self.region, self.price, Boxes.between(self.region.axes, low, high))
        self.work += len(low)
        single = self._single(low, high, found.price < self.best)
        some = np.isfinite(found.price) & ~single
        self._try(found.points[some])
        return _Open(low, high, np.maximum(found.price, least), found.effects).take(some)

    # ---- points

    def _offer(self, x: Float64Array) -> None:
        """Keep a point that is valid as computed here, or a cheaper one, if ``predict`` agrees."""
        if self.price.total(x[None])[0] < self.best:
            own = self.closer(x)
            if self.reached(own[None])[0]:
                self._take(own)

    def _take(self, x: Float64Array) -> None:
        total = float(self.price.total(x[None])[0])
        if total < self.best:
            self.x, self.best = x, total

    def _single(self, low: Float64Array, high: Float64Array, cheap: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which boxes are single points: of them ``predict`` tells all."""
        single = (low == high).all(axis=1)
        points = low[single & cheap]
        for x in points[self.reached(points)] if len(points) else ():
            self._take(x)
        return np.asarray(single)

    def _try(self, points: Float64Array) -> None:
        """Look for valid points among those that the bounds point at, and further away in their directions."""
        low, high = (np.array([getattr(axis, end) for axis in self.region.axes]) for end in ("low", "high"))
        away = np.where(self.price.levels, 0.0, points - self.price.start)
        every = np.concatenate([np.clip(points + more * away, low, high) for more in _FURTHER])
        every = np.where(self.price.whole, np.rint(every), every)
        cheap = every[self.price.total(every) < self.best]
        valid = cheap[self.region.excess(cheap) >= 0] if len(cheap) else cheap
        if len(valid):
            self._offer(valid[np.argmin(self.price.total(valid))])
