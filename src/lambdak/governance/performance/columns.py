"""Where segments come from: a column of the model, another column, an array beside the table, or periods of dates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from lambdak._checks import check_per_row
from lambdak._types import Float64Array
from lambdak.governance.performance.bands import BANDS, MISSING, Codes, Kind, banding
from lambdak.governance.performance.scored import name_of
from lambdak.table.category_levels import natural, shown
from lambdak.table.cells import Cells, array_cells, factorise_list, is_missing
from lambdak.table.close_names import asked
from lambdak.table.column_contract import Column
from lambdak.table.encoder import TableEncoder
from lambdak.table.matching import column_reader
from lambdak.table.read import read_table
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


_SHOWN = 10  # names in a message


@final
@dataclass(frozen=True, eq=False)
class Split:
    """The segment of each row that counts: a position among the names."""

    about: str
    kind: Kind
    names: tuple[str, ...]
    codes: Codes


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table to split its rows by, which are read when they are needed.

    Attributes
    ----------
    counted : array of shape (n,)
        Positions of the rows that count.
    exposure : array of shape (n,)
        Of these rows: bands hold about the same.
    table_rows : int
        All rows.
    """

    encoder: TableEncoder
    X: Any
    counted: NDArray[np.intp]
    exposure: Float64Array
    table_rows: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the model's columns."""
        return self.encoder.feature_names

    def split(self, by: Any, bands: int = BANDS) -> Split:
        """Bands or levels of a column, given by its name, or of an array with one entry per row; dates by periods."""
        if isinstance(by, str) and by not in self.names and self._dates(by) is not None:
            return self.split_time(by)
        name, column, cells = self._cells(by)
        weight = np.zeros(self.table_rows)
        weight[self.counted] = self.exposure
        groups = banding(cells, column, weight, bands)
        return Split(name, groups.kind, groups.names, groups.codes(cells)[self.counted])

    def split_time(self, time: Any, period: str = "auto") -> Split:
        """Periods of a column of dates, given by its name, or of an array with one entry per row."""
        values = self.raw(time, "time") if isinstance(time, str) else time
        found = periods(values, self.table_rows, period)
        name = time if isinstance(time, str) else name_of(time, "time")
        return Split(name, "periods", found.names, found.codes[self.counted])

    def _cells(self, by: Any) -> tuple[str, Column | None, Cells]:
        if not isinstance(by, str):
            values = np.asarray(by)
            if values.shape != (self.table_rows,):
                raise ValueError(
                    f"by must be the name of a column, or have shape ({self.table_rows},), an entry for each row of X; "
                    f"got shape {values.shape}"
                )
            return name_of(by, "segment"), None, array_cells("by", values)
        if by in self.names:
            position = self.names.index(by)
            return by, self.encoder.columns[position], column_reader(self.encoder, self.X)(position)
        table = None if issparse(self.X) else read_table(self.X, keep=False)
        if table is None or by not in table.names:
            self._refuse(by, "by")
        return by, None, table.cells(table.names.index(by))

    def _dates(self, name: str) -> NDArray[Any] | None:
        """A column of dates; None for any other, and where there is none."""
        try:
            values = np.asarray(self.X[name])
        except Exception:  # whatever a library says of a name that it does not know
            return None
        return values if values.dtype.kind == "M" else None

    def raw(self, name: str, argument: str) -> NDArray[Any]:
        """A column of X as it is; ``argument`` is what it was named by."""
        try:
            return np.asarray(self.X[name])
        except Exception:
            self._refuse(name, argument)

    def _refuse(self, name: str, argument: str) -> NoReturn:
        table = () if issparse(self.X) else read_table(self.X, keep=False).names
        known = list(dict.fromkeys([*self.names, *table]))
        shown = ", ".join(map(repr, known[:_SHOWN])) + (", …" if len(known) > _SHOWN else "")
        raise ValueError(
            f"{argument} must name a column of X, {shown}, or be an array with one entry per row; got {name!r}"
            f"{asked(name, known)}"
        )
