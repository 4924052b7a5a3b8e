"""Large text files, plain or compressed, as blocks of whole lines that know their line numbers."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

BLOCK = 16 << 20  # characters of a block
_PIECE = 1 << 20  # bytes read at once
_TEXT = 1 << 14  # characters decompressed at once: where an archive breaks is known to this
_CODECS = {".gz": "gzip", ".zst": "zstd"}

Tick = Callable[[int], None]


@dataclass(frozen=True)
class Block:
    """Whole lines, the first of which is line ``first_line``, counted from one."""

    data: bytes
    first_line: int


@dataclass
class Source:
    """A file that is read once; its checksum and size are known when the blocks have come to their end."""

    path: Path
    tick: Tick = lambda count: None
    size: int = 0
    _sum: Any = field(default_factory=hashlib.sha256)

    @property
    def checksum(self) -> str:
        """SHA-256 of the file as it is on disk."""
        return str(self._sum.hexdigest())

    def blocks(self) -> Iterator[Block]:
        """The text in blocks of whole lines."""
        with self.path.open("rb") as file:
            raw = io.BufferedReader(_Watched(file, self._saw), _PIECE)
            codec = _CODECS.get(self.path.suffix)
            stream = raw if codec is None else pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), codec)
            yield from self._cut(stream)
            while raw.read(_PIECE):  # what follows the end of an archive belongs to the checksum
                pass

    def through(self) -> None:
        """Read the file to its end for its checksum: it is of a format with a reader of its own."""
        with self.path.open("rb") as file:
            while data := file.read(_PIECE):
                self._saw(memoryview(data))

    def _saw(self, data: memoryview) -> None:
        self._sum.update(data)
        self.size += len(data)
        self.tick(len(data))

    def _cut(self, stream: Any) -> Iterator[Block]:
        line, rest = 1, bytearray()
        for data in self._pieces(stream):
            if isinstance(data, OSError):
                at = line + rest.count(b"\n")
                raise ValueError(f"{self.path}, line {at} or soon after: the archive is damaged or cut off ({data})")
            rest += data
            end = rest.rfind(b"\n") + 1 if len(rest) >= BLOCK else 0
            if end:
                yield Block(bytes(rest[:end]), line)
                line += rest.count(b"\n", 0, end)
                del rest[:end]
        if rest:
            lines = rest.count(b"\n")
            if not rest.endswith(b"\n"):
                raise ValueError(f"{self.path}, line {line + lines}: the file ends within a line: was it cut off?")
            yield Block(bytes(rest), line)

    def _pieces(self, stream: Any) -> Iterator[bytes | OSError]:
        while True:
            try:
                data = stream.read(_TEXT)
            except OSError as error:
                yield error
                return
            if not data:
                return
            yield data


class _Watched(io.RawIOBase):
    """A file that reports what is read from it."""

    def __init__(self, file: IO[bytes], saw: Callable[[memoryview], None]) -> None:
        self._file, self._saw = file, saw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = int(self._file.readinto(buffer))  # type: ignore[attr-defined]
        self._saw(memoryview(buffer)[:count])
        return count


@contextmanager
def reading(path: Path, progress: bool) -> Iterator[Source]:
    """A source with a progress bar by bytes read."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), disable=not progress) as bar:
        task = bar.add_task(f"reading {path.name}", total=path.stat().st_size)
        yield Source(path, lambda count: bar.advance(task, count))


def open_parquet(source: Source) -> pq.ParquetFile:
    """A Parquet file, after it was read to its end for its checksum."""
    source.through()
    try:
        return pq.ParquetFile(source.path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{source.path} must be a Parquet file: it is damaged, cut off or of another kind") from error


def first_fault(source: Path, block: Block, fault: Callable[[bytes], str | None]) -> ValueError:
    """The error for the first line of a block with a fault, found the slow way."""
    for offset, line in enumerate(block.data.removesuffix(b"\n").split(b"\n")):
        wrong = fault(line.removesuffix(b"\r"))
        if wrong is not None:
            return ValueError(f"{source}, line {block.first_line + offset}: {wrong}")
    return ValueError(f"{source}, from line {block.first_line} on: cannot be read as a table")
