"""All types of columns: a new one is a file that fills in the contract of :class:`Column`, and a line in COLUMNS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lambdak.table.category_column import Category
from lambdak.table.category_levels import OTHER
from lambdak.table.column_contract import Column, Saved
from lambdak.table.curve_column import Curve
from lambdak.table.linear_column import Linear
from lambdak.table.numeric_column import Numeric

__all__ = ["COLUMNS", "OTHER", "Category", "Column", "Curve", "Linear", "Numeric", "Saved"]

COLUMNS: Final[Mapping[str, type[Column]]] = {column.kind: column for column in (Curve, Linear, Category)}
