"""The spectral neuron on rows with a few active ids out of a million: a step touches the active rows only.

The moments of rows that are not active stand still, as in ``torch.optim.SparseAdam``; the correction of the moments
counts all steps.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lambdak._checks import FloatArray
from lambdak._steps import step_engine
from lambdak.eigen import eigenvalue_vjp
from lambdak.initial import Seed, gapped
from lambdak.packing import packed_size
from lambdak.paper.adam import Adam, logistic_slope
from lambdak.paper.data import SparseBatch
from lambdak.parameters import PAD
from lambdak.runtime import get_num_threads

_CHUNK = 1 << 9  # rows that are updated at once
_SHARED = 1 << 13  # rows whose update pays for a second thread
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
        self._items = _as_items(self.table)
        self._pool = ThreadPoolExecutor(1)

    @property
    def n_parameters(self) -> int:
        """How many numbers are learned."""
        return self.coef.size

    def step(self, batch: SparseBatch) -> None:
        """One step on the mean log-loss of a batch."""
        ids, places = self._ids(batch.ids)
        grad = self.gradient(batch, places, len(ids))
        self._adam.tick()
        middle = len(ids) // 2 if get_num_threads() > 1 and len(ids) >= _SHARED else 0
        beside = self._pool.submit(self._update, ids[:middle], grad[:middle]) if middle else None
        self._update(ids[middle:], grad[middle:])
        if beside is not None:
            beside.result()

    def gradient(self, batch: SparseBatch, places: NDArray[np.int32], rows: int) -> FloatArray:
        """Derivative of the mean log-loss, (rows, padded width), with the ids' rows at the given places."""
        vector = np.empty((len(places), 1, self.dim), np.float32)
        value = self._solve(batch, vector)
        outer = np.zeros((len(places), self.table.shape[2]), np.float32)
        eigenvalue_vjp(vector[:, 0], logistic_slope(value, batch.y), out=outer[:, : self.width])
        starts = np.arange(0, places.size + 1, places.shape[1], dtype=np.int32)
        design = csr_array((batch.weights.ravel(), places.ravel(), starts), shape=(len(places), rows))
        return np.asarray(design.T @ outer)

    def scores(self, batch: SparseBatch) -> FloatArray:
        """Log-odds of every row."""
        return self._solve(batch, None)

    def _solve(self, batch: SparseBatch, vector: FloatArray | None) -> FloatArray:
        value = np.empty((len(batch.ids), 1), np.float32)
        rows = np.arange(len(batch.ids), dtype=np.int32)[None]
        step_engine().forward(batch.ids, batch.weights, rows, self.coef[None], self.dim, [self.index], value, vector)
        return value[:, 0]

    def _update(self, ids: NDArray[np.intp], grad: FloatArray) -> None:
        """Adam on some rows, chunk by chunk in a space so small that it stays in the cache."""
        space = np.empty((3, _CHUNK, grad.shape[1]), np.float32)
        items = _as_items(space)
        for start in range(0, len(ids), _CHUNK):
            some = ids[start : start + _CHUNK]
            for table, rows in zip(self._items, items, strict=True):
                table.take(some, out=rows[: len(some)], mode="clip")  # the other modes copy once more
            theta, first, second = space[:, : len(some)]
            self._adam.step_(theta, grad[start : start + _CHUNK], first, second)
            for table, rows in zip(self._items, items, strict=True):
                table.put(some, rows[: len(some)], mode="clip")


class ActiveIds:
    """Which ids a batch has, and the batch in terms of their places, without sorting.

    >>> ids, places = ActiveIds(100)(np.array([[7, 50], [3, 7]], np.int32))
    >>> bool((ids[places] == [[7, 50], [3, 7]]).all()), len(ids)
    (True, 3)
    """

    def __init__(self, n_ids: int) -> None:
        self._mark = np.zeros(n_ids, np.int32)

    def __call__(self, ids: NDArray[np.int32]) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Ids (n,), each once, and the places (rows, slots) of a batch's ids among them."""
        flat, order = ids.ravel().astype(np.intp), np.arange(ids.size, dtype=np.int32)
        self._mark[flat] = order  # refuses ids that do not exist
        kept = self._mark.take(flat, mode="clip")  # of equal ids, one place
        unique = flat[kept == order]
        self._mark[unique] = order[: len(unique)]
        return unique, self._mark.take(flat, mode="clip").reshape(ids.shape)


def _as_items(table: FloatArray) -> NDArray[np.void]:
    """Rows as single items of many bytes, which NumPy moves in half the time."""
    return table.view(f"V{table.itemsize * table.shape[-1]}")[..., 0]


def _start_(coef: FloatArray, dim: int, random_state: Seed, active: int) -> None:
    """The gapped start, block by block: a million matrices in float64 would be a large temporary."""
    rng = np.random.default_rng(random_state)
    for first in range(1, len(coef), _STARTED):
        rows = coef[first : first + _STARTED]
        part = gapped(max(len(rows), active), dim, random_state=rng, fan_in=active)
        rows[...] = part[1 : 1 + len(rows)]
        coef[0] = part[0]
