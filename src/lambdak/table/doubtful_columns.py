"""Columns that a fit takes, and that are probably not what the user means: warnings, each with the way out."""

from __future__ import annotations

from typing import Any

import numpy as np

from lambdak._types import Float64Array
from lambdak.table.categorical_features import listed_columns
from lambdak.table.cells import EVERY_ROW
from lambdak.table.identifiers import warn_of_identifiers
from lambdak.table.read import Table
from lambdak.table.stray_text import warn_of_stray_text


def warn_of_columns(table: Table, categorical_features: Any, weight: Float64Array | None = None) -> None:
    """Warn of identifiers, and of numbers that were read as text, in a table with names.

    Rows without weight are not there. A column that the user lists as a category is one, and a table of one column has
    it for a reason.
    """
    if not table.named or not table.shape[0]:
        return
    rows = EVERY_ROW if weight is None else np.flatnonzero(weight > 0)
    listed = listed_columns(categorical_features, table)
    columns = [table.cells(i, rows) for i in range(table.shape[1]) if not listed[i]]
    for cells in columns:
        warn_of_stray_text(cells)
    if table.shape[1] > 1:
        warn_of_identifiers(columns)
