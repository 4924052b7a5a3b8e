"""What the cells of an array are: numbers, booleans or text; others are refused, with advice on what to do instead."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from numbers import Complex, Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lambdak.table.cells import Cells, is_missing_type
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
