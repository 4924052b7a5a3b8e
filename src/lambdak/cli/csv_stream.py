"""CSV block by block, with the types of the whole file: it is read once for the types, and then for its cells.

A column has the first type of pyarrow's order that all of its cells can be read as. That of the first block is nearly
always that of the file; where another block refuses it, the column is looked at again from the beginning.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any, BinaryIO, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from lambdak.cli import tables
from lambdak.cli.errors import InputError
from lambdak.cli.plain_files import csv_reason, not_text

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


Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def made_ahead(items: Generator[Item, None, None]) -> Iterator[Iterator[Item]]:
    """Open an iterator over the items, in order, of which a thread makes the next one ahead; so are errors.

    The thread ends with the block, and so do the items.

    >>> with made_ahead(i * i for i in range(3)) as squares:
    ...     list(squares)
    [0, 1, 4]
    """
    from lambdak.table.large.batches import ahead

    with closing(items), closing(cast("Generator[Item, None, None]", ahead(items))) as made:
        yield made


def spread(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Generator[Result, None, None]:
    """``function`` of each item, in order, by several threads: never more of them at a time than there are workers.

    >>> list(spread(abs, [-1, -2, -3], workers=2))
    [1, 2, 3]
    """
    pool, pending = ThreadPoolExecutor(workers), deque[Future[Result]]()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


_LARGEST = (1 << 31) - 1  # bytes of a block


class CsvStream:
    """A CSV file, the names of its columns, and the types of those that are wanted."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file, self._path = file, path
        self._types: dict[str, Any] = {}
        with self._explained():
            self._separator = tables.separator_of(file.readline())
            file.seek(0)
            first = next(blocks(file, self._separator))
            self._body = end_of_header(first, self._separator)
            self.column_names: list[str] = self._read(first[: self._body]).column_names

    def decide(
        self, columns: Sequence[str], text: Sequence[str], numbers: Sequence[str], progress: Callable[[float], None]
    ) -> int:
        """Decide on the types of these columns; the number of rows.

        Those in ``text`` are text, and those in ``numbers`` are float64 if they are numbers.
        """
        with self._explained(), made_ahead(self._blocks(progress)) as found:
            types: dict[str, Any] = {}
            refused, rows = set[str](), 0
            for block in found:
                types = types or self._first_types(block, columns, text, numbers)
                counted, bad = self._counted(block, types)
                rows += counted
                refused |= bad
                types |= dict.fromkeys(bad, tables.arrow().binary())  # which refuses nothing
        with self._explained():
            self._types = types | {name: self._type_of_all(name, name in text) for name in refused}
        tables.check_text([tables.arrow().field(name, kind) for name, kind in self._types.items()], self._path)
        return rows

    def refuse_text(self, names: Sequence[str]) -> None:
        """Refuse cells of these columns that are no numbers, if there are any, and name the first one and its row."""
        for name in names:
            if self._types[name] != tables.arrow().string():
                continue
            row = 0
            for part in self._parts({name: self._types[name]}):
                for cell in part.column(0).to_pylist():
                    if cell is not None and not _is_number(cell):
                        raise InputError(
                            f"column {name!r} of {self._path} must hold numbers; got {cell!r} in row {row}: convert it "
                            "to numbers, or fit with the column in categorical_features"
                        )
                    row += 1

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The wanted columns, or some of them, block by block."""
        return self._parts(self._types if columns is None else {name: self._types[name] for name in columns})

    def _parts(self, types: dict[str, Any]) -> Iterator[Any]:
        with self._explained():
            for block in self._blocks():
                yield self._read(block, types)

    # ---- types -------------------------------------------------------------------------------------------------

    def _first_types(
        self, block: bytes, columns: Sequence[str], text: Sequence[str], numbers: Sequence[str]
    ) -> dict[str, Any]:
        """Types of the first block; a column of numbers may have any in others."""
        library = tables.arrow()
        as_text = {name: library.string() for name in columns if name in text}
        try:
            schema = self._read(block, as_text, columns).schema
        except library.ArrowInvalid:  # text that is none, or broken rows: then all types are refused
            return dict.fromkeys(columns, library.null())
        narrow = (library.null(), library.int64())
        wide = {name for name in numbers if schema.field(name).type in narrow}
        return {name: library.float64() if name in wide else schema.field(name).type for name in columns}

    def _counted(self, block: bytes, types: dict[str, Any]) -> tuple[int, set[str]]:
        """The rows of a block, and the columns with cells that are not of these types."""
        library = tables.arrow()
        try:
            return self._read(block, types).num_rows, set()
        except library.ArrowInvalid:
            rows = self._read(block, dict.fromkeys(types, library.binary())).num_rows  # fails if the rows are broken
            return rows, {name for name, kind in types.items() if not self._fits(block, name, kind)}

    def _fits(self, block: bytes, name: str, kind: Any) -> bool:
        try:
            self._read(block, {name: kind})
        except tables.arrow().ArrowInvalid:
            return False
        return True

    def _type_of_all(self, name: str, text: bool) -> Any:
        """The first type that all cells of a column can be read as."""
        library = tables.arrow()
        times = [library.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("s", "ns")]
        kinds = [library.null(), library.int64(), library.bool_(), library.date32(), library.time32("s"), *times]
        for kind in [*([] if text else [*kinds, library.float64()]), library.string()]:
            if all(self._fits(block, name, kind) for block in self._blocks()):
                return kind
        return library.binary()

    # ---- blocks ------------------------------------------------------------------------------------------------

    def _blocks(self, progress: Callable[[float], None] = lambda _: None) -> Generator[bytes, None, None]:
        size = self._file.seek(0, 2)
        self._file.seek(self._body)
        for block in blocks(self._file, self._separator):
            reason = not_text(block) if b"\0" in block else None
            if reason is not None:
                raise InputError(f"{self._path} cannot be read as csv: {reason}")
            yield block
            progress(self._file.tell() / size)

    def _read(self, block: bytes, types: dict[str, Any] | None = None, columns: Sequence[str] | None = None) -> Any:
        """A block as a table: with columns of these types, or those given; the header alone without any."""
        library, reader = tables.arrow(), tables.arrow("pyarrow.csv")
        names = None if types is None else self.column_names
        size = min(len(block) + 1, _LARGEST)
        alone = reader.ReadOptions(use_threads=False, column_names=names, block_size=size)
        parse = reader.ParseOptions(delimiter=self._separator, newlines_in_values=True)
        chosen = columns or (None if types is None else list(types))
        convert = reader.ConvertOptions(strings_can_be_null=True, column_types=types, include_columns=chosen)
        return reader.read_csv(library.BufferReader(block), alone, parse, convert)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except InputError:
            raise
        except Exception as error:  # whatever a library may say of bytes that are no table
            self._file.seek(0)
            reason = csv_reason(self._file, self._separator, error)
            raise InputError(f"{self._path} cannot be read as csv: {reason}") from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
