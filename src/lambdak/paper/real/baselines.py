"""The paper's competitors, and a plain reference of our own model, in PyTorch: the only module that imports it.

Dense rows: linear model and MLPs (ReLU, equal widths). Sparse rows: linear model and factorisation machine, whose
tables are trained by SparseAdam and whose constants by Adam. PyTorch's default starts are kept, but for the factors,
which begin normal with deviation 0.01, and the linear weights of sparse models, which begin at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from math import sqrt
from types import ModuleType
from typing import Any

import numpy as np

from lambdak._types import FloatArray
from lambdak.eigen.packing import packed_size
from lambdak.paper.data.rows import DenseBatch, SparseBatch
from lambdak.pencil.initial import gapped

_FACTOR_DEVIATION = 0.01


class Baseline:
    """A PyTorch model trained on the mean log-loss; ``scores`` are its log-odds."""

    def __init__(self, score: Callable[..., Any], dense: list[Any], sparse: list[Any], rate: float) -> None:
        torch = import_torch()
        self._torch, self._score = torch, score
        self.dense_parameters, self.sparse_parameters = dense, sparse
        self._optimizers = [torch.optim.Adam(dense, lr=rate)] if dense else []
        self._optimizers += [torch.optim.SparseAdam(sparse, lr=rate)] if sparse else []
        self.n_parameters = sum(part.numel() for part in dense + sparse)

    def step(self, batch: DenseBatch | SparseBatch) -> None:
        """One step on the mean log-loss of a batch."""
        *inputs, y = (self._torch.from_numpy(part) for part in batch)
        for optimizer in self._optimizers:
            optimizer.zero_grad()
        loss = self._torch.nn.functional.binary_cross_entropy_with_logits(self._score(*inputs), y)
        loss.backward()
        for optimizer in self._optimizers:
            optimizer.step()

    def scores(self, batch: DenseBatch | SparseBatch) -> FloatArray:
        """Log-odds of every row."""
        with self._torch.no_grad():
            found = self._score(*(self._torch.from_numpy(np.array(part)) for part in batch[:-1]))
        return np.asarray(found.numpy())


def import_torch() -> ModuleType:
    """PyTorch, or how to get it."""
    try:
        import torch
    except ImportError:
        raise ImportError("the paper's baselines need PyTorch: pip install 'lambdak[torch]'") from None
    return torch


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let PyTorch use this many threads for a while."""
    torch = import_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def perceptron(n_features: int, widths: list[int], rate: float, seed: int) -> Baseline:
    """An MLP with these hidden widths; with none of them, the linear model."""
    torch = import_torch()
    sizes = [n_features, *widths]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = [part for n, m in pairwise(sizes) for part in (torch.nn.Linear(n, m), torch.nn.ReLU())]
        net = torch.nn.Sequential(*layers, torch.nn.Linear(sizes[-1], 1))
    return Baseline(lambda x: net(x)[:, 0], list(net.parameters()), [], rate)


def matched_width(n_features: int, depth: int, parameters: int) -> int:
    """The width at which an MLP of this depth has the number of parameters nearest to the given one.

    >>> [matched_width(28, depth, 29 * 66) for depth in (1, 2, 3)]
    [64, 31, 24]
    """

    def count(width: int) -> int:
        return (n_features + 1) * width + (depth - 1) * (width + 1) * width + width + 1

    return min(range(1, parameters), key=lambda width: abs(count(width) - parameters))


def factorisation_machine(n_ids: int, factors: int, rate: float, seed: int) -> Baseline:
    """w_0 + Σ w_i x_i + Σ_{i<j} ⟨v_i, v_j⟩ x_i x_j with this many factors; with none of them, the linear model."""
    torch = import_torch()
    constant = torch.nn.Parameter(torch.zeros(()))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        table = torch.nn.Embedding(n_ids, 1 + factors, sparse=True)
        torch.nn.init.normal_(table.weight, std=_FACTOR_DEVIATION)
        with torch.no_grad():
            table.weight[:, 0] = 0.0

    def score(ids: Any, weights: Any) -> Any:
        rows = table(ids[:, 1:]) * weights[:, 1:, None]  # the constant is a parameter of its own
        total = rows.sum(dim=1)
        if not factors:
            return constant + total[:, 0]
        pairs = total[:, 1:].square().sum(dim=1) - rows[..., 1:].square().sum(dim=(1, 2))
        return constant + total[:, 0] + 0.5 * pairs

    return Baseline(score, [constant], [table.weight], rate)


def dense_reference(n_features: int, dim: int, rate: float, seed: int, jitter: float = 1.0) -> Baseline:
    """The spectral neuron on dense rows as one would write it in PyTorch."""
    torch = import_torch()
    coef = torch.nn.Parameter(torch.from_numpy(gapped(n_features, dim, random_state=seed, jitter=jitter)))
    eigenvalue = _middle_eigenvalue(dim)
    return Baseline(lambda x: eigenvalue(torch.addmm(coef[0], x, coef[1:])), [coef], [], rate)


def sparse_reference(start: FloatArray, dim: int, rate: float) -> Baseline:
    """The spectral neuron on sparse rows as one would write it in PyTorch, from a start (n_ids, D)."""
    torch = import_torch()
    table = torch.nn.Parameter(torch.from_numpy(np.array(start)))
    eigenvalue = _middle_eigenvalue(dim)

    def score(ids: Any, weights: Any) -> Any:
        bag = torch.nn.functional.embedding_bag(ids, table, mode="sum", per_sample_weights=weights, sparse=True)
        return eigenvalue(bag)

    return Baseline(score, [], [table], rate)


def _middle_eigenvalue(dim: int) -> Callable[[Any], Any]:
    torch = import_torch()
    entry = np.zeros((dim, dim), np.int64)
    entry[np.tril_indices(dim)] = np.arange(packed_size(dim))
    entry = np.maximum(entry, entry.T)
    scale = np.where(np.eye(dim, dtype=bool), 1.0, 1.0 / sqrt(2.0)).astype(np.float32)
    entries, scales = torch.from_numpy(entry.ravel()), torch.from_numpy(scale)

    def eigenvalue(packed: Any) -> Any:
        matrices = packed[:, entries].reshape(-1, dim, dim) * scales
        return torch.linalg.eigvalsh(matrices)[:, dim // 2]

    return eigenvalue
