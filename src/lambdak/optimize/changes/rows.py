"""Rows to decide about: their cells by column name, copies of them with other cells, and what ``predict`` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from lambdak._types import Float64Array
from lambdak.model import Model
from lambdak.model.rows import given_table
from lambdak.optimize.pencils import is_pencil
from lambdak.table.column_types import Column
from lambdak.table.read import Table, named_array
from lambdak.table.rows import optional_rows


@final
@dataclass(frozen=True, eq=False)
class Row:
    """One row of a table, and the model that predicts it.

    Attributes
    ----------
    model : Model
    cells : mapping of str to cell
        Numbers and levels by column name; None where a cell is missing.
    offset : float
        Added to every raw score.
    """

    model: Model
    cells: Mapping[str, Any]
    offset: float = 0.0

    def raw(self, changes: Sequence[Mapping[str, Any]]) -> Float64Array:
        """Raw scores (changes, outputs) of the row with other cells, as ``predict`` computes them."""
        names = self.model.encoder.feature_names
        cells = np.empty((len(changes), len(names)), object)
        for own, change in zip(cells, changes, strict=True):
            own[:] = [change.get(name, self.cells[name]) for name in names]
        offset = np.full(len(changes), self.offset) if self.offset else None
        return np.asarray(self.model.raw(named_array(cells, names), offset), np.float64).reshape(len(changes), -1)


def read_rows(model: Model, X: Any, offset: ArrayLike | None = None) -> list[Row]:
    """The rows of a table; a mapping or a one-dimensional array is one row."""
    table = given_table(model, X)
    positions = model.encoder.positions(table)
    columns = [
        _cells(column, table, position) for column, position in zip(model.encoder.columns, positions, strict=True)
    ]
    offsets = optional_rows(offset, table.shape[0], "offset")
    names = model.encoder.feature_names
    return [
        Row(model, dict(zip(names, cells, strict=True)), 0.0 if offsets is None else float(offsets[i]))
        for i, cells in enumerate(zip(*columns, strict=True))
    ]


def read_row(model: Model, row: Any, offset: float | None = None) -> Row:
    """A mapping, a one-dimensional array, or a table with one row."""
    rows = read_rows(model, row, None if offset is None else np.ravel(np.asarray(offset, np.float64)))
    if len(rows) != 1:
        raise ValueError(f"row must be a single row; got {len(rows)} rows: pass X.iloc[[i]] or X[i : i + 1]")
    return rows[0]


def _cells(column: Column, table: Table, position: int) -> list[Any]:
    """Plain cells of one column: floats or levels, None where one is missing."""
    cells = table.cells(position)
    if column.is_number:
        return [None if np.isnan(number) else number for number in cells.numbers().tolist()]
    codes, levels = cells.levels()
    return [levels[code] for code in codes.tolist()]


def model_of(model: Any) -> Model:
    """The model of a fitted estimator, or itself."""
    own = getattr(model, "model_", model)
    if is_pencil(model):
        raise TypeError(
            f"model must be a fitted estimator or its model_, which know the rows of training; got "
            f"{type(model).__name__}: lambdak.optimize.minimize takes it, and Pencil.inverse solves f(z) = value"
        )
    if not isinstance(own, Model):
        raise TypeError(f"model must be a fitted estimator or its model_; got {type(model).__name__}")
    return own
