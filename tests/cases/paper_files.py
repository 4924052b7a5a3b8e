"""Small files in the formats of HIGGS and Criteo, for the tests of the paper's real data."""

from __future__ import annotations

import gzip
import math
import zlib
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lambdak.paper.data.higgs import FEATURES
from lambdak.paper.parts import prepare_folder, write_table
from lambdak.paper.protocols import Seeds
from lambdak.paper.real.protocol import Run, real_protocol
from lambdak.paper.real.ratios import BINS, SHELLS, Ratios
from lambdak.paper.real.tightness import strengths

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
    """The folder of a study of HIGGS or Criteo as it is when it is finished, with invented losses."""
    seeds = Seeds((1,), (0, 1, 2))
    protocol = replace(real_protocol(name, profile), dims=dims, tuning=seeds, evaluation=seeds)
    folder = out / f"{name}-{profile}"
    prepare_folder(folder, {"data": {"splits": {"train": [0, 1600]}}, "protocol": protocol.to_dict()})
    lowest = {(*shape, n): protocol.rates[0] for shape in protocol.shapes() for n in protocol.samples}
    runs = [*protocol.tuning_runs(), *protocol.evaluation_runs(lowest)]
    rows = [_row(run, count) for run, samples in runs for count in samples]
    write_table(pa.Table.from_pylist(rows), folder / "results.parquet")
    return folder


def _row(run: Run, samples: int) -> dict[str, object]:
    value = loss(run.model, run.dim, run.rate, run.start_seed, samples)
    validation, test = (value, math.nan) if run.phase == "tuning" else (math.nan, value + 0.05)
    return {**vars(run), "parameters": 1000 + run.dim, "samples": samples, "validation": validation, "test": test}


def write_influence(out: Path, name: str = "influence", profile: str = "quick", dims: tuple[int, ...] = (3, 7)) -> Path:
    """The folder of a finished study of the influence bound with invented counts of two models per dim."""
    folder, rng = out / f"{name}-{profile}", np.random.default_rng(0)
    prepare_folder(folder, {"study": name})
    tables = []
    for dim, seed in product(dims, range(2)):
        counts = rng.integers(1, 100, (FEATURES, SHELLS, BINS))
        sums = (counts * (np.arange(BINS) + 0.5) / BINS).sum(axis=2)
        ratios = Ratios(counts, sums, np.full((FEATURES, SHELLS), 0.9), np.zeros((FEATURES, SHELLS), int))
        tables.append(ratios.table({"dim": dim, "rate": 0.01, "data_seed": 1, "start_seed": seed}))
    write_table(pa.concat_tables(tables), folder / "results.parquet")
    return folder


def write_tightness(out: Path, dims: tuple[int, ...] = (3, 7)) -> Path:
    """The folder of a finished study of penalties with invented numbers: stronger ones are tighter and worse."""
    folder, grid = out / "tightness-quick", replace(strengths("quick"), dims=dims)
    prepare_folder(folder, {"study": "tightness"})
    rows = [
        {**vars(run), "samples": n, "validation": value, "test": value + 0.05, "norms": 9.0 - 50 * run.strength,
         "mean_ratio": 0.5 - run.dim / 100 + run.strength, "median_ratio": 0.4, "features": 28}
        for run in grid.runs() for n in grid.samples
        for value in [loss("spectral", run.dim, run.rate, run.start_seed, n) + run.strength]
    ]  # fmt: skip
    write_table(pa.Table.from_pylist(rows), folder / "results.parquet")
    return folder


def by_pandas(out, name, cell):
    """(rate, low, median, high) at the last checkpoint, from the tidy table."""
    rows = pq.read_table(out / f"{name}-quick" / "results.parquet").to_pandas()
    keys = {"fit": cell.fit, "complexity": cell.complexity, "noise": cell.noise, "dim": cell.dim}
    own = rows[(rows[list(keys)] == list(keys.values())).all(axis=1)]
    best = own.sort_values("validation").groupby(["target", "seed", "rate"], as_index=False).first()
    rate = best.groupby("rate")["validation"].median().idxmin()
    return rate, *best[best["rate"] == rate]["test"].quantile([0.25, 0.5, 0.75])
