"""What is trained on the real data sets: models, sizes, rates, seeds, and the sample counts at which they are measured.

Models have the names of the released results. The linear models have no size; MLPs and the factorisation machine are
matched in their number of parameters to the spectral neuron of the same dim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import product

import numpy as np

from lambdak.eigen.packing import packed_size
from lambdak.paper.data.rows import Data, DenseData, SparseData
from lambdak.paper.profiles import PROFILES
from lambdak.paper.protocols import REAL_CONVENTIONS, RealConventions, Seeds, Source, study_name
from lambdak.paper.real.baselines import factorisation_machine, matched_width, perceptron
from lambdak.paper.real.learners import DenseSpectral, Learner, SparseSpectral


@dataclass(frozen=True)
class Run:
    """One model that is trained once, to choose the rate ("tuning") or to be reported ("evaluation")."""

    phase: str
    model: str
    dim: int  # 0 for linear models
    rate: float
    data_seed: int  # of the order of the rows
    start_seed: int

    @property
    def name(self) -> str:
        """A name for files."""
        seeds = f"data{self.data_seed}-start{self.start_seed}"
        return f"{self.phase}-{self.model}-d{self.dim}-rate{self.rate:.6g}-{seeds}"

    @property
    def is_spectral(self) -> bool:
        """Whether it is our model; all others need PyTorch."""
        return self.model.startswith("spectral")

    @property
    def kind(self) -> str:
        """Which of Criteo's preprocessings, or "dense" for HIGGS."""
        if self.model == "fm":
            return "bucketed"
        last = self.model.rpartition("-")[2]
        return last if last in ("bucketed", "continuous") else "dense"


Samples = tuple[int, ...]  # after which a run is measured
Point = tuple[str, int, int]  # model, dim, samples


@dataclass(frozen=True)
class Protocol:
    """Models times dims times rates times seeds choose a rate for every sample count; fresh runs are reported."""

    dataset: str
    models: tuple[str, ...]
    rates: tuple[float, ...]
    samples: Samples
    tuning: Seeds
    evaluation: Seeds
    dims: tuple[int, ...] = (3, 7, 11)
    batch: int = 4096
    source: str = Source.RELEASED.value

    def shapes(self) -> Iterator[tuple[str, int]]:
        """All models and their dims."""
        for model in self.models:
            yield from ((model, dim) for dim in ((0,) if model.startswith("linear") else self.dims))

    def tuning_runs(self) -> Iterator[tuple[Run, Samples]]:
        """The runs that choose the rates."""
        for (model, dim), rate, seeds in product(self.shapes(), self.rates, self.tuning.pairs()):
            yield Run("tuning", model, dim, rate, *seeds), self.samples

    def evaluation_runs(self, best: Mapping[Point, float]) -> Iterator[tuple[Run, Samples]]:
        """The runs that are reported: of every rate, for the sample counts at which it is the best."""
        for (model, dim), rate, seeds in product(self.shapes(), self.rates, self.evaluation.pairs()):
            samples = tuple(n for n in self.samples if best[model, dim, n] == rate)
            if samples:
                yield Run("evaluation", model, dim, rate, *seeds), samples

    @property
    def conventions(self) -> RealConventions:
        """What the text of the paper and its released runs do differently."""
        return REAL_CONVENTIONS[self.source]

    def to_dict(self) -> dict[str, object]:
        """The configuration as plain data."""
        return asdict(self)


def _powers(first: int, last: int) -> Samples:
    return tuple(2**k for k in range(first, last + 1))


def _even_powers(dense_from: int, last: int) -> Samples:
    """2¹², 2¹⁴, … and every power from here on."""
    return tuple(n for k, n in enumerate(_powers(12, last), 12) if k % 2 == 0 or k > dense_from)


def _rates(low: float) -> tuple[float, ...]:
    return tuple(np.geomspace(low, 1e-1, 8).tolist())


_HIGGS = ("spectral", "mlp-1", "mlp-2", "mlp-3", "linear")
_CRITEO = ("spectral-bucketed", "spectral-continuous", "fm", "linear-bucketed", "linear-continuous")
_WHOLE = {  # models, rates, sample counts of the released runs and of the text
    "higgs": (_HIGGS, _rates(1e-4), {True: _even_powers(22, 26), False: _powers(12, 26)}),
    "criteo": (_CRITEO, _rates(1e-3), {True: _even_powers(28, 28), False: _powers(12, 28)}),
}


def _protocol(dataset: str, source: str) -> Protocol:
    (models, rates, samples), how = _WHOLE[dataset], REAL_CONVENTIONS[source]
    return Protocol(dataset, models, rates, samples[how.even_powers], how.tuning, how.evaluation, source=source)


DATASETS = tuple(_WHOLE)
REAL_STUDIES = {
    study_name(dataset, source.value): _protocol(dataset, source.value) for dataset in DATASETS for source in Source
}


def real_protocol(name: str, profile: str) -> Protocol:
    """Quick takes seconds, small minutes (both with small batches, for small files), full is the paper's."""
    if name not in REAL_STUDIES or profile not in PROFILES:
        raise ValueError(
            f"name must be one of {tuple(REAL_STUDIES)} and profile one of {PROFILES}; got {name!r} and {profile!r}"
        )
    whole = REAL_STUDIES[name]
    if profile == "quick":
        fewer = _with_seeds(whole, starts=2, fresh=(2, 1))
        return replace(fewer, rates=(1e-2, 1e-1), samples=_powers(8, 12), dims=(3,), batch=128)
    if profile == "small":
        fewer = _with_seeds(whole, starts=3, fresh=(2, 3))
        dims = whole.dims if whole.dataset == "higgs" else whole.dims[:2]  # the bound is measured on every dim of HIGGS
        return replace(fewer, rates=whole.rates[1::2], samples=_powers(12, 19), dims=dims, batch=256)
    return whole


def _with_seeds(whole: Protocol, starts: int, fresh: tuple[int, int]) -> Protocol:
    """With at most so many starts to tune, and so many orders of the rows and fresh starts to report."""
    return replace(whole, tuning=whole.tuning.first(1, starts), evaluation=whole.evaluation.first(*fresh))


def make_model(run: Run, data: Data, threads: int = 0, jitter: float = 1.0) -> Learner:
    """The untrained model of a run; ours has this jitter at its start and uses this many threads, 0 for all."""
    family = run.model.partition("-")[0]
    if isinstance(data, DenseData):
        return _dense_model(run, family, data.features.shape[1], threads, jitter)
    if not isinstance(data, SparseData):
        raise TypeError(f"data must be DenseData or SparseData; got {type(data).__name__}")
    if family == "spectral":
        return SparseSpectral(data.n_ids, run.dim, run.rate, run.start_seed, data.ids.shape[1], threads, jitter)
    factors = packed_size(run.dim) - 1 if family == "fm" else 0
    return factorisation_machine(data.n_ids, factors, run.rate, run.start_seed)


def _dense_model(run: Run, family: str, n_features: int, threads: int, jitter: float) -> Learner:
    if family == "spectral":
        return DenseSpectral(n_features, run.dim, run.rate, run.start_seed, threads, jitter)
    if family == "linear":
        return perceptron(n_features, [], run.rate, run.start_seed)
    width = hidden_width(run.model, run.dim, n_features)
    return perceptron(n_features, [width] * _depth(run.model), run.rate, run.start_seed)


def hidden_width(model: str, dim: int, n_features: int) -> int:
    """The width of an MLP ("mlp-1", …) that is matched to the spectral neuron of this dim.

    >>> hidden_width("mlp-2", 7, 28)
    17
    """
    return matched_width(n_features, _depth(model), (n_features + 1) * packed_size(dim))


def _depth(model: str) -> int:
    return int(model.removeprefix("mlp-"))
