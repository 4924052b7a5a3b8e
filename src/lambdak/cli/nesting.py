"""How deeply JSON lines are nested, found out before a reader of them meets a depth that ends its process."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

MOST_DEPTH = 64  # levels of lists and objects; some thousands of them exhaust the stack of pyarrow

_PART = 1 << 20  # bytes that are looked at at a time
_ESCAPE = re.compile(rb"\\[^\r\n]")
_QUOTE, _RETURN, _LINE = 2, 3, 4
_MARKED = b'[{]}"\r\n'
_MARKS = bytes.maketrans(_MARKED, bytes([1, 1, 255, 255, _QUOTE, _RETURN, _LINE]))  # 255 is -1: one level up
_UNMARKED = bytes(set(range(256)) - set(_MARKED))


def too_deep(data: bytes) -> str | None:
    r"""Why JSON lines cannot be read, if it is because they are nested too deeply.

    >>> too_deep(b'{"a": [1, 2]}\n{"a": "[[[["}\n')
    >>> too_deep(b'{"a": 1}\n' + b"[" * 70)
    'line 2 is nested deeper than 64 levels: write a column for each of its plain cells'
    """
    depth, lines, inside = 0, 0, 0
    for part in _parts(data):
        marks = np.frombuffer(_ESCAPE.sub(b"", part).translate(_MARKS, delete=_UNMARKED), np.int8)
        in_string = _in_string(marks, inside)
        depths = depth + np.cumsum(np.where(in_string | (marks > 1), np.int8(0), marks), dtype=np.int32)
        depths -= np.minimum.accumulate(np.minimum(depths, 0))  # what closes nothing makes no room for more
        deep = depths > MOST_DEPTH
        if deep.any():
            line = 1 + lines + int(np.count_nonzero(marks[: np.argmax(deep)] == _LINE))
            return f"line {line} is nested deeper than {MOST_DEPTH} levels: write a column for each of its plain cells"
        if len(marks):
            depth, inside = int(depths[-1]), int(in_string[-1])
        lines += int(np.count_nonzero(marks == _LINE))
    return None


def _parts(data: bytes) -> Iterator[bytes]:
    """The data part by part; none ends within an escape."""
    start = 0
    while start < len(data):
        stop = start + _PART
        while data[stop - 1 : stop] == b"\\":
            stop += 1
        yield data[start:stop]
        start = stop


def _in_string(marks: NDArray[np.int8], inside: int) -> NDArray[np.bool_]:
    """Where a string is open, after each mark; ``inside`` says whether one is before. None holds the end of a line."""
    quotes = np.cumsum(marks == _QUOTE, dtype=np.int32)
    before = np.maximum.accumulate(np.where(marks >= _RETURN, quotes, -inside))
    return np.asarray((quotes - before) % 2 == 1)
