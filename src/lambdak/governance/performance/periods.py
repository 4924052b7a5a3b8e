"""Time in periods: dates by day, month, quarter or year, and whatever else counts periods as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_per_row
from lambdak.governance.performance.bands import MISSING, Codes
from lambdak.table.category_levels import natural, shown
from lambdak.table.cells import factorise_list, is_missing
from lambdak.table.visible import visible

PERIODS = ("auto", "day", "month", "quarter", "year")
_UNITS = {"day": "D", "month": "M", "year": "Y"}
_MOST = 1_000  # periods
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?([T ].*)?")
_LONGEST = {"day": 45, "month": 36, "quarter": 40}  # periods of one kind that "auto" takes


@final
@dataclass(frozen=True, eq=False)
class Periods:
    """The period of each row: positions among the names, which are in order; the last one is that of missing times."""

    names: tuple[str, ...]
    codes: Codes


def periods(time: ArrayLike, rows: int, period: str = "auto") -> Periods:
    """Periods of dates (also as text, year first), or of numbers and text that count periods.

    Periods between the first and the last date are there even without a row.

    >>> periods(np.array(["2024-01-31", "2024-03-01"], "datetime64[D]"), 2, "month").names
    ('2024-01', '2024-02', '2024-03', 'missing')
    """
    if period not in PERIODS:
        raise ValueError(f"period must be one of {', '.join(map(repr, PERIODS))}; got {period!r}")
    values = np.asarray(time)
    check_per_row(values, rows, "time")
    dates = _dates(values)
    return _as_they_are(values) if dates is None else _of_dates(dates, period)


def _dates(values: NDArray[Any]) -> NDArray[np.datetime64] | None:
    """Days, NaT where a date is missing; None if the values are no dates."""
    if values.dtype.kind == "M":
        return values.astype("datetime64[D]")
    if values.dtype.kind not in "OUT":
        return None
    codes, cells = factorise_list(values.tolist())
    words = ["NaT" if is_missing(cell) else str(cell) for cell in cells]
    if not all(word == "NaT" or _DATE.fullmatch(word) for word in words) or set(words) <= {"NaT"}:
        return None
    try:
        return np.array([word[:10] for word in words], "datetime64[D]")[codes]
    except ValueError as error:
        raise ValueError(f"time must hold dates such as 2024-02-29; {error}: correct or drop such rows") from None


def _of_dates(dates: NDArray[np.datetime64], period: str) -> Periods:
    gone = np.isnat(dates)
    if gone.all():
        return Periods((MISSING,), np.zeros(len(dates), np.intp))
    kind = _chosen(dates[~gone]) if period == "auto" else period
    number = _numbers(dates, kind)
    first, last = int(number[~gone].min()), int(number[~gone].max())
    if last - first >= _MOST:
        raise ValueError(f"time must span at most {_MOST} periods; got {last - first + 1}: take period='year'")
    names = tuple(_name(each, kind) for each in range(first, last + 1))
    return Periods((*names, MISSING), np.where(gone, len(names), number - first).astype(np.intp))


def _chosen(dates: NDArray[np.datetime64]) -> str:
    """The shortest period of which there are not too many."""
    ends = np.array([dates.min(), dates.max()])
    fits = (kind for kind, most in _LONGEST.items() if np.ptp(_numbers(ends, kind)) < most)
    return next(fits, "year")


def _numbers(dates: NDArray[np.datetime64], kind: str) -> NDArray[np.int64]:
    if kind == "quarter":
        return np.asarray(dates.astype("datetime64[M]").astype(np.int64) // 3)
    return dates.astype(f"datetime64[{_UNITS[kind]}]").astype(np.int64)


def _name(number: int, kind: str) -> str:
    if kind == "quarter":
        return f"{1970 + number // 4}-Q{number % 4 + 1}"
    return str(np.array(number).astype(f"datetime64[{_UNITS[kind]}]"))


def _as_they_are(values: NDArray[Any]) -> Periods:
    """One period for each distinct value, in natural order."""
    codes, cells = factorise_list([None if is_missing(cell) else cell for cell in values.tolist()])
    plain = [cell if cell is None or isinstance(cell, int | float) else str(cell) for cell in cells]
    known = sorted({cell for cell in plain if cell is not None}, key=natural)
    if len(known) > _MOST:
        raise ValueError(
            f"time must hold dates, or at most {_MOST} periods; got {len(known)} distinct values: convert it to dates"
        )
    place: dict[object, int] = {cell: i for i, cell in enumerate(known)} | {None: len(known)}
    names = (*(visible(shown(cell)) for cell in known), MISSING)
    return Periods(names, np.array([place[cell] for cell in plain], np.intp)[codes])
