"""Results as tables: frames, and columns of text.

Results as a table of the library that the user's table came from, or of one that is installed.

Columns of text side by side, as a terminal, a mail and a notebook show them alike.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np

Library = Literal["pandas", "polars", "pyarrow"]


def make_frame(columns: Mapping[str, Any], like: Any = None) -> Any:
    """A frame with these columns, of the library of ``like``; pandas, polars or pyarrow if that is none of them."""
    lists = {name: np.asarray(values).tolist() for name, values in columns.items()}
    return nw.from_dict(lists, backend=_library(like)).to_native()


def emptied(like: Any) -> Any:
    """A table without rows of the same library, to remember that by instead of the user's data; None of any other."""
    known = str(type(like).__module__).split(".")[0] in get_args(Library)
    return like[:0] if known else None


def column_names(table: Any) -> list[str]:
    """Names of the columns of a table of any library; none of what is no table."""
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    return list(frame.columns) if isinstance(frame, nw.DataFrame) else []


def column_values(table: Any, name: str) -> Any:
    """A column of a table as an array, of what its library makes of it."""
    return nw.from_native(table, eager_only=True)[name].to_numpy()


def without(table: Any, names: Collection[str]) -> Any:
    """The table without these columns."""
    return nw.from_native(table, eager_only=True).drop(*names).to_native() if names else table


def _library(like: Any) -> Library:
    known: tuple[Library, ...] = get_args(Library)
    origin = str(type(like).__module__).split(".")[0]
    for library in sorted(known, key=lambda name: name != origin):
        if find_spec(library):
            return library
    raise ImportError("a table needs one of pandas, polars and pyarrow: pip install pandas")


_LONGEST = 34  # characters of a label
MOST_ROWS = 24  # that are printed; the others are counted


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of text side by side, the first to the left and the others to the right."""
    short = [[_short(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in short) for i in range(len(short[0]))]
    return ["  " + "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in short]


def headed(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows below their heading; of many the first ones, and how many more there are.

    >>> headed(["", "rows"], [["a", "10"], ["b", "5"]])
    ['     rows', '  a    10', '  b     5']
    """
    left = len(rows) - MOST_ROWS
    more = [f"  … and {left:,} more rows"] if left > 0 else []
    return [*aligned([head, *rows[:MOST_ROWS]]), *more]


def percent(share: float) -> str:
    """A share in a table; nothing if it is not known."""
    return "" if math.isnan(share) else f"{100 * share:.1f} %"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 12]}…{text[-11:]}"


def number(value: float) -> str:
    """A number in a table; nothing if it is not known."""
    if math.isnan(value):
        return ""
    if abs(value) < 1e6 and value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}"
