"""The spectral neuron on dense rows: one matrix product forth, one eigenpair per row, one matrix product back."""

from __future__ import annotations

import numpy as np

from lambdak._types import FloatArray
from lambdak.eigen import eigenpair, eigenvalue, eigenvalue_vjp
from lambdak.eigen.packing import packed_size, padded_width
from lambdak.paper.data.rows import DenseBatch
from lambdak.paper.real.adam import Adam, logistic_slope
from lambdak.pencil.initial import Seed, gapped
from lambdak.training.shrink import prox


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
