"""What is wrong with a file that cannot be read as a table: the reason, with the line if it can be found."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import BinaryIO

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
