"""Dates as numbers: year, month, weekday and days since 1970, in the wall time of their own time zone.

Nothing is learnt from a table, so that a date has the same numbers in every table.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

Dates = NDArray[np.datetime64]

PARTS = ("year", "month", "weekday", "days")
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_DAY = 86_400e6  # microseconds
_THURSDAY = 3  # the first of January 1970, where Monday is 0


def are_iso_dates(levels: Iterable[object]) -> bool:
    """Whether all texts are dates such as 2024-01-31, maybe with a time, and there is at least one.

    >>> are_iso_dates(["2024-01-31", None]), are_iso_dates(["2024-01-31", "soon"]), are_iso_dates([])
    (True, False, False)
    """
    texts = [level for level in levels if level is not None and level == level]
    return bool(texts) and all(isinstance(text, str) and _ISO.fullmatch(text) and _parsed(text) for text in texts)


def date_columns(X: Any) -> list[str]:
    """Columns of a frame that hold dates: by their dtype, or as ISO text, maybe of a category, in every cell."""
    frame = nw.from_native(X, eager_only=True)
    return [name for name in frame.columns if _is_date(frame.get_column(name))]


def expanded(X: Any, columns: Sequence[str], parts: Sequence[str] = PARTS) -> Any:
    """A frame of the same library, in which each of these columns is replaced with numbers such as ``sold_year``."""
    frame = nw.from_native(X, eager_only=True)
    order: list[str] = []
    made: list[nw.Series[Any]] = []
    for name in frame.columns:
        if name not in columns:
            order.append(name)
            continue
        numbers = parts_of(_dates(frame.get_column(name), name), parts)
        new_names = part_names(name, parts)
        taken = [each for each in new_names if each in frame.columns]
        if taken:
            raise ValueError(f"column {taken[0]!r} is there already, and {name!r} would become it: rename one of them")
        order += new_names
        made += [nw.new_series(each, numbers[part], nw.Float64, backend=frame.implementation)
                 for each, part in zip(new_names, parts, strict=True)]  # fmt: skip
    return frame.with_columns(*made).select(nw.col(*order)).to_native()


def part_names(name: str, parts: Sequence[str] = PARTS) -> list[str]:
    """What the numbers of a column are called.

    >>> part_names("sold")
    ['sold_year', 'sold_month', 'sold_weekday', 'sold_days']
    """
    return [f"{name}_{part}" for part in parts]


def parts_of(dates: Dates, parts: Sequence[str] = PARTS) -> dict[str, NDArray[np.float64]]:
    """Numbers of dates, NaN where one is missing; Monday is 0.

    >>> parts_of(np.array(["2024-01-31T12"], "M8[us]"))
    {'year': array([2024.]), 'month': array([1.]), 'weekday': array([2.]), 'days': array([19753.5])}
    """
    known = ~np.isnat(dates)
    days = dates.astype("M8[us]").astype(np.int64) / _DAY
    found = {
        "year": dates.astype("M8[Y]").astype(np.int64) + 1970.0,
        "month": dates.astype("M8[M]").astype(np.int64) % 12 + 1.0,
        "weekday": (np.floor(days) + _THURSDAY) % 7,
        "days": days,
    }
    return {part: np.where(known, found[part], np.nan) for part in parts}


def _is_date(series: nw.Series[Any]) -> bool:
    if series.dtype in (nw.Date, nw.Datetime):
        return True
    if series.dtype not in (nw.String, nw.Object, nw.Categorical, nw.Enum):
        return False
    cells = series.to_list()
    if any(isinstance(cell, datetime.date) for cell in cells):
        return True
    return (
        are_iso_dates(dict.fromkeys(cells)) if all(isinstance(cell, str) or _is_gap(cell) for cell in cells) else False
    )


def _dates(series: nw.Series[Any], name: str) -> Dates:
    """The wall time of each cell."""
    if series.dtype == nw.Datetime:
        return np.asarray(series.dt.replace_time_zone(None).to_numpy(), "M8[us]")
    cells = series.to_list()
    found = [None if _is_gap(cell) else _parsed(cell) for cell in cells]
    for row, (cell, date) in enumerate(zip(cells, found, strict=True)):
        if date is None and not _is_gap(cell):
            raise ValueError(f"column {name!r} must hold dates, such as '2024-01-31'; got {cell!r} in row {row}")
    return np.array(found, "M8[us]")


def _is_gap(cell: Any) -> bool:
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell)


def _parsed(cell: Any) -> datetime.datetime | None:
    """A date, or an ISO text of one, without its time zone; None of anything else."""
    if isinstance(cell, datetime.datetime):
        return cell.replace(tzinfo=None)
    if isinstance(cell, datetime.date):
        return datetime.datetime(cell.year, cell.month, cell.day)
    try:
        return datetime.datetime.fromisoformat(cell).replace(tzinfo=None)
    except (TypeError, ValueError):
        return None
