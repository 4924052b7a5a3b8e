"""Rows by their position, or by their label in the index of the user's table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lambdak._checks import check_int

Labels = Sequence[Any] | None


def row_labels(X: Any, rows: int) -> Labels:
    """The labels of the rows of a pandas table, or of one row of it; None if they are the positions, or there are none.

    >>> import pandas as pd
    >>> row_labels(pd.DataFrame({"a": [1, 2]}, index=["x", "y"]), 2), row_labels(pd.DataFrame({"a": [1, 2]}), 2)
    (('x', 'y'), None)
    """
    if getattr(X, "ndim", 2) == 1 and hasattr(X, "keys"):
        name = getattr(X, "name", None)
        return None if name is None else (name,)
    index = getattr(X, "index", None)
    if index is None or callable(index) or len(index) != rows:
        return None
    labels = tuple(index.tolist())
    return None if labels == tuple(range(rows)) else labels


def row_position(row: Any, label: Any, labels: Labels, rows: int) -> int:
    """The position of a row that is given by its position, or by its label."""
    if label is not None:
        return _labelled(label, labels)
    same = _places(row, labels)
    if same and not (isinstance(row, int | np.integer) and 0 <= row < rows):
        raise ValueError(
            f"row must be in [0, {rows}), counted from the first row; {row!r} is a label in the index of the table: "
            f"give label={row!r}, or row={same[0]}"
        )
    return check_int(row, "row", 0, rows)


def _labelled(label: Any, labels: Labels) -> int:
    if labels is None:
        raise ValueError(
            f"label needs rows with labels, those of the index of a pandas table; these have none: give row={label!r} "
            "if it is a position, counted from 0"
        )
    same = _places(label, labels)
    if len(same) == 1:
        return same[0]
    if not same:
        raise ValueError(f"label must be in the index of the table that was explained; got {label!r}")
    raise ValueError(f"label must be that of one row; {label!r} is the label of {len(same)}: give row={same[0]}")


def _places(label: Any, labels: Labels) -> list[int]:
    return [i for i, own in enumerate(labels or ()) if type(own == label) in (bool, np.bool_) and own == label]
