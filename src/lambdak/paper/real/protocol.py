"""What is trained on the real data sets: models, sizes, rates, seeds, and the sample counts at which they are measured.

Models have the names of the released results. The linear models have no size; MLPs and the factorisation machine are
matched in their number of parameters to the spectral neuron of the same dim.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product

import numpy as np

from lambdak.eigen.packing import packed_size
from lambdak.paper.data.rows import Data, DenseData, SparseData
from lambdak.paper.profiles import PROFILES
from lambdak.paper.real.baselines import factorisation_machine, matched_width, perceptron
from lambdak.paper.real.dense import DenseSpectral
from lambdak.paper.real.learner import Learner
from lambdak.paper.real.sparse import SparseSpectral


@dataclass(frozen=True)
class Run:
    """One model that is trained once."""

    model: str
    dim: int  # 0 for linear models
    rate: float
    seed: int

    @property
    def name(self) -> str:
        """A name for files."""
        return f"{self.model}-d{self.dim}-rate{self.rate:.6g}-seed{self.seed}"

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


@dataclass(frozen=True)
class Protocol:
    """Models times dims times rates times seeds, measured after this many samples."""

    models: tuple[str, ...]
    rates: tuple[float, ...]
    samples: tuple[int, ...]
    dims: tuple[int, ...] = (3, 7, 11)
    seeds: int = 5
    batch: int = 4096

    def runs(self) -> Iterator[Run]:
        """All runs."""
        for model in self.models:
            dims = (0,) if model.startswith("linear") else self.dims
            for dim, rate, seed in product(dims, self.rates, range(self.seeds)):
                yield Run(model, dim, rate, seed)

    def to_dict(self) -> dict[str, object]:
        """The configuration as plain data."""
        return asdict(self)


def _doubling(first: int, last: int) -> tuple[int, ...]:
    return tuple(2**k for k in range(first, last + 1))


def _rates(low: float) -> tuple[float, ...]:
    return tuple(np.geomspace(low, 1e-1, 8).tolist())


DATASETS = {
    "higgs": Protocol(("spectral", "mlp-1", "mlp-2", "mlp-3", "linear"), _rates(1e-4), _doubling(12, 26)),
    "criteo": Protocol(
        ("spectral-bucketed", "spectral-continuous", "fm", "linear-bucketed", "linear-continuous"),
        _rates(1e-3),
        _doubling(12, 28),
    ),
}


def real_protocol(name: str, profile: str) -> Protocol:
    """Quick takes seconds, small minutes (both with small batches, for small files), full is the paper's."""
    if name not in DATASETS or profile not in PROFILES:
        raise ValueError(
            f"name must be one of {tuple(DATASETS)} and profile one of {PROFILES}; got {name!r} and {profile!r}"
        )
    whole = DATASETS[name]
    if profile == "quick":
        return replace(whole, rates=(1e-2, 1e-1), samples=_doubling(8, 12), dims=(3,), seeds=2, batch=128)
    if profile == "small":
        return replace(whole, rates=whole.rates[1::2], samples=_doubling(12, 19), dims=(3, 7), seeds=3, batch=256)
    return whole


def make_model(run: Run, data: Data, threads: int = 0) -> Learner:
    """The untrained model of a run; ours uses this many threads, 0 for the process's setting."""
    family = run.model.partition("-")[0]
    if isinstance(data, DenseData):
        return _dense_model(run, family, data.features.shape[1], threads)
    if not isinstance(data, SparseData):
        raise TypeError(f"data must be DenseData or SparseData; got {type(data).__name__}")
    if family == "spectral":
        return SparseSpectral(data.n_ids, run.dim, run.rate, run.seed, data.ids.shape[1], threads)
    factors = packed_size(run.dim) - 1 if family == "fm" else 0
    return factorisation_machine(data.n_ids, factors, run.rate, run.seed)


def _dense_model(run: Run, family: str, n_features: int, threads: int) -> Learner:
    if family == "spectral":
        return DenseSpectral(n_features, run.dim, run.rate, run.seed, threads)
    if family == "linear":
        return perceptron(n_features, [], run.rate, run.seed)
    width = hidden_width(run.model, run.dim, n_features)
    return perceptron(n_features, [width] * _depth(run.model), run.rate, run.seed)


def hidden_width(model: str, dim: int, n_features: int) -> int:
    """The width of an MLP ("mlp-1", …) that is matched to the spectral neuron of this dim.

    >>> hidden_width("mlp-2", 7, 28)
    17
    """
    return matched_width(n_features, _depth(model), (n_features + 1) * packed_size(dim))


def _depth(model: str) -> int:
    return int(model.removeprefix("mlp-"))
