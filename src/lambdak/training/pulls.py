"""What training rows want of a model before it is trained, and what its columns of numbers say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lambdak.losses import Loss
from lambdak.pencil.spectrum import Float64Array
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.training.rows import TrainingRows

_RIDGE = 1e-3  # relative to the mean variance of the columns
_MOST_COLUMNS = 2_000  # design columns whose share is removed from the pulls
_MOST_ROWS = 100_000  # from which that share is estimated
_MOST_ALONG = 40  # columns along which pulls may go


def pulls(loss: Loss, rows: TrainingRows) -> Float64Array:
    """(rows, outputs): where each row wants to move the raw scores of the best constant model."""
    start = loss.start(rows.y, rows.weight, rows.offset)
    raw = np.tile(start, (len(rows.y), 1))
    if rows.offset is not None:
        raw += rows.offset[:, None]
    slope = loss.gradient(raw if loss.n_outputs > 1 else raw[:, 0], rows.y)
    return np.asarray(-len(rows.y) * slope, np.float64).reshape(len(rows.y), -1)


def unexplained(pull: Float64Array, design: Design, n_design: int, mass: Float64Array) -> Float64Array:
    """What design rows do not explain of the pulls, by least squares with a small ridge."""
    if n_design > _MOST_COLUMNS:
        return pull
    matrix = design.to_sparse(n_design).astype(np.float64)
    stride = max(len(pull) // _MOST_ROWS, 1)
    some = matrix[::stride]
    weighed = some.multiply(mass[::stride, None]).tocsr()
    gram = (weighed.T @ some).toarray()
    gram[np.diag_indices(n_design)] += _RIDGE * max(np.trace(gram) / n_design, 1e-300)
    return np.asarray(pull - matrix @ np.linalg.solve(gram, weighed.T @ pull[::stride]))


def heights(columns: Sequence[Column], design: Design, mass: Float64Array) -> Float64Array:
    """(rows, p): columns of numbers by position among their knots, with mean 0 and variance 1; a missing one is 0."""
    found: list[Float64Array] = []
    slot = 1
    for column in columns:
        if column.is_number and len(found) < _MOST_ALONG:
            found.append(_height(column, design, slot, mass))
        slot += column.n_slots
    return np.stack(found, axis=1) if found else np.zeros((len(design), 0))


def _height(column: Column, design: Design, slot: int, mass: Float64Array) -> Float64Array:
    ids, weights = (part[:, slot : slot + column.n_slots] for part in (design.ids, design.weights))
    height = ((ids - column.start if column.n_ramps else 1) * weights.astype(np.float64)).sum(axis=1)
    seen = mass * (ids[:, 0] != column.missing)
    height = np.where(seen > 0, height - seen @ height / max(seen.sum(), 1e-300), 0.0)
    return np.asarray(height / np.sqrt(max(mass @ height**2 / mass.sum(), 1e-300)))
