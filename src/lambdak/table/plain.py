"""Short tables, cell by cell: for a few rows, what a library does per column costs more than all their cells.

Only plain cells of plain dtypes are read like this. Where anything else occurs the answer is None, and the table is
read column by column instead, which also says what is wrong with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lambdak.table.cells import LARGEST, is_missing_type

FEW_ROWS = 16  # up to which reading by cells is faster

PlainRows: TypeAlias = list[list[object]]
ReadByCell: TypeAlias = Callable[[list[int]], PlainRows | None]  # the cells at these positions, row by row
Entries: TypeAlias = tuple[tuple[int, ...], tuple[float, ...]]  # ids and weights of one cell

_NAN = float("nan")
_FLOATS = (float, np.float16, np.float32, np.float64)
_INTEGERS = (int, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
_NUMBERS: frozenset[type] = frozenset((bool, np.bool_, *_FLOATS, *_INTEGERS))
_LEVELS = _NUMBERS | {str}

_ARRAY_KINDS = "fiubUO"
_PLAIN_INTEGERS = tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
_PANDAS_DTYPES = frozenset(f"{kind}Dtype" for kind in ("Float32", "Float64", "Boolean", "String", *_PLAIN_INTEGERS))
_POLARS_DTYPES = frozenset(("Float32", "Float64", "Boolean", "String", "Categorical", "Enum", "Null", *_PLAIN_INTEGERS))


def plain_number(cell: Any) -> float | None:
    """A cell as a finite number, NaN if it is missing; None if it is not plain.

    >>> plain_number(2), plain_number(None), plain_number("2"), plain_number(float("inf"))
    (2.0, nan, None, None)
    """
    if type(cell) not in _NUMBERS:
        return _NAN if is_missing_type(type(cell)) else None
    try:
        number = float(cell)
    except OverflowError:
        return None
    return number if abs(number) <= LARGEST or number != number else None


def plain_level(cell: Any) -> tuple[object] | None:
    """A cell as what equals its level, None if it is missing; None instead of the pair of brackets if it is not plain.

    >>> plain_level("red"), plain_level(float("nan")), plain_level(b"red")
    (('red',), (None,), None)
    """
    if type(cell) in _LEVELS:
        return (None,) if cell != cell else (cell,)
    return (None,) if is_missing_type(type(cell)) else None


def not_plain(positions: list[int]) -> PlainRows | None:
    """No rows: the table is to be read column by column."""
    return None


def is_exactly(X: object, library: str) -> bool:
    """Whether ``X`` is a frame of this library, and not of a class derived from it; the library is not imported."""
    module = sys.modules.get(library)
    return module is not None and type(X) is getattr(module, "DataFrame", None)


def array_rows(array: NDArray[Any], positions: list[int]) -> PlainRows | None:
    """Return the cells of an array of numbers, strings or objects at these columns, row by row."""
    if array.dtype.kind not in _ARRAY_KINDS:
        return None
    rows: list[list[object]] = array[:, positions].tolist()
    return rows


def pandas_rows(X: Any, dtypes: Sequence[Any], positions: list[int]) -> PlainRows | None:
    """Return the cells of a frame of pandas at these columns, row by row; None if not all are plain."""
    if not all(_plain_for_pandas(dtypes[i]) for i in positions):
        return None
    cell = X.iat
    return [[cell[row, i] for i in positions] for row in range(X.shape[0])]


def polars_rows(X: Any, positions: list[int]) -> PlainRows | None:
    """Return the cells of a frame of polars at these columns, row by row; None if not all are plain."""
    dtypes = X.dtypes
    if not all(dtypes[i].base_type().__name__ in _POLARS_DTYPES for i in positions):
        return None
    return [[row[i] for i in positions] for row in X.rows()]


def _plain_for_pandas(dtype: Any) -> bool:
    if isinstance(dtype, np.dtype):
        return dtype.kind in _ARRAY_KINDS
    name = type(dtype).__name__
    return name in _PANDAS_DTYPES or (name == "CategoricalDtype" and _plain_for_pandas(dtype.categories.dtype))
