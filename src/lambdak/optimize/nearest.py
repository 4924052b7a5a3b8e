"""The cheapest point that reaches a goal: best-first branch and bound over boxes, by price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak.optimize.goals import Region
from lambdak.optimize.price_bounds import box_bounds
from lambdak.optimize.prices import Price
from lambdak.optimize.relaxation import Boxes
from lambdak.optimize.solution import Clock, Solution, Status
from lambdak.pencil.spectrum import Float64Array

_MOST_AT_ONCE = 32  # boxes that are halved in one round
_NARROW = 1e-11  # relative: narrower boxes are not halved


@final
@dataclass(eq=False)
class Nearest:
    """One search.

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
    low: Float64Array = field(init=False)
    high: Float64Array = field(init=False)
    bound: Float64Array = field(init=False)
    points: Float64Array = field(init=False)
    effects: Float64Array = field(init=False)

    def offer(self, x: Float64Array) -> None:
        """Keep a point that is valid as computed here, or a cheaper one, if ``predict`` agrees."""
        if self.price.total(x[None])[0] < self.best:
            own = self.closer(x)
            if self.reached(own[None])[0]:
                self._take(own)

    def _take(self, x: Float64Array) -> None:
        total = float(self.price.total(x[None])[0])
        if total < self.best:
            self.x, self.best = x, total

    def run(self, low: Float64Array, high: Float64Array) -> Solution:
        """The cheapest point in any of the boxes (n, axes)."""
        axes = low.shape[1]
        self.low, self.high, self.bound = np.empty((0, axes)), np.empty((0, axes)), np.empty(0)
        self.points, self.effects = np.empty((0, axes)), np.empty((0, axes))
        try:
            self._add(low, high)
            status = self._loop()
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return Solution(self.x, self.best, self._lowest, status, "branch and bound", tuple(self.clock.trace))

    @property
    def _lowest(self) -> float:
        return float(min(self.bound.min(initial=np.inf), self.best))

    def _loop(self) -> Status:
        at_once = 1
        while True:
            self._keep(self.bound < self.best)
            self.clock.note(self.best, self._lowest, self.work)
            if not len(self.bound):
                return Status.INFEASIBLE if self.x is None else Status.OPTIMAL
            if self.clock.is_close(self.best, self._lowest):
                return Status.OPTIMAL
            if self.clock.is_over:
                return Status.TIME_LIMIT
            if not self._round(at_once):
                return Status.STALLED
            at_once = min(2 * at_once, _MOST_AT_ONCE)

    def _round(self, at_once: int) -> bool:
        """Halve the boxes with the lowest bounds; False if the first of them is too narrow."""
        chosen = np.argsort(self.bound, kind="stable")[:at_once]
        axis = self._axis(chosen)
        wide = axis >= 0
        if not wide[0]:
            return False
        low, high = self._halves(chosen[wide], axis[wide])
        self._keep(~np.isin(np.arange(len(self.bound)), chosen[wide]))
        self._add(low, high)
        return True

    def _axis(self, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """Along which axis each box is halved: that with the largest effect; -1 if all are narrow."""
        low, high = self.low[chosen], self.high[chosen]
        wide = high - low > _NARROW * (np.abs(low) + np.abs(high) + 1 / self.price.unit)
        effects = np.where(wide, self.effects[chosen] + 1e-300, -1.0)
        return np.where(wide.any(axis=1), effects.argmax(axis=1), -1)

    def _halves(self, chosen: NDArray[np.intp], axis: NDArray[np.intp]) -> tuple[Float64Array, Float64Array]:
        low, high = np.repeat(self.low[chosen], 2, axis=0), np.repeat(self.high[chosen], 2, axis=0)
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

    def _add(self, low: Float64Array, high: Float64Array) -> None:
        low, high = self.price.affordable(low, high, self.best)
        full = (low <= high).all(axis=1)
        low, high = low[full], high[full]
        if not len(low):
            return
        found = box_bounds(self.region, self.price, Boxes.between(self.region.scores[0], low, high))
        self.work += len(low)
        open_ = np.isfinite(found.price) & ~self._single(low, high, found.price < self.best)
        for name, own in (("low", low), ("high", high), ("bound", found.price), ("points", found.points)):
            setattr(self, name, np.concatenate([getattr(self, name), own[open_]]))
        self.effects = np.concatenate([self.effects, found.effects[open_]])
        self._try(found.points[open_])

    def _single(self, low: Float64Array, high: Float64Array, cheap: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which boxes are single points: of them ``predict`` tells all."""
        single = (low == high).all(axis=1)
        points = low[single & cheap]
        for x in points[self.reached(points)] if len(points) else ():
            self._take(x)
        return np.asarray(single)

    def _try(self, points: Float64Array) -> None:
        """Look for valid points among those that the bounds point at."""
        cheap = points[self.price.total(points) < self.best]
        if not len(cheap):
            return
        valid = cheap[self.region.excess(cheap) >= 0]
        if len(valid):
            self.offer(valid[np.argmin(self.price.total(valid))])

    def _keep(self, which: NDArray[np.bool_]) -> None:
        for name in ("low", "high", "bound", "points", "effects"):
            setattr(self, name, getattr(self, name)[which])
