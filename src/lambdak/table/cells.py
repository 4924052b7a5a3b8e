"""Cells of a column, and what they are.

What the cells of an array are: numbers, booleans or text; others are refused, with advice on what to do instead.

One column of a table as the user gave it, read as numbers or as levels, each at most once.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Complex, Integral, Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import fits_float, shown_large
from lambdak.eigen.lazy import cached_property
from lambdak.table.dates import are_iso_dates

DATE = (
    "expand it into numbers with lambdak.DateExpander().fit_transform(X), or in a pipeline, "
    "make_pipeline(lambdak.DateExpander(), model)"
)
DURATION = "replace it with a number, such as its days or seconds"
TIME = "replace it with a number, such as its hour or seconds since midnight"
NESTED = "unpack it into separate columns; each cell of a table argument must be a string or a number"
_REFUSED_TYPES: tuple[tuple[tuple[type, ...], str, str], ...] = (
    ((datetime.date, np.datetime64), "a date", DATE),
    ((datetime.timedelta, np.timedelta64), "a duration", DURATION),
    ((datetime.time,), "a time of day", TIME),
    ((Decimal,), "made of decimals", "convert it to float"),
    ((bytes, bytearray, memoryview), "binary", "decode it to strings or replace it with numbers"),
    ((object,), "made of objects", NESTED),
)
_PANDAS_TYPES = {  # by name, for pandas may not be installed
    "Period": ("a date", f"convert it with X[...].dt.to_timestamp(), and {DATE}"),
    "Interval": ("made of intervals", "convert it to strings or to a category, or replace it with its middle"),
}
_ARRAY_TYPES = {"M": np.datetime64, "m": np.timedelta64, "S": bytes}


def array_cells(name: str, values: NDArray[Any], categorical: bool = False) -> Cells:
    """One column; the objects of a category become strings, and its numbers levels."""
    kind = _kind(name, values, categorical)
    return Cells(name, values, "level" if categorical and kind != "text" else kind)


def _kind(name: str, values: NDArray[Any], categorical: bool) -> str:
    """What the cells are, from the dtype of the array or, for objects, from the types that occur."""
    code = values.dtype.kind
    if code in "fiubU":
        return {"b": "bool", "U": "text"}.get(code, "number")
    types = set(map(type, values.tolist())) if code == "O" else {_ARRAY_TYPES.get(code, values.dtype.type)}
    types = {kind for kind in types if not is_missing_type(kind)}
    if code != "O" or not categorical:  # objects of a category, such as the intervals of pandas.cut, become strings
        _check_types(name, types, str(values.dtype))
    if not types or not all(map(_is_number_type, types)):
        return "text"
    return "bool" if types <= {bool, np.bool_} else "number"


def _check_types(name: str, types: set[type], dtype: str) -> None:
    for kind in sorted(types, key=lambda kind: kind.__name__):
        if issubclass(kind, str) or _is_number_type(kind):
            continue
        if issubclass(kind, Complex) and not issubclass(kind, Real):
            raise ValueError(f"Complex data not supported\ncolumn {name!r} ({dtype})\n")
        known = next((what, advice) for refused, what, advice in _REFUSED_TYPES if issubclass(kind, refused))
        what, advice = _PANDAS_TYPES.get(kind.__name__, known)
        refuse(name, what, kind.__name__ if dtype == "object" else dtype, advice)


def refuse(name: str, what: str, dtype: str, advice: str) -> NoReturn:
    """Refuse a column, saying what it is and what to do about it."""
    raise TypeError(f"column {name!r} is {what} ({dtype}): {advice}")


def refuse_text_dates(name: str, levels: Iterable[object]) -> None:
    """Refuse a column of text in which every cell is an ISO date: as a category, no later date would be known."""
    example = next((level for level in levels if level is not None), None)
    if example is not None and are_iso_dates(levels):
        refuse(name, "dates as text", repr(example), f"{DATE}; list it in categorical_features to keep it as text")


def _is_number_type(kind: type) -> bool:
    return issubclass(kind, Real | np.bool_) and not issubclass(kind, np.timedelta64)  # an integer by inheritance


RowIndex = slice | NDArray[np.intp]
EVERY_ROW = slice(None)

# Beyond this, the difference of two values may overflow.
LARGEST = float(np.finfo(np.float64).max) / 4

_EXACT = 2**53  # whole numbers below it are exact in float64
_SPREAD = 4  # places per row up to which a table of places is faster than hashing


@dataclass(frozen=True, eq=False)
class Cells:
    """One column as the user gave it, missing cells as None, NaN or NA; ``kind`` is number, bool, level or text.

    ``rows`` are the rows of the table that the values come from.
    """

    name: str
    values: NDArray[Any]
    kind: str
    rows: RowIndex = field(default_factory=lambda: EVERY_ROW)
    factors: tuple[NDArray[np.intp], list[Any]] | None = None  # codes and distinct cells, if known
    named: bool = False  # whether the column was found by its name
    order: tuple[object, ...] = ()  # levels from the lowest to the highest, if the table knows

    def take(self, rows: NDArray[np.intp]) -> Cells:
        """All the rows in another order."""
        if self.factors is None:
            return replace(self, values=self.values[rows], rows=rows)
        return replace(self, factors=(self.factors[0][rows], self.factors[1]), rows=rows)

    def numbers(self) -> NDArray[np.float64]:
        """The column as finite float64 numbers, with NaN where a cell is missing; read-only."""
        return self._numbers

    @cached_property
    def _numbers(self) -> NDArray[np.float64]:
        if self.values.dtype.kind in "fiub":
            result: NDArray[np.float64] = self.values.astype(np.float64, copy=False).view()
        else:
            codes, keys = self.factors or factorise(self.values)
            result = np.array([self._number(key, code) for code, key in enumerate(keys)], np.float64)[codes]
        huge = np.abs(result) > LARGEST
        if huge.any():
            cell = int(np.argmax(huge))
            raise ValueError(
                f"column {self.name!r} contains infinity or a value too large; got {self._shown(cell)} in row "
                f"{self.row(cell)}: replace it with NaN, which counts as missing, or with a finite cap"
            )
        result.setflags(write=False)
        return result

    def row(self, cell: int) -> int:
        """The row of the table that a cell is in."""
        return (self.rows.start or 0) + cell if isinstance(self.rows, slice) else int(self.rows[cell])

    def _number(self, key: object, code: int) -> float:
        if is_missing(key):
            return float("nan")
        if isinstance(key, Real | np.bool_):
            return float(key) if fits_float(key) else float("inf")
        codes = (self.factors or factorise(self.values))[0]
        raise ValueError(
            f"column {self.name!r} must hold numbers; got {key!r} in row {self.row(int(np.argmax(codes == code)))}: "
            "convert it to numbers, or fit with the column in categorical_features"
        )

    def _shown(self, cell: int) -> str:
        """A cell that is infinite or too large."""
        codes, keys = self.factors or factorise(self.values)
        value = keys[codes[cell]]
        return str(float(value)) if fits_float(value) else shown_large(value)

    def levels(self) -> tuple[NDArray[np.intp], list[object]]:
        """Codes (rows,) into a list of levels: plain str, bool, int or float, and None for missing.

        >>> Cells("color", np.array(["red", None, "blue", "red"], object), "text").levels()
        (array([0, 1, 2, 0]), ['red', None, 'blue'])
        """
        return self._levels

    @cached_property
    def _levels(self) -> tuple[NDArray[np.intp], list[object]]:
        codes, keys = self.factors or factorise(self.values)
        plain = [_level(key) for key in keys]
        position = {level: i for i, level in enumerate(dict.fromkeys(plain))}
        return np.array([position[level] for level in plain], np.intp)[codes], list(position)


def plain_levels(keys: Iterable[object]) -> tuple[object, ...]:
    """Return distinct cells as levels, in their order."""
    return tuple(dict.fromkeys(_level(key) for key in keys))


def factorise(values: NDArray[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Codes (rows,) and the distinct cells they point at, in order of appearance; no two NaN are equal.

    >>> factorise(np.array(["b", "a", "b"]))
    (array([0, 1, 0]), ['b', 'a'])
    """
    if (small := first_of_each(values)) is not None:
        return small[0], values[small[1]].tolist()
    return factorise_list(values.tolist())


def factorise_list(cells: list[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Codes (rows,) and the distinct cells of a list that they point at, in order of appearance."""
    position = {key: i for i, key in enumerate(dict.fromkeys(cells))}
    return np.fromiter(map(position.__getitem__, cells), np.intp, len(cells)), list(position)


def first_of_each(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Codes (rows,) and the first row of each, in order of appearance, of whole numbers that lie close together.

    None for any others: hashing finds the distinct ones among them.

    >>> first_of_each(np.array([7, 5, 7]))
    (array([0, 1, 0]), array([0, 1]))
    """
    if values.dtype.kind not in "fiub" or not len(values):
        return None
    low, high = values.min().item(), values.max().item()  # float16 has no room for the limit
    if not (-_EXACT < low <= high < _EXACT and int(high) - int(low) <= _SPREAD * len(values)):
        return None
    whole = values.astype(np.int64)
    if values.dtype.kind == "f" and (whole != values).any():
        return None
    return _first_places(whole - int(low), int(high) - int(low) + 1)


def _first_places(place: NDArray[np.int64], places: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    rows = len(place)
    first = np.full(places, rows)
    first[place[::-1]] = np.arange(rows - 1, -1, -1)  # of several rows with one place, the last that is set stays
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < rows)]
    code = np.empty(places, np.intp)
    code[order] = np.arange(len(order))
    return code[place], first[order]


def is_missing_type(kind: type) -> bool:
    """Whether all cells of a type are missing: None, and NA and NaT of pandas, which may not be installed."""
    return kind is type(None) or kind.__name__ in ("NAType", "NaTType")


def is_missing(key: Any) -> bool:
    """Whether a cell is None, NaN, or pandas' NA or NaT."""
    return is_missing_type(type(key)) or (isinstance(key, Real) and bool(key != key))


def _level(key: Any) -> object:
    if is_missing(key):
        return None
    if isinstance(key, bool | np.bool_):
        return bool(key)
    if isinstance(key, Integral):
        return int(key)
    if isinstance(key, Real) and fits_float(key):
        # 1.0 is the level 1: a column of integers turns to floats when a cell is missing.
        number = float(key)
        return int(number) if number.is_integer() else number
    return str(key)
