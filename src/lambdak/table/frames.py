"""Results as a table of the library that the user's table came from, or of one that is installed."""

from __future__ import annotations

from collections.abc import Mapping
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


def _library(like: Any) -> Library:
    known: tuple[Library, ...] = get_args(Library)
    own = str(type(like).__module__).split(".")[0]
    for library in sorted(known, key=lambda name: name != own):
        if find_spec(library):
            return library
    raise ImportError("a table needs one of pandas, polars and pyarrow: pip install pandas")
