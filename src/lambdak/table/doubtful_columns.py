"""Columns that are probably not what the user means: identifiers, and numbers that were read as text.

Columns that look like identifiers: they tell rows apart, and nothing about a row that is not yet known.

The rule is careful, because a false alarm costs trust: nearly all cells are distinct, and the column is either text, or
whole numbers that count rows (sorted steps, or a dense range in any order), or whole numbers under a name such as
``policy_id``.

Columns of text that are numbers but for a few cells: one bad cell turns a whole column into a category.

Columns that a fit takes, and that are probably not what the user means: warnings, each with the way out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.table.cells import EVERY_ROW, Cells, is_missing
from lambdak.table.dates import are_iso_dates
from lambdak.table.matching import listed_columns
from lambdak.table.read import Table
from lambdak.table.visible import warn_user

_FEWEST_ROWS = 50  # below, distinct cells are no surprise
_DISTINCT = 0.99  # of the rows
_FIRST = 1000  # rows that are looked at first
_DENSE = 0.95  # of the numbers in the range that occur, or of the steps that are alike: a count of the rows
_DAYS = "_days"  # ends the name of a date as a number: one row per day is a series, and no identifier
_WORDS = re.compile(r"(?:^|[_\W])(?:id|ids|uuid|guid|key|nr|no|index|idx)(?:$|[_\W\d])", re.IGNORECASE)
_CAMEL = re.compile(r"^(?:ID|Id)(?=[A-Z_]|[a-z]{2,}$)|(?<=[a-z])(?:ID|Id|Nr|No|Key)$|^id$", re.UNICODE)


class IdentifierWarning(UserWarning):
    """A column looks like an identifier of rows."""


def identifier_reason(cells: Cells) -> str | None:
    """Why a column looks like an identifier, in a few words; None if it does not.

    >>> identifier_reason(Cells("policy", np.arange(1000, 1100), "number"))
    'its numbers count the rows'
    """
    if len(cells.values) < _FEWEST_ROWS and cells.factors is None:
        return None
    if cells.kind == "text":
        return _of_text(cells)
    return _of_numbers(cells) if cells.kind == "number" and cells.values.dtype.kind in "fiu" else None


def warn_of_identifiers(columns: Iterable[Cells]) -> None:
    """Warn of the columns that look like identifiers."""
    found = {cells.name: reason for cells in columns if (reason := identifier_reason(cells))}
    if found:
        named = ", ".join(f"{name!r} ({reason})" for name, reason in found.items())
        warn_user(
            f"these columns look like identifiers, which say nothing about new rows: {named}: drop them, or ignore "
            "this warning with warnings.simplefilter('ignore', lambdak.IdentifierWarning)",
            IdentifierWarning,
        )


def _of_text(cells: Cells) -> str | None:
    codes, levels = cells.levels()
    present = [level for level in levels if not is_missing(level)]
    rows = len(codes) if len(present) == len(levels) else int((codes != levels.index(None)).sum())
    if rows < _FEWEST_ROWS or len(present) < _DISTINCT * rows or are_iso_dates(present):
        return None
    return f"{len(present)} different texts in {rows} rows"


def _of_numbers(cells: Cells) -> str | None:
    numbers = cells.values[~np.isnan(cells.values)] if cells.values.dtype.kind == "f" else cells.values
    if len(numbers) < _FEWEST_ROWS or (numbers != np.floor(numbers)).any():
        return None
    if len(np.unique(numbers[:_FIRST])) < _DISTINCT * len(numbers[:_FIRST]):
        return None  # without sorting a long column
    distinct = np.unique(numbers)
    if len(distinct) < _DISTINCT * len(numbers):
        return None
    if _counts_rows(numbers, distinct) and not cells.name.endswith(_DAYS):
        return "its numbers count the rows"
    if _WORDS.search(cells.name) or _CAMEL.search(cells.name):
        return "its name, and numbers that hardly repeat"
    return None


def _counts_rows(numbers: NDArray[np.generic], distinct: NDArray[np.generic]) -> bool:
    """Whether they are sorted with steps that are nearly all alike, or a dense range in any order."""
    span = float(distinct[-1]) - float(distinct[0]) + 1.0
    steps = np.diff(numbers.astype(np.float64))
    ordered = bool((steps > 0).all() or (steps < 0).all())
    return len(distinct) >= _DENSE * span or (ordered and float((steps == np.median(steps)).mean()) >= _DENSE)


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
