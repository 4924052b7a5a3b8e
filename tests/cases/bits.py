"""Fitted encoders to the last bit, and tables whose rows are repeated."""

from dataclasses import fields

import numpy as np
import pyarrow as pa


def bits(encoder):
    """Type, place and every attribute of every column, such that 0.0 is not -0.0 and nan is nan."""
    return [(column.kind, column.stop, column.missing, *_own_bits(column)) for column in encoder.columns]


def _own_bits(column):
    return [_bits(getattr(column, field.name)) for field in fields(column)]


def _bits(value):
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return value.hex() if isinstance(value, float) else value


def repeat(X, weight, seed=0):
    """The rows of a table, each as often as its weight says, in random order."""
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(weight)), weight))
    if isinstance(X, pa.Table):
        return X.take(rows)
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
