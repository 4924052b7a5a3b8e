"""Linear constraints on the free columns: low ≤ R x ≤ high, one row and one text each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak.pencil.spectrum import Float64Array

FEASIBLE = 1e-9  # by which a constraint may be missed, relative to the size of its terms


@final
@dataclass(frozen=True, eq=False)
class LinearRows:
    """low ≤ matrix x ≤ high, in coordinates of the axes.

    Attributes
    ----------
    matrix : array of shape (rows, axes)
    low, high : arrays of shape (rows,)
        Infinite where there is no such limit.
    texts : tuple of str
        What the user wrote.
    """

    matrix: Float64Array
    low: Float64Array
    high: Float64Array
    texts: tuple[str, ...]

    @classmethod
    def none(cls, axes: int) -> LinearRows:
        """No constraint."""
        return cls(np.zeros((0, axes)), np.zeros(0), np.zeros(0), ())

    def __len__(self) -> int:
        return len(self.matrix)

    def excess(self, x: Float64Array) -> Float64Array:
        """By how much points (n, axes) miss each constraint, (n, rows), beyond what rounding allows; at least 0."""
        own = x @ self.matrix.T
        room = FEASIBLE * (np.abs(x) @ np.abs(self.matrix).T + np.abs(np.where(np.isfinite(self.low), self.low, 0.0)))
        return np.asarray(np.maximum(np.maximum(self.low - own, own - self.high) - room, 0.0))

    def hold(self, x: Float64Array) -> NDArray[np.bool_]:
        """Whether points (n, axes) meet all of them, (n,)."""
        return np.asarray(~self.excess(x).any(axis=1))
