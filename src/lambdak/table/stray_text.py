"""Columns of text that are numbers but for a few cells: one bad cell turns a whole column into a category."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lambdak.table.cells import Cells, is_missing
from lambdak.table.notices import warn_user

_FEWEST_NUMBERS = 10  # that differ: fewer may be codes
_FEW = 0.05  # of the cells
_MOST_TEXTS = 5  # that differ


class StrayTextWarning(UserWarning):
    """A column is a category because of a few cells that are no numbers."""


class StrayText(NamedTuple):
    """The first cell that is no number, how many there are, and of how many."""

    column: str
    cell: str
    row: int
    bad: int
    rows: int

    def __str__(self) -> str:
        more = f" and {self.bad - 1} more" if self.bad > 1 else ""
        return (
            f"column {self.column!r} is read as text because of {self.cell!r} in row {self.row}{more}, although "
            f"{self.rows - self.bad} of {self.rows} cells are numbers"
        )


def stray_text(cells: Cells) -> StrayText | None:
    """The cells that keep a column of text from being numbers, if they are few.

    >>> values = np.array([*map(str, range(40)), "n/a"], object)
    >>> print(stray_text(Cells("age", values, "text")))
    column 'age' is read as text because of 'n/a' in row 40, although 40 of 41 cells are numbers
    """
    if cells.kind != "text":
        return None
    codes, levels = cells.levels()
    number = np.array([isinstance(level, int | float) or _is_number(level) for level in levels], bool)
    present = np.array([not is_missing(level) for level in levels], bool)
    texts = present & ~number
    counts = np.bincount(codes, minlength=len(levels))
    bad, rows = int(counts[texts].sum()), int(counts[present].sum())
    if not 0 < bad <= max(_FEW * rows, 1) or texts.sum() > _MOST_TEXTS or (present & number).sum() < _FEWEST_NUMBERS:
        return None
    first = int(np.argmax(texts[codes]))
    return StrayText(cells.name, str(levels[codes[first]]), cells.row(first), bad, rows)


def warn_of_stray_text(cells: Cells) -> None:
    """Warn of a column of text that is numbers but for a few cells."""
    found = stray_text(cells)
    if found is not None:
        warn_user(
            f"{found}: correct such cells, or make them missing with pandas.to_numeric(X[{found.column!r}], "
            "errors='coerce'); if it is text, list it in categorical_features",
            StrayTextWarning,
        )


def _is_number(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return True
