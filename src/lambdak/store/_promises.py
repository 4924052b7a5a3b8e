r"""What an estimator promises holds in the matrices of a file, to rounding.

Steps of monotone columns, bends of convex ones and steps between quantiles are semidefinite.
"""

from __future__ import annotations

import numpy as np

from lambdak._checks import FloatArray
from lambdak.eigen import eigenvalue
from lambdak.pencil.tolerances import PROMISE_TOL
from lambdak.store._fields import damaged
from lambdak.table.column_contract import Column
from lambdak.table.encoder import TableEncoder

_AGAIN = "fit the model again if its settings were changed after the fit"


def check_rise(column: Column, sign: int, coef: FloatArray, dim: int) -> None:
    """Going up along a column adds a semidefinite matrix of this sign at every knot, in every member."""
    rows = _own(column, coef)
    steps = column.increments() @ rows
    if not _semidefinite(sign * steps, rows, dim):
        raise damaged(f"its matrices break monotonic_cst={sign:+d} of column {column.name!r} ({_AGAIN})")


def check_bend(column: Column, sign: int, coef: FloatArray, dim: int) -> None:
    """The slope of a curve changes by a semidefinite matrix of this sign at every inner knot, in every member."""
    if column.n_ramps < 2:
        return
    rows = _own(column, coef)
    steps, lengths = column.increments() @ rows, column.lengths() / 2  # halves, whose sum cannot overflow
    before, after = lengths[:-1, None], lengths[1:, None]
    bends = (steps[:, 1:] * before - steps[:, :-1] * after) / (before + after)
    if not _semidefinite(sign * bends, rows, dim):
        raise damaged(f"its matrices break the promised shape in column {column.name!r} ({_AGAIN})")


def check_order(encoder: TableEncoder, coef: FloatArray, dim: int) -> None:
    """Going from one quantile to the next adds a positive semidefinite matrix, in every member."""
    rows = np.asarray(coef[:, encoder.n_design :], np.float64)
    if not _semidefinite(np.diff(rows, axis=1), rows, dim):
        raise damaged("its matrices let quantiles cross")


def _own(column: Column, coef: FloatArray) -> FloatArray:
    return np.asarray(coef[:, column.start : column.stop], np.float64)


def _semidefinite(steps: FloatArray, rows: FloatArray, dim: int) -> bool:
    """Whether no step (models, steps, D) has an eigenvalue below zero, measured by the size of the rows."""
    size = np.sqrt((rows * rows).sum(axis=-1)).max(axis=1, initial=0.0)
    least = eigenvalue(np.ascontiguousarray(steps), dim, 0) if steps.shape[1] else np.zeros(steps.shape[:2])
    return bool((least >= -PROMISE_TOL * size[:, None]).all())
