"""What tells one call of fit from another: settings as text, and digests of its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from lambdak.table.read import Table, read_table
from lambdak.table.sparse import read_sparse
from lambdak.training.rows import GivenRows

# Settings that change no bit of a model.
_WITHOUT_EFFECT = ("n_jobs", "verbose", "warm_start")
_RANDOM = "random_state"
_LONGEST = 200  # letters of a setting that is kept as it is


def settings_text(parameters: Mapping[str, Any]) -> dict[str, str]:
    """The settings of an estimator, each as text.

    Of ``random_state`` only whether there is one: what comes of it is compared by itself.
    """
    chosen = {name: value for name, value in parameters.items() if name not in _WITHOUT_EFFECT}
    seeded = chosen.get(_RANDOM) not in (None, np.random)
    return {name: _text(value) for name, value in chosen.items()} | {_RANDOM: "set" if seeded else "None"}


def rows_digests(rows: GivenRows) -> dict[str, str]:
    """One digest of each part of the rows that a user gave."""
    tables = {"X": rows.X, "X_val": None if rows.validation is None else rows.validation.X}
    columns = {"y": rows.y, "sample_weight": rows.weight, "offset": rows.offset, "y_val": None}
    if (own := rows.validation) is not None:
        columns |= {"y_val": own.y, "sample_weight_val": own.weight, "offset_val": own.offset}
    return {name: "None" if X is None else _table_digest(X) for name, X in tables.items()} | {
        name: "None" if values is None else digest(np.asarray(values)) for name, values in columns.items()
    }


def digest(*parts: Any) -> str:
    """SHA-256 of arrays with their types and shapes, and of anything else by how it is written."""
    result = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype != object:
            result.update(f"{part.dtype.str}{part.shape}".encode())
            result.update(np.ascontiguousarray(part).data)
        else:
            result.update(repr(part.tolist() if isinstance(part, np.ndarray) else part).encode())
    return result.hexdigest()


def _text(value: Any) -> str:
    """A setting as it is written, or a digest of it where that is long or leaves something out."""
    if hasattr(value, "__array__"):
        return digest(np.asarray(value))
    text = repr(value)
    return text if len(text) <= _LONGEST else digest(text)


def _table_digest(X: Any) -> str:
    if issparse(X):
        csr = read_sparse(X)
        return digest(csr.shape, csr.data, csr.indices, csr.indptr)
    table = read_table(X)
    return digest(table.names, *(_column_digest(table, i) for i in range(table.shape[1])))


def _column_digest(table: Table, position: int) -> str:
    cells = table.cells(position)
    if cells.factors is None and cells.values.dtype.kind in "fiub":
        return digest(cells.values)
    return digest(cells.kind, *cells.levels())
