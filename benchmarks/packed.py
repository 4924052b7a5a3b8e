"""Large tables, stage by stage: rows per second of summary, encoding, packing and unpacking, and bytes of records.

usage: python benchmarks/packed.py [--rows 2000000] [--columns 20] [--threads 2] [--folder DIR]

The table has normal numbers, and one category of 1,000 levels for every ten of them; it is written to a Parquet file in
one row group. Each line is the best of three, but passes over the file and the cache run once, from a warm page cache.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lambdak import set_num_threads
from lambdak.table.encoder import TableEncoder
from lambdak.table.large.batches import as_batches, drawn
from lambdak.table.large.cache import build_cache
from lambdak.table.large.packed import RowPacking
from lambdak.table.large.summary import TableSummary

BLOCK = 1 << 18  # rows of a bucket


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    best, result = np.inf, None
    for _ in range(repeats):
        began = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - began)
    return best, result


def write_table(path: Path, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    table = {f"x{i}": rng.normal(size=rows) for i in range(columns)}
    for i in range(columns // 10):
        table[f"c{i}"] = pa.array(np.arange(1000).astype(str)).take(pa.array(rng.integers(0, 1000, rows)))
    pq.write_table(pa.table({**table, "y": rng.normal(size=rows)}), path, row_group_size=rows)


def line(what: str, seconds: float, rows: int, size: float = 0.0) -> None:
    speed = f"{size / seconds / 1e6:,.0f}" if size else ""
    print(f"| {what} | {rows / seconds / 1e6:.2f} | {speed} |")


def over_file(path: Path, rows: int) -> TableEncoder:
    """Passes over the file: reading alone, and reading with a summary."""
    batches = as_batches(path)
    assert batches is not None
    size = path.stat().st_size
    line("read Parquet", timed(lambda: sum(part.num_rows for part in batches))[0], rows, size)
    summary = TableSummary(TableEncoder(n_knots=32))
    line("read and summarise", timed(lambda: [summary.add_(part) for part in drawn(batches, "y")])[0], rows, size)
    return summary.encoder()


def in_memory(path: Path, encoder: TableEncoder, threads: int) -> tuple[RowPacking, np.ndarray]:
    """One block of rows: encoded, packed and unpacked."""
    part = next(drawn(as_batches(path), "y"))
    rows, packing = len(part), RowPacking.of(encoder)
    seconds, design = timed(lambda: encoder.transform(part.table, threads=threads), 3)
    line("encode", seconds, rows)
    seconds, records = timed(lambda: packing.pack(design, part.y, threads=threads), 3)
    line("pack", seconds, rows, records.nbytes)
    seconds, _ = timed(lambda: packing.pack_table(encoder, part.table, part.y, threads=threads), 3)
    line("encode and pack, column by column", seconds, rows, records.nbytes)
    block = np.concatenate([records] * -(-BLOCK // rows))[:BLOCK]
    order, room = np.random.default_rng(0).permutation(BLOCK), packing.room(BLOCK)
    for what, own, out in (
        ("unpack in order", None, room),
        ("unpack shuffled", order, room),
        ("unpack shuffled, into new memory", order, None),
    ):
        line(what, timed(lambda own=own, out=out: packing.unpack(block, own, threads, out), 3)[0], BLOCK, block.nbytes)
    np.testing.assert_array_equal(packing.unpack(records)[0].weights, design.weights)
    return packing, records


def on_disk(folder: Path, packing: RowPacking, records: np.ndarray, rows: int) -> None:
    chunks = (records[: min(len(records), rows - at)] for at in range(0, rows, len(records)))
    size = rows * packing.record_bytes
    seconds, cache = timed(lambda: build_cache(folder / "cache", "key", packing.record_bytes, rows, chunks))
    line("write cache", seconds, rows, size)
    with cache:
        for what in ("read cache, checksums verified", "read cache again"):
            line(what, timed(lambda: sum(len(each) for each in cache.buckets()))[0], rows, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=20, help="of numbers")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--folder", type=Path, help="where to write; a temporary folder by default")
    arguments = parser.parse_args()
    set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        write_table(folder / "table.parquet", arguments.rows, arguments.columns)
        print("| | million rows/s | MB/s |\n|---|---|---|")
        encoder = over_file(folder / "table.parquet", arguments.rows)
        packing, records = in_memory(folder / "table.parquet", encoder, arguments.threads)
        on_disk(folder, packing, records, arguments.rows)
    print(f"\n{packing.record_bytes} bytes per row, instead of {8 * packing.n_slots + 8} as ids, weights and target")


if __name__ == "__main__":
    main()
