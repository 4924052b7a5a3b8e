r"""What it costs at least to reach a goal within a box, from bounds of the raw scores that are sums over columns.

With U(x) = base + Σ_i φ_i(x_i) above a term's left side, every point that reaches the goal has U(x) ≥ 0, so that for
every y ≥ 0 its price Σ_i c_i(x_i) is at least

    Σ_i min_v [c_i(v) − y φ_i(v)] − y base        (Lagrange),

where v are the vertices of the box: c_i is affine between them, and φ_i no higher than the straight line. Where the
price is the largest of the c_i, it is at least the smallest r for which base + Σ_i max {φ_i(v) : c_i(v) ≤ r} ≥ 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.optimize.changes.decisions import Region
from lambdak.optimize.changes.prices import Price
from lambdak.optimize.relaxation import Boxes, Separable

_HALVINGS = 24
_STEPS = 3  # to bounds of raw scores whose maximum is lower
_INWARDS = 1 - 1e-12  # covers the rounding of prices
_WIDE = np.log(2.0**30)  # of multipliers, around the one that weighs all prices like all effects
_NOTHING, _LARGE = 1e-300, 300.0  # of the logarithm of a multiplier: where nothing has an effect


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
    costs = [price.part(i, own) for i, own in enumerate(boxes.vertices)]
    uppers = region.uppers(boxes, _STEPS if price.largest else 0)
    found = [_one_term(price, costs, boxes, upper) for upper in uppers]
    prices = np.stack([own.price for own in found])
    which = prices.argmax(axis=0) if region.every else prices.argmin(axis=0)
    every = np.arange(len(boxes))
    points, effects = (np.stack(own)[which, every] for own in list(zip(*found, strict=True))[1:])
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
    points = [np.take_along_axis(own, v, axis=1) for own, v in zip(boxes.vertices, chosen, strict=True)]
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
        sizes = [own.shape[1] for own in costs]
        begins = np.cumsum([0, *sizes[:-1]])
        unit = (len(sizes) + 8) * float(np.finfo(np.float64).eps)
        prices = unit * np.asarray(sum(own.max(axis=1) for own in costs))
        effects = unit * (np.abs(upper.base) + sum(np.abs(own).max(axis=1) for own in upper.parts))
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
