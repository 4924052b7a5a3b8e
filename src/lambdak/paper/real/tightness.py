"""Beyond the paper: what a penalty on Σ_i ‖A_i‖₂ does to the loss on HIGGS and to the tightness of the influence bound.

The paper's last section leaves it open. Every step of Adam is followed by the proximal step of the penalty, of several
strengths. Validation chooses rate and sample count for every dim and strength; test rows select nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa

from lambdak._types import Float64Array, FloatArray
from lambdak.paper.data.higgs import FEATURES
from lambdak.paper.data.rows import DenseBatch
from lambdak.paper.parts import Piece, run_pieces
from lambdak.paper.profiles import PROFILES
from lambdak.paper.protocols import REAL_CONVENTIONS, Seeds
from lambdak.paper.real.influence import SEED, as_pencil, load_higgs
from lambdak.paper.real.learners import DenseSpectral
from lambdak.paper.real.origin import Origin, facts, find_origin
from lambdak.paper.real.protocol import Samples
from lambdak.paper.real.ratios import measure_ratios
from lambdak.paper.real.runs import batch_threads, log_loss, train
from lambdak.paper.synthetic.selection import quartiles

_SEEDS = Seeds((0,), (0, 1, 2, 3, 4))
_MEASURED = ("validation", "test", "norms", "mean_ratio", "median_ratio", "features")


@dataclass(frozen=True)
class Shrunk:
    """One model that is trained once, with a penalty of this strength."""

    dim: int
    strength: float
    rate: float
    data_seed: int
    start_seed: int

    @property
    def name(self) -> str:
        """A name for files."""
        seeds = f"data{self.data_seed}-start{self.start_seed}"
        return f"d{self.dim}-strength{self.strength:g}-rate{self.rate:.6g}-{seeds}"


@dataclass(frozen=True)
class Strengths:
    """Dims times strengths times rates times seeds, measured after this many samples."""

    dims: tuple[int, ...] = (3, 7, 11)
    strengths: tuple[float, ...] = (0.0, 0.0003, 0.001, 0.003, 0.01, 0.03)
    rates: tuple[float, ...] = (0.001, 0.003, 0.01, 0.03)
    samples: Samples = (2**22, 2**24, 2**26)
    seeds: Seeds = _SEEDS
    batch: int = 4096

    def runs(self) -> Iterator[Shrunk]:
        """Every training run of the study: each dim, strength, rate and pair of seeds."""
        for dim, strength, rate, pair in product(self.dims, self.strengths, self.rates, self.seeds.pairs()):
            yield Shrunk(dim, strength, rate, *pair)


def strengths(profile: str) -> Strengths:
    """Quick takes seconds, small minutes, full the samples of the paper."""
    if profile not in PROFILES:
        raise ValueError(f"profile must be one of {PROFILES}; got {profile!r}")
    whole = Strengths()
    if profile == "quick":
        fewer = replace(whole, dims=(3, 5), strengths=(0.0, 0.01, 0.1), rates=(0.01,), seeds=whole.seeds.first(1, 2))
        return replace(fewer, samples=(2**10, 2**12), batch=128)
    if profile == "small":
        fewer = replace(whole, rates=(0.002, 0.01), seeds=whole.seeds.first(1, 3))
        return replace(fewer, samples=(2**16, 2**17, 2**18, 2**19), batch=256)
    return whole


def run_tightness(
    profile: str,
    out: Path,
    source: Path | None = None,
    workers: int = 1,
    dask: str | None = None,
    progress: bool = True,
) -> Iterator[tuple[int, int]]:
    """Run what is missing of the study, yielding (runs done, runs).

    Parameters
    ----------
    profile, out, source
        "quick", "small" or "full"; folder for all studies; the file of HIGGS, without which quick does.
    workers, dask, progress
        As in :func:`lambdak.paper.real.runs.run_real`.
    """
    grid, origin = strengths(profile), find_origin("higgs", profile, out, source)
    known = facts(load_higgs(origin, progress=progress))
    config = {"study": "tightness", "profile": profile, "grid": asdict(grid), "data": known}
    pieces = [Piece(run.name, len(grid.samples), partial(_make, origin, run, grid)) for run in grid.runs()]
    return run_pieces(out / f"tightness-{profile}", config, pieces, workers, dask)


def _make(origin: Origin, run: Shrunk, grid: Strengths, threads: int) -> pa.Table:
    data, rows = load_higgs(origin), []
    model = Penalised(run, batch_threads(grid.batch, threads))
    for samples in train(model, data, grid.samples, grid.batch, run.data_seed):
        pencil = as_pencil(model.neuron)
        ratios = measure_ratios(pencil, data.part("test"), SEED)
        losses = [log_loss(model, data, part) for part in ("validation", "test")]
        found = (*losses, float(pencil.norms.sum()), ratios.mean, ratios.median, int((pencil.norms > 0).sum()))
        rows.append({**vars(run), "samples": samples, **dict(zip(_MEASURED, found, strict=True))})
    return pa.Table.from_pylist(rows)


class Penalised:
    """The dense spectral neuron, each of whose steps is followed by the proximal step of strength · Σ_i ‖A_i‖₂."""

    def __init__(self, run: Shrunk, threads: int = 0) -> None:
        jitter = float(REAL_CONVENTIONS["released"].jitter)
        self.neuron = DenseSpectral(FEATURES, run.dim, run.rate, run.start_seed, threads, jitter)
        self._strength = run.strength

    @property
    def n_parameters(self) -> int:
        """How many numbers are learned."""
        return self.neuron.n_parameters

    def step(self, batch: DenseBatch) -> None:
        """One step on the mean log-loss of a batch, and one on the penalty."""
        self.neuron.step(batch)
        if self._strength:
            self.neuron.shrink_(self._strength)

    def scores(self, batch: DenseBatch) -> FloatArray:
        """Log-odds of every row."""
        return self.neuron.scores(batch)


@dataclass(frozen=True)
class Tightened:
    """A dim and strength at the rate and sample count of the lowest median validation loss: medians over seeds."""

    dim: int
    strength: float
    rate: float
    samples: int
    validation: float
    low: float  # quartiles of the test loss
    median: float
    high: float
    norms: float  # Σ_i ‖A_i‖₂
    mean_ratio: float
    median_ratio: float
    features: float  # whose matrix is not zero


def tighten(results: pa.Table) -> Iterator[Tightened]:
    """One for every dim and strength, in the order of the table; a run that diverged counts as infinitely bad."""
    runs: dict[tuple[int, float], dict[tuple[float, int], list[dict[str, float]]]] = {}
    for row in results.to_pylist():
        choices = runs.setdefault((row["dim"], row["strength"]), {})
        choices.setdefault((row["rate"], row["samples"]), []).append(row)
    for (dim, strength), choices in runs.items():
        medians = {how: float(np.median(_losses(some, "validation"))) for how, some in choices.items()}
        best = min(medians, key=lambda how: medians[how])
        test = quartiles(_losses(choices[best], "test")).tolist()
        others = (float(np.median([row[name] for row in choices[best]])) for name in _MEASURED[2:])
        yield Tightened(dim, strength, *best, medians[best], *test, *others)


def _losses(runs: Iterable[dict[str, float]], part: str) -> Float64Array:
    return np.nan_to_num([row[part] for row in runs], nan=np.inf)
