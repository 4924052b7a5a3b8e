"""Tables that need not fit into memory: Parquet, CSV and folders of Parquet files, some rows at a time.

Columns have the types of the whole file.

JSON lines are read as a whole. pyarrow has no threads of its own here either, see :mod:`lambdak.cli.tables`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from lambdak.cli import tables
from lambdak.cli.csv_stream import CsvStream
from lambdak.cli.errors import InputError, note
from lambdak.cli.plain_files import parquet_reason, plain_file
from lambdak.cli.tables import Format

ROWS = 1 << 15  # at a time
_PAGES = 1 << 20  # bytes of a column that are read at a time, however large its chunks are
_HEAD = 1 << 16  # bytes by which a file shows what it is
SAME = "run the command again while nothing writes to it"


@dataclass(frozen=True)
class Wanted:
    """Columns to read: as text, as numbers of any type, or (also) as they are, because they are copied."""

    text: Sequence[str]
    numbers: Sequence[str]
    copied: Sequence[str]
    columns: Sequence[str]  # all of them


class TableStream(ABC):
    """A table in a file, whose columns are known and whose rows can be read part by part."""

    column_names: Sequence[str]

    @abstractmethod
    def prepare(self, wanted: Wanted, progress: Callable[[float], None]) -> int:
        """Decide on the types of these columns; the number of rows. ``progress`` gets shares of what is done."""

    @abstractmethod
    def parts(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The wanted columns, or some of them, as pyarrow tables of some rows each; from the start at every call."""


@contextmanager
def table_stream(path: str, given: Format | None = None) -> Iterator[TableStream]:
    """The table in a file, in standard input for "-", or in a folder of Parquet files."""
    tables.arrow()
    if Path(path).is_dir():
        yield _ParquetFolder(path)
        return
    form = tables.format_of(path, given)
    if form is Format.JSONL:
        yield _WholeTable(path, given)
        return
    with plain_file(path) as file:
        head = file.read(_HEAD)
        while head and not head.strip() and (more := file.read(_HEAD)):
            head = more
        tables.check_beginning(head, path, form)
        file.seek(0)
        stream = (_ParquetTable if form is Format.PARQUET else _CsvTable)(file, path)
        tables.check_header(stream.column_names, path)
        yield stream


class _CsvTable(TableStream):
    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file, self._state = file, _state(file)
        self._path, self._stream = path, CsvStream(file, path)
        self.column_names = self._stream.column_names

    def prepare(self, wanted: Wanted, progress: Callable[[float], None]) -> int:
        plain = [name for name in wanted.numbers if name not in wanted.copied]
        rows = self._stream.decide(wanted.columns, wanted.text, plain, progress)
        tables.check_rows(rows, self._path)
        self._stream.refuse_text(wanted.numbers)
        return rows

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        self._check_same()
        try:
            for block in self._stream.parts(columns):
                yield from _some_rows(block)
        except InputError:
            self._check_same()  # other rows cannot be read with the types of the old ones
            raise
        self._check_same()

    def _check_same(self) -> None:
        if _state(self._file) != self._state:
            raise InputError(f"{self._path} was changed while it was read: {SAME}")


class _ParquetTable(TableStream):
    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file, self._path = file, path
        with self._explained():
            library = tables.arrow("pyarrow.parquet")
            self._parquet = library.ParquetFile(file, pre_buffer=False, buffer_size=_PAGES)
            self._schema = self._parquet.schema_arrow  # pyarrow makes it again whenever it is asked for
            self.column_names = self._schema.names

    def prepare(self, wanted: Wanted, progress: Callable[[float], None]) -> int:
        self._wanted = wanted
        tables.check_rows(self._parquet.metadata.num_rows, self._path)
        tables.check_text([self._schema.field(name) for name in wanted.columns], self._path)
        return int(self._parquet.metadata.num_rows)

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        with self._explained():
            library, names, read = tables.arrow(), list(columns or self._wanted.columns), 0
            parts = self._parquet.iter_batches(ROWS, columns=names, use_threads=False)
            for part in parts:
                yield tables.with_text(library.Table.from_batches([part]), self._wanted.text)
                read += part.num_rows
            if read != self._parquet.metadata.num_rows:
                raise ValueError(f"it says that it has {self._parquet.metadata.num_rows} rows, and holds {read}")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # whatever a library may say of bytes that are no table
            self._file.seek(0)
            reason = parquet_reason(self._file.read(_HEAD), error)
            raise InputError(f"{self._path} cannot be read as parquet: {reason}") from error


class _ParquetFolder(TableStream):
    """All Parquet files of a folder, sorted by name, with what the folders in it stand for."""

    def __init__(self, path: str) -> None:
        from lambdak.table.large.parquet import path_batches

        self._path = path
        try:
            self._batches = path_batches(path)
        except ValueError as error:
            raise InputError(f"{path} is a folder, and cannot be read as one table: {error}") from error
        self.column_names = self._batches.column_names
        others = [each for each in sorted(Path(path).rglob("*")) if tables.is_text_table(each)]
        if others:
            note(f"{others[0]} is not a Parquet file: of the folder {path}, {len(others)} such files are ignored")

    def prepare(self, wanted: Wanted, progress: Callable[[float], None]) -> int:
        self._wanted, rows = wanted, int(self._batches.n_rows or 0)
        tables.check_rows(rows, self._path)
        return rows

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        names = list(columns or self._wanted.columns)
        for _, table in self._batches.some_columns(names).read():
            yield from _some_rows(tables.with_text(table, self._wanted.text))


class _WholeTable(TableStream):
    def __init__(self, path: str, given: Format | None) -> None:
        self._table = tables.read(path, given)
        self.column_names = self._table.column_names

    def prepare(self, wanted: Wanted, progress: Callable[[float], None]) -> int:
        self._table = tables.with_text(self._table.select(list(wanted.columns)), wanted.text)
        return int(self._table.num_rows)

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        return _some_rows(self._table if columns is None else self._table.select(list(columns)))


def _state(file: BinaryIO) -> tuple[int, int]:
    """Size and time of change of a file that is open."""
    about = os.fstat(file.fileno())
    return about.st_size, about.st_mtime_ns


def _some_rows(table: Any) -> Iterator[Any]:
    return (table.slice(first, ROWS) for first in range(0, table.num_rows, ROWS))
