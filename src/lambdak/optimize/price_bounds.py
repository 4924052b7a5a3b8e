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

from lambdak.optimize.goals import Region
from lambdak.optimize.prices import Price
from lambdak.optimize.relaxation import Boxes, Separable
from lambdak.pencil.spectrum import Float64Array

_HALVINGS = 24
_INWARDS = 1 - 1e-12  # covers the rounding of prices
_WIDE = 2.0**30  # of multipliers, around the one that weighs all prices like all effects


class BoxBounds(NamedTuple):
    """Of boxes: the least price (n,), infinite where the goal is out of reach, points to try, and what axes do there.

    points : (n, axes)
    effects : (n, axes), how much a raw score can differ along each axis
    """

    price: Float64Array
    points: Float64Array
    effects: Float64Array


def box_bounds(region: Region, price: Price, boxes: Boxes) -> BoxBounds:
    """Bounds of prices on boxes."""
    costs = [price.part(i, own) for i, own in enumerate(boxes.vertices)]
    bound = _radius if price.largest else _lagrange
    found = [_one_term(bound, price, costs, boxes, upper) for upper in region.uppers(boxes)]
    prices = np.stack([own.price for own in found])
    which = prices.argmax(axis=0) if region.every else prices.argmin(axis=0)
    every = np.arange(len(boxes))
    points, effects = (np.stack(own)[which, every] for own in list(zip(*found, strict=True))[1:])
    return BoxBounds(prices[which, every], points, effects)


def _one_term(
    bound: object, price: Price, costs: Sequence[Float64Array], boxes: Boxes, upper: Separable
) -> BoxBounds:
    reach = upper.base + sum(part.max(axis=1) for part in upper.parts)
    least, points = bound(price, costs, boxes, upper)  # type: ignore[operator]
    effects = np.stack([np.ptp(part, axis=1) for part in upper.parts], axis=1)
    return BoxBounds(np.where(reach < 0, np.inf, least * _INWARDS), points, effects)


def _lagrange(
    price: Price, costs: Sequence[Float64Array], boxes: Boxes, upper: Separable
) -> tuple[Float64Array, Float64Array]:
    """The best multiplier by halving its logarithm: the bound is concave in it."""
    size = sum(cost.max(axis=1) for cost in costs) / (sum(np.ptp(part, axis=1) for part in upper.parts) + 1e-300)
    low, high = np.log(size + 1e-300) - np.log(_WIDE), np.log(size + 1e-300) + np.log(_WIDE)
    best = np.asarray(sum(cost.min(axis=1) for cost in costs))  # y = 0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        value, slack, _ = _dual(np.exp(middle), costs, upper)
        best = np.maximum(best, value)
        low, high = np.where(slack < 0, middle, low), np.where(slack < 0, high, middle)
    chosen = _dual(np.exp(high), costs, upper)[2]
    points = [np.take_along_axis(own, v[:, None], axis=1)[:, 0] for own, v in zip(boxes.vertices, chosen, strict=True)]
    return best, np.stack(points, axis=1)


def _dual(
    y: Float64Array, costs: Sequence[Float64Array], upper: Separable
) -> tuple[Float64Array, Float64Array, list[Float64Array]]:
    """The bound for a multiplier, U at its vertices, and which they are."""
    value, slack, chosen = -y * upper.base, upper.base.copy(), []
    for cost, part in zip(costs, upper.parts, strict=True):
        weighed = cost - y[:, None] * part
        own = weighed.argmin(axis=1)[:, None]
        value = value + np.take_along_axis(weighed, own, axis=1)[:, 0]
        slack = slack + np.take_along_axis(part, own, axis=1)[:, 0]
        chosen.append(own[:, 0])
    return value, slack, chosen


def _radius(
    price: Price, costs: Sequence[Float64Array], boxes: Boxes, upper: Separable
) -> tuple[Float64Array, Float64Array]:
    """The smallest radius by halving."""
    low = np.maximum.reduce([cost.min(axis=1) for cost in costs])
    high = np.maximum.reduce([cost.max(axis=1) for cost in costs])
    first = _within(low, price, costs, boxes, upper)
    high = np.where(first[0] >= 0, low, high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        enough = _within(middle, price, costs, boxes, upper)[0] >= 0
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return low, _within(high, price, costs, boxes, upper)[1]


def _within(
    radius: Float64Array, price: Price, costs: Sequence[Float64Array], boxes: Boxes, upper: Separable
) -> tuple[Float64Array, Float64Array]:
    """The largest U where no axis costs more than a radius (n,), and where that is, (n, axes)."""
    total, points = upper.base, []
    for i, (cost, part, v) in enumerate(zip(costs, upper.parts, boxes.vertices, strict=True)):
        share = _shares(cost, radius[:, None], bool(price.levels[i]))  # of the way to each neighbour
        inside = cost <= radius[:, None]
        values = [np.where(inside, part, -np.inf)]
        places = [v]
        for a, b in ((slice(None, -1), slice(1, None)), (slice(1, None), slice(None, -1))):
            t = share(a, b)
            values.append(np.where(inside[:, a], part[:, a] + t * (part[:, b] - part[:, a]), -np.inf))
            places.append(v[:, a] + t * (v[:, b] - v[:, a]))
        every, at = np.concatenate(values, axis=1), np.concatenate(places, axis=1)
        best = every.argmax(axis=1)[:, None]
        total = total + np.take_along_axis(every, best, axis=1)[:, 0]
        points.append(np.take_along_axis(at, best, axis=1)[:, 0])
    x = np.stack(points, axis=1)
    return total, np.where(price.whole, np.rint(x), x)


def _shares(cost: Float64Array, radius: Float64Array, levels: bool):  # type: ignore[no-untyped-def]
    """How far on the way from vertex a to vertex b the radius ends, in [0, 1]; a category has nothing between."""

    def share(a: slice, b: slice) -> Float64Array:
        if levels:
            return np.zeros(cost[:, a].shape)
        step = cost[:, b] - cost[:, a]
        return np.asarray(np.clip((radius - cost[:, a]) / np.where(step > 0, step, np.inf), 0.0, 1.0))

    return share
