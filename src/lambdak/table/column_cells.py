"""The cells of a table, column by column in the order of training, whatever the table is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy.sparse import issparse

from lambdak.table.cells import Cells
from lambdak.table.encoder import TableEncoder
from lambdak.table.read import read_table

Reader = Callable[[int], Cells]


def column_reader(encoder: TableEncoder, X: Any) -> Reader:
    """A function from the position of a column of training to its cells in this table."""
    if issparse(X):
        wide = X.tocsc()
        return lambda i: read_table(wide[:, [i]].toarray()).cells(0)
    table = read_table(X, keep=False)
    positions = encoder.positions(table)
    return lambda i: table.cells(positions[i])
