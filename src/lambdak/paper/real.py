"""The paper's studies of HIGGS and Criteo: every run is one Parquet part, so that a study goes on where it was stopped.

A study's folder holds ``study.json`` (protocol, library version, checksum of the data), ``parts/`` and, once all runs
are done, ``results.parquet`` with one row per run and sample count. Caches of the data are beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lambdak import __version__
from lambdak.atomic import write_bytes, write_text
from lambdak.paper.baselines import torch_threads
from lambdak.paper.criteo import raw_criteo
from lambdak.paper.data import Data
from lambdak.paper.higgs import higgs
from lambdak.paper.levels import KINDS, criteo
from lambdak.paper.miniature import write_miniature
from lambdak.paper.protocol import DATASETS, Protocol, Run, make_model, real_protocol
from lambdak.paper.stream import Stream
from lambdak.runtime import threads as use_threads

_FILES = {"higgs": "HIGGS.csv[.gz|.zst]", "criteo": "train.txt[.gz|.zst]"}
_THREADED_BATCH = 1024  # smaller ones do not pay for threads


def run_real(
    name: str, profile: str, out: Path, source: Path | None = None, workers: int = 1, progress: bool = True
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
    workers
        Processes; each trains one model at a time, with one thread if there are several or if batches are small.
    progress
        Whether to show a progress bar while the file is read.
    """
    protocol, folder = real_protocol(name, profile), out / f"{name}-{profile}"
    data = load(name, _source(name, profile, out, source), out / "cache", progress)
    sums = {kind: part.checksum for kind, part in data.items()}
    _claim_folder(folder, {"study": name, "profile": profile, "protocol": protocol.to_dict(), "data": sums})
    runs = list(protocol.runs())
    missing = [run for run in runs if not _is_whole(folder, run, protocol)]
    done = len(runs) - len(missing)
    yield done, len(runs)
    threads = 1 if workers > 1 or protocol.batch < _THREADED_BATCH else None
    tasks = (joblib.delayed(_run_part)(data[run.kind], run, protocol, folder, threads) for run in missing)
    for _ in joblib.Parallel(n_jobs=workers, return_as="generator_unordered")(tasks):
        done += 1
        yield done, len(runs)
    write_table(pa.concat_tables([pq.read_table(_part(folder, run)) for run in runs]), folder / "results.parquet")


def load(name: str, source: Path, cache: Path, progress: bool = True) -> dict[str, Data]:
    """The data by the kind of their preprocessing: "dense" for HIGGS, "bucketed" and "continuous" for Criteo."""
    folder = cache / f"{name}-{source.name}"
    if name == "higgs":
        return {"dense": higgs(source, folder, progress)}
    raw = raw_criteo(source, folder, progress)
    return {kind: criteo(raw, cache / f"{name}-{source.name}-{kind}", kind) for kind in KINDS}


def train(model: Any, data: Data, protocol: Protocol, seed: int) -> Iterator[int]:
    """Train on the endless stream, stopping at each sample count of the protocol to yield it."""
    batches = iter(Stream(data.train_rows, protocol.batch, seed))
    done = 0
    with threadpool_limits(1, "blas"):  # two pools of spinning threads would fight over the cores
        for samples in protocol.samples:
            for _ in range(-(-(samples - done) // protocol.batch)):
                model.step(data.batch(next(batches)))
                done += protocol.batch
            yield samples


def log_loss(model: Any, data: Data, part: str) -> float:
    """Mean log-loss over all rows of a part; NaN for a model that has diverged."""
    total, rows = 0.0, 0
    for batch in data.part(part):
        scores = model.scores(batch).astype(np.float64)
        total += float(np.sum(np.logaddexp(0.0, scores) - batch.y * scores))
        rows += len(scores)
    return total / rows


def _source(name: str, profile: str, out: Path, source: Path | None) -> Path:
    if source is not None:
        return source
    if name in DATASETS and profile != "quick":
        raise ValueError(f"{name} needs its data: name the file, {_FILES[name]} or a Parquet sample of it")
    return write_miniature(name, out / "cache")


def _claim_folder(folder: Path, claim: dict[str, object]) -> None:
    """Write what the folder holds, or refuse to mix it with something else."""
    text = json.dumps({**claim, "version": __version__}, indent=2)
    path = folder / "study.json"
    if path.exists() and json.loads(path.read_text()) != json.loads(text):
        raise ValueError(
            f"{folder} holds another study, other data or another version's: choose another folder, or remove it"
        )
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def _part(folder: Path, run: Run) -> Path:
    return folder / "parts" / f"{run.name}.parquet"


def _is_whole(folder: Path, run: Run, protocol: Protocol) -> bool:
    try:
        return bool(pq.read_metadata(_part(folder, run)).num_rows == len(protocol.samples))
    except (OSError, pa.ArrowInvalid):
        return False


def _run_part(data: Data, run: Run, protocol: Protocol, folder: Path, threads: int | None) -> None:
    calm = torch_threads(threads) if threads and not run.model.startswith("spectral") else nullcontext()
    with use_threads(threads), calm:
        write_table(run_model(data, run, protocol), _part(folder, run))


def run_model(data: Data, run: Run, protocol: Protocol) -> pa.Table:
    """Train and measure one model: one row per sample count."""
    model = make_model(run, data)
    rows = []
    for samples in train(model, data, protocol, run.seed):
        losses = {part: log_loss(model, data, part) for part in ("validation", "test")}
        rows.append({**vars(run), "parameters": model.n_parameters, "samples": samples, **losses})
    return pa.Table.from_pylist(rows)


def write_table(table: pa.Table, path: Path) -> None:
    """Write a Parquet file as a whole or not at all."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    write_bytes(path, sink.getvalue().to_pybytes())
