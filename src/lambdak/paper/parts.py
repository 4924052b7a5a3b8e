"""A study on disk: what its folder holds, and one Parquet part per piece of work, written whole or not at all.

A study that was stopped goes on with the parts that are missing. The folder holds ``study.json``, ``parts/`` and, once
all parts are there, ``results.parquet`` with all their rows and the configuration in its metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lambdak.atomic import write_bytes, write_text


def claim_folder(folder: Path, claim: Mapping[str, Any]) -> None:
    """Write what the folder holds, with the library's version, or refuse to mix it with something else."""
    text = json.dumps({**claim, "version": version("lambdak")}, indent=2)
    path = folder / "study.json"
    if path.exists() and json.loads(path.read_text()) != json.loads(text):
        raise ValueError(
            f"{folder} holds another study, other data or another version's: choose another folder, or remove it"
        )
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def part_path(folder: Path, name: str) -> Path:
    """Where the part of this name is."""
    return folder / "parts" / f"{name}.parquet"


def is_whole(path: Path, rows: int) -> bool:
    """Whether a part is there, with all its rows."""
    try:
        return bool(pq.read_metadata(path).num_rows == rows)
    except (OSError, pa.ArrowInvalid):
        return False


def merge_parts(folder: Path, names: Sequence[str]) -> None:
    """Write the rows of all parts, in this order, to ``results.parquet``."""
    table = pa.concat_tables([pq.read_table(part_path(folder, name)) for name in names])
    claim = (folder / "study.json").read_text()
    write_table(table.replace_schema_metadata({"lambdak": claim}), folder / "results.parquet")


def write_table(table: pa.Table, path: Path) -> None:
    """Write a Parquet file as a whole or not at all."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    write_bytes(path, sink.getvalue().to_pybytes())
