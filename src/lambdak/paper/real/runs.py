"""The paper's studies of HIGGS and Criteo: every run is one Parquet part, so that a stopped study can continue.

A study's folder holds ``study.json`` (protocol, library version, checksum of the data), ``parts/`` and, once all runs
are done, ``results.parquet`` with one row per run and sample count. Caches of the data are beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lambdak.eigen.runtime import get_num_threads
from lambdak.paper.data.criteo import raw_criteo
from lambdak.paper.data.higgs import higgs
from lambdak.paper.data.ids import KINDS, criteo
from lambdak.paper.data.miniature import write_miniature
from lambdak.paper.data.rows import PARTS, Data
from lambdak.paper.data.stream import Stream
from lambdak.paper.parts import Piece, read_config, run_pieces
from lambdak.paper.real.baselines import import_torch, torch_threads
from lambdak.paper.real.learner import Learner
from lambdak.paper.real.protocol import Protocol, Run, make_model, real_protocol

_FILES = {"higgs": "HIGGS.csv[.gz|.zst]", "criteo": "train.txt[.gz|.zst]"}
_THREADED_BATCH = 1024  # smaller ones do not pay for threads


def run_real(
    name: str,
    profile: str,
    out: Path,
    source: Path | None = None,
    workers: int = 1,
    dask: str | None = None,
    progress: bool = True,
) -> Iterator[tuple[int, int]]:
    """Run what is missing of a study, yielding (runs done, runs) whenever one is finished.

    Parameters
    ----------
    name, profile
        "higgs" or "criteo"; "quick", "small" or "full".
    out
        Folder for all studies.
    source
        The data: the published file, compressed or not, or a Parquet sample of it. The quick profile does without.
    workers, dask
        As in :func:`lambdak.paper.parts.run_pieces`; small batches are trained with one thread in any case.
    progress
        Whether to show a progress bar while the file is read.
    """
    protocol, out = real_protocol(name, profile), out.absolute()
    origin = name, find_source(name, profile, out, source).absolute(), out / "cache"
    if not all(run.is_spectral for run in protocol.runs()):
        import_torch()  # rather than to find it missing after all runs of our own
    data = next(iter(load(*origin, progress).values()))  # all kinds are of the same rows
    known = {"sha256": data.checksum, "splits": {part: list(span) for part, span in data.splits.items()}}
    config = {"study": name, "profile": profile, "protocol": protocol.to_dict(), "data": known}
    pieces = [Piece(run.name, len(protocol.samples), partial(_make, *origin, run, protocol)) for run in protocol.runs()]
    return run_pieces(out / f"{name}-{profile}", config, pieces, workers, dask)


def about_data(folder: Path) -> str:
    """The rows of a study's data and their checksum, in words."""
    data = read_config(folder)["data"]
    train, validation, test = (f"{last - first:,}" for first, last in (data["splits"][part] for part in PARTS))
    return f"data: {train} rows to train on, {validation} to validate, {test} to test; SHA-256 {data['sha256']}"


def load(name: str, source: Path, cache: Path, progress: bool = True) -> dict[str, Data]:
    """The data by the kind of their preprocessing: "dense" for HIGGS, "bucketed" and "continuous" for Criteo."""
    folder = cache / f"{name}-{source.name}"
    if name == "higgs":
        return {"dense": higgs(source, folder, progress)}
    raw = raw_criteo(source, folder, progress)
    return {kind: criteo(raw, cache / f"{name}-{source.name}-{kind}", kind) for kind in KINDS}


def train(model: Learner, data: Data, protocol: Protocol, seed: int) -> Iterator[int]:
    """Train on the endless stream, stopping at each sample count of the protocol to yield it."""
    batches = iter(Stream(data.train_rows, protocol.batch, seed))
    done = 0
    with threadpool_limits(1, "blas"):  # two pools of spinning threads would fight over the cores
        for samples in protocol.samples:
            for _ in range(-(-(samples - done) // protocol.batch)):
                model.step(data.batch(next(batches)))
                done += protocol.batch
            yield samples


def log_loss(model: Learner, data: Data, part: str) -> float:
    """Mean log-loss over all rows of a part; NaN for a model that has diverged."""
    total, rows = 0.0, 0
    for batch in data.part(part):
        scores = model.scores(batch).astype(np.float64)
        total += float(np.sum(np.logaddexp(0.0, scores) - batch.y * scores))
        rows += len(scores)
    return total / rows


def find_source(name: str, profile: str, out: Path, source: Path | None) -> Path:
    """The file of a study; for the quick profile a small random one, if none is given."""
    if source is not None:
        return source
    if profile != "quick":
        raise ValueError(f"{name} needs its data: give the file with --data, {_FILES[name]} or a Parquet sample of it")
    return write_miniature(name, out / "cache")


def _make(name: str, source: Path, cache: Path, run: Run, protocol: Protocol, threads: int) -> pa.Table:
    """The rows of a run, with the data mapped again, since this may be another process."""
    data = load(name, source, cache, progress=False)[run.kind]
    count = 1 if protocol.batch < _THREADED_BATCH else threads
    with nullcontext() if run.is_spectral else torch_threads(count or get_num_threads()):
        return run_model(data, run, protocol, count)


def run_model(data: Data, run: Run, protocol: Protocol, threads: int = 0) -> pa.Table:
    """Train and measure one model: one row per sample count."""
    model = make_model(run, data, threads)
    rows = []
    for samples in train(model, data, protocol, run.seed):
        losses = {part: log_loss(model, data, part) for part in ("validation", "test")}
        rows.append({**vars(run), "parameters": model.n_parameters, "samples": samples, **losses})
    return pa.Table.from_pylist(rows)
