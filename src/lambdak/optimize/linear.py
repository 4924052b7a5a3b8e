"""Linear constraints on the free columns: low ≤ R x ≤ high, one row and one text each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from lambdak._types import Float64Array

FEASIBLE = 1e-9  # by which a constraint may be missed, relative to the size of its terms
_ROUNDS = 2  # of tightening the bounds
_WIDER = 1e-7  # relative to its terms: how far a constraint is missed, at least, if HiGHS is believed that it is
_LEFT_OUT = 1e-8  # coefficients, relative to the largest one of a constraint
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
        """Return no rows: every point satisfies them."""
        return cls(np.zeros((0, axes)), np.zeros(0), np.zeros(0), ())

    def __len__(self) -> int:
        return len(self.matrix)

    def one_sided(self) -> LinearRows:
        """Linear constraints in the form matrix x ≤ high alone."""
        above, below = np.isfinite(self.high), np.isfinite(self.low)
        texts = [text for text, is_one in zip(self.texts * 2, [*above, *below], strict=True) if is_one]
        high = np.concatenate([self.high[above], -self.low[below]])
        matrix = np.concatenate([self.matrix[above], -self.matrix[below]])
        return LinearRows(matrix, np.full(len(high), -np.inf), high, tuple(texts))

    def excess(self, x: Float64Array) -> Float64Array:
        """By how much points (n, axes) miss each constraint, (n, rows), beyond what rounding allows; at least 0."""
        sums = x @ self.matrix.T
        return np.asarray(np.maximum(np.maximum(self.low - sums, sums - self.high) - self.rooms(x, x), 0.0))

    def rooms(self, low: Float64Array, high: Float64Array) -> Float64Array:
        """By how much points between these, (n, axes), may miss each constraint, (n, rows)."""
        most = np.maximum(np.abs(low), np.abs(high))
        return np.asarray(FEASIBLE * (most @ np.abs(self.matrix).T + _size(self.low, self.high)))

    def take(self, rows: list[int]) -> LinearRows:
        """Linear constraints at these positions."""
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
    return bool(_highs(rows, np.zeros(len(low)), (low, high), whole, _WIDER).status == _NO_POINT)


def lowest_point(
    rows: LinearRows, cost: Float64Array, low: Float64Array, high: Float64Array, whole: NDArray[np.bool_]
) -> Float64Array | None:
    """The point of the least cost that meets the constraints, (axes,); None if none is found."""
    found = _highs(rows, cost, (low, high), whole, 0.0)
    return None if found.x is None else np.asarray(np.clip(found.x * _units(low, high, whole), low, high))


def _highs(
    rows: LinearRows, cost: Float64Array, ends: tuple[Float64Array, Float64Array], whole: NDArray[np.bool_],
    wider: float,
) -> Any:  # fmt: skip
    """SciPy's answer in units of the columns, for limits that are ``wider`` than they are, relative to their terms.

    HiGHS has absolute tolerances and takes coefficients below 1e-9 for zero, so that everything is scaled to one, and
    what remains small is left out here, where the limit makes up for it.
    """
    units = _units(*ends, whole)
    low, high = (end / units for end in ends)
    matrix = rows.matrix * units
    size = np.abs(matrix).max(axis=1, initial=0.0)
    scale = 1.0 / np.where(size > 0, size, 1.0)
    matrix = matrix * scale[:, None]
    most = np.abs(matrix) * np.maximum(np.abs(low), np.abs(high))  # of each term
    left_out = np.abs(matrix) < _LEFT_OUT
    room = wider * (most.sum(axis=1) + scale * _size(rows.low, rows.high)) + np.where(left_out, most, 0.0).sum(axis=1)
    limits = LinearConstraint(np.where(left_out, 0.0, matrix), rows.low * scale - room, rows.high * scale + room)
    return milp(cost * units, bounds=Bounds(low, high), integrality=whole, constraints=limits if len(rows) else None)


def _units(low: Float64Array, high: Float64Array, whole: NDArray[np.bool_]) -> Float64Array:
    """What coordinates are measured in: their largest size, but whole numbers in ones."""
    most = np.maximum(np.abs(low), np.abs(high))
    return np.where(whole | (most == 0.0), 1.0, most)
