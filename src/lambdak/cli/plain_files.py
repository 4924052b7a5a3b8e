"""Files as they are meant, and what is wrong with their text: standard input, gzip and UTF-16 become plain files.

What must be copied for that goes to a file without a name, so that memory does not depend on its size.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

import numpy as np
import typer
from numpy.typing import NDArray

from lambdak.cli.errors import InputError

STREAM = "-"
_CLOSE = 0.75  # how alike the names of files must be
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CHUNK = 1 << 20  # bytes


@contextmanager
def plain_file(path: str) -> Iterator[BinaryIO]:
    """A file, or standard input for "-", from its beginning: decompressed, and in UTF-8 if it is UTF-16."""
    with ExitStack() as stack:
        file = typer.get_binary_stream("stdin") if path == STREAM else stack.enter_context(_opened(path))
        if path == STREAM or not file.seekable():
            file = stack.enter_context(_copied(_copy, file, path))
        for marks, convert in (((_GZIP,), _decompress), (_UTF16, _transcode)):
            head = file.read(2)
            file.seek(0)
            if head in marks:
                file = stack.enter_context(_copied(convert, file, path))
        yield file


def _opened(path: str) -> BinaryIO:
    if Path(path).is_char_device() or Path(path).is_block_device():  # which need not have an end, as a pipe has
        raise InputError(f"{path} is a device: give a file, or - for standard input")
    try:
        return Path(path).open("rb")
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}{_neighbour(path)}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder, which only fit and predict take: give a table in it") from error


def _neighbour(path: str) -> str:
    """The file of the same folder whose name is closest."""
    folder = Path(path).parent
    names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    close = get_close_matches(Path(path).name, names, n=1, cutoff=_CLOSE)
    return f". Did you mean {folder / close[0]}?" if close else ""


@contextmanager
def _copied(convert: Callable[[BinaryIO, BinaryIO, str], None], source: BinaryIO, path: str) -> Iterator[BinaryIO]:
    """What becomes of a file, in one without a name, at its beginning."""
    with tempfile.TemporaryFile() as copy:
        convert(source, copy, path)
        copy.seek(0)
        yield copy


def _copy(source: BinaryIO, copy: BinaryIO, path: str) -> None:
    shutil.copyfileobj(source, copy, _CHUNK)


def _decompress(source: BinaryIO, copy: BinaryIO, path: str) -> None:
    try:
        with gzip.GzipFile(fileobj=source) as plain:
            shutil.copyfileobj(plain, copy, _CHUNK)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be decompressed ({error}): compress it again") from error


def _transcode(source: BinaryIO, copy: BinaryIO, path: str) -> None:
    decoder = codecs.getincrementaldecoder("utf-16")()
    try:
        while chunk := source.read(_CHUNK):
            copy.write(decoder.decode(chunk).encode())
        copy.write(decoder.decode(b"", final=True).encode())
    except UnicodeDecodeError as error:
        raise InputError(f"{path} cannot be read: it begins as UTF-16, but is not: save it in UTF-8") from error


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


_KINDS = {
    b"PAR1": "it is a Parquet file: use --format parquet",
    b"PK\x03\x04": "it is a spreadsheet or another ZIP archive: save the table as CSV",
    b"\xd0\xcf\x11\xe0": "it is a spreadsheet of an old format: save the table as CSV",
    b"%PDF": "it is a PDF file: save the table as CSV",
    b"\x89PNG": "it is a picture",
    b"SQLite format 3\0": "it is a database: write its table to a CSV file",
}
_AS_TEXT = "save it as text in UTF-8, or name its format with --format"
_LONGEST = 200  # characters of what a library says, which may hold a whole line of the file


def not_text(data: bytes) -> str | None:
    """Why data that should be text are none."""
    for beginning, reason in _KINDS.items():
        if data.startswith(beginning):
            return reason
    if b"\0" in data:
        return f"it holds bytes that no text has: {_AS_TEXT}"
    return None


def csv_reason(file: BinaryIO, separator: str, error: Exception) -> str:
    """Why a file, from its beginning, is not CSV."""
    return _found(lambda: _broken_row(file, separator), error)


def jsonl_reason(data: bytes, error: Exception) -> str:
    """Why a text is not JSON lines."""
    return _found(lambda: _broken_object(data), error)


def parquet_reason(data: bytes, error: Exception) -> str:
    """Why data are not Parquet."""
    if not data.startswith(b"PAR1"):
        return "it does not begin as a Parquet file does: name its format with --format, or write it again"
    return f"{_short(error)}: write it again, or name its format with --format"


def _found(search: Callable[[], str | None], error: Exception) -> str:
    """What the search finds; what the error says if the search finds nothing, or stumbles itself."""
    try:
        reason = search()
    except (csv.Error, RecursionError):
        reason = None
    return reason or f"{_short(error)}: {_AS_TEXT}"


def _short(error: Exception) -> str:
    said = str(error).removeprefix("JSON parse error: ").replace(" '<Buffer>'", "").rstrip(".") or type(error).__name__
    return said if len(said) <= _LONGEST else said[:_LONGEST] + "…"


def _broken_row(file: BinaryIO, separator: str) -> str | None:
    text = io.TextIOWrapper(file, "utf-8", "replace", newline="\n")
    try:
        reader = csv.reader(text, delimiter=separator)
        header = next(reader, [])
        for cells in reader:
            if cells and len(cells) != len(header):
                counted = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
                return f"line {reader.line_num} has {counted}, but the header has {len(header)}"
        return None
    finally:
        text.detach()  # whose file it is closes it


def _broken_object(data: bytes) -> str | None:
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        try:
            if line.strip() and not isinstance(json.loads(line), dict):
                return f"line {number} is not an object such as " + '{"age": 31, "income": 52000}'
        except json.JSONDecodeError as error:
            return f"line {number} is not JSON: {error.msg} at column {error.colno}"
        except ValueError:  # of Python, for an int of thousands of digits
            return f"line {number} holds a number with too many digits"
    return None
