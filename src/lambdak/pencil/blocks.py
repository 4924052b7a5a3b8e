"""Functions of many matrices A(z), computed in blocks of rows of bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from lambdak._types import FloatArray

# 4 MB of float64: enough rows to fill the threads, few enough to stay in cache.
_BLOCK_FLOATS = 1 << 19
_MIN_BLOCK_ROWS = 32


def over_rows(
    z: FloatArray, packed: FloatArray, function: Callable[[FloatArray], tuple[FloatArray, ...]], width: int = 0
) -> tuple[FloatArray, ...]:
    """Apply ``function`` to A(z), packed (rows, D), block by block, and restore the leading shape of z (..., n).

    ``width`` is the number of floats that ``function`` needs per row, if more than D.
    """
    lead, features = z.shape[:-1], z.shape[-1]
    rows = z.reshape(prod(lead), features)
    step = max(_MIN_BLOCK_ROWS, _BLOCK_FLOATS // max(packed.shape[1], width))
    starts = range(0, max(len(rows), 1), step)  # an empty z is one empty block: it has shapes to return
    blocks = (rows[start : start + step].astype(packed.dtype) for start in starts)
    parts = zip(*(function(affine(block, packed)) for block in blocks), strict=True)
    return tuple(np.concatenate(part).reshape(lead + part[0].shape[1:]) for part in parts)


def affine(z: FloatArray, packed: FloatArray) -> FloatArray:
    """A(z) = A_0 + Σ z_i A_i in packed coordinates, (..., D)."""
    with np.errstate(invalid="ignore", over="ignore"):  # such rows become nan, and only those
        rows = z @ packed[1:]
        rows += packed[0]
    return rows
