r"""What a table holds as one number, to tell whether two tables are the same: whichever library they come from.

The hash is SHA-256 of these bytes, in this order:

- the line ``lambdak table 1``, then a line with the numbers of rows and columns;
- for each column, in the order of the table, a line with its name in JSON and its kind, then its cells. The kind is
  ``number``, ``bool``, ``level`` (a category whose levels are numbers) or ``text``. Numbers are float64, little-endian,
  row by row; a missing one is the NaN 7ff8000000000000, and minus zero is zero. All other cells are one JSON list
  (ASCII, without spaces), in which a missing cell is ``null``, and a line end.

A sparse table is the line ``lambdak sparse table 1``, the line with its shape, and its non-zeros in row order: row and
column as int64 and the number as float64, three arrays one after the other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, issparse

from lambdak.table.cells import Cells
from lambdak.table.close_names import asked
from lambdak.table.read import Table, read_table
from lambdak.table.rows import target_rows
from lambdak.table.sparse import read_sparse

_FIRST_LINE = b"lambdak table 1\n"
_FIRST_SPARSE_LINE = b"lambdak sparse table 1\n"
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))  # SplitMix64


def content_hash(X: Any, columns: Sequence[str] | None = None) -> str:
    """SHA-256 of a table, in hexadecimal: of names, kinds and cells, in their order.

    Changing a cell, a name, a kind, or the order of rows or columns changes it; the library of the table does not.
    With ``columns`` it is that of the table with these columns, in this order, whichever others there are.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, None], "town": ["Bern", "Uri"]})
    >>> content_hash(frame)[:16], content_hash(frame) == content_hash(frame[["town", "age"]])
    ('2493b7b7007f51e3', False)
    """
    if issparse(X):
        return _sparse_hash(X)
    table, result = read_table(X), hashlib.sha256(_FIRST_LINE)
    positions = _positions(table, columns)
    result.update(f"{table.shape[0]} {len(positions)}\n".encode())
    for position in positions:
        cells = table.cells(position)
        result.update(f"{json.dumps(table.names[position])} {cells.kind}\n".encode())
        result.update(_number_bytes(cells) if cells.kind == "number" else _list_bytes(cells))
    return result.hexdigest()


def target_hash(y: ArrayLike) -> str:
    """:func:`content_hash` of a target, as a table with this column alone, without a name."""
    return content_hash(target_rows(y)[:, None])


def row_hashes(X: Any, y: ArrayLike | None = None, columns: Sequence[str] | None = None) -> NDArray[np.uint64]:
    """A number for each row, (rows,): rows with the same cells, in all or in these columns, and target have the same.

    Other rows have the same with a chance of 2⁻⁶⁴.
    """
    table = read_table(X.toarray() if issparse(X) else X)
    hashes = np.zeros(table.shape[0], np.uint64)
    for position in _positions(table, columns):
        hashes = _mixed(hashes, _cell_bits(table.cells(position)))
    return hashes if y is None else _mixed(hashes, _cell_bits(read_table(target_rows(y)[:, None]).cells(0)))


def _positions(table: Table, columns: Sequence[str] | None) -> list[int]:
    if columns is None or not table.named:
        return list(range(table.shape[1]))
    for name in columns:
        if name not in table.names:
            raise ValueError(f"columns must be among those of the table; got {name!r}{asked(name, table.names)}")
    return [table.names.index(name) for name in columns]


def _sparse_hash(X: Any) -> str:
    coo = coo_array(read_sparse(X))
    kept = np.flatnonzero(coo.data)
    order = kept[np.lexsort((coo.col[kept], coo.row[kept]))]
    result = hashlib.sha256(_FIRST_SPARSE_LINE + f"{coo.shape[0]} {coo.shape[1]}\n".encode())
    for part, dtype in ((coo.row, "<i8"), (coo.col, "<i8"), (coo.data, "<f8")):
        result.update(part[order].astype(dtype).tobytes())
    return result.hexdigest()


def _numbers(cells: Cells) -> NDArray[np.float64]:
    """The numbers of cells, of which equal ones have equal bits."""
    x = cells.numbers()
    return np.where(np.isnan(x), np.nan, x) + 0.0


def _number_bytes(cells: Cells) -> bytes:
    return _numbers(cells).astype("<f8").tobytes()


def _list_bytes(cells: Cells) -> bytes:
    codes, levels = cells.levels()
    texts = np.array([json.dumps(level) for level in levels], object)
    return f"[{','.join(texts[codes])}]\n".encode("ascii")


def _cell_bits(cells: Cells) -> NDArray[np.uint64]:
    """64 bits for each cell: the same for the same cells."""
    if cells.kind == "number":
        return _numbers(cells).view(np.uint64)
    codes, levels = cells.levels()
    digests = [hashlib.sha256(json.dumps(level).encode()).digest()[:8] for level in levels]
    return np.array([int.from_bytes(digest, "little") for digest in digests], np.uint64)[codes]


def _mixed(hashes: NDArray[np.uint64], bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hashes that depend on further bits too, by the generator SplitMix64, in arithmetic modulo 2⁶⁴."""
    state = (hashes ^ bits) + _MIX[0]
    state = (state ^ (state >> np.uint64(30))) * _MIX[1]
    state = (state ^ (state >> np.uint64(27))) * _MIX[2]
    return np.asarray(state ^ (state >> np.uint64(31)))
