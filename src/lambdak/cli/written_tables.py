"""Tables written to files, as a whole or not at all, also where they come part by part: CSV, Parquet and JSON lines."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, BinaryIO, cast

import narwhals.stable.v2 as nw
import typer

from lambdak.atomic import whole_file
from lambdak.cli import tables
from lambdak.cli.plain_files import STREAM
from lambdak.cli.tables import Format
from lambdak.table.visible import inert, visible

_IN_MEMORY = 1 << 24  # bytes of what is printed; the rest waits in a file


def write(table: Any, path: str, *, raw_text: bool = False) -> None:
    """Write a table of any library to a file, or to standard output for "-": see :func:`table_writer`."""
    with table_writer(path, raw_text=raw_text) as writer:
        writer.write(nw.from_native(table, eager_only=True).to_arrow())


@contextmanager
def table_writer(path: str, *, raw_text: bool = False) -> Iterator[TableWriter]:
    """What writes the parts of a table to a file, which is there once the block ends, or not at all if it fails.

    For "-" all is printed at the end of the block. In CSV, text that a spreadsheet would run as a formula begins with
    an apostrophe, unless ``raw_text`` is set.
    """
    form = tables.format_of(path)
    with _printed() if path == STREAM else _filed(path) as file:
        writer = _CsvWriter(file, raw_text) if form is Format.CSV else _WRITERS[form](file)
        try:
            yield writer
        finally:
            writer.close()  # also what is thrown away: pyarrow would do so later, when the file is gone


class TableWriter(ABC):
    """Writer of one table in parts, one below the other."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    @abstractmethod
    def write(self, part: Any) -> None:
        """Write a pyarrow table with the columns of all others."""

    def close(self) -> None:  # noqa: B027  # most formats need no end
        """Write what comes after the last row."""


class _CsvWriter(TableWriter):
    def __init__(self, file: BinaryIO, raw_text: bool) -> None:
        super().__init__(file)
        self._raw_text, self._started = raw_text, False

    def write(self, part: Any) -> None:
        cells = [self._cells(column) for column in part.columns]
        if not self._started:
            self._file.write(csv_text(part.column_names, [], raw_text=self._raw_text).encode())
            self._started = True
        self._file.write(_csv_rows(zip(*cells, strict=True)).encode())

    def _cells(self, column: Any) -> list[Any]:
        """The cells of a column, text so that no spreadsheet runs it."""
        if str(column.type) in _NUMBERS and not column.null_count:
            return list(column.to_numpy().tolist())  # several times as fast
        cells = column.to_pylist()
        return list(cells) if self._raw_text else list(map(inert, cells))


_NUMBERS = ("double", "int64", "bool")


class _ParquetWriter(TableWriter):
    _writer: Any = None

    def write(self, part: Any) -> None:
        if self._writer is None:
            self._writer = tables.arrow("pyarrow.parquet").ParquetWriter(self._file, part.schema)
        self._writer.write_table(part)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _JsonWriter(TableWriter):
    def write(self, part: Any) -> None:
        rows = tables.rows(part)
        self._file.write("".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows).encode())


_WRITERS: dict[Format, type[_ParquetWriter | _JsonWriter]] = {
    Format.PARQUET: _ParquetWriter,
    Format.JSONL: _JsonWriter,
}


def csv_text(names: Iterable[str], rows: Iterable[Iterable[Any]], *, raw_text: bool = False) -> str:
    """Rows below the names of their columns; a missing cell is empty, and no text is a formula unless ``raw_text``.

    >>> csv_text(["x", "=y"], [[1, "a,b"], [None, 2.5]]).splitlines()
    ["x,'=y", '1,"a,b"', ',2.5']
    """
    return _csv_rows(row if raw_text else map(inert, row) for row in chain([names], rows))


def _csv_rows(rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


@contextmanager
def _filed(path: str) -> Iterator[BinaryIO]:
    with whole_file(path) as file:
        if not path.endswith(".gz"):
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as compressed:
            yield cast(BinaryIO, compressed)


@contextmanager
def _printed() -> Iterator[BinaryIO]:
    """Text to standard output: as it is for a program, and without what it would obey for a terminal."""
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
        yield cast(BinaryIO, file)
        file.seek(0)
        stream = typer.get_binary_stream("stdout")
        if stream.isatty():
            for line in file:
                stream.write(visible(line.decode().removesuffix("\n")).encode() + b"\n")
        else:
            shutil.copyfileobj(file, stream)
        stream.flush()
