"""What training rows want of a model before it is trained, and what its columns of numbers say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lambdak._types import Float64Array
from lambdak.losses import Loss
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.training.rows import TrainingRows

_RIDGE = 1e-3  # relative to the mean variance of the columns
_MOST_COLUMNS = 2_000  # design columns whose share is removed from the pulls
_MOST_ROWS = 100_000  # from which that share is estimated
_MOST_ALONG = 40  # columns along which pulls may go


def pulls(loss: Loss, rows: TrainingRows, start: Float64Array | None = None) -> Float64Array:
    """(rows, outputs): where each row wants to move the raw scores of the best constant model, or of this ``start``."""
    if start is None:
        start = loss.start(rows.y, rows.weight, rows.offset)
    raw = np.tile(start, (len(rows.y), 1))
    if rows.offset is not None:
        raw += rows.offset[:, None]
    slope = loss.gradient(raw if loss.n_outputs > 1 else raw[:, 0], rows.y)
    return np.asarray(-len(rows.y) * slope, np.float64).reshape(len(rows.y), -1)


def unexplained(pull: Float64Array, design: Design, n_design: int, mass: Float64Array) -> Float64Array:
    """What design rows do not explain of the pulls, by least squares with a small ridge."""
    return less_explained(pull, design, explained(pull, design, n_design, mass))


def explained(pull: Float64Array, design: Design, n_design: int, mass: Float64Array) -> Float64Array | None:
    """(n_design, outputs): how design rows explain the pulls; None if there are too many design columns."""
    if n_design > _MOST_COLUMNS:
        return None
    stride = max(len(pull) // _MOST_ROWS, 1)
    some = design.take(slice(None, None, stride)).to_sparse(n_design).astype(np.float64)
    weighed = some.multiply(mass[::stride, None]).tocsr()
    gram = (weighed.T @ some).toarray()
    gram[np.diag_indices(n_design)] += _RIDGE * max(np.trace(gram) / n_design, 1e-300)
    return np.asarray(np.linalg.solve(gram, weighed.T @ pull[::stride]))


def less_explained(pull: Float64Array, design: Design, coef: Float64Array | None) -> Float64Array:
    """The pulls of rows without what their design explains."""
    if coef is None:
        return pull
    return np.asarray(pull - design.to_sparse(len(coef)).astype(np.float64) @ coef)


class _Height(NamedTuple):
    """A column of numbers by position among its knots: its first slot, and the mean and deviation of the position."""

    column: Column
    slot: int
    mean: float
    deviation: float


class Heights(NamedTuple):
    """Columns of numbers by position among their knots, in units of the rows from which they were learned."""

    columns: Sequence[_Height]

    @classmethod
    def of(cls, columns: Sequence[Column], design: Design, mass: Float64Array) -> Heights:
        """Heights of the first columns of numbers, of mean 0 and variance 1 on rows of these weights."""
        heights: list[_Height] = []
        slot = 1
        for column in columns:
            if column.is_number and len(heights) < _MOST_ALONG:
                heights.append(_height(column, design, slot, mass))
            slot += column.n_slots
        return cls(heights)

    def at(self, design: Design) -> Float64Array:
        """(rows, p): of these rows; a missing number is 0."""
        found = np.zeros((len(design), len(self.columns)))
        for j, (column, slot, mean, deviation) in enumerate(self.columns):
            position, seen = _position(column, design, slot)
            found[:, j] = np.where(seen, position - mean, 0.0) / deviation
        return found


def _height(column: Column, design: Design, slot: int, mass: Float64Array) -> _Height:
    position, there = _position(column, design, slot)
    seen = mass * there
    mean = float(seen @ position / max(seen.sum(), 1e-300))
    left = np.where(seen > 0, position - mean, 0.0)
    return _Height(column, slot, mean, float(np.sqrt(max(mass @ left**2 / mass.sum(), 1e-300))))


def _position(column: Column, design: Design, slot: int) -> tuple[Float64Array, Float64Array]:
    """(rows,): position among the knots, and whether there is a number."""
    ids, weights = (part[:, slot : slot + column.n_slots] for part in (design.ids, design.weights))
    position = ((ids - column.start if column.n_ramps else 1) * weights.astype(np.float64)).sum(axis=1)
    return np.asarray(position), ids[:, 0] != column.missing
