"""The paper's studies of HIGGS and Criteo: every run is one Parquet part, so that a stopped study can continue.

First all rates are trained a few times and validated; then the rate that validation chose for a sample count is trained
again, from fresh seeds, and tested. A study's folder holds ``study.json`` (protocol, library version, checksum of the
data), ``parts/`` and, once all runs are done, ``results.parquet`` with one row per run and sample count at which it was
measured. Caches of the data are beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lambdak.eigen.runtime import get_num_threads
from lambdak.paper.data.rows import PARTS, Data, Stream
from lambdak.paper.parts import Piece, make_parts, read_config, read_parts, run_pieces
from lambdak.paper.real.baselines import import_torch, torch_threads
from lambdak.paper.real.learners import Learner
from lambdak.paper.real.origin import Origin, facts, find_origin
from lambdak.paper.real.protocol import Protocol, Run, Samples, make_model, real_protocol
from lambdak.paper.real.tuning import choose

_THREADED_BATCH = 1024  # smaller ones do not pay for threads
_MEASURED = {"tuning": "validation", "evaluation": "test"}  # rows by phase


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

    How many runs there are is known when the rates are chosen; until then it is the least there can be.

    Parameters
    ----------
    name, profile
        "higgs" or "criteo", or "higgs-text" or "criteo-text"; "quick", "small" or "full".
    out
        Folder for all studies.
    source
        The data: the published file, compressed or not, or a Parquet sample of it. The quick profile does without.
    workers, dask
        As in :func:`lambdak.paper.parts.run_pieces`; small batches are trained with one thread in any case.
    progress
        Whether to show a progress bar while the file is read.
    """
    protocol = real_protocol(name, profile)
    origin = find_origin(protocol.dataset, profile, out, source, protocol.source)
    if not all(model.startswith("spectral") for model in protocol.models):
        import_torch()  # rather than to find it missing after all runs of our own
    known = facts(next(iter(origin.load(progress).values())))  # all kinds are of the same rows
    config = {"study": name, "profile": profile, "protocol": protocol.to_dict(), "data": known}
    return _run_phases((out / f"{name}-{profile}").absolute(), config, protocol, origin, (workers, dask))


def _run_phases(
    folder: Path, config: Mapping[str, Any], protocol: Protocol, origin: Origin, how: tuple[int, str | None]
) -> Iterator[tuple[int, int]]:
    tuning = [_piece(run, samples, origin, protocol) for run, samples in protocol.tuning_runs()]
    least = len(list(protocol.shapes())) * len(list(protocol.evaluation.pairs()))
    for done, count in make_parts(folder, config, tuning, *how):
        yield done, count + least
    best = {point: chosen.rate for point, chosen in choose(read_parts(folder, tuning)).items()}
    evaluation = [_piece(run, samples, origin, protocol) for run, samples in protocol.evaluation_runs(best)]
    yield from run_pieces(folder, config, tuning + evaluation, *how)


def _piece(run: Run, samples: Samples, origin: Origin, protocol: Protocol) -> Piece:
    return Piece(run.name, len(samples), partial(_make, origin, run, samples, protocol))


def about_data(folder: Path) -> str:
    """The rows of a study's data and their checksum, in words."""
    data = read_config(folder)["data"]
    train, validation, test = (f"{last - first:,}" for first, last in (data["splits"][part] for part in PARTS))
    return f"data: {train} rows to train on, {validation} to validate, {test} to test; SHA-256 {data['sha256']}"


def train(model: Learner, data: Data, samples: Iterable[int], batch: int, seed: int) -> Iterator[int]:
    """Train on the endless stream of this seed, stopping at each sample count to yield it."""
    batches, done = iter(Stream(data.train_rows, batch, seed)), 0
    with threadpool_limits(1, "blas"):  # two pools of spinning threads would fight over the cores
        for count in samples:
            for _ in range(-(-(count - done) // batch)):
                model.step(data.batch(next(batches)))
                done += batch
            yield count


def log_loss(model: Learner, data: Data, part: str) -> float:
    """Mean log-loss over all rows of a part; NaN for a model that has diverged."""
    total, rows = 0.0, 0
    for batch in data.part(part):
        scores = model.scores(batch).astype(np.float64)
        total += float(np.sum(np.logaddexp(0.0, scores) - batch.y * scores))
        rows += len(scores)
    return total / rows


def _make(origin: Origin, run: Run, samples: Samples, protocol: Protocol, threads: int) -> pa.Table:
    """The rows of a run, with the data mapped again, since this may be another process."""
    data = origin.load()[run.kind]
    count = batch_threads(protocol.batch, threads)
    with nullcontext() if run.is_spectral else torch_threads(count or get_num_threads()):
        return run_model(data, run, samples, protocol, count)


def batch_threads(batch: int, threads: int) -> int:
    """How many of these threads a batch of this size is worth."""
    return 1 if batch < _THREADED_BATCH else threads


def run_model(data: Data, run: Run, samples: Samples, protocol: Protocol, threads: int = 0) -> pa.Table:
    """Train and measure one model: one row per sample count, with the loss that its phase may see."""
    model = make_model(run, data, threads, float(protocol.conventions.jitter))
    part = _MEASURED[run.phase]
    rows = []
    for count in train(model, data, samples, protocol.batch, run.data_seed):
        losses = dict.fromkeys(_MEASURED.values(), np.nan) | {part: log_loss(model, data, part)}
        rows.append({**vars(run), "parameters": model.n_parameters, "samples": count, **losses})
    return pa.Table.from_pylist(rows)
