"""The spectral neuron on rows with a few active ids out of a million: a step touches the active rows only.

The moments of rows that are not active stand still, as in ``torch.optim.SparseAdam``; the correction of the moments
counts all steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import FloatArray
from lambdak._steps import step_engine
from lambdak.initial import Seed, gapped
from lambdak.packing import packed_size
from lambdak.paper.adam import THREADED, Adam, logistic_slope
from lambdak.paper.data import SparseBatch
from lambdak.parameters import PAD

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
    """

    def __init__(self, n_ids: int, dim: int, rate: float, random_state: Seed, active: int = 39) -> None:
        self.dim, self.index, self.width = dim, dim // 2, packed_size(dim)
        padded = -(-self.width // PAD) * PAD
        self.table = np.zeros((3, n_ids, padded), np.float32)  # coefficients, and Adam's two moments
        self.coef = self.table[0, :, : self.width]
        _start_(self.coef, dim, random_state, active)
        self._ids = ActiveIds(n_ids)
        self._adam = Adam(rate)
        self._space = np.zeros((4, 0, padded), np.float32)  # the active rows of the three, and their gradient

    @property
    def n_parameters(self) -> int:
        """How many numbers are learned."""
        return self.coef.size

    def step(self, batch: SparseBatch) -> None:
        """One step on the mean log-loss of a batch."""
        ids, compact = self._ids(batch.ids)
        space = self._room(-(-len(ids) // THREADED) * THREADED)
        for table, rows in zip(self.table, space, strict=False):
            table.take(ids, axis=0, out=rows[: len(ids)], mode="clip")  # without a copy in between
        theta, first, second, grad = space
        self.gradient_(batch, compact, theta[:, : self.width], grad[:, : self.width])
        self._adam.step_(theta, grad, first, second)
        for table, rows in zip(self.table, space, strict=False):
            table[ids] = rows[: len(ids)]

    def _room(self, rows: int) -> list[FloatArray]:
        """Four arrays of so many rows, kept from step to step: new memory costs more than a step's arithmetic."""
        if rows > self._space.shape[1]:
            self._space = np.zeros((4, rows + rows // 4, self._space.shape[2]), np.float32)
        return [part[:rows] for part in self._space]

    def gradient_(self, batch: SparseBatch, ids: NDArray[np.int32], coef: FloatArray, grad: FloatArray) -> None:
        """Fill ``grad`` with the derivative of the mean log-loss with respect to ``coef``, to which the ids point."""
        engine, rows = step_engine(), np.arange(len(ids), dtype=np.int32)[None]
        value = np.empty((len(ids), 1), np.float32)
        vector = np.empty((len(ids), 1, self.dim), np.float32)
        engine.forward(ids, batch.weights, rows, coef[None], self.dim, [self.index], value, vector)
        slope = logistic_slope(value[:, 0], batch.y)[:, None]
        engine.backward(ids, batch.weights, rows, vector, slope, self.dim, grad[None])

    def scores(self, batch: SparseBatch) -> FloatArray:
        """Log-odds of every row."""
        value = np.empty((len(batch.ids), 1), np.float32)
        rows = np.arange(len(batch.ids), dtype=np.int32)[None]
        step_engine().forward(batch.ids, batch.weights, rows, self.coef[None], self.dim, [self.index], value, None)
        return value[:, 0]


class ActiveIds:
    """Which ids a batch has, and the batch in terms of their places, without sorting.

    >>> ids, places = ActiveIds(100)(np.array([[7, 50], [3, 7]], np.int32))
    >>> bool((ids[places] == [[7, 50], [3, 7]]).all()), len(ids)
    (True, 3)
    """

    def __init__(self, n_ids: int) -> None:
        self._mark = np.zeros(n_ids, np.int32)

    def __call__(self, ids: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Ids (n,), each once, and the places (rows, slots) of a batch's ids among them."""
        flat, order = ids.ravel(), np.arange(ids.size, dtype=np.int32)
        self._mark[flat] = order
        kept = self._mark[flat]  # of equal ids, one place
        chosen = np.flatnonzero(kept == order)
        unique = flat[chosen]
        self._mark[unique] = order[: len(unique)]
        return unique, self._mark[flat].reshape(ids.shape)


def _start_(coef: FloatArray, dim: int, random_state: Seed, active: int) -> None:
    """The gapped start, block by block: a million matrices in float64 would be a large temporary."""
    rng = np.random.default_rng(random_state)
    for first in range(1, len(coef), _STARTED):
        rows = coef[first : first + _STARTED]
        part = gapped(max(len(rows), active), dim, random_state=rng, fan_in=active)
        rows[...] = part[1 : 1 + len(rows)]
        coef[0] = part[0]
