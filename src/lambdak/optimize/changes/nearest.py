r"""The cheapest point that reaches a goal: best-first branch and bound over boxes, by price.

What it costs at least to reach the goal within a box follows from bounds of the raw scores that are sums over columns.

With U(x) = base + Σ_i φ_i(x_i) above a term's left side, every point that reaches the goal has U(x) ≥ 0, so that for
every y ≥ 0 its price Σ_i c_i(x_i) is at least

    Σ_i min_v [c_i(v) − y φ_i(v)] − y base        (Lagrange),

where v are the vertices of the box: c_i is affine between them, and φ_i no higher than the straight line. Where the
price is the largest of the c_i, it is at least the smallest r for which base + Σ_i max {φ_i(v) : c_i(v) ≤ r} ≥ 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.optimize.changes.goals import Region
from lambdak.optimize.changes.rows import Price
from lambdak.optimize.frontier import Clock, Frontier, Open, Solution, Status
from lambdak.optimize.relaxation import Boxes, Separable

_HALVINGS = 24
_STEPS = 3  # to bounds of raw scores whose maximum is lower
_INWARDS = 1 - 1e-12  # covers the rounding of prices
_WIDE = np.log(2.0**30)  # of multipliers, around the one that weighs all prices like all effects
_NOTHING, _LARGE = 1e-300, 300.0  # of the logarithm of a multiplier: where nothing has an effect
_MOST_AT_ONCE = 32  # boxes that are halved in one round
_MOST_FLOATS = 1 << 24  # of the matrices of one round
_FURTHER = (0.0, 0.05, 0.2, 0.5, 1.0)  # shares of a move that are added to it
_CHEAPER = 0.8  # than before: axes are then shortened again
_NARROW = 1e-11  # relative: narrower boxes are not halved


class BoxBounds(NamedTuple):
    """The least price of boxes (n,), infinite where the goal is out of reach, points to try, and what axes do there.

    points : (n, axes)
    effects : (n, axes), how much a raw score can differ along each axis
    """

    price: Float64Array
    points: Float64Array
    effects: Float64Array


def box_bounds(region: Region, price: Price, boxes: Boxes) -> BoxBounds:
    """Bounds of prices on boxes."""
    costs = [price.part(i, vertex) for i, vertex in enumerate(boxes.vertices)]
    uppers = region.uppers(boxes, _STEPS if price.largest else 0)
    found = [_one_term(price, costs, boxes, upper) for upper in uppers]
    prices = np.stack([box.price for box in found])
    which = prices.argmax(axis=0) if region.every else prices.argmin(axis=0)
    every = np.arange(len(boxes))
    points, effects = (np.stack(parts)[which, every] for parts in list(zip(*found, strict=True))[1:])
    return BoxBounds(prices[which, every], points, effects)


def _one_term(price: Price, costs: Sequence[Float64Array], boxes: Boxes, upper: Separable) -> BoxBounds:
    reach = upper.base + sum(part.max(axis=1) for part in upper.parts)
    least, points = (_radius if price.largest else _lagrange)(price, costs, boxes, upper)
    effects = np.stack([np.ptp(part, axis=1) for part in upper.parts], axis=1)
    return BoxBounds(np.where(reach < 0, np.inf, least * _INWARDS), points, effects)


def _lagrange(
    price: Price, costs: Sequence[Float64Array], boxes: Boxes, upper: Separable
) -> tuple[Float64Array, Float64Array]:
    """The best multiplier by halving its logarithm: the bound is concave in it."""
    dual = _Dual.of(costs, upper)
    size = np.log(sum(cost.max(axis=1) for cost in costs) + _NOTHING)
    size -= np.log(sum(np.ptp(part, axis=1) for part in upper.parts) + _NOTHING)
    size = np.clip(size, -_LARGE, _LARGE)
    low, high = size - _WIDE, size + _WIDE
    best = np.asarray(sum(cost.min(axis=1) for cost in costs))  # a multiplier of zero
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        value, slack = dual.at(np.exp(middle))
        best = np.maximum(best, value)
        low, high = np.where(slack < 0, middle, low), np.where(slack < 0, high, middle)
    y = np.exp(high)[:, None]
    chosen = [np.argmin(cost - y * part, axis=1)[:, None] for cost, part in zip(costs, upper.parts, strict=True)]
    points = [np.take_along_axis(vertex, v, axis=1) for vertex, v in zip(boxes.vertices, chosen, strict=True)]
    return best, np.concatenate(points, axis=1)


class _Dual(NamedTuple):
    """The vertices of all axes side by side: prices and effects (n, all), and where each axis begins."""

    costs: Float64Array
    effects: Float64Array
    begins: NDArray[np.intp]
    sizes: list[int]
    base: Float64Array
    rounding: tuple[Float64Array, Float64Array]  # of sums of prices, and of effects, (n,) each

    @classmethod
    def of(cls, costs: Sequence[Float64Array], upper: Separable) -> _Dual:
        sizes = [cost.shape[1] for cost in costs]
        begins = np.cumsum([0, *sizes[:-1]])
        unit = (len(sizes) + 8) * float(np.finfo(np.float64).eps)
        prices = unit * np.asarray(sum(prices.max(axis=1) for prices in costs))
        effects = unit * (np.abs(upper.base) + sum(np.abs(part).max(axis=1) for part in upper.parts))
        every = np.concatenate(costs, axis=1), np.concatenate(upper.parts, axis=1)
        return cls(*every, begins, sizes, upper.base, (prices, effects))

    def at(self, y: Float64Array) -> tuple[Float64Array, Float64Array]:
        """The bound for multipliers (n,), and U at the vertices that attain it."""
        weighed = self.costs - y[:, None] * self.effects
        least = np.minimum.reduceat(weighed, self.begins, axis=1)
        chosen = np.where(weighed <= np.repeat(least, self.sizes, axis=1), self.effects, -np.inf)
        slack = self.base + np.maximum.reduceat(chosen, self.begins, axis=1).sum(axis=1)
        return least.sum(axis=1) - y * self.base - (self.rounding[0] + y * self.rounding[1]), slack


def _radius(
    price: Price, costs: Sequence[Float64Array], boxes: Boxes, upper: Separable
) -> tuple[Float64Array, Float64Array]:
    """The smallest radius by halving."""
    low = np.maximum.reduce([cost.min(axis=1) for cost in costs])
    high = np.maximum.reduce([cost.max(axis=1) for cost in costs])
    first = _within(low, price, costs, boxes, upper)
    high = np.where(first[0] >= 0, low, high)
    steps = [_INWARDS * unit for unit in np.unique(price.unit[price.levels])]  # just before other levels come in
    for k in range(_HALVINGS + len(steps)):
        middle = np.clip(steps[k], low, high) if k < len(steps) else 0.5 * (low + high)
        enough = _within(middle, price, costs, boxes, upper)[0] >= 0
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return low, _within(high, price, costs, boxes, upper)[1]


def _within(
    radius: Float64Array, price: Price, costs: Sequence[Float64Array], boxes: Boxes, upper: Separable
) -> tuple[Float64Array, Float64Array]:
    """The largest U where no axis costs more than a radius (n,), and where that is, (n, axes)."""
    total, points = upper.base, []
    for i, (cost, part, v) in enumerate(zip(costs, upper.parts, boxes.vertices, strict=True)):
        values, places = _reached(radius[:, None], cost, part, v, bool(price.levels[i]))
        best = values.argmax(axis=1)[:, None]
        total = total + np.take_along_axis(values, best, axis=1)[:, 0]
        points.append(np.take_along_axis(places, best, axis=1))
    x = np.concatenate(points, axis=1)
    return total, np.where(price.whole, np.rint(x), x)


def _reached(
    radius: Float64Array, cost: Float64Array, part: Float64Array, v: Float64Array, levels: bool
) -> tuple[Float64Array, Float64Array]:
    """φ and places of vertices within a radius, and of where it ends on the way to their neighbours."""
    inside = cost <= radius
    values, places = [np.where(inside, part, -np.inf)], [v]
    for a, b in () if levels else ((slice(None, -1), slice(1, None)), (slice(1, None), slice(None, -1))):
        step = cost[:, b] - cost[:, a]
        share = np.clip((radius - cost[:, a]) / np.where(step > 0, step, np.inf), 0.0, 1.0)
        values.append(np.where(inside[:, a], part[:, a] + share * (part[:, b] - part[:, a]), -np.inf))
        places.append(v[:, a] + share * (v[:, b] - v[:, a]))
    return np.concatenate(values, axis=1), np.concatenate(places, axis=1)


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
    shortened: float = np.finfo(np.float64).max  # the price that axes were shortened for
    frontier: Frontier = field(init=False)

    def run(self, low: Float64Array, high: Float64Array, starts: Iterable[Float64Array] = ()) -> Solution:
        """Return the cheapest point in any of the boxes (n, axes); ``starts`` are valid points to begin with."""
        boxes = Open.of(low, high, self.price.joined(self.price.least(low, high)))
        self.frontier = Frontier(boxes, self.clock)
        try:
            for x in starts:
                self._offer(x)
            self._shorten(low, high)
            self.frontier.open = self._bounded(boxes)
            status = self._search(low, high)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return self.frontier.solution(status, "branch and bound")

    @property
    def best(self) -> float:
        """The price of the cheapest point so far."""
        return self.frontier.best.value

    def _shorten(self, low: Float64Array, high: Float64Array) -> None:
        """Leave out of the axes what is too dear anywhere in the boxes to search."""
        if self.best > _CHEAPER * self.shortened:
            return
        first, last = self.price.affordable(low, high, self.best)
        full = (first <= last).all(axis=1)
        if full.any():
            self.region = self.region.within(first[full].min(axis=0), last[full].max(axis=0))
        self.shortened = self.best

    def _search(self, low: Float64Array, high: Float64Array) -> Status:
        """Halve boxes, more and more in one round, until the search ends."""
        frontier, at_once = self.frontier, 1
        while True:
            self._shorten(low, high)
            frontier.open = frontier.open.take(frontier.open.bound < self.best)
            frontier.note()
            if (status := frontier.status()) is not None:
                return status
            if not self._halve(at_once):
                return Status.STALLED
            at_once = min(2 * at_once, self._most)

    @property
    def _most(self) -> int:
        """Boxes in one round: fewer where columns have many levels."""
        floats = sum(curve.size for score in self.region.scores for curve in score.curves)
        return max(1, min(_MOST_AT_ONCE, _MOST_FLOATS // floats))

    # ---- boxes

    def _halve(self, at_once: int) -> bool:
        """Halve the boxes with the lowest bounds; False if the first of them is too narrow."""
        boxes = self.frontier.open
        chosen = np.argsort(boxes.bound, kind="stable")[:at_once]
        axis = self._axis(boxes.take(chosen))
        if axis[0] < 0:
            return False
        chosen, axis = chosen[axis >= 0], axis[axis >= 0]
        first, second = boxes.take(chosen).halved(axis, self._split)
        side_by_side = np.arange(2 * len(chosen)).reshape(2, -1).T.ravel()
        halves = self._bounded(first.joined(second).take(side_by_side))
        self.frontier.open = boxes.without(chosen).joined(halves)
        return True

    def _axis(self, boxes: Open) -> NDArray[np.intp]:
        """Return along which axis each box is halved: that with the largest effect; -1 if all are narrow."""
        wide = boxes.high - boxes.low > _NARROW * (np.abs(boxes.low) + np.abs(boxes.high) + 1 / self.price.unit)
        effects = np.where(wide, boxes.effects, -1.0)
        return np.where(wide.any(axis=1), effects.argmax(axis=1), -1)

    def _split(self, i: int, low: Float64Array, high: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return where intervals of an axis are halved: of a category first the row's own level, which is free."""
        end, begin = self.region.axes[i].split(low, high)
        stays = self.price.levels[i] & (low == self.price.start[i])
        return np.where(stays, low, end), np.where(stays, low + 1, begin)

    def _bounded(self, boxes: Open) -> Open:
        """Return boxes without what is too dear, and those of them that may hold a better point, with their bounds."""
        low, high = self.price.affordable(boxes.low, boxes.high, self.best)
        boxes = boxes._replace(low=low, high=high).take(np.asarray((low <= high).all(axis=1)))
        if not boxes.size:
            return boxes
        found = box_bounds(self.region, self.price, Boxes.between(self.region.axes, boxes.low, boxes.high))
        self.frontier.work += boxes.size
        single = self._single(boxes.low, boxes.high, found.price < self.best)
        some = np.isfinite(found.price) & ~single
        self._try(found.points[some])
        return boxes._replace(bound=np.maximum(found.price, boxes.bound), effects=found.effects).take(some)

    # ---- points

    def _offer(self, x: Float64Array) -> None:
        """Keep a point that is valid as computed here, or a cheaper one, if ``predict`` agrees."""
        if self.price.total(x[None])[0] < self.best:
            closer = self.closer(x)
            if self.reached(closer[None])[0]:
                self._take(closer)

    def _take(self, x: Float64Array) -> None:
        self.frontier.best.offer(x, float(self.price.total(x[None])[0]))

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
