"""Columns that look like identifiers: they tell rows apart, and nothing about a row that is not yet known.

The rule is careful, because a false alarm costs trust: nearly all cells are distinct, and the column is either text, or
whole numbers that count rows (sorted steps, or a dense range in any order), or whole numbers under a name such as
``policy_id``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lambdak.table.cells import Cells, is_missing
from lambdak.table.dates import are_iso_dates
from lambdak.table.notices import warn_user

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
