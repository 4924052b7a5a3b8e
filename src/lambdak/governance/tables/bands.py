r"""Where the bands of a column end: at its knots, so that its curve is nearly constant within each.

The curve is cut into stretches from knot to knot. Of all ways to join neighbours into n bands, dynamic programming
finds the one with the least weighted squared distance between the curve and its mean in each band; n is the smallest
number that leaves next to nothing, or the most that is allowed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lambdak._types import Float64Array
from lambdak.model.outward import downwards
from lambdak.table.numeric_column import Numeric

_MOST_STRETCHES = 200  # that are joined; a column with more knots is thinned out
_LINE_STRETCHES = 32  # of a column without knots
_LEAST = 0.005  # of the weight of all rows: what a band holds at least
_FLOOR = 1e-3  # of the mean weight of a stretch: what one without rows counts
_ROOM = 0.1  # of the way down to the knot before, by which an edge may be rounded to fewer digits


class Stretches(NamedTuple):
    """From knot to knot: where each begins, its weight, and the weighted sums of a curve and its square."""

    begins: Float64Array
    weight: Float64Array
    first: Float64Array
    second: Float64Array


def candidates(column: Numeric) -> Float64Array:
    """Numbers at which a band may begin or end, the lowest first."""
    nodes = np.unique(column.nodes())
    if not len(column.corners()) and len(nodes) > 1:
        nodes = np.unique(np.linspace(nodes[0], nodes[-1], _LINE_STRETCHES + 1))
    if len(nodes) > _MOST_STRETCHES:
        nodes = nodes[np.unique(np.linspace(0, len(nodes) - 1, _MOST_STRETCHES).astype(int))]
    return np.asarray(nodes)


def stretches(begins: Float64Array, curve: Float64Array, x: Float64Array, weight: Float64Array) -> Stretches:
    """The stretches of a curve through its values at ``begins``, over rows x (n,) of these weights, none missing."""
    n = len(begins)
    after = np.append(curve[1:], curve[-1])
    floor = _FLOOR * float(weight.sum() / n) if len(x) and weight.any() else 1.0
    at, own = np.maximum(np.searchsorted(begins, x, side="right") - 1, 0), np.interp(x, begins, curve)
    sums = [np.bincount(at, weight * own**power, n) for power in (0, 1, 2)]
    return Stretches(
        begins,
        np.asarray(sums[0] + floor),
        sums[1] + floor * (curve + after) / 2,
        sums[2] + floor * (curve * curve + curve * after + after * after) / 3,
    )


def best_edges(own: Stretches, most: int, enough: float) -> Float64Array:
    """The edges of at most ``most`` bands; fewer if they leave a weighted squared distance of ``enough``."""
    n = len(own.begins)
    weight, first, second = (np.concatenate([[0.0], np.cumsum(each)]) for each in own[1:])
    with np.errstate(invalid="ignore", divide="ignore"):
        mass = weight[None, :] - weight[:, None]
        rest = second[None, :] - second[:, None] - (first[None, :] - first[:, None]) ** 2 / mass
    allowed = (np.arange(n + 1)[:, None] < np.arange(n + 1)) & (mass >= _LEAST * weight[-1])
    cost = np.where(allowed, np.maximum(rest, 0.0), np.inf)  # of a band from stretch i to before j
    best, cuts = [cost[0]], [np.zeros(n + 1, int)]
    while len(cuts) < min(most, n) and best[-1][n] > enough:
        total = best[-1][:, None] + cost
        cuts.append(total.argmin(axis=0))
        best.append(total.min(axis=0))
    count = int(np.argmin([own[n] for own in best]))
    at, found = n, []
    for own_cuts in cuts[count:0:-1]:
        at = int(own_cuts[at])
        found.append(at)
    return np.unique([_rounded(own.begins, i) for i in found if i])


def _rounded(begins: Float64Array, i: int) -> float:
    """A number with as few digits as possible, a little below begins[i] at most: that itself stays in its band."""
    number, room = float(begins[i]), _ROOM * float(begins[i] - begins[i - 1])
    for digits in range(1, 17):
        short = float(downwards(number, digits))
        if 0.0 <= number - short <= room:
            return short
    return number
