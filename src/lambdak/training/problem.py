"""What is to be fitted: design rows and targets, how raw scores come from eigenvalues, and rows that are left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray
from lambdak.losses import Loss
from lambdak.model.outputs import Outputs
from lambdak.table.design import Design

RowIds = NDArray[np.int32]


@dataclass(frozen=True)
class Problem:
    """raw = start + scale Σ λ + offset, where λ are the eigenvalues that ``outputs`` names, one for each term.

    A row may be several design rows, its ``copies``, whose eigenvalues its loss takes together; an offset may then be
    (rows, copies).
    """

    design: Design
    y: NDArray[np.generic]
    weight: FloatArray | None
    offset: FloatArray | None
    loss: Loss
    start: FloatArray
    scale: float
    outputs: Outputs
    terms: int = 1  # of a member
    power: int = 0  # of two, that counts were divided by
    copies: int = 1  # design rows of each row
    constant: FloatArray | None = None  # raw scores (rows, copies) of the best constant, if it is not the start
    subtracted: FloatArray | None = None  # from each target before it was rescaled: the offset of an identity link

    @property
    def pencils(self) -> int:
        """How many pencils a member has: those of its outputs, term by term."""
        return self.terms * self.outputs.pencils

    @property
    def n_rows(self) -> int:
        """Rows that have a loss."""
        return len(self.design) // self.copies

    def design_rows(self, rows: RowIds) -> RowIds:
        """The design rows (..., batch * copies) of rows (..., batch)."""
        if self.copies == 1:
            return rows
        several = self.copies * rows[..., None] + np.arange(self.copies, dtype=np.int32)
        return np.ascontiguousarray(several.reshape(*rows.shape[:-1], -1), np.int32)

    def take(self, rows: RowIds) -> Problem:
        """Problem on these rows only."""
        columns = {name: getattr(self, name) for name in ("weight", "offset", "subtracted", "constant")}
        beside = {name: values[rows] for name, values in columns.items() if values is not None}
        return replace(self, design=self.design.take(self.design_rows(rows)), y=self.y[rows], **beside)

    def constant_raw(self, rows: RowIds) -> FloatArray:
        """Raw scores (1, batch[, outputs]) of the best constant on these rows."""
        if self.constant is not None:
            return self.constant[rows][None]
        return self.raw(
            np.zeros((self.pencils, len(rows) * self.copies, len(self.outputs.indices)), np.float32), rows[None]
        )

    def raw(self, eigenvalues: FloatArray, rows: RowIds | slice) -> FloatArray:
        """Raw scores (members, batch[, outputs]) from eigenvalues (models, batch, indices).

        ``rows`` (batch,), or (members, batch) where every member has its own, are the indices of these rows.
        """
        arranged = self.outputs.arrange(eigenvalues)
        if self.terms > 1:
            arranged = arranged.reshape(-1, self.terms, *arranged.shape[1:]).sum(axis=1)
        raw = self.start.astype(arranged.dtype) + arranged.dtype.type(self.scale) * arranged
        if self.offset is not None:
            offset = self.offset[rows]
            raw = raw + (offset if self.offset.ndim > 1 else offset[..., None])
        return raw if self.loss.n_outputs > 1 else raw[..., 0]

    def eigenvalue_gradient(self, grad_raw: FloatArray) -> FloatArray:
        """The transpose of :meth:`raw`: (models * batch, indices)."""
        grad = grad_raw.reshape(*grad_raw.shape[:2], -1) * grad_raw.dtype.type(self.scale)
        return self.outputs.arrange_back(np.repeat(grad, self.terms, axis=0) if self.terms > 1 else grad)

    def losses(self, eigenvalues: FloatArray, rows: RowIds | slice = slice(None)) -> FloatArray:
        """Weighted mean loss of each member over the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return self.loss.value(self.raw(eigenvalues, rows), self.y[rows], weight)


@dataclass(frozen=True)
class Folds:
    """Which rows a model does not train on: those of one fold, ``left_out`` (models,)."""

    fold: NDArray[np.int32]  # of every row
    left_out: tuple[int, ...]

    @property
    def distinct(self) -> list[int]:
        """The folds that some model does not train on."""
        return sorted(set(self.left_out))

    def without(self, order: RowIds) -> RowIds:
        """(models, n): the rows of ``order`` that each model trains on, cut to the same number."""
        return self._stack({k: order[self.fold[order] != k] for k in self.distinct})

    def within(self) -> RowIds:
        """(models, n): the rows that each model does not train on, cut to the same number."""
        return self._stack({k: np.flatnonzero(self.fold == k).astype(np.int32) for k in self.distinct})

    def _stack(self, rows: dict[int, RowIds]) -> RowIds:
        least = min(len(some) for some in rows.values())
        return np.stack([rows[k][:least] for k in self.left_out])


def no_folds(rows: int, members: int) -> Folds:
    """Every model trains on all rows."""
    return Folds(np.zeros(rows, np.int32), (-1,) * members)
