"""What it costs to move away from a row: so much for each unit of a number, or for another level of a category.

On an axis that has the row's own coordinate among its points, the price is affine between vertices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array

_OUTWARDS = 1e-12  # relative: covers the rounding of prices
_UNITS = 8 * float(np.finfo(np.float64).eps)  # the same of coordinates


@final
@dataclass(frozen=True, eq=False)
class Price:
    """Σ_i, or with ``largest`` max_i, of unit_i |x_i − start_i|; of a category unit_i if its level is another one.

    Attributes
    ----------
    start, unit : arrays of shape (axes,)
        The row's own coordinates; unit is positive.
    levels, whole : arrays of shape (axes,)
        Whether an axis is a category, and whether it has whole coordinates only.
    largest : bool
    """

    start: Float64Array
    unit: Float64Array
    levels: NDArray[np.bool_]
    whole: NDArray[np.bool_]
    largest: bool = False

    def parts(self, x: Float64Array) -> Float64Array:
        """What each axis costs, (n, axes)."""
        moved = np.abs(x - self.start)
        return np.asarray(self.unit * np.where(self.levels, moved != 0, moved))

    def part(self, i: int, x: Float64Array) -> Float64Array:
        """What axis i costs at coordinates of any shape."""
        moved = np.abs(x - self.start[i])
        return np.asarray(self.unit[i] * ((moved != 0) if self.levels[i] else moved))

    def total(self, x: Float64Array) -> Float64Array:
        """What points (n, axes) cost, (n,)."""
        return self.joined(self.parts(x))

    def joined(self, parts: Float64Array) -> Float64Array:
        """The price from those of the axes, (n, axes)."""
        return np.asarray(parts.max(axis=1, initial=0.0) if self.largest else parts.sum(axis=1))

    def least(self, low: Float64Array, high: Float64Array) -> Float64Array:
        """What each axis costs at least in boxes, (n, axes)."""
        return self.parts(np.clip(self.start, low, high))

    def affordable(self, low: Float64Array, high: Float64Array, budget: float) -> tuple[Float64Array, Float64Array]:
        """The boxes without what costs more than the budget; a box of which nothing is left has low > high."""
        if not np.isfinite(budget):
            return low, high
        least = self.least(low, high)
        rest = 0.0 if self.largest else least.sum(axis=1, keepdims=True) - least
        room = (budget * (1 + _OUTWARDS) - rest) / self.unit + _UNITS * np.abs(self.start)
        first, last = self.start - room, self.start + room
        first, last = np.where(self.whole, np.ceil(first), first), np.where(self.whole, np.floor(last), last)
        stay = self.levels & (room < 1 - _OUTWARDS)
        first, last = np.where(stay, self.start, first), np.where(stay, self.start, last)
        free = self.levels & ~stay
        return np.where(free, low, np.maximum(low, first)), np.where(free, high, np.minimum(high, last))
