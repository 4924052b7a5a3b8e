"""HIGGS: 28 standardised features of 11 million rows, from ``HIGGS.csv[.gz|.zst]`` or a Parquet sample of it.

The full file is split as the paper's released runs did: the first 10,000,000 rows train, the next 500,000 validate, the
last 500,000 test. Smaller files are split 80/10/10 in order, and shuffled ones, as its text says, 80/10/10 of any size.
Means and deviations are those of the training rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from lambdak._types import FloatArray
from lambdak.paper.data.cache import Cache, Writer, building, check_unchanged, identity, open_cache
from lambdak.paper.data.files import Block, Source, first_fault, open_parquet, reading
from lambdak.paper.data.rows import DenseData, ordered_splits

_JET = ("transverse momentum", "pseudorapidity", "azimuth", "b-tag")
NAMES = (  # as the file's authors describe its columns
    "lepton transverse momentum", "lepton pseudorapidity", "lepton azimuth", "missing energy", "missing energy azimuth",
    *(f"jet {jet} {what}" for jet in range(1, 5) for what in _JET),
    *(f"invariant mass {what}" for what in ("jj", "jjj", "lν", "jlν", "bb", "wbb", "wwbb")),
)  # fmt: skip
FEATURES = len(NAMES)
FULL_ROWS = 11_000_000
_EVALUATED = 500_000  # rows of the full file to validate on, and as many to test on
_COLUMNS = [f"f{i}" for i in range(FEATURES + 1)]
_STEP = 1 << 18  # rows at a time
_SEED = 0  # of the order of shuffled rows
_PLAIN = re.compile(rb"[ \t]*[^_\s]+[ \t]*")  # Python would take 1_000 and line ends for a part of numbers
_LARGEST = float(np.finfo(np.float32).max)
_READ = pc.ReadOptions(column_names=_COLUMNS, block_size=4 << 20)
_PARSE = pc.ParseOptions(quote_char=False, ignore_empty_lines=False)
_CONVERT = pc.ConvertOptions(column_types=dict.fromkeys(_COLUMNS, pa.float32()), null_values=[])


def higgs(source: Path, folder: Path, progress: bool = True, shuffled: bool = False) -> DenseData:
    """The data of a file, from the cache in ``folder``, which is built if it is not there or of another file."""
    wanted: dict[str, Any] = {"kind": "higgs", "source": identity(source), "shuffled": shuffled}
    cache = open_cache(folder, wanted)
    if cache is None:
        with building(folder) as writer, reading(source, progress) as text:
            blocks = _parquet_rows(text) if source.suffix == ".parquet" else _csv_rows(text)
            for rows in blocks:
                writer.append("labels", rows[:, 0])
                writer.append("features", rows[:, 1:])
            check_unchanged(source, wanted["source"])
            meta = wanted | {"sha256": text.checksum}
            _check_rows(writer, source)
            if shuffled:
                _shuffle_(writer)
            writer.finish(meta | _standardise_(writer, shuffled))
        cache = open_cache(folder, wanted)
    if cache is None:
        raise RuntimeError(f"{folder} was changed while it was built: run again")
    return _data(cache)


def higgs_splits(rows: int, shuffled: bool = False) -> dict[str, tuple[int, int]]:
    """The split of the released runs of the full file, or 80/10/10 of a smaller or a shuffled one."""
    if rows != FULL_ROWS or shuffled:
        return ordered_splits(rows)
    first, second = rows - 2 * _EVALUATED, rows - _EVALUATED
    return {"train": (0, first), "validation": (first, second), "test": (second, rows)}


def _data(cache: Cache) -> DenseData:
    splits = {name: tuple(span) for name, span in cache.meta["splits"].items()}
    return DenseData(cache.arrays["labels"], splits, cache.meta["sha256"], cache.arrays["features"])


def _check_rows(writer: Writer, source: Path) -> None:
    rows = len(writer.array("labels")) if (writer.folder / "labels").exists() else 0
    if rows < 10:
        raise ValueError(f"{source} must have at least 10 rows; got {rows}")


def _shuffle_(writer: Writer) -> None:
    """Bring all rows into one random order, column by column, since a copy of all of them would be large."""
    labels, features = writer.array("labels"), writer.array("features")
    order = np.random.default_rng(_SEED).permutation(len(labels))
    for column in (labels, *features.T):
        column[...] = column[order]


def _standardise_(writer: Writer, shuffled: bool) -> dict[str, Any]:
    """Standardise the features in place; returns the entries of ``meta.json`` about it."""
    features = writer.array("features")
    splits = higgs_splits(len(features), shuffled)
    mean, scale = moments(features[: splits["train"][1]])
    for start in range(0, len(features), _STEP):
        features[start : start + _STEP] = (features[start : start + _STEP] - mean) / scale
    return {"rows": len(features), "splits": splits, "mean": mean.tolist(), "scale": scale.tolist()}


def moments(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and deviations of columns in float64; a constant column has deviation one."""
    blocks = [slice(start, start + _STEP) for start in range(0, len(rows), _STEP)]
    mean = sum(rows[block].sum(axis=0, dtype=np.float64) for block in blocks) / len(rows)
    square = sum(np.square(rows[block] - mean).sum(axis=0) for block in blocks) / len(rows)
    scale = np.sqrt(square)
    return np.asarray(mean), np.where(scale > 0, scale, 1.0)


def _csv_rows(source: Source) -> Iterator[FloatArray]:
    for block in source.blocks():
        rows = _parse(block)
        if rows is None or not _is_sound(rows):
            raise first_fault(source.path, block, _fault)
        yield rows


def _parse(block: Block) -> FloatArray | None:
    try:
        table = pc.read_csv(pa.BufferReader(block.data), _READ, _PARSE, _CONVERT)
    except pa.ArrowInvalid:
        return None
    return np.stack([column.to_numpy() for column in table.columns], axis=1)


def _is_sound(rows: FloatArray) -> bool:
    return bool(np.isfinite(rows).all() and ((rows[:, 0] == 0) | (rows[:, 0] == 1)).all())


def _fault(line: bytes) -> str | None:
    """What is wrong with a line, if anything."""
    cells = line.split(b",")
    if len(cells) != FEATURES + 1:
        return f"must have {FEATURES + 1} columns; got {len(cells)}"
    for number, cell in enumerate(cells, 1):
        try:
            value = float(cell if _PLAIN.fullmatch(cell) else "")
        except ValueError:
            return f"column {number} must be a number; got {cell.decode(errors='replace')!r}"
        if not abs(value) <= _LARGEST:
            return f"column {number} must be finite; got {value}"
    return None if float(cells[0]) in (0.0, 1.0) else f"the label must be 0 or 1; got {cells[0].decode()}"


def _parquet_rows(source: Source) -> Iterator[FloatArray]:
    file, done = open_parquet(source), 0
    _check_schema(source.path, file.schema_arrow)
    for batch in file.iter_batches(_STEP):
        rows = np.stack([column.to_numpy(zero_copy_only=False) for column in batch.columns], axis=1).astype(np.float32)
        for row, line in enumerate([] if _is_sound(rows) else rows):
            wrong = _fault(b",".join(str(cell).encode() for cell in line))
            if wrong is not None:
                raise ValueError(f"{source.path}, row {done + row + 1}: {wrong}")
        done += len(rows)
        yield rows


def _check_schema(path: Path, schema: pa.Schema) -> None:
    if len(schema) != FEATURES + 1:
        raise ValueError(f"{path} must have {FEATURES + 1} columns; got {len(schema)}")
    for field in schema:
        if not (pa.types.is_floating(field.type) or pa.types.is_integer(field.type) or pa.types.is_boolean(field.type)):
            raise ValueError(f"{path}, column {field.name!r} must hold numbers; got {field.type}")
