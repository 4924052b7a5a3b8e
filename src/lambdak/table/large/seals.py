"""Whether a batch of the second pass holds what it held in the first: one number for all of its rows.

Every cell counts with its row and column, so that rows or columns that change places are noticed, too. Another batch
has the same number by chance only; this is no protection against somebody who looks for one that has.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lambdak.table.cells import Cells, factorise
from lambdak.table.large.batches import Drawn

Words = NDArray[np.uint64]

_MIX: Final = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # SplitMix64


class Seal:
    """The number of a batch, once all of its columns were added; columns do not count if some rows have no weight.

    >>> from lambdak.table.read import read_table
    >>> part = Drawn(read_table([[1.0], [2.0]]), np.array([0.5, 0.25]))
    >>> seal, other = Seal(part), Seal(part)
    >>> seal.add_(0, part.X.cells(0))
    >>> other.add_(0, part.X.cells(0, np.array([1, 0])))
    >>> seal.number == other.number
    False
    """

    def __init__(self, part: Drawn) -> None:
        self.number, self._rows = len(part), len(part)
        self._whole = part.weight is None or bool((part.weight > 0).all())
        for i, values in enumerate((part.y, part.weight, part.offset)):
            if values is not None:
                self._count_(-1 - i, _words(values))

    def add_(self, position: int, cells: Cells) -> None:
        """Take in the cells of a column."""
        if self._whole:
            plain = cells.factors is None and cells.values.dtype.kind in "fiub"
            self._count_(position, cells.numbers().view(np.uint64) if plain else _of_levels(*cells.levels()))

    def _count_(self, position: int, words: Words) -> None:
        words = np.ascontiguousarray(words)
        words = (words ^ (words >> np.uint64(32))) * _MIX[1]
        words ^= words >> np.uint64(32)  # else the signs of an even number of rows would change nothing
        column = int(_scattered(np.array([position], np.int64).view(np.uint64))[0]) | 1
        self.number = (self.number + column * int(words @ _factors(self._rows))) % (1 << 64)


def _words(values: NDArray[Any]) -> Words:
    if values.dtype.kind in "fiub":
        return np.ascontiguousarray(values, np.float64).view(np.uint64)
    return _of_levels(*factorise(values))


def _of_levels(codes: NDArray[np.intp], levels: list[Any]) -> Words:
    return _scattered(np.array([zlib.crc32(repr(level).encode()) for level in levels], np.uint64))[codes]


@lru_cache(4)
def _factors(rows: int) -> Words:
    """An odd number for each row."""
    return _scattered(np.arange(rows, dtype=np.uint64)) | np.uint64(1)


def _scattered(words: Words) -> Words:
    """Words as the generator SplitMix64 scatters them, in arithmetic modulo 2⁶⁴."""
    state = words + _MIX[0]
    state = (state ^ (state >> np.uint64(30))) * _MIX[1]
    state = (state ^ (state >> np.uint64(27))) * _MIX[2]
    return np.asarray(state ^ (state >> np.uint64(31)))
