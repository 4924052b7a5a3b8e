"""The spectral neurons of the real studies, on dense rows and on rows with few active ids, and what every model offers.

Adam has PyTorch's defaults and a constant rate, as the paper's models are trained. On dense rows a step is one matrix
product forth, one eigenpair per row, one matrix product back. On rows with a few active ids out of a million it touches
the active rows only: the moments of all others stand still, as in ``torch.optim.SparseAdam``; the correction of the
moments counts all steps.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from lambdak._types import FloatArray
from lambdak.eigen import eigenpair, eigenvalue, eigenvalue_vjp
from lambdak.eigen.engine import DescentRule
from lambdak.eigen.packing import packed_size, padded_size, padded_width
from lambdak.eigen.steps import step_engine
from lambdak.paper.data.rows import DenseBatch, SparseBatch
from lambdak.paper.synthetic.stacks import PYTORCH_ADAM
from lambdak.pencil.initial import Seed, gapped
from lambdak.training.shrink import prox


class Learner(Protocol):
    """A model of the log-odds of a label, trained batch by batch."""

    @property
    def n_parameters(self) -> int:
        """How many numbers are learned."""

    def step(self, batch: Any) -> None:
        """One step on the mean log-loss of a batch."""

    def scores(self, batch: Any) -> FloatArray:
        """Log-odds of every row."""


class Adam:
    """The clock and the corrections of the two moments; the moments themselves belong to the model."""

    def __init__(self, rate: float, threads: int = 0) -> None:
        self._rate, self._threads, self._steps = rate, threads, 0

    def step_(self, theta: FloatArray, grad: FloatArray, first: FloatArray, second: FloatArray) -> None:
        """Move parameters (size,), in place. Arrays are contiguous and of padded size."""
        rule, state = self._tick(), (theta[None], grad[None], first[None], second[None])
        step_engine().adam(state, rule[:1], [1.0], rule[1:], 0, self._threads)

    def descend_(self, batch: SparseBatch, vector: FloatArray, slope: FloatArray, dim: int, table: FloatArray) -> None:
        """Move the rows of a table (n_ids, 3, padded D) that a batch names: θ and its moments, in place."""
        design = (batch.ids, batch.weights)
        step_engine().descend(design, vector, slope, dim, table, self._tick(), self._threads)

    def lengths(self, second: FloatArray) -> FloatArray:
        """How far the last step went per unit of gradient, by the second moments (n, D): the mean of each row, (n,)."""
        size = np.sqrt(second / (1 - PYTORCH_ADAM.beta2**self._steps)).mean(axis=-1)
        return np.asarray(self._rate / (size + PYTORCH_ADAM.tiny))

    def _tick(self) -> DescentRule:
        """Begin the next step: its rate, and the other numbers of Adam."""
        self._steps += 1
        return self._rate / PYTORCH_ADAM.rate_correction(self._steps), *PYTORCH_ADAM.rule(self._steps)


def logistic_slope(scores: FloatArray, y: FloatArray) -> FloatArray:
    """Derivative of the mean log-loss with respect to the scores: (sigmoid(s) − y) / rows."""
    slope: FloatArray = np.tanh(scores * np.float32(0.5))
    slope *= np.float32(0.5)
    slope += np.float32(0.5)
    slope -= y
    slope *= np.float32(1.0 / len(y))
    return slope


class DenseSpectral:
    """λ_k(A_0 + Σ x_i A_i) as the log-odds of a label, trained by Adam on mini-batches.

    Parameters
    ----------
    n_features, dim
        Shape of the pencil; k is the middle.
    rate
        Learning rate.
    random_state
        Seed of the gapped start.
    threads
        Of every call of the kernel; 0 is the process's setting.
    jitter
        Of the start, see :func:`lambdak.pencil.initial.gapped`.
    """

    def __init__(
        self, n_features: int, dim: int, rate: float, random_state: Seed, threads: int = 0, jitter: float = 1.0
    ) -> None:
        self.dim, self.index = dim, dim // 2
        width = packed_size(dim)
        numbers = (n_features + 1) * width
        self._flat = np.zeros((3, padded_width(numbers)), np.float32)
        self._grad = np.zeros_like(self._flat[0])
        self.coef = self._flat[0, :numbers].reshape(-1, width)  # (n_features + 1, D)
        self._slope: FloatArray = self._grad[:numbers].reshape(-1, width)
        self.coef[...] = gapped(n_features, dim, random_state=random_state, jitter=jitter)
        self._adam, self._n_jobs = Adam(rate, threads), threads or None

    @property
    def n_parameters(self) -> int:
        """How many numbers are learned."""
        return self.coef.size

    def step(self, batch: DenseBatch) -> None:
        """One step on the mean log-loss of a batch."""
        value, vector = eigenpair(self._packed(batch.x), self.dim, self.index, n_jobs=self._n_jobs)
        self.gradient_(batch, value, vector)
        theta, first, second = self._flat
        self._adam.step_(theta, self._grad, first, second)

    def shrink_(self, strength: float) -> None:
        """The proximal step of strength · Σ_i ‖A_i‖₂ that belongs to the last step: norms fall, down to exact zeros."""
        second = self._flat[2, : self.coef.size].reshape(self.coef.shape)
        thresholds = strength * self._adam.lengths(second[1:])
        self.coef[1:] = prox(self.coef[1:, None], thresholds)[:, 0]

    def gradient_(self, batch: DenseBatch, value: FloatArray, vector: FloatArray) -> FloatArray:
        """Fill and return the derivative of the mean log-loss with respect to ``coef``."""
        outer = eigenvalue_vjp(vector, logistic_slope(value, batch.y), n_jobs=self._n_jobs)  # (rows, D)
        np.matmul(batch.x.T, outer, out=self._slope[1:])
        self._slope[0] = outer.sum(axis=0)
        return self._slope

    def scores(self, batch: DenseBatch) -> FloatArray:
        """Log-odds of every row."""
        return eigenvalue(self._packed(batch.x), self.dim, self.index, n_jobs=self._n_jobs)

    def _packed(self, x: FloatArray) -> FloatArray:
        packed: FloatArray = x @ self.coef[1:]
        packed += self.coef[0]
        return packed


_LINE = 64  # bytes
_STARTED = 1 << 16  # matrices whose start is drawn at once


class SparseSpectral:
    """λ_k(A_0 + Σ weight_s A_{id_s}) as the log-odds of a label; row 0 of the table is A_0.

    Parameters
    ----------
    n_ids, dim
        Rows of the table, that of the constant included, and the size of the matrices; k is the middle.
    rate
        Learning rate.
    random_state
        Seed of the gapped start.
    active
        How many ids of a row are active, besides the constant.
    threads
        Of every call of the kernel; 0 is the process's setting.
    jitter
        Of the start, see :func:`lambdak.pencil.initial.gapped`.
    """

    def __init__(
        self,
        n_ids: int,
        dim: int,
        rate: float,
        random_state: Seed,
        active: int = 39,
        threads: int = 0,
        jitter: float = 1.0,
    ) -> None:
        self.dim, self.index, self.width = dim, dim // 2, packed_size(dim)
        self.table = _aligned((n_ids, 3, padded_size(dim)))  # coefficients and Adam's two moments, side by side
        self.coef = self.table[:, 0, : self.width]
        _start_(self.coef, dim, random_state, active, jitter)
        self._adam, self._threads = Adam(rate, threads), threads

    @property
    def n_parameters(self) -> int:
        """How many numbers are learned."""
        return self.coef.size

    def step(self, batch: SparseBatch) -> None:
        """One step on the mean log-loss of a batch."""
        vector = np.empty((len(batch.ids), 1, self.dim), np.float32)
        slope = logistic_slope(self._solve(batch, vector), batch.y)
        self._adam.descend_(batch, vector, slope[:, None], self.dim, self.table)

    def scores(self, batch: SparseBatch) -> FloatArray:
        """Log-odds of every row."""
        return self._solve(batch, None)

    def _solve(self, batch: SparseBatch, vector: FloatArray | None) -> FloatArray:
        value = np.empty((len(batch.ids), 1), np.float32)
        design = (batch.ids, batch.weights, np.arange(len(batch.ids), dtype=np.int32)[None])
        step_engine().forward(design, self.coef[None], self.dim, [self.index], (value, vector), self._threads)
        return value[:, 0]


def _aligned(shape: tuple[int, ...]) -> FloatArray:
    """Zeros in float32 that begin where a cache line does: a padded row then lies in as few of them as can be."""
    size = int(np.prod(shape))
    raw = np.zeros(size + _LINE // 4, np.float32)
    skipped = -raw.ctypes.data % _LINE // 4
    return raw[skipped : skipped + size].reshape(shape)


def _start_(coef: FloatArray, dim: int, random_state: Seed, active: int, jitter: float) -> None:
    """The gapped start, block by block: a million matrices in float64 would be a large temporary."""
    rng = np.random.default_rng(random_state)
    for first in range(1, len(coef), _STARTED):
        rows = coef[first : first + _STARTED]
        part = gapped(max(len(rows), active), dim, random_state=rng, fan_in=active, jitter=jitter)
        rows[...] = part[1 : 1 + len(rows)]
        coef[0] = part[0]
