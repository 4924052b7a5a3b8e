r"""How far a column can move a model, B = max ‖A(a) − A(b)‖₂ over its cells, and hard caps on it.

A capped column is C = C̃ min(1, cap / B(C̃)): whatever C̃ is, no change of the column moves an eigenvalue by more than
the cap. Scaling a column as a whole keeps semidefinite steps semidefinite, so caps and monotone columns go together.
"""

from __future__ import annotations

import numpy as np

from lambdak._checks import FloatArray
from lambdak.eigen import eigenpair, eigenvalue, eigenvalue_vjp
from lambdak.eigen.packing import packed_dim, packed_size
from lambdak.table.column_contract import Column

_MARGIN = 1 - 1e-5  # float32 rounding must not lift the bound over the cap
_SMALLEST = 1e-30


class Cap:
    """The cap of one column, for a stack of models."""

    def __init__(self, column: Column, limit: float, dim: int) -> None:
        self._span, self._width = slice(column.start, column.stop), packed_size(dim)
        self._limit = limit * _MARGIN
        self._swaps = column.swaps()
        self._factor, self._slope = np.ones(0), np.zeros(0)

    def apply_(self, coef: FloatArray, threads: int = 0) -> None:
        """Scale the column's rows of coef (models, P, width) where their bound exceeds the cap."""
        rows = coef[:, self._span, : self._width]
        bound, slope = steepest(self._swaps.astype(coef.dtype), rows, threads or None)
        bound = np.maximum(bound, _SMALLEST)
        self._factor = np.minimum(1.0, self._limit / bound)[:, None, None].astype(coef.dtype)
        self._slope = np.asarray(slope / bound[:, None, None])
        rows *= self._factor

    def pull_back_(self, coef: FloatArray, grad_coef: FloatArray) -> None:
        """Turn the gradient with respect to the capped rows into that with respect to the rows before."""
        rows, grad = coef[:, self._span, : self._width], grad_coef[:, self._span, : self._width]
        along = np.where(self._factor < 1, (rows * grad).sum(axis=(1, 2), keepdims=True), 0)
        grad *= self._factor
        grad -= along * self._slope


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
