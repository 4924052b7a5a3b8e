"""The endless shuffled stream: random permutations of the training rows one after another, cut into mini-batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


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
