"""Wide sparse tables: A(x) = Σ_i (x_i / scale_i) C_i over the non-zero cells of a row, and nothing else is stored.

Every column is linear with center 0, so that a zero stays inactive. The scale is the root mean square of the
non-zero cells: 1 for 0/1 data, about 1 for the middle count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lambdak._types import Float64Array, FloatArray
from lambdak.table.cells import EVERY_ROW, LARGEST, RowIndex
from lambdak.table.knots import MOST_WHOLE, distinct
from lambdak.table.linear_column import Linear
from lambdak.table.read import position_names


def read_sparse(X: Any) -> Any:
    """A float64 CSR copy of ``X`` without stored zeros or repeated cells; NaN counts as missing."""
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{X!r}\n")
    if X.ndim != 2:
        raise ValueError(f"Expected 2D input, got input with shape {X.shape}. Reshape your data.")
    csr = sparse.csr_array(X, dtype=np.float64, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    return csr


def _check_values(csr: Any, rows: RowIndex = EVERY_ROW) -> None:
    """Refuse infinity, and name its row: ``rows`` are those of the table that ``csr`` holds."""
    huge = np.abs(csr.data) > LARGEST
    if huge.any():
        cell = int(np.argmax(huge))
        name = position_names(csr.shape[1])[csr.indices[cell]]
        bad_row = int(np.searchsorted(csr.indptr, cell, side="right")) - 1
        row = bad_row if isinstance(rows, slice) else rows[bad_row]
        raise ValueError(
            f"column {name!r} contains infinity or a value too large; got {csr.data[cell]} in row {row}: "
            "replace it with NaN, which counts as missing, or with a finite cap"
        )


def fit_sparse(table: Any, rows: RowIndex, clamp: bool, mass: Float64Array | None) -> tuple[Linear, ...]:
    """One linear column per sparse column, with zero inside its range [low, high]; ``mass`` weighs these rows."""
    csr = table[rows]
    _check_values(csr, rows)
    n_features = csr.shape[1]
    gaps = np.bincount(csr.indices[np.isnan(csr.data)], minlength=n_features)
    missing = (gaps > 0) & (gaps < csr.shape[0])  # a column without a number has no influence
    index, value, mass = _distinct_cells(csr, mass)
    low, high = np.zeros(n_features), np.zeros(n_features)
    np.minimum.at(low, index, value)
    np.maximum.at(high, index, value)
    scale = _root_mean_square(index, value, mass, np.maximum(-low, high))
    broken = np.bincount(index[value != np.floor(value)], minlength=n_features)
    start = 1 + np.arange(n_features) + np.cumsum(missing) - missing
    return tuple(
        Linear(
            name,
            int(start[i]),
            scale=float(scale[i]),
            low=float(low[i]),
            high=float(high[i]),
            median=0.0,
            has_missing=bool(missing[i]),
            clamp=clamp,
            whole=bool(not broken[i] and max(-low[i], high[i]) < MOST_WHOLE),
        )
        for i, name in enumerate(position_names(n_features))
    )


def _distinct_cells(csr: Any, mass: Float64Array | None) -> tuple[NDArray[np.intp], Float64Array, Float64Array]:
    """Column, value and mass of the distinct non-zeros, sorted: a sum over them does not depend on the rows' order."""
    seen = ~np.isnan(csr.data)
    cells = (csr.indices + 1j * csr.data)[seen]  # complex numbers are sorted by their real part first
    unique, total = distinct(cells, None if mass is None else np.repeat(mass, np.diff(csr.indptr))[seen])
    return unique.real.astype(np.intp), unique.imag, total


def _root_mean_square(
    index: NDArray[np.intp], value: Float64Array, mass: Float64Array, size: Float64Array
) -> Float64Array:
    size = np.where(size > 0.0, size, 1.0)  # squares of huge or tiny values would leave the range of a float
    squares = np.bincount(index, mass * (value / size[index]) ** 2, len(size))
    total = np.bincount(index, mass, len(size))
    return np.where(total > 0.0, size * np.sqrt(squares / np.where(total > 0.0, total, 1.0)), 1.0)


def sparse_rows(
    csr: Any, columns: Sequence[Linear], dtype: np.dtype[np.floating]
) -> tuple[NDArray[np.int32], FloatArray]:
    """Slots (rows, 1 + most non-zeros of a row) of the constant and the non-zeros; id 0 with weight 0 pads a row."""
    _check_values(csr)
    rows, lengths = csr.shape[0], np.diff(csr.indptr)
    ids = np.zeros((rows, 1 + int(lengths.max(initial=0))), np.int32)
    weights = np.zeros(ids.shape, dtype)
    weights[:, 0] = 1.0
    row = np.repeat(np.arange(rows), lengths)
    slot = 1 + np.arange(len(row)) - np.repeat(csr.indptr[:-1], lengths)
    ids[row, slot], weights[row, slot] = _active(csr.indices, csr.data, columns)
    return ids, weights


def _active(
    index: NDArray[np.integer], value: Float64Array, columns: Sequence[Linear]
) -> tuple[NDArray[np.integer], Float64Array]:
    """Design id and weight of every non-zero; a missing cell where training had none counts as zero."""
    start, missing = np.array([(column.start, column.missing) for column in columns]).T[:, index]
    low, high, scale = np.array([(column.low, column.high, column.scale) for column in columns]).T[:, index]
    gaps = np.isnan(value)
    weight = (np.clip(value, low, high) if columns[0].clamp else value) / scale
    return np.where(gaps & (missing >= 0), missing, start), np.where(gaps, missing >= 0, weight)
