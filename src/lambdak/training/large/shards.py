"""Shards: rows as compact records, in memory or on disk, that are read in a new random order in every epoch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak.table.large.packed import Records

Order = NDArray[np.int64]


class Shard(ABC):
    """Rows in an endless sequence: every epoch has all rows once, in an order of its own."""

    rows: int

    def take(self, first: int, last: int) -> list[tuple[Records, Order]]:
        """Records and which of them, for the positions [first, last) of the sequence."""
        records: list[tuple[Records, Order]] = []
        while first < last:
            epoch, begin = divmod(first, self.rows)
            end = min(begin + last - first, self.rows)
            records += self._within(epoch, begin, end)
            first += end - begin
        return records

    @abstractmethod
    def _within(self, epoch: int, begin: int, end: int) -> list[tuple[Records, Order]]:
        """Records and which of them, for the positions [begin, end) of an epoch."""


@final
class MemoryShard(Shard):
    """Records in memory; an epoch is a uniformly random permutation of them."""

    def __init__(self, parts: Sequence[Records], seed: Sequence[int]) -> None:
        self._records = np.concatenate(parts) if len(parts) > 1 else parts[0]
        self.rows, self._seed = len(self._records), tuple(seed)
        self._permuted = lru_cache(1)(self._permutation)

    def _permutation(self, epoch: int) -> Order:
        return np.random.default_rng([*self._seed, epoch]).permutation(self.rows)

    def _within(self, epoch: int, begin: int, end: int) -> list[tuple[Records, Order]]:
        return [(self._records, self._permuted(epoch)[begin:end])]


@final
class DiskShard(Shard):
    """Records on disk, in buckets: an epoch visits them in random order, and the rows of each in random order.

    Rows were dealt to the buckets at random, so that the first epoch is a uniformly random permutation of all rows;
    later ones have the same rows in a bucket, in another order.
    """

    def __init__(self, cache: Any, seed: Sequence[int]) -> None:
        self._cache, self.rows, self._seed = cache, cache.n_rows, tuple(seed)
        self._ordered = lru_cache(1)(self._bucket_order)
        self._loaded = lru_cache(1)(self._shuffled)

    def _bucket_order(self, epoch: int) -> tuple[Order, Order]:
        """Buckets in the order of an epoch, and where each ends."""
        order = np.random.default_rng([*self._seed, epoch]).permutation(self._cache.n_buckets)
        return order, np.cumsum(np.asarray(self._cache.bucket_rows)[order])

    def _shuffled(self, epoch: int, bucket: int) -> tuple[Records, Order]:
        records = self._cache.bucket(bucket)
        return records, np.random.default_rng([*self._seed, epoch, bucket]).permutation(len(records))

    def _within(self, epoch: int, begin: int, end: int) -> list[tuple[Records, Order]]:
        order, ends = self._ordered(epoch)
        taken = []
        for i in range(int(np.searchsorted(ends, begin, "right")), len(order)):
            start = int(ends[i - 1]) if i else 0
            if start >= end:
                break
            records, shuffled = self._loaded(epoch, int(order[i]))
            taken.append((records, shuffled[max(begin - start, 0) : end - start]))
        return taken
