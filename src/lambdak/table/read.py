"""Tables of any library, column by column: pandas, polars, pyarrow, NumPy, lists of rows; masked cells are missing.

``read_table(X)`` looks at names and shape only; ``Table.cells(i)`` then reads one column as a 1-D array and says
what its dtype stands for: a number, a bool, a level (a category of numbers) or a text. ``Table.cells(i, rows)``
does so for some rows as if the others were not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from lambdak.eigen.lazy import cached_property
from lambdak.table.cells import (
    DATE,
    DURATION,
    EVERY_ROW,
    NESTED,
    TIME,
    Cells,
    RowIndex,
    array_cells,
    factorise_list,
    first_of_each,
    plain_levels,
    refuse,
)
from lambdak.table.plain import (
    FEW_ROWS,
    PlainRows,
    ReadByCell,
    array_rows,
    is_exactly,
    not_plain,
    pandas_rows,
    polars_rows,
)

_REFUSED_DTYPES: tuple[tuple[Any, str, str], ...] = (
    (nw.Date, "a date", DATE),
    (nw.Datetime, "a date", DATE),
    (nw.Duration, "a duration", DURATION),
    (nw.Time, "a time of day", TIME),
    (nw.List, "nested", NESTED),
    (nw.Array, "nested", NESTED),
    (nw.Struct, "nested", NESTED),
)


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
    read: Callable[[int, RowIndex], Cells]
    labels: Sequence[object] = ()  # of the columns of a frame, as the user spells them
    keep: bool = True
    by_cell: ReadByCell = not_plain
    first_row: int = 0  # where it begins in a larger table, for what errors say
    _kept: dict[int, Cells] = field(default_factory=dict, init=False, repr=False)

    def cells(self, position: int, rows: RowIndex = EVERY_ROW) -> Cells:
        """The column at ``position``, of these rows only: other rows do not influence its kind."""
        if isinstance(rows, slice):
            if position in self._kept and rows == EVERY_ROW:
                return self._kept[position]
            cells = self._some_cells(position, rows)
            if self.keep and rows == EVERY_ROW:
                self._kept[position] = cells
            return cells
        if len(np.unique(rows)) == len(rows) == self.shape[0]:
            return self.cells(position).take(rows)
        return self._some_cells(position, rows)

    def plain_rows(self, positions: list[int]) -> PlainRows | None:
        """Return the cells of a short table at these columns, row by row; None if it is long, or needs a closer look.

        One that keeps its columns is read only once, and so not like this.
        """
        return self.by_cell(positions) if self.shape[0] <= FEW_ROWS and not self.keep else None

    def _some_cells(self, position: int, rows: RowIndex) -> Cells:
        own = self.read(position, rows)
        if self.first_row and isinstance(rows, slice):
            rows = slice(self.first_row + (rows.start or 0), None)
        return Cells(own.name, own.values, own.kind, rows, own.factors, self.named, own.order)  # faster than replace


def read_table(X: Any, keep: bool = True) -> Table:
    """The table behind ``X``: a pandas, polars or pyarrow table, a 2-D array, a list of rows, or a table as read.

    >>> table = read_table([[1, "a"], [2, "b"]])
    >>> table.cells(1).kind, read_table(table) is table
    ('text', True)
    """
    if isinstance(X, Table):
        return X
    if type(X) in (np.ndarray, list):  # what follows takes longer than reading a row
        return _read_array(X, keep)
    if is_exactly(X, "pandas"):
        return _read_pandas(X, X.columns.tolist(), keep)
    if is_exactly(X, "polars"):
        return _read_frame(X, X.columns, keep, partial(polars_rows, X))
    if nw.dependencies.is_into_dataframe(X):
        return _read_any_frame(X, keep)
    if nw.dependencies.is_into_lazyframe(X):
        raise TypeError(f"X is lazy ({type(X).__name__}): collect it first, with X.collect() or X.compute()")
    return _read_array(X, keep)


def named_array(X: NDArray[Any], names: Sequence[str]) -> Table:
    """A 2-D array with names for its columns: a table without any library for tables.

    >>> named_array(np.zeros((2, 1)), ["age"]).names
    ('age',)
    """
    columns = tuple(names)
    return _array_table(X, columns, True, columns, keep=True)


def one_row(cells: Sequence[Any], names: Sequence[str]) -> Table:
    """A table of one row."""
    row_cells = np.empty((1, len(names)), object)
    row_cells[0] = cells
    return named_array(row_cells, names)


def position_names(n_features: int) -> tuple[str, ...]:
    """The names x0, x1, … of columns that came without any.

    >>> position_names(2)
    ('x0', 'x1')
    """
    return tuple(f"x{i}" for i in range(n_features))


def _read_any_frame(X: Any, keep: bool) -> Table:
    if hasattr(X, "iloc"):
        return _read_pandas(X, list(X.columns), keep)
    return _read_frame(X, list(X.column_names if hasattr(X, "column_names") else X.columns), keep)


def _read_pandas(X: Any, labels: list[Any], keep: bool) -> Table:
    dtypes = list(X.dtypes)
    if all(isinstance(dtype, np.dtype) and dtype.kind == "f" for dtype in dtypes):
        names, named = _names(labels)
        return _array_table(X.to_numpy(), names, named, labels, keep)  # all columns at once is much faster
    numeric = [isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in dtypes]
    return _read_frame(
        X, labels, keep, partial(pandas_rows, X, dtypes) if is_exactly(X, "pandas") else not_plain, numeric
    )


def _read_frame(
    X: Any, labels: list[Any], keep: bool, by_cell: ReadByCell = not_plain, numeric: Sequence[bool] = ()
) -> Table:
    names, named = _names(labels)
    frame = _Frame(X, names, named, numeric if named else ())
    return Table(names, named, X.shape, frame.cells, labels, keep, by_cell)


def _names(labels: Sequence[Any]) -> tuple[tuple[str, ...], bool]:
    """The names of columns with these labels, and whether they are the user's."""
    if len(set(labels)) < len(labels):
        repeated = [label for label, count in Counter(labels).items() if count > 1]
        raise ValueError(f"column names must be unique; got {repeated} more than once: rename or drop the repeats")
    named = _are_names(labels)
    return (tuple(map(str, labels)), True) if named else (position_names(len(labels)), False)


def _array_table(
    array: NDArray[Any], names: tuple[str, ...], named: bool, labels: Sequence[object], keep: bool
) -> Table:
    shape = (array.shape[0], array.shape[1])
    read = lambda i, rows: array_cells(names[i], array[rows, i])  # noqa: E731
    return Table(names, named, shape, read, labels, keep, partial(array_rows, array))


class _Frame:
    """A frame of any library, which is not looked at before a column is needed.

    ``named`` says whether the names are those of the frame, ``numeric`` which columns of pandas are arrays of plain
    numbers.
    """

    def __init__(self, native: Any, names: tuple[str, ...], named: bool, numeric: Sequence[bool]) -> None:
        self._native, self._names, self._named, self._numeric = native, names, named, numeric

    @cached_property
    def _frame(self) -> nw.DataFrame[Any]:
        return nw.from_native(self._native, eager_only=True)

    def cells(self, position: int, rows: RowIndex) -> Cells:
        """Some rows of one column."""
        name = self._names[position]
        if self._numeric and self._numeric[position]:
            return array_cells(name, self._native[name].to_numpy()[rows])  # in half the time that narwhals takes
        # By position, narwhals lists all names of a frame for each of its columns: the square of their number.
        series = self._frame.get_column(name) if self._named else self._frame[:, position]
        return _series_cells(series if isinstance(rows, slice) and rows == EVERY_ROW else series[rows], name)


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


_TO_TABLE = "pandas.DataFrame(X)"
_MANY_ROWS = 1000  # up to which the cells of a category are read faster than its codes
_PLAIN_INTEGERS = (nw.Int64, nw.Int32, nw.Int16, nw.Int8, nw.UInt64, nw.UInt32, nw.UInt16, nw.UInt8)


def _series_cells(series: nw.Series[Any], name: str) -> Cells:
    dtype = series.dtype
    if dtype.is_float() or dtype in _PLAIN_INTEGERS:
        return array_cells(name, series.to_numpy())
    if dtype == nw.String:
        codes, keys = _distinct_strings(series)
        return Cells(name, _objects(keys), "text", factors=(codes, keys))
    for refused, what, advice in _REFUSED_DTYPES:
        if dtype == refused:
            native = series.to_native()
            refuse(name, what, str(getattr(native, "dtype", None) or native.type), advice)
    if dtype in (nw.Decimal, nw.Int128, nw.UInt128):  # NumPy has none of these
        return array_cells(name, series.cast(nw.Float64).to_numpy())
    if dtype in (nw.Categorical, nw.Enum):
        return replace(_category_cells(series, name), order=_order_of(series))
    if dtype == nw.Boolean or dtype.is_numeric():
        return array_cells(name, series.to_numpy())
    return array_cells(name, _objects(series.to_list()))


def _distinct_strings(series: nw.Series[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Codes (rows,) and the distinct strings they point at."""
    if series.implementation.is_pyarrow():  # which does so without a Python object per cell
        encoded: Any = series.to_native().combine_chunks().dictionary_encode(null_encoding="encode")
        return encoded.indices.to_numpy().astype(np.intp), encoded.dictionary.to_pylist()
    if not series.implementation.is_pandas_like():
        return factorise_list(series.to_list())
    codes, keys = series.to_native().factorize(use_na_sentinel=False)  # much faster than hashing its cells
    return codes.astype(np.intp), keys.to_numpy(object).tolist()


def _category_cells(series: nw.Series[Any], name: str) -> Cells:
    """A category, by the codes that its library keeps, if its levels are objects."""
    codes = _library_codes(series) if len(series) > _MANY_ROWS else None
    small = None if codes is None else first_of_each(codes)
    if small is not None:
        distinct = array_cells(name, _category_values(series[small[1]]), categorical=True)
        if distinct.values.dtype.kind == "O":
            return replace(distinct, factors=(small[0], distinct.values.tolist()))
    return array_cells(name, _category_values(series), categorical=True)


def label_order(y: Any) -> tuple[object, ...]:
    """Labels from the lowest to the highest, where the type of a column of them says so, as ordered categories do.

    >>> import pandas as pd
    >>> label_order(pd.Categorical(["good"], ["good", "bad"], ordered=True)), label_order(["good"])
    (('good', 'bad'), ())
    """
    column = nw.from_native(y, allow_series=True, pass_through=True)
    if isinstance(column, nw.DataFrame) and len(column.columns) == 1:
        column = column.get_column(column.columns[0])
    if isinstance(column, nw.Series):
        return _order_of(column) if column.dtype in (nw.Categorical, nw.Enum) else ()
    dtype: Any = getattr(y, "dtype", None)
    return plain_levels(dtype.categories.tolist()) if getattr(dtype, "ordered", False) else ()


def _order_of(series: nw.Series[Any]) -> tuple[object, ...]:
    """Levels from the lowest to the highest, where a category says that they have an order."""
    if series.dtype == nw.Enum:  # of polars, and ordered categories of pandas
        return plain_levels(series.cat.get_categories().to_list())
    ordered = series.implementation.is_pandas() and bool(series.to_native().cat.ordered)
    return plain_levels(series.to_native().cat.categories.tolist()) if ordered else ()


def _library_codes(series: nw.Series[Any]) -> NDArray[Any] | None:
    """One integer per distinct level, if the library has them at hand."""
    native: Any = series.to_native()
    if series.implementation.is_pandas():
        return np.asarray(native.cat.codes)
    if series.implementation.is_polars() and not native.null_count():
        return np.asarray(native.to_physical().to_numpy())
    return None


def _category_values(series: nw.Series[Any]) -> NDArray[Any]:
    native: Any = series.to_native()
    if series.implementation.is_pyarrow():  # to_numpy() would read a null as some level
        return _objects(native.cast(native.type.value_type).to_pylist())
    return series.to_numpy()


def _missing_where_masked(X: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    """Masked cells as NaN or None."""
    if X.dtype.kind == "f":
        return X.filled(np.nan)
    hidden = np.ma.getmaskarray(X) if X.dtype.names is None else np.False_
    if not hidden.any():
        return X.data
    cells = X.data.astype(object)
    cells[hidden] = None
    return cells


def _is_record(row: object) -> bool:
    return isinstance(row, Mapping)


def _objects(cells: list[Any]) -> NDArray[Any]:
    result = np.empty(len(cells), object)
    result[:] = cells
    return result


def _read_array(X: Any, keep: bool) -> Table:
    if X is None or isinstance(X, str | bytes | Mapping | Iterator):
        raise TypeError(f"X must be a table; got {type(X).__name__}: read or convert it first, as with {_TO_TABLE}")
    if type(X) is list and any(isinstance(row, np.ma.MaskedArray) for row in X):
        X = np.ma.stack(X)
    try:
        array = _missing_where_masked(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    except ValueError as error:
        raise ValueError(
            f"X must be a table whose rows have the same length, and each cell a string or a number; {error}"
        ) from None
    if array.dtype.names or (array.ndim == 1 and array.dtype.kind == "O" and any(map(_is_record, array))):
        raise TypeError(f"X must be a table; got an array of records: convert it first, with {_TO_TABLE}")
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
    return _array_table(array, position_names(array.shape[1]), False, (), keep)
