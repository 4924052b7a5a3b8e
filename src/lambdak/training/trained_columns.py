r"""The columns in which a fit is trained: those of the table, but for categories whose levels share matrices.

Every level of such a category is a short combination of trained design columns, C[level] = Σ_s w_s C_trained[id_s]. So
rows are rewritten before training, and matrices after it: a model has one matrix per level and knows nothing of this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray
from lambdak.table.column_contract import Column
from lambdak.table.design import Design


@dataclass(frozen=True)
class Entries:
    """Active entries (n, slots) of levels, or of rows, among the trained design columns."""

    ids: NDArray[np.int32]
    weights: FloatArray

    @classmethod
    def single(cls, start: int, place: NDArray[np.intp]) -> Entries:
        """One entry each, with weight one, at ``start`` + place; none where that is -1."""
        ids = (start + np.maximum(place, 0)).astype(np.int32)
        return cls(ids[:, None], (place >= 0).astype(np.float32)[:, None])

    @classmethod
    def nothing(cls, n: int) -> Entries:
        """Entries of n rows without any slot."""
        return cls(np.empty((n, 0), np.int32), np.empty((n, 0), np.float32))

    @classmethod
    def joined(cls, parts: Sequence[Entries]) -> Entries:
        """The slots of all parts, side by side."""
        return cls(np.hstack([part.ids for part in parts]), np.hstack([part.weights for part in parts]))

    def take(self, which: NDArray[np.intp]) -> Entries:
        """Entries of the levels or rows at these positions."""
        return Entries(self.ids[which], self.weights[which])

    def combined(self, coef: FloatArray) -> FloatArray:
        """Σ_s w_s C[id_s], (models, n, width)."""
        matrices = np.zeros((len(coef), len(self.ids), coef.shape[-1]), coef.dtype)
        for ids, weights in zip(self.ids.T, self.weights.T, strict=True):
            matrices += weights.astype(coef.dtype)[:, None] * coef[:, ids]
        return matrices

    def combined_back(self, grad: FloatArray, size: int) -> FloatArray:
        """The transpose of :meth:`combined`: (models, size, width)."""
        gradient = np.zeros((len(grad), size, grad.shape[-1]), grad.dtype)
        models = np.arange(len(grad))[:, None]
        for ids, weights in zip(self.ids.T, self.weights.T, strict=True):
            np.add.at(gradient, (models, ids), weights.astype(grad.dtype)[:, None] * grad)
        return gradient


@dataclass(frozen=True)
class Rewriting:
    """How a category is trained: its columns, and the entries of its levels, and at last of an unseen one.

    ``folds`` are those of training rows, if they differ: of each level, and at last an unseen one, in each fold.
    """

    columns: Sequence[Column]
    levels: Entries
    folds: Entries | None = None


@dataclass(frozen=True)
class TrainedColumns:
    """The columns of a table, the trained columns of each, and how a category among them is rewritten.

    ``levels`` is position → the entries of each level, and at last those of an unseen one.
    """

    table: Sequence[Column]
    parts: Sequence[Sequence[Column]]
    levels: Mapping[int, Entries]

    @classmethod
    def of(cls, table: Sequence[Column]) -> TrainedColumns:
        """Columns of a table, trained as they are."""
        return cls(table, [(column,) for column in table], {})

    @property
    def columns(self) -> list[Column]:
        """All trained columns, in order."""
        return [column for parts in self.parts for column in parts]

    @property
    def n_design(self) -> int:
        """Trained design columns, the constant included."""
        return max((column.stop for column in self.columns), default=1)

    def positions(self, i: int) -> range:
        """Where the trained columns of column i of the table are among all."""
        before = sum(map(len, self.parts[:i]))
        return range(before, before + len(self.parts[i]))

    def first(self, i: int) -> int:
        """Where the first trained column of column i of the table is among all."""
        return self.positions(i)[0]

    def rewritten(self) -> frozenset[int]:
        """Positions of the trained columns that stand for levels."""
        return frozenset(k for i in self.levels for k in self.positions(i))

    def codes(self, design: Design, i: int) -> NDArray[np.intp]:
        """Level of every row in category i of the table, and its width for an unseen one."""
        column, slot = self.table[i], self._first_slots[i]
        levels = design.ids[:, slot] - column.start
        return np.where(design.weights[:, slot] == 0, column.width, levels).astype(np.intp)

    def design(self, design: Design, rows: Mapping[int, Entries] | None = None) -> Design:
        """Design rows of the table as trained ones; ``rows`` has other entries for the rows of a category."""
        if not self.levels:
            return design
        written = [Entries(design.ids[:, :1], design.weights[:, :1])]
        for i, (column, first) in enumerate(zip(self.table, self._first_slots, strict=True)):
            if i in self.levels:
                written.append((rows or {}).get(i) or self.levels[i].take(self.codes(design, i)))
            else:
                slots = slice(first, first + column.n_slots)
                moved = design.ids[:, slots] + np.int32(self.parts[i][0].start - column.start)
                written.append(Entries(moved, design.weights[:, slots]))
        joined = Entries.joined(written)
        return Design(joined.ids, joined.weights.astype(design.weights.dtype, copy=False))

    def matrices(self, coef: FloatArray) -> FloatArray:
        """(models, design columns, width) of the table from those of the trained columns; further ones stay last.

        What an unseen level has is moved to the constant, so that it is zero.
        """
        if not self.levels:
            return coef
        constant, tables = coef[:, :1].copy(), []
        for i, parts in enumerate(self.parts):
            rows = self.levels[i].combined(coef) if i in self.levels else coef[:, parts[0].start : parts[0].stop]
            if i in self.levels:
                constant += rows[:, -1:]
                rows = rows[:, :-1] - rows[:, -1:]
            tables.append(rows)
        return np.concatenate([constant, *tables, coef[:, self.n_design :]], axis=1)

    @property
    def _first_slots(self) -> list[int]:
        return list(accumulate((column.n_slots for column in self.table[:-1]), initial=1))
