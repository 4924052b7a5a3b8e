"""The spectral neuron on rows with a few active ids out of a million: a step touches the active rows only.

The moments of rows that are not active stand still, as in ``torch.optim.SparseAdam``; the correction of the moments
counts all steps.
"""

from __future__ import annotations

import numpy as np

from lambdak._types import FloatArray
from lambdak.eigen.packing import packed_size, padded_size
from lambdak.eigen.steps import step_engine
from lambdak.paper.data.rows import SparseBatch
from lambdak.paper.real.adam import Adam, logistic_slope
from lambdak.pencil.initial import Seed, gapped

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
