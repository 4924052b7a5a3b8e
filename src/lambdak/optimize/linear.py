"""Linear constraints on the free columns: low ≤ R x ≤ high, one row and one text each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from lambdak.pencil.spectrum import Float64Array

FEASIBLE = 1e-9  # by which a constraint may be missed, relative to the size of its terms
_ROUNDS = 2  # of tightening the bounds
_NO_POINT = 2  # SciPy's status of a problem that no point solves


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

    def one_sided(self) -> LinearRows:
        """The same as matrix x ≤ high alone."""
        above, below = np.isfinite(self.high), np.isfinite(self.low)
        texts = [text for text, is_one in zip(self.texts * 2, [*above, *below], strict=True) if is_one]
        high = np.concatenate([self.high[above], -self.low[below]])
        matrix = np.concatenate([self.matrix[above], -self.matrix[below]])
        return LinearRows(matrix, np.full(len(high), -np.inf), high, tuple(texts))

    def excess(self, x: Float64Array) -> Float64Array:
        """By how much points (n, axes) miss each constraint, (n, rows), beyond what rounding allows; at least 0."""
        own = x @ self.matrix.T
        room = FEASIBLE * (np.abs(x) @ np.abs(self.matrix).T + _size(self.low, self.high))
        return np.asarray(np.maximum(np.maximum(self.low - own, own - self.high) - room, 0.0))

    def take(self, rows: list[int]) -> LinearRows:
        """Some of them."""
        return LinearRows(self.matrix[rows], self.low[rows], self.high[rows], tuple(self.texts[i] for i in rows))

    def hold(self, x: Float64Array) -> NDArray[np.bool_]:
        """Whether points (n, axes) meet all of them, (n,)."""
        return np.asarray(~self.excess(x).any(axis=1))


def _size(low: Float64Array, high: Float64Array) -> Float64Array:
    return np.asarray(np.maximum(*(np.where(np.isfinite(end), np.abs(end), 0.0) for end in (low, high))))


def propagate(
    rows: LinearRows, low: Float64Array, high: Float64Array, whole: NDArray[np.bool_]
) -> tuple[Float64Array, Float64Array, NDArray[np.bool_]]:
    """Boxes (n, axes) without what one-sided constraints exclude, and which of them keep any point."""
    low, high, kept = low.copy(), high.copy(), np.ones(len(low), bool)
    for _ in range(_ROUNDS if len(rows) else 0):
        for row, most in zip(rows.matrix, rows.high, strict=True):
            least = np.minimum(row * low, row * high)
            room = FEASIBLE * (np.maximum(np.abs(row * low), np.abs(row * high)).sum(axis=1) + abs(most))
            spare = most + room - least.sum(axis=1)
            kept &= spare >= 0.0
            for i in np.flatnonzero(row):
                end = (np.maximum(spare, 0.0) + least[:, i]) / row[i]
                if row[i] > 0:
                    high[:, i] = np.minimum(high[:, i], np.maximum(np.floor(end) if whole[i] else end, low[:, i]))
                else:
                    low[:, i] = np.maximum(low[:, i], np.minimum(np.ceil(end) if whole[i] else end, high[:, i]))
    return low, high, kept


def conflict(rows: LinearRows, low: Float64Array, high: Float64Array, whole: NDArray[np.bool_]) -> tuple[str, ...]:
    """The texts of constraints that cannot be met together within the bounds; none if they can."""
    if not len(rows):
        return ()
    if not _is_empty(rows, low, high, whole):
        return ()
    alone = [i for i in range(len(rows)) if _is_empty(rows.take([i]), low, high, whole)]
    needed = list(range(len(rows))) if not alone else alone[:1]
    for i in [] if alone else list(needed):  # leave out what is not needed for the contradiction
        fewer = [j for j in needed if j != i]
        if _is_empty(rows.take(fewer), low, high, whole):
            needed = fewer
    return tuple(dict.fromkeys(rows.texts[i] for i in needed))


def _is_empty(rows: LinearRows, low: Float64Array, high: Float64Array, whole: NDArray[np.bool_]) -> bool:
    found = milp(np.zeros(len(low)), bounds=Bounds(low, high), integrality=whole, constraints=_scipy(rows))
    return bool(found.status == _NO_POINT)


def _scipy(rows: LinearRows) -> LinearConstraint:
    return LinearConstraint(rows.matrix, rows.low, rows.high)


def lowest_point(
    rows: LinearRows, cost: Float64Array, low: Float64Array, high: Float64Array, whole: NDArray[np.bool_]
) -> Float64Array | None:
    """The point of the least cost that meets the constraints, (axes,); None if none is found."""
    found = milp(cost, bounds=Bounds(low, high), integrality=whole, constraints=_scipy(rows) if len(rows) else None)
    return None if found.x is None else np.asarray(np.clip(found.x, low, high))
