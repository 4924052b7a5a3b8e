r"""How far a column can move a model, B = max ‖A(a) − A(b)‖₂ over its cells, and hard caps on it.

A capped column is C = C̃ min(1, cap / B(C̃)): whatever C̃ is, no change of the column moves an eigenvalue by more than
the cap. Scaling a column as a whole keeps semidefinite steps semidefinite, so caps and monotone columns go together.
Several columns together move an eigenvalue by no more than the sum of their B: a group is scaled as one column is, and
so are columns that shapes compare with a capped one.
Of many cells, each step of training tries the pairs that are likely to be the farthest; the last word is a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen import eigenpair, eigenvalue, eigenvalue_vjp
from lambdak.eigen.packing import packed_dim, packed_size
from lambdak.pencil.diameter import diameter, far_pairs, norms_and_slopes
from lambdak.table.column_contract import Column

_MARGIN = 1 - 1e-5  # float32 rounding must not lift the bound over the cap
SMALLEST = 1e-30  # below every norm in float32: keeps a division by zero away
_SMALLEST_LIMIT = 1e-300  # below, float64 itself rounds over the cap, and the column is zero
_FEW_CELLS = 128  # all pairs of which are tried


class Cap:
    """The cap of one column, for a stack of models: on the largest norm of some combinations of design columns."""

    _span: slice | NDArray[np.intp]  # the design columns that it measures
    _all: slice | NDArray[np.intp]  # those that it scales

    def __init__(self, column: Column, limit: float, dim: int) -> None:
        self._span, self._width = slice(column.start, column.stop), packed_size(dim)
        self._limit = scaled_limit(limit)
        # A column of many cells has one matrix for each of them.
        self._many = column.width == len(column.cell_names()) > _FEW_CELLS
        self._swaps = np.empty((0, column.width)) if self._many else column.swaps()
        self._before_scaling()

    def _before_scaling(self) -> None:
        self._all = self._span
        self._factor: FloatArray = np.ones(0)
        self._slope: FloatArray = np.zeros(0)
        self._scaled: FloatArray = np.zeros(0)

    def scale_also_(self, others: NDArray[np.intp]) -> None:
        """Scale other design columns by the same factor, because shapes compare them with those of the column."""
        own = np.arange(self._span.start, self._span.stop) if isinstance(self._span, slice) else self._span
        self._all = np.union1d(own, others)

    def apply_(self, coef: FloatArray, threads: int = 0, proven: bool = False) -> None:
        """Scale the column's rows of coef (models, P, width) where their bound exceeds the cap.

        Of many cells the bound is nearly always the largest one, and never above it; ``proven`` is never below it.
        """
        bound, slope = self.measured(coef, threads, proven)
        self.scale_(coef, *_scaling(bound, self._limit, coef.dtype), slope)

    def measured(self, coef: FloatArray, threads: int, proven: bool) -> tuple[FloatArray, FloatArray]:
        """The bound of each model, (models,), and its derivative with respect to the column's rows."""
        rows = coef[:, self._span, : self._width]
        bound, slope = self._steepest(rows, threads or None)
        if proven and self._many:
            cells = self._cells(rows.astype(np.float64))
            bound = np.array([_proven(own, threads or None) for own in cells])
        return bound, slope

    def scale_(self, coef: FloatArray, factor: FloatArray, bound: FloatArray, slope: FloatArray) -> None:
        """Scale the rows by factors (models, 1, 1) that a bound led to, whose derivative is ``slope``."""
        self._factor, self._slope = factor, np.asarray(slope / bound)
        coef[:, self._all, : self._width] *= factor
        self._scaled = coef[:, self._all, : self._width].copy()  # a later cap may scale them once more

    def _steepest(self, rows: FloatArray, n_jobs: int | None) -> tuple[FloatArray, FloatArray]:
        if self._many:
            return steepest_of_many(rows, n_jobs)
        return steepest(self._swaps.astype(rows.dtype), rows, n_jobs)

    def _cells(self, rows: FloatArray) -> FloatArray:
        """The matrices of many cells, (models, cells, D)."""
        return rows

    def pull_back_(self, grad_coef: FloatArray) -> None:
        """Turn the gradient with respect to the capped rows into that with respect to the rows before."""
        self.turn_(grad_coef, self.along(grad_coef))

    def along(self, grad_coef: FloatArray) -> FloatArray:
        """What the loss gains if the rows are scaled up, (models, 1, 1); zero where they are not capped."""
        grad = grad_coef[:, self._all, : self._width]
        return np.asarray(np.where(self._factor < 1, (self._scaled * grad).sum(axis=(1, 2), keepdims=True), 0))

    def turn_(self, grad_coef: FloatArray, along: FloatArray) -> None:
        """Take what is gained by scaling up, which a cap does not allow, out of the gradient."""
        grad_coef[:, self._all, : self._width] *= self._factor
        grad_coef[:, self._span, : self._width] -= along * self._slope


class GroupCap:
    """A cap on the sum of the bounds of several columns, which are scaled by the same factor."""

    def __init__(self, parts: Sequence[Cap], limit: float) -> None:
        self._parts, self._limit = parts, scaled_limit(limit)

    def apply_(self, coef: FloatArray, threads: int = 0, proven: bool = False) -> None:
        """Scale the rows of all columns where their bounds together exceed the cap."""
        found = [part.measured(coef, threads, proven) for part in self._parts]
        factor, bound = _scaling(np.sum([own for own, _ in found], axis=0), self._limit, coef.dtype)
        for part, (_, slope) in zip(self._parts, found, strict=True):
            part.scale_(coef, factor, bound, slope)

    def pull_back_(self, grad_coef: FloatArray) -> None:
        """Turn the gradient with respect to the capped rows of all columns into that before they were capped."""
        along = np.sum([part.along(grad_coef) for part in self._parts], axis=0)
        for part in self._parts:
            part.turn_(grad_coef, along)


def _scaling(bound: FloatArray, limit: float, dtype: np.dtype[Any]) -> tuple[FloatArray, FloatArray]:
    """The factor that brings a bound (models,) down to the limit, and the bound, each (models, 1, 1)."""
    bound, most = np.maximum(bound, SMALLEST), min(limit, float(np.finfo(dtype).max))
    factor = (most / np.maximum(bound, most))[:, None, None].astype(dtype)
    return factor, bound[:, None, None]


def scaled_limit(limit: float) -> float:
    """What a bound is scaled to, so that rounding does not lift it over the limit."""
    return limit * _MARGIN if limit > _SMALLEST_LIMIT else 0.0


def steepest(swaps: FloatArray, rows: FloatArray, n_jobs: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Max ‖Σ_j swap_j C_j‖₂ over swaps (pairs, p), of rows (models, p, D), (models,); and its derivative, like rows."""
    models, dim = np.arange(len(rows)), packed_dim(rows.shape[-1])
    if not len(swaps):
        return np.zeros(len(rows), rows.dtype), np.zeros_like(rows)
    moves = np.ascontiguousarray(swaps @ rows)  # (models, pairs, D)
    last = eigenvalue(moves, dim, dim - 1, n_jobs=n_jobs)
    first = eigenvalue(moves, dim, 0, n_jobs=n_jobs)
    norms = np.maximum(-first, last)
    worst = norms.argmax(axis=1)
    sign = np.where(last[models, worst] >= -first[models, worst], 1.0, -1.0).astype(rows.dtype)
    _, vector = eigenpair(sign[:, None] * moves[models, worst], dim, dim - 1, n_jobs=n_jobs)
    outer = eigenvalue_vjp(vector, sign, n_jobs=n_jobs)
    return norms.max(axis=1), np.asarray(swaps[worst][:, :, None] * outer[:, None, :])


def steepest_of_many(rows: FloatArray, n_jobs: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Max ‖C_j − C_i‖₂ over some pairs of rows (models, p, D) that are far apart, (models,); and its derivative."""
    models = np.arange(len(rows))
    first, second = np.moveaxis(far_pairs(rows[:, None], n_jobs=n_jobs), -1, 0)  # (models, starts)
    norms, slopes = norms_and_slopes(rows[models[:, None], second] - rows[models[:, None], first], n_jobs)
    worst, slope = norms.argmax(axis=1), np.zeros_like(rows)
    slope[models, second[models, worst]] += slopes[models, worst]
    slope[models, first[models, worst]] -= slopes[models, worst]
    return norms.max(axis=1), slope


def _proven(own: Float64Array, n_jobs: int | None) -> float:
    """A bound on ‖C_j − C_i‖₂ for all pairs of rows (p, D), nearly always the least."""
    return diameter(own[None], np.ones(1), n_jobs=n_jobs).bound
