"""The spectral neuron on rows with a few active ids out of a million: a step touches the active rows only.

The moments of rows that are not active stand still, as in ``torch.optim.SparseAdam``; the correction of the moments
counts all steps.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lambdak._checks import FloatArray
from lambdak._steps import step_engine
from lambdak.eigen import eigenvalue_vjp
from lambdak.initial import Seed, gapped
from lambdak.packing import packed_size
from lambdak.paper.adam import THREADED, Adam, logistic_slope
from lambdak.paper.data import SparseBatch
from lambdak.parameters import PAD
from lambdak.runtime import get_num_threads

_SHARED = 1 << 12  # rows to be moved that pay for threads
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
        self._space = np.zeros((3, 0, padded), np.float32)  # the active rows of the table
        self._pool = ThreadPoolExecutor(2)

    @property
    def n_parameters(self) -> int:
        """How many numbers are learned."""
        return self.coef.size

    def step(self, batch: SparseBatch) -> None:
        """One step on the mean log-loss of a batch."""
        ids, places = self._ids(batch.ids)
        space = self._room(-(-len(ids) // THREADED) * THREADED)
        self._move(_fetch, ids, space)
        theta, first, second = space
        self._adam.step_(theta, self.gradient(batch, places, theta), first, second)
        self._move(_store, ids, space)

    def gradient(self, batch: SparseBatch, places: NDArray[np.int32], coef: FloatArray) -> FloatArray:
        """Derivative of the mean log-loss with respect to ``coef``, of the same padded width; places are rows of it."""
        rows = np.arange(len(places), dtype=np.int32)[None]
        value = np.empty((len(places), 1), np.float32)
        vector = np.empty((len(places), 1, self.dim), np.float32)
        known = coef[None, :, : self.width]
        step_engine().forward(places, batch.weights, rows, known, self.dim, [self.index], value, vector)
        outer = np.zeros((len(places), coef.shape[1]), np.float32)
        eigenvalue_vjp(vector[:, 0], logistic_slope(value[:, 0], batch.y), out=outer[:, : self.width])
        starts = np.arange(0, places.size + 1, places.shape[1], dtype=np.int32)
        design = csr_array((batch.weights.ravel(), places.ravel(), starts), shape=(len(places), len(coef)))
        # By rows of the gradient: each is summed in one go, and no part of it twice.
        return np.asarray(design.T.tocsr() @ outer)

    def _room(self, rows: int) -> list[FloatArray]:
        """Three arrays of so many rows, kept from step to step: new memory costs more than a step's arithmetic."""
        if rows > self._space.shape[1]:
            self._space = np.zeros((3, rows + rows // 4, self._space.shape[2]), np.float32)
        return [part[:rows] for part in self._space]

    def _move(self, move: Callable[..., None], ids: NDArray[np.int32], space: list[FloatArray]) -> None:
        """Move the active rows between the tables and ``space``, half by half on two threads if there are many."""
        half = len(ids) // 2
        parts = [(table, ids[some], rows[: len(ids)][some]) for table, rows in zip(self.table, space, strict=True)
                 for some in (slice(half), slice(half, None))]  # fmt: skip
        if get_num_threads() > 1 and len(ids) >= _SHARED:
            list(self._pool.map(lambda part: move(*part), parts))
        else:
            for part in parts:
                move(*part)

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


def _fetch(table: FloatArray, ids: NDArray[np.int32], rows: FloatArray) -> None:
    table.take(ids, axis=0, out=rows, mode="clip")  # the other modes copy once more


def _store(table: FloatArray, ids: NDArray[np.int32], rows: FloatArray) -> None:
    table[ids] = rows


def _start_(coef: FloatArray, dim: int, random_state: Seed, active: int) -> None:
    """The gapped start, block by block: a million matrices in float64 would be a large temporary."""
    rng = np.random.default_rng(random_state)
    for first in range(1, len(coef), _STARTED):
        rows = coef[first : first + _STARTED]
        part = gapped(max(len(rows), active), dim, random_state=rng, fan_in=active)
        rows[...] = part[1 : 1 + len(rows)]
        coef[0] = part[0]
