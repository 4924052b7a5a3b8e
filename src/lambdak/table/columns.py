"""All types of columns: a new one is a file that fills in the contract of :class:`Column`, and a line in COLUMNS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lambdak.table.category import Category
from lambdak.table.column import Column, Saved
from lambdak.table.curve import Curve
from lambdak.table.levels import OTHER
from lambdak.table.linear import Linear
from lambdak.table.numeric import Numeric

__all__ = ["COLUMNS", "OTHER", "Category", "Column", "Curve", "Linear", "Numeric", "Saved"]

COLUMNS: Final[Mapping[str, type[Column]]] = {column.kind: column for column in (Curve, Linear, Category)}
