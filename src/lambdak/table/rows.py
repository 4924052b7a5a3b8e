"""Rows before training: optional columns beside a table, and equal rows as one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

from lambdak._checks import FloatArray
from lambdak.table.encoder import Design

_MERGED_ROWS = 5_000  # up to this many, equal rows are trained on as one with their summed weight


def optional_rows(values: ArrayLike | None, rows: int, name: str) -> FloatArray | None:
    """One finite float32 number per row, or None; a single number is that of every row."""
    if values is None:
        return None
    array = np.asarray(values, np.float32)
    if array.ndim == 0:
        array = np.full(rows, array)
    if array.shape != (rows,):
        raise ValueError(f"{name} must have shape ({rows},), one entry per row of X; got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(
            f"{name} must be finite; got {array[~np.isfinite(array)][0]} at row {np.argmin(np.isfinite(array))}"
        )
    return array


def merged_rows(
    design: Design, y: NDArray[Any], weight: NDArray[np.float64] | None, offset: FloatArray | None
) -> tuple[Design, NDArray[Any], NDArray[np.float64] | None, FloatArray | None]:
    """The rows of a small table in an order of their own, equal rows as one: weights then are repetitions, exactly."""
    if len(design) > _MERGED_ROWS:
        return design, y, weight, offset
    extra = [y.astype(np.float64), np.zeros(len(y)) if offset is None else offset]
    table = np.column_stack([design.ids, design.weights, *extra])
    mass = np.ones(len(y)) if weight is None else weight
    table, first, where = np.unique(table[mass > 0], axis=0, return_index=True, return_inverse=True)
    kept = np.flatnonzero(mass > 0)[first]
    total = np.bincount(where.ravel(), mass[mass > 0]).astype(np.float64)
    merged = None if (total == 1).all() else total
    return design.take(kept), y[kept], merged, None if offset is None else offset[kept]


def given_together(X_val: Any, y_val: ArrayLike | None) -> bool:
    """Whether validation rows are given: a table and its targets, never one alone."""
    if (X_val is None) != (y_val is None):
        one, other = ("X_val", "y_val") if y_val is None else ("y_val", "X_val")
        raise ValueError(f"X_val and y_val must be given together; got {one} without {other}")
    return X_val is not None


def target_rows(y: ArrayLike | None) -> NDArray[Any]:
    """The target as one column."""
    if y is None:
        raise ValueError("y must be given: this estimator requires y to be passed, but the target y is None")
    return np.asarray(column_or_1d(y, warn=True))
