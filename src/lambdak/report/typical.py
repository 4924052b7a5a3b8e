"""What a report says of rows: what they are called, and which one is typical."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.table.category_levels import shown
from lambdak.table.column_contract import Column
from lambdak.table.rows import spread_rows

_MOST_ROWS = 400  # that the typical row is chosen from: all pairs of them are compared


def row_names(X: Any) -> list[str] | None:
    """The names of the rows of a table, if its library gives them names and they are not just numbered."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex" or len(index) != len(X):
        return None
    return [f"row {label}" if isinstance(label, int) else shown(label) for label in index.tolist()]


def medoid(columns: Sequence[tuple[Column, NDArray[Any], float]]) -> int:
    """The row whose cells are the least far from those of all others, on average: a real row.

    Columns come with their plain cells and their spread. Numbers are apart by their difference in spreads, at most 1,
    and other cells by 1 unless they are the same.
    """
    rows = len(columns[0][1]) if columns else 1
    chosen = spread_rows(rows, _MOST_ROWS)
    total = np.zeros(len(chosen))
    for column, cells, spread in columns:
        own = cells[chosen]
        if not column.is_number:
            total += (own[:, None] != own[None]).sum(axis=1)
            continue
        x = np.array([np.nan if cell is None else cell for cell in own], np.float64)
        apart = np.minimum(np.abs(x[:, None] - x[None]) / (2 * spread or 1.0), 1.0)
        same = np.isnan(x)[:, None] & np.isnan(x)[None]
        total += np.where(np.isnan(apart), ~same, apart).sum(axis=1)
    return int(chosen[np.argmin(total)])
