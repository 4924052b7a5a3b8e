"""Whether a table is read batch by batch, by its size and what was requested."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from lambdak.cli import tables
from lambdak.cli.errors import InputError, note
from lambdak.cli.plain_files import STREAM
from lambdak.cli.tables import Format

LARGE = 1 << 30  # bytes of memory that a fit may take before rows are no longer all in memory: any machine has those
# Bytes of memory that a fit takes for each byte of a file, where all rows are in memory: measured on 20 columns, six of
# them text, were 3.0 of CSV, 3.2 of JSON lines, and 8.1 of Parquet that hardly compresses: most does twice as well.
_MEMORY_OF_A_BYTE = {Format.PARQUET: 16, Format.CSV: 4, Format.JSONL: 4}
_OF_GZIP = 5  # bytes that a byte of a compressed file stands for
MEMORY = f"a fit that would take more than {LARGE >> 30} GiB of memory"


def is_large(path: str, given: Format | None, requested: bool | None) -> bool:
    """Whether a table is read batch by batch: as requested, or by its size; folders always are."""
    if Path(path).is_dir():
        if requested is False:
            raise InputError(f"{path} is a folder, whose files are never read as a whole: omit --no-large")
        return True
    if requested is not None or path == STREAM or not Path(path).is_file():
        return bool(requested)
    size = Path(path).stat().st_size
    taken = size * _MEMORY_OF_A_BYTE[tables.format_of(path, given)] * (_OF_GZIP if path.endswith(".gz") else 1)
    if taken <= LARGE:
        return False
    note(f"{path} has {size / 1e6:,.0f} MB: its rows are read in batches, and are not all in memory (or --no-large)")
    return True


def check_large_usage(large: bool, balance: bool, cache: Path | None) -> None:
    """Refuse options that do not belong to the way in which rows are read."""
    if large and balance:
        raise typer.BadParameter(
            "needs all rows in memory, and this table is read in batches: omit it, or add --no-large to a table that "
            "fits into memory",
            param_hint="--balance",
        )
    if cache is None:
        return
    if not large:
        raise typer.BadParameter("belongs to tables that are read in batches: add --large", param_hint="--cache")
    if not cache.is_dir() or not os.access(cache, os.W_OK):
        raise InputError(f"--cache must be a folder that exists and can be written to; got {cache}: mkdir -p {cache}")
