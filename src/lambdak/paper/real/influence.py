"""The study of the influence bound: the reported HIGGS models, trained once more, on the test rows.

Every model is one Parquet part with a row per feature and shell of |δ|, see :mod:`lambdak.paper.real.ratios`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from lambdak.paper.data.higgs import FEATURES
from lambdak.paper.data.rows import DenseData
from lambdak.paper.parts import Piece, read_config, read_results, run_pieces
from lambdak.paper.protocols import Source, study_name
from lambdak.paper.real.learners import DenseSpectral
from lambdak.paper.real.origin import Origin, facts, find_origin
from lambdak.paper.real.protocol import Protocol, Run, make_model, real_protocol
from lambdak.paper.real.ratios import BINS, NOISE, SHELLS, measure_ratios
from lambdak.paper.real.runs import batch_threads, train
from lambdak.paper.real.tuning import choose
from lambdak.pencil import Pencil

SEED = 0  # of the noise


def run_influence(
    profile: str,
    out: Path,
    source: Path | None = None,
    protocol: str = Source.RELEASED.value,
    workers: int = 1,
    dask: str | None = None,
    progress: bool = True,
) -> Iterator[tuple[int, int]]:
    """Measure the reported models of the HIGGS study on its test rows, yielding (models done, models).

    Each dim is trained with the seeds of the evaluation, at the rate that was chosen for the largest sample count.

    Parameters
    ----------
    profile, out, source
        Those of the HIGGS study, which is finished, and its file.
    protocol
        "released" or "text".
    workers, dask, progress
        As in :func:`lambdak.paper.real.runs.run_real`.
    """
    name = study_name("higgs", protocol)
    whole, folder = real_protocol(name, profile), out / f"{name}-{profile}"
    last = whole.samples[-1]
    chosen = choose(read_results(folder))
    rates = {dim: chosen["spectral", dim, last].rate for dim in whole.dims}
    origin = find_origin("higgs", profile, out, source, protocol)
    about = facts(load_higgs(origin, folder, progress))
    ours = {"noise": NOISE, "bins": BINS, "shells": SHELLS, "seed": SEED, "rates": rates}
    config = {"study": study_name("influence", protocol), "profile": profile, "protocol": whole.to_dict()}
    runs = [Run("evaluation", "spectral", dim, rates[dim], *pair) for dim in rates for pair in whole.evaluation.pairs()]
    pieces = [Piece(run.name, FEATURES * SHELLS, partial(_make, origin, run, whole)) for run in runs]
    study = f"{study_name('influence', protocol)}-{profile}"
    return run_pieces(out / study, config | {"influence": ours, "data": about}, pieces, workers, dask)


def load_higgs(origin: Origin, folder: Path | None = None, progress: bool = False) -> DenseData:
    """The rows of HIGGS, which must be those of the study in a folder."""
    data = origin.load(progress)["dense"]
    if not isinstance(data, DenseData):
        raise TypeError(f"HIGGS must be DenseData; got {type(data).__name__}")
    if folder is not None and data.checksum != read_config(folder)["data"]["sha256"]:
        raise ValueError(f"{origin.file} is not the file that the study in {folder} was run with")
    return data


def _make(origin: Origin, run: Run, protocol: Protocol, threads: int) -> pa.Table:
    data, threads = load_higgs(origin), batch_threads(protocol.batch, threads)
    model = make_model(run, data, threads, float(protocol.conventions.jitter))
    for _ in train(model, data, protocol.samples[-1:], protocol.batch, run.data_seed):
        pass
    known = {key: value for key, value in vars(run).items() if key not in ("phase", "model")}
    return measure_ratios(as_pencil(model), data.part("test"), SEED).table(known)


def as_pencil(model: object) -> Pencil:
    """The trained spectral neuron in float64."""
    if not isinstance(model, DenseSpectral):
        raise TypeError(f"model must be DenseSpectral; got {type(model).__name__}")
    return Pencil(model.coef.astype(np.float64), model.index)
