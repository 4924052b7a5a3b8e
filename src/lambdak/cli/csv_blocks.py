"""CSV files cut into blocks of whole rows, so that each block can be parsed alone: cells may hold ends of lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 21  # bytes: parsing one takes several milliseconds
_MARK = b"\xef\xbb\xbf"  # of UTF-8
_QUOTE = ord('"')


def blocks(file: BinaryIO, separator: str, size: int = BLOCK) -> Iterator[bytes]:
    r"""The rest of a file in blocks of about this size, each of which ends where a row does.

    >>> import io
    >>> list(blocks(io.BytesIO(b'1,2\n3,"a\nb"\n4,5'), ",", size=6))
    [b'1,2\n', b'3,"a\nb"\n', b'4,5']
    """
    rest = b""
    while chunk := file.read(max(size, len(rest))):  # twice as much where a row is longer, so that time stays linear
        data = rest + chunk
        end = end_of_last_row(data, separator)
        if end:
            yield data[:end]
        rest = data[end:]
    if rest:
        yield rest


def end_of_last_row(data: bytes, separator: str) -> int:
    """One after the last end of a line outside of quotes; 0 if there is none."""
    quotes, limit = _quotes(data, separator), len(data)
    while True:
        end = data.rfind(b"\n", 0, limit) + 1 or data.rfind(b"\r", 0, limit) + 1
        before = int(np.searchsorted(quotes, end))
        if before % 2 == 0:
            return end
        limit = int(quotes[before - 1])  # inside of a cell: look before it


def end_of_header(data: bytes, separator: str) -> int:
    """One after the end of the first line that is not empty, outside of quotes; all if there is no end."""
    start = len(_MARK) if data.startswith(_MARK) else 0
    while data[start : start + 1] in (b"\r", b"\n"):
        start += 1
    quotes = _quotes(data, separator)
    for found in re.finditer(rb"[\r\n]", data[start:]):
        if np.searchsorted(quotes, start + found.start()) % 2 == 0:
            return start + found.end()
    return len(data)


def _quotes(data: bytes, separator: str) -> NDArray[np.intp]:
    """Where quoted cells begin and end, in turns; the last one may have no end."""
    if b'"' not in data:
        return np.empty(0, np.intp)
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == _QUOTE)
    padded = np.concatenate([[ord("\n")], text, [ord("\n")]])
    edge = np.zeros(256, np.bool_)
    edge[[_QUOTE, ord(separator), ord("\n"), ord("\r")]] = True
    # In turns, quotes must open a cell and close it; a doubled one closes it and opens it again.
    if edge[padded[quotes[::2]]].all() and edge[padded[quotes[1::2] + 2]].all():
        return quotes
    return _odd_quotes(data, separator)


def _odd_quotes(data: bytes, separator: str) -> NDArray[np.intp]:
    """Where quoted cells begin and end, in turns, if quotes within others are plain characters, as in 12".

    Only at the start of a cell does a quote open it.
    """
    cell = re.compile(rb'(?<![^\r\n%s])"(?:[^"]|"")*("?)' % re.escape(separator.encode()))
    places = [
        place for found in cell.finditer(data) for place in (found.start(), *([found.end() - 1] * bool(found[1])))
    ]
    return np.array(places, np.intp)
