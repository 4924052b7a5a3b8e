"""Rows and columns as users give them: a table, or one row as a mapping or a Series; a column by name or position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.model.model import Model
from lambdak.model.readout import dense_rows
from lambdak.table.close_names import asked, shown_names
from lambdak.table.read import Table, named_array, read_table

_SEVERAL = (list, tuple, np.ndarray)


def given_table(model: Model, X: Any) -> Table:
    """The table that a user gives; a mapping or a one-dimensional array is one row."""
    return _one_row(model, X) if is_one_row(X) else read_table(dense_rows(X))


def is_one_row(X: Any) -> bool:
    """Whether this is a single row, and no table."""
    if isinstance(X, Mapping) or getattr(X, "ndim", 2) == 1:
        return True
    return isinstance(X, list | tuple) and not any(isinstance(own, _SEVERAL) for own in X)


def _one_row(model: Model, row: Any) -> Table:
    """The table of one row: cells by name where there are names, otherwise in the order of the columns."""
    if not hasattr(row, "keys"):
        cells = np.empty((1, len(row)), object)
        cells[0] = list(row)
        return read_table(cells)
    if isinstance(row, Mapping) and any(isinstance(cell, _SEVERAL) for cell in row.values()):
        raise TypeError("a mapping is one row, column → cell; got several cells of a column: make it a table first, as "
                        "with pandas.DataFrame(X)")  # fmt: skip
    names = [str(name) for name in row.keys()]  # noqa: SIM118 (of a pandas Series, too)
    missing = [name for name in model.encoder.feature_names if name not in names]
    if missing:
        raise ValueError(
            f"row must have a cell for every column; {shown_names(missing)} is missing: a row of a table is X.iloc[i], "
            "a table with one row X.iloc[[i]]"
        )
    return named_array(_objects([row[name] for name in row.keys()]), names)  # noqa: SIM118


def _objects(cells: Sequence[Any]) -> NDArray[np.object_]:
    own = np.empty((1, len(cells)), object)
    own[0] = cells
    return own


def column_named(model: Model, name: Any) -> int:
    """The position of a column of the model, by its name or position."""
    return column_place(model.encoder.feature_names, name)


def column_place(names: Sequence[str], name: Any) -> int:
    """The position of a column among these, by its name or position."""
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= name < len(names):
        return int(name)
    if name not in names:
        raise ValueError(
            f"column must be one of the model's columns, {shown_names(names)}; got {name!r}{asked(name, names)}"
        )
    return names.index(name)
