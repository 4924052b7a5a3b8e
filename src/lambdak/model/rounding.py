r"""How far a computed raw score can be from the real function that the stored numbers define, at most.

A prediction is float64 from the cells on: the weights of a row's design columns (three roundings at most), their sum
A(row), one eigenvalue of it (:mod:`lambdak.eigen.rounding`), and the weighted mean over members. Each step errs by at
most a multiple of S = ‖A_0‖_F + Σ_i r_i max_j ‖C_j‖_F, where r_i is the sum of the absolute weights in column i: 1 for
curves and categories. With u = 2⁻⁵³, and n active design columns:

- weights: 8 u S; sum: (n + 1) u S; unpacking: u S; eigenvalue: its own error E times S;
- mean over M members, scale and start: (M + 6) u (|start| + scale Σ_m w_m S_m).

An offset adds one rounding of the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.pencil.definite import SAFE, UNIT, frobenius
from lambdak.table.column_contract import Column

if TYPE_CHECKING:
    from lambdak.model.readout import Readout

_TINY, _LEAST = 1e-290, 1e-319  # cover underflow: of eigenvalues, and of raw scores


def score_error(readout: Readout, reach: Float64Array) -> Float64Array:
    """Bound on |computed − real raw score|, (...,), of rows whose weights have these absolute sums (..., columns)."""
    size = readout.constant_size + reach @ column_sizes(readout).T  # (..., members)
    slots = 2 + sum(column.n_slots for column in readout.columns)
    relative = eigenvalue_error(readout.dim) + (slots + 12) * UNIT
    mean = readout.scale * (size @ readout.weights)
    last = (len(readout.weights) + 6) * UNIT * (abs(readout.start) + mean)
    return np.asarray(SAFE * (relative * mean + last + readout.scale * _TINY) + _LEAST)


def column_sizes(readout: Readout) -> Float64Array:
    """max_j ‖C_j‖_F of each column, (members, columns)."""
    starts = [column.start for column in readout.columns]
    return np.asarray(np.maximum.reduceat(frobenius(readout.coef), starts, axis=1))


def in_range(columns: Sequence[Column]) -> Float64Array:
    """The largest sum of absolute weights of each column, (columns,), over its training range."""
    return np.array([column.reach for column in columns])
