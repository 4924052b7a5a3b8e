"""Tables of any library, column by column: pandas, polars, pyarrow, NumPy, lists of rows.

``read_table(X)`` looks at names and shape only; ``Table.cells(i)`` then reads one column as a 1-D array and says
what its dtype stands for: a number, a bool, a level (a category of numbers) or a text. ``Table.cells(i, rows)``
does so for some rows as if the others were not there.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Complex, Real
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from lambdak.table.cells import EVERY_ROW, Cells, Rows, is_missing_type

_DATE = "replace it with numbers, such as its year, month or days since a start"
_DURATION = "replace it with a number, such as its days or seconds"
_TIME = "replace it with a number, such as its hour or seconds since midnight"
_NESTED = "unpack it into separate columns; each cell of a table argument must be a string or a number"
_REFUSED_DTYPES: tuple[tuple[Any, str, str], ...] = (
    (nw.Date, "a date", _DATE),
    (nw.Datetime, "a date", _DATE),
    (nw.Duration, "a duration", _DURATION),
    (nw.Time, "a time of day", _TIME),
    (nw.List, "nested", _NESTED),
    (nw.Array, "nested", _NESTED),
    (nw.Struct, "nested", _NESTED),
)
_REFUSED_TYPES: tuple[tuple[tuple[type, ...], str, str], ...] = (
    ((datetime.date, np.datetime64), "a date", _DATE),
    ((datetime.timedelta, np.timedelta64), "a duration", _DURATION),
    ((datetime.time,), "a time of day", _TIME),
    ((Decimal,), "made of decimals", "convert it to float"),
    ((bytes, bytearray, memoryview), "binary", "decode it to strings or replace it with numbers"),
    ((object,), "made of objects", _NESTED),
)
_ARRAY_TYPES = {"M": np.datetime64, "m": np.timedelta64, "S": bytes}


@dataclass(frozen=True, eq=False)
class Table:
    """Names, shape and a reader of single columns; ``named`` says whether the names are the user's.

    With ``keep`` a column is read once, however often it is needed; a table that is used once need not keep its
    columns.

    >>> read_table([[1, "a"], [2, "b"], [3, None]]).cells(0, np.array([2, 0])).numbers()
    array([3., 1.])
    """

    names: tuple[str, ...]
    named: bool
    shape: tuple[int, int]
    read: Callable[[int, Rows], Cells]
    labels: Sequence[object] = ()  # of the columns of a frame, as the user spells them
    keep: bool = True
    _kept: dict[int, Cells] = field(default_factory=dict, init=False, repr=False)

    def cells(self, position: int, rows: Rows = EVERY_ROW) -> Cells:
        """The column at ``position``, of these rows only: other rows do not influence its kind."""
        if isinstance(rows, slice):
            return self._every_cell(position) if rows == EVERY_ROW else self._some_cells(position, rows)
        if len(np.unique(rows)) == len(rows) == self.shape[0]:
            return self._every_cell(position).take(rows)
        return self._some_cells(position, rows)

    def _every_cell(self, position: int) -> Cells:
        if position in self._kept:
            return self._kept[position]
        cells = self._some_cells(position, EVERY_ROW)
        if self.keep:
            self._kept[position] = cells
        return cells

    def _some_cells(self, position: int, rows: Rows) -> Cells:
        own = self.read(position, rows)
        return Cells(own.name, own.values, own.kind, rows, own.factors, self.named)  # faster than replace


def read_table(X: object, keep: bool = True) -> Table:
    """The table behind ``X``: a pandas, polars or pyarrow table, a 2-D array, a list of rows, or a table as read.

    >>> table = read_table([[1, "a"], [2, "b"]])
    >>> table.cells(1).kind, read_table(table) is table
    ('text', True)
    """
    if isinstance(X, Table):
        return X
    if nw.dependencies.is_into_dataframe(X):
        return _read_frame(X, keep)
    if nw.dependencies.is_into_lazyframe(X):
        raise TypeError(f"X is lazy ({type(X).__name__}): collect it first, with X.collect() or X.compute()")
    return _read_array(X, keep)


def named_array(X: NDArray[Any], names: Sequence[str]) -> Table:
    """A 2-D array with names for its columns: a table without any library for tables.

    >>> named_array(np.zeros((2, 1)), ["age"]).names
    ('age',)
    """
    own = tuple(names)
    return Table(own, True, (X.shape[0], X.shape[1]), lambda i, rows: _cells(own[i], X[rows, i]), own)


def position_names(n_features: int) -> tuple[str, ...]:
    """The names x0, x1, … of columns that came without any.

    >>> position_names(2)
    ('x0', 'x1')
    """
    return tuple(f"x{i}" for i in range(n_features))


def _read_frame(X: Any, keep: bool) -> Table:
    labels = list(X.column_names if hasattr(X, "column_names") else X.columns)
    repeated = [label for label, count in Counter(labels).items() if count > 1]
    if repeated:
        raise ValueError(f"column names must be unique; got {repeated} more than once: rename or drop the repeats")
    named = _are_names(labels)
    names = tuple(map(str, labels)) if named else position_names(len(labels))
    if hasattr(X, "iloc") and all(isinstance(dtype, np.dtype) and dtype.kind == "f" for dtype in X.dtypes):
        array = X.to_numpy()  # of pandas, all columns at once: much faster for a short table with many of them
        return Table(names, named, array.shape, lambda i, rows: _cells(names[i], array[rows, i]), labels, keep)
    frame = nw.from_native(X, eager_only=True)
    return Table(
        names, named, frame.shape, lambda i, rows: _series_cells(_series(frame, i, rows), names[i]), labels, keep
    )


def _series(frame: nw.DataFrame[Any], position: int, rows: Rows) -> nw.Series[Any]:
    series = frame[:, position]
    return series if isinstance(rows, slice) and rows == EVERY_ROW else series[rows]


def _are_names(labels: Sequence[object]) -> bool:
    """Whether all labels are strings; a mixture is refused with scikit-learn's message."""
    strings = [isinstance(label, str) for label in labels]
    if any(strings) and not all(strings):
        types = sorted({type(label).__name__ for label in labels})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{types} as feature name / column name types. If you want feature names to be stored and validated, "
            "you must convert them all to strings, by using X.columns = X.columns.astype(str) for example."
        )
    return all(strings)


_PLAIN_INTEGERS = (nw.Int64, nw.Int32, nw.Int16, nw.Int8, nw.UInt64, nw.UInt32, nw.UInt16, nw.UInt8)


def _series_cells(series: nw.Series[Any], name: str) -> Cells:
    dtype = series.dtype
    if dtype.is_float() or dtype in _PLAIN_INTEGERS:
        return _cells(name, series.to_numpy())
    if dtype == nw.String and series.implementation.is_pandas_like():  # which finds distinct strings much faster
        codes, keys = series.to_native().factorize(use_na_sentinel=False)
        distinct = keys.to_numpy(object)
        return Cells(name, distinct, "text", factors=(codes.astype(np.intp), distinct.tolist()))
    for refused, what, advice in _REFUSED_DTYPES:
        if dtype == refused:
            native = series.to_native()
            _refuse(name, what, str(getattr(native, "dtype", None) or native.type), advice)
    if dtype in (nw.Decimal, nw.Int128, nw.UInt128):  # NumPy has none of these
        return _cells(name, series.cast(nw.Float64).to_numpy())
    if dtype in (nw.Categorical, nw.Enum):
        return _cells(name, _category_values(series), categorical=True)
    if dtype in (nw.Boolean, nw.String) or dtype.is_numeric():
        return _cells(name, series.to_numpy())
    return _cells(name, _objects(series.to_list()))


def _category_values(series: nw.Series[Any]) -> NDArray[Any]:
    native: Any = series.to_native()
    if series.implementation.is_pyarrow():  # to_numpy() would read a null as some level
        return _objects(native.cast(native.type.value_type).to_pylist())
    return series.to_numpy()


def _objects(cells: list[Any]) -> NDArray[Any]:
    result = np.empty(len(cells), object)
    result[:] = cells
    return result


def _read_array(X: Any, keep: bool) -> Table:
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X must be a table whose rows have the same length; {error}") from None
    if array.dtype.kind in "US" and not hasattr(X, "dtype"):  # NumPy turned the numbers of mixed rows into strings
        array = np.asarray(X, dtype=object)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{array}\n")
    if array.ndim < 2:
        raise ValueError(
            f"Expected 2D array, got {('scalar', '1D')[array.ndim]} array instead:\narray={array}.\nReshape your data "
            "either using array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it "
            "contains a single sample."
        )
    if array.ndim > 2:
        raise ValueError(f"Found array with dim {array.ndim}, while dim <= 2 is required.")
    names = position_names(array.shape[1])
    shape = (array.shape[0], array.shape[1])
    return Table(names, False, shape, lambda i, rows: _cells(names[i], array[rows, i]), keep=keep)


def _cells(name: str, values: NDArray[Any], categorical: bool = False) -> Cells:
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
        what, advice = next((what, advice) for refused, what, advice in _REFUSED_TYPES if issubclass(kind, refused))
        _refuse(name, what, kind.__name__ if dtype == "object" else dtype, advice)


def _refuse(name: str, what: str, dtype: str, advice: str) -> NoReturn:
    raise TypeError(f"column {name!r} is {what} ({dtype}): {advice}")


def _is_number_type(kind: type) -> bool:
    return issubclass(kind, Real | np.bool_) and not issubclass(kind, np.timedelta64)  # an integer by inheritance
