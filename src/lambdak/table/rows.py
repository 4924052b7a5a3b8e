"""What comes with a table: targets, weights and offsets, one entry per row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

from lambdak._checks import FloatArray


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
