r"""What coordinates are built from: moments of the design, and the ramps T of free columns.

Free columns are described by ramps (the increments of a curve from knot to knot), levels and slopes; T turns ramps into
the matrices at the knots.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs

from lambdak._types import Float64Array, FloatArray
from lambdak.shapes.spreads import Free, Spread
from lambdak.table.column_contract import Column
from lambdak.table.design import Design

# Beyond this many design columns no covariance is formed: every ramp is scaled by itself.
MOST_COVARIANCES = 2500

# Moments only precondition: for a longer table a sample of this size is enough.
_SAMPLE = 16_000
_AT_ONCE = 4_000  # rows that are made dense at once: some megabytes for hundreds of columns


@dataclass(frozen=True)
class Moments:
    """Mean (P,) and covariance (P, P) of the design columns; of many columns only the variances (P,)."""

    mean: Float64Array
    covariance: Float64Array

    def block(self, rows: slice) -> Float64Array:
        """The covariance of neighbouring design columns; diagonal where only variances are known."""
        if self.covariance.ndim == 1:
            return np.diag(self.covariance[rows])
        return self.covariance[rows, rows]


def design_moments(design: Design, n_design: int, weight: FloatArray | None = None) -> Moments:
    """Mean and covariance of the design columns over the (weighted) rows, or over a sample of a long table."""
    stride = max(len(design) // _SAMPLE, 1)
    sample = design.take(np.arange(0, len(design), stride)) if stride > 1 else design
    mass = np.ones(len(sample)) if weight is None else weight[::stride][: len(sample)].astype(np.float64)
    if not mass.any():
        mass = np.ones(len(sample))
    rows = mass / mass.sum()
    matrix = sample.to_sparse(n_design).astype(np.float64)
    mean = np.asarray(matrix.T @ rows).ravel()
    if n_design > MOST_COVARIANCES:
        return Moments(mean, np.asarray(matrix.power(2).T @ rows).ravel() - mean**2)
    dtype = np.float64 if len(sample) <= _AT_ONCE else np.float32  # single precision is enough where it saves time
    second = _second_moments((matrix.multiply(np.sqrt(rows)[:, None])).astype(dtype).tocsr())
    return Moments(mean, np.asarray(second - np.outer(mean, mean), np.float64))


def _second_moments(matrix: Any) -> FloatArray:
    """Zᵀ Z of a sparse matrix, in dense parts: only one half is computed."""
    half = np.zeros((matrix.shape[1], matrix.shape[1]), matrix.dtype, order="F")
    (multiply,) = get_blas_funcs(("syrk",), (half,))
    for first in range(0, matrix.shape[0], _AT_ONCE):
        dense = matrix[first : first + _AT_ONCE].toarray()
        half = multiply(1.0, dense.T, beta=1.0, c=half, overwrite_c=True)
    return np.asarray(half + np.triu(half, 1).T)


@dataclass(frozen=True)
class Block:
    """T of one column: what its ramps, levels and slopes, ``cols`` of θ, contribute to its design columns ``rows``."""

    owner: int  # position in the list of columns
    rows: slice
    cols: slice
    ramps: Float64Array
    scalar: bool = False  # whether θ has only multiples of I here


def free_size(
    columns: Sequence[Column], constrained: Mapping[int, Spread] = MappingProxyType({}), dropped: Collection[int] = ()
) -> int:
    """How many rows of θ the constant and :func:`free_blocks` have: known without the matrices of any block."""
    return 1 + sum(
        constrained[i].n_free(i) if i in constrained else column.n_free
        for i, column in enumerate(columns)
        if i not in dropped
    )


def free_blocks(
    columns: Sequence[Column], constrained: Mapping[int, Spread] = MappingProxyType({}), dropped: Collection[int] = ()
) -> list[Block]:
    """Ramps of the free columns, and what is free in the ``constrained`` ones; a ``dropped`` column has none.

    θ's first row is the constant, so the first block starts at row 1.
    """
    blocks, first = [], 1
    for position, column in enumerate(columns):
        if position in dropped:
            continue
        parts = constrained[position].free_parts(position) if position in constrained else [Free(column.ramps())]
        for ramps, scalar in parts:
            if ramps.shape[1]:
                cols = slice(first, first + ramps.shape[1])
                blocks.append(Block(position, slice(column.start, column.stop), cols, ramps, scalar))
                first += ramps.shape[1]
    return blocks
