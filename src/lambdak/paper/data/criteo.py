"""Criteo's text as columns of numbers: ``train.txt[.gz|.zst]`` or a Parquet sample of it.

A line is a label, 13 integers (I1 … I13) and 26 categories of eight hexadecimal digits (C1 … C26), separated by tabs;
integers and categories may be empty. Every column becomes one raw array, and ``gaps`` has a bit per empty cell.

Samples that were put together from several sources hold rows twice, with their gaps filled in different ways. Of such
copies the first is kept, since the others would leak training rows into the validation and test rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lambdak.paper.data.cache import Cache, Writer, building, check_unchanged, identity, open_cache
from lambdak.paper.data.files import Block, Source, first_fault, open_parquet, reading

Columns = dict[str, NDArray[Any]]

INTEGERS = [f"I{i}" for i in range(1, 14)]
CATEGORIES = [f"C{i}" for i in range(1, 27)]
COLUMNS = INTEGERS + CATEGORIES
_ALL = ["label", *COLUMNS]
_DIGITS = 8
_STEP = 1 << 18  # rows at a time
_SAMPLE = 1 << 20  # rows of a Parquet file up to which copies of rows are looked for
_READ = pc.ReadOptions(column_names=_ALL, block_size=4 << 20)
_PARSE = pc.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False)
_TYPES = dict.fromkeys(["label", *INTEGERS], pa.int32()) | dict.fromkeys(CATEGORIES, pa.binary())
_CONVERT = pc.ConvertOptions(column_types=_TYPES, null_values=[""])
_INTEGER = re.compile(rb"-?[0-9]+")
_CATEGORY = re.compile(rb"[0-9a-fA-F]{8}")

_NIBBLES = np.full(256, 255, np.uint8)
_NIBBLES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
_NIBBLES[np.frombuffer(b"ABCDEF", np.uint8)] = np.arange(10, 16)


def raw_criteo(source: Path, folder: Path, progress: bool = True) -> Cache:
    """Columns of a file, from the cache in ``folder``, which is built if it is not there or of another file."""
    wanted: dict[str, Any] = {"kind": "criteo-raw", "source": identity(source)}
    cache = open_cache(folder, wanted)
    if cache is None:
        with building(folder) as writer, reading(source, progress) as text:
            rows = sum(_write(writer, table) for table in _tables(text))
            check_unchanged(source, wanted["source"])
            if rows < 10:
                raise ValueError(f"{source} must have at least 10 rows; got {rows}")
            copies = pq.read_metadata(source).num_rows - rows if source.suffix == ".parquet" else 0
            writer.finish(wanted | {"sha256": text.checksum, "rows": rows, "copies": copies})
        cache = open_cache(folder, wanted)
    if cache is None:
        raise RuntimeError(f"{folder} was changed while it was built: run again")
    return cache


def _tables(source: Source) -> Iterator[Columns]:
    if source.path.suffix == ".parquet":
        yield from _parquet_tables(source)
        return
    for block in source.blocks():
        columns = _parse(block)
        if columns is None:
            raise first_fault(source.path, block, _fault)
        yield columns


def _parse(block: Block) -> Columns | None:
    try:
        return _columns(pc.read_csv(pa.BufferReader(block.data), _READ, _PARSE, _CONVERT))
    except (pa.ArrowInvalid, ValueError):
        return None


def _columns(table: pa.Table) -> Columns:
    """Numbers by name, and ``gaps``; refuse what is not a label, an integer or a category."""
    label = table["label"].to_numpy()
    if table["label"].null_count or not np.isin(label, (0, 1)).all():
        raise ValueError("the label must be 0 or 1")
    columns: Columns = {"labels": label.astype(np.float32)}
    gaps = np.zeros(len(label), np.uint64)
    for bit, name in enumerate(COLUMNS):
        if name in INTEGERS:
            empty = table[name].is_null().to_numpy()
            columns[name] = compute.fill_null(table[name], 0).to_numpy()
        else:
            empty, columns[name] = _hexadecimal(table[name])
        gaps |= empty.astype(np.uint64) << np.uint64(bit)
    return columns | {"gaps": gaps}


def _hexadecimal(column: pa.ChunkedArray) -> tuple[NDArray[np.bool_], NDArray[np.uint32]]:
    """Which cells are empty, and the numbers of the others."""
    lengths = compute.binary_length(column).to_numpy()
    empty = lengths == 0
    if not (empty | (lengths == _DIGITS)).all():
        raise ValueError(f"a category must have {_DIGITS} digits")
    text = b"".join(_contents(chunk) for chunk in column.chunks)
    digits = _NIBBLES[np.frombuffer(text, np.uint8)].reshape(-1, _DIGITS)
    if (digits == 255).any():
        raise ValueError("a category must be hexadecimal")
    numbers = np.zeros(len(lengths), np.uint32)
    numbers[~empty] = (digits[:, ::2] << 4 | digits[:, 1::2]).view(">u4")[:, 0]
    return empty, numbers


def _contents(column: pa.BinaryArray) -> bytes:
    """All cells of a column, one after another."""
    if len(column) == 0:
        return b""
    _, offsets, text = column.buffers()
    edges = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return text.to_pybytes()[edges[0] : edges[-1]] if text is not None else b""


def _parquet_tables(source: Source) -> Iterator[Columns]:
    file, done, seen = open_parquet(source), 0, set[bytes]()
    missing = [name for name in _ALL if name not in file.schema_arrow.names]
    if missing:
        raise ValueError(f"{source.path} must have the columns label, I1 … I13 and C1 … C26; missing: {missing}")
    for batch in file.iter_batches(_STEP, columns=_ALL):
        table = pa.Table.from_batches([batch]).select(_ALL)
        try:
            texts = [pa.string() if name in CATEGORIES else pa.int64() for name in _ALL]
            known = table.cast(pa.schema(zip(_ALL, texts, strict=True))).cast(pa.schema(_TYPES.items()))
            filled = [
                _whole(compute.fill_null(known[name], b"")) if name in CATEGORIES else known[name] for name in _ALL
            ]
            columns = _columns(pa.table(dict(zip(_ALL, filled, strict=True))))
        except (pa.ArrowInvalid, ValueError) as error:
            raise ValueError(f"{source.path}, rows {done + 1} to {done + len(table)}: {error}") from error
        done += len(table)
        yield _without_copies(columns, seen) if file.metadata.num_rows < _SAMPLE else columns


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Categories of eight digits, or none: what is shorter was put into the gaps by the maker of a sample."""
    return compute.if_else(compute.less(compute.binary_length(column), _DIGITS), b"", column)


def _without_copies(columns: Columns, seen: set[bytes]) -> Columns:
    """The rows whose integers and categories were not seen before, a gap being the same as zero."""
    fresh = []
    for row in np.stack([columns[name].astype(np.int64) for name in COLUMNS], axis=1):
        key = row.tobytes()
        fresh.append(key not in seen)
        seen.add(key)
    return {name: column[fresh] for name, column in columns.items()}


def _write(writer: Writer, columns: Columns) -> int:
    for name, column in columns.items():
        writer.append(name, column)
    return len(columns["labels"])


def _fault(line: bytes) -> str | None:
    """What is wrong with a line, if anything."""
    cells = line.split(b"\t")
    if len(cells) != len(_ALL):
        return f"must have {len(_ALL)} columns separated by tabs; got {len(cells)}"
    if cells[0] not in (b"0", b"1"):
        return f"the label must be 0 or 1; got {cells[0].decode(errors='replace')!r}"
    for name, cell in zip(COLUMNS, cells[1:], strict=True):
        pattern, kind = (_INTEGER, "an integer") if name in INTEGERS else (_CATEGORY, "eight hexadecimal digits")
        if cell and not pattern.fullmatch(cell):
            return f"{name} must be {kind} or empty; got {cell.decode(errors='replace')!r}"
        if name in INTEGERS and cell and not -(2**31) <= int(cell) < 2**31:
            return f"{name} must fit in 32 bits; got {int(cell)}"
    return None
