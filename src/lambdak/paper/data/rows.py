"""Rows to learn from, memory-mapped: dense (HIGGS) or active ids and their values (Criteo), in order or shuffled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray

RowNumbers = NDArray[np.integer] | slice
PARTS = ("train", "validation", "test")
_MEASURED = 1 << 14  # rows at a time


class DenseBatch(NamedTuple):
    """Features x (rows, n) and labels y (rows,), float32."""

    x: FloatArray
    y: FloatArray


class SparseBatch(NamedTuple):
    """Active ids (rows, slots) of a table, their weights, and labels y (rows,). Slot 0 is the constant, id 0."""

    ids: NDArray[np.int32]
    weights: FloatArray
    y: FloatArray


@dataclass(frozen=True, eq=False)
class Data(ABC):
    """Rows [0, a) to train on, [a, b) to validate and [b, c) to test."""

    labels: FloatArray
    splits: dict[str, tuple[int, int]]
    checksum: str  # of the file they come from

    @property
    def train_rows(self) -> int:
        """How many rows there are to train on: the first ones."""
        return self.splits["train"][1]

    @abstractmethod
    def batch(self, rows: RowNumbers) -> Any:
        """Features and labels of these rows, as models take them."""

    def part(self, name: str) -> Iterator[Any]:
        """All rows of a part, in order, in batches."""
        first, last = self.splits[name]
        for start in range(first, last, _MEASURED):
            yield self.batch(slice(start, min(start + _MEASURED, last)))


@dataclass(frozen=True, eq=False)
class DenseData(Data):
    """Standardised features (rows, n)."""

    features: FloatArray

    def batch(self, rows: RowNumbers) -> DenseBatch:
        """Features and labels of these rows."""
        if isinstance(rows, slice):
            return DenseBatch(np.asarray(self.features[rows]), np.asarray(self.labels[rows]))
        return DenseBatch(self.features.take(rows, axis=0), self.labels.take(rows))


@dataclass(frozen=True, eq=False)
class SparseData(Data):
    """Active ids (rows, columns) of ``n_ids``, id 0 being the constant; values of the first columns, one elsewhere."""

    ids: NDArray[np.int32]
    values: FloatArray  # (rows, columns with a value)
    n_ids: int

    def batch(self, rows: RowNumbers) -> SparseBatch:
        """Ids, weights and labels of these rows, the constant in front."""
        found = np.asarray(self.ids[rows])
        ids = np.zeros((len(found), found.shape[1] + 1), np.int32)
        ids[:, 1:] = found
        weights = np.ones(ids.shape, np.float32)
        weights[:, 1 : 1 + self.values.shape[1]] = self.values[rows]
        return SparseBatch(ids, weights, np.asarray(self.labels[rows]))


def ordered_splits(rows: int) -> dict[str, tuple[int, int]]:
    """80, 10 and 10 % in order."""
    first, second = rows * 8 // 10, rows * 9 // 10
    return {"train": (0, first), "validation": (first, second), "test": (second, rows)}


class Stream:
    """Batches of row numbers; a batch that reaches the end of one permutation continues in the next.

    Parameters
    ----------
    rows
        How many rows there are.
    batch
        Rows of a batch.
    seed
        The same seed yields the same batches.

    Examples
    --------
    >>> first, second = (batch for batch, _ in zip(Stream(3, 6, seed=0), range(2)))
    >>> np.bincount(np.concatenate([first, second]))
    array([4, 4, 4])
    """

    def __init__(self, rows: int, batch: int, seed: int | list[int]) -> None:
        if not 0 < rows < 2**31 or batch < 1:
            raise ValueError(f"rows must be in [1, 2**31) and batch at least 1; got {rows} and {batch}")
        self._batch, self._rng = batch, np.random.default_rng(seed)
        self._order = np.arange(rows, dtype=np.int32)
        self._position = rows

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        while True:
            yield self._next()

    def _next(self) -> NDArray[np.int32]:
        batch = np.empty(self._batch, np.int32)
        filled = 0
        while filled < self._batch:
            if self._position == len(self._order):
                self._rng.shuffle(self._order)
                self._position = 0
            count = min(self._batch - filled, len(self._order) - self._position)
            batch[filled : filled + count] = self._order[self._position : self._position + count]
            filled, self._position = filled + count, self._position + count
        return batch
