"""All types of columns: a new one is a file that fills in the contract of :class:`Column`, and a line in COLUMNS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lambdak.table.category_column import Category
from lambdak.table.column_contract import Column
from lambdak.table.curve_column import Curve
from lambdak.table.linear_column import Linear
from lambdak.table.seen import ColumnSettings, RawColumn

_TYPES: tuple[type[Column], ...] = (
    Category,
    Linear,
    Curve,  # takes all that is left
)
COLUMNS: Final[Mapping[str, type[Column]]] = {column.kind: column for column in _TYPES}


def column_type(raw: RawColumn, settings: ColumnSettings) -> type[Column]:
    """Return the type that a column of a table becomes: the first that suits it."""
    return next(column for column in COLUMNS.values() if column.suits(raw, settings))
