"""Small files in the formats of HIGGS and Criteo, for the tests of the paper's real data."""

from __future__ import annotations

import gzip
import math
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lambdak.paper.data.higgs import FEATURES
from lambdak.paper.parts import prepare_folder, write_table
from lambdak.paper.real.influence import BINS, Tightness
from lambdak.paper.real.protocol import real_protocol

ENDINGS = ["", ".gz", ".zst"]


def write(path: Path, lines: list[bytes]) -> Path:
    """Write lines as plain text, or compressed as the ending says."""
    data = b"".join(line + b"\n" for line in lines)
    if path.suffix == ".gz":
        data = gzip.compress(data, 1)
    elif path.suffix == ".zst":
        data = pa.compress(data, codec="zstd", asbytes=True)
    path.write_bytes(data)
    return path


def loss(model: str, dim: int, rate: float, seed: int, samples: int) -> float:
    """An invented loss that tells runs apart and is lowest for the lowest rate."""
    return 0.7 - 0.01 * math.log2(samples) + dim / 1000 + zlib.crc32(model.encode()) % 97 / 1e4 + rate + seed / 1e5


def write_real_results(out: Path, name: str, profile: str = "quick", dims: tuple[int, ...] = (3, 7)) -> Path:
    """The folder of a study of HIGGS or Criteo as it is when it is finished, with invented losses and ratios."""
    protocol = replace(real_protocol(name, profile), dims=dims, seeds=3)
    folder = out / f"{name}-{profile}"
    prepare_folder(folder, {"data": {"splits": {"train": [0, 1600]}}, "protocol": protocol.to_dict()})
    rows = [
        {**vars(run), "parameters": 1000 + run.dim, "samples": n, "validation": value, "test": value + 0.05}
        for run in protocol.runs() for n in protocol.samples for value in [loss(**vars(run), samples=n)]
    ]  # fmt: skip
    write_table(pa.Table.from_pylist(rows), folder / "results.parquet")
    if name == "higgs":
        counts = np.random.default_rng(0).integers(1, 100, (len(dims), FEATURES, BINS))
        tables = [Tightness(each, np.full(FEATURES, 0.9)).table(d) for d, each in zip(dims, counts, strict=True)]
        write_table(pa.concat_tables(tables), folder / "influence.parquet")
    return folder


def by_pandas(out, name, cell):
    """(rate, low, median, high) at the last checkpoint, from the tidy table."""
    rows = pq.read_table(out / f"{name}-quick" / "results.parquet").to_pandas()
    keys = {"fit": cell.fit, "complexity": cell.complexity, "noise": cell.noise, "dim": cell.dim}
    own = rows[(rows[list(keys)] == list(keys.values())).all(axis=1)]
    best = own.sort_values("validation").groupby(["target", "seed", "rate"], as_index=False).first()
    rate = best.groupby("rate")["validation"].median().idxmin()
    return rate, *best[best["rate"] == rate]["test"].quantile([0.25, 0.5, 0.75])
