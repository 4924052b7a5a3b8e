"""Of all batches a sample of rows, and a seal of each.

A uniform sample of the rows of a large table: those with the smallest random keys.

A key depends on the seed, the batch and the row alone, so the same rows are drawn whoever reads which batches, and a
second pass can tell which they were.

Whether a batch of the second pass holds what it held in the first: one number for all of its rows.

Every cell counts with its row and column, so that rows or columns that change places are noticed, too. Another batch
has the same number by chance only; this is no protection against somebody who looks for one that has.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.table.cells import Cells, RowIndex, factorise, is_missing
from lambdak.table.large.batches import Drawn
from lambdak.table.read import Table

BATCH_ROWS: Final = 1 << 31  # rows of a batch, at most: places are counted from batch to batch


def row_keys(seed: int, batch_index: int, rows: int) -> Float64Array:
    """The random keys in [0, 1) of all rows of a batch, those of weight zero included.

    >>> row_keys(0, 3, 2)
    array([0.89497274, 0.86041444])
    """
    return np.random.default_rng([seed, batch_index]).random(rows)


@final
@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows of a large table in memory, sorted by their keys.

    Attributes
    ----------
    table : Table
        The features.
    y : array of shape (rows,)
        The target as it is in the batches.
    weight, offset : array of shape (rows,), or None
        In float64, if there are such columns.
    keys : array of shape (rows,)
        The keys, increasing, see :func:`row_keys`. A row of the table is in the sample if its key is among them.
    places : array of shape (rows,)
        Where the rows are in the large table: increasing within a batch, and from batch to batch.
    """

    table: Table
    y: NDArray[Any]
    weight: Float64Array | None
    offset: Float64Array | None
    keys: Float64Array
    places: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: NDArray[np.intp]) -> SampledRows:
        """Sampled rows at these positions, in this order."""
        whole = self.table
        table = replace(
            whole, shape=(len(rows), whole.shape[1]), read=lambda i, some: whole.read(i, rows[some]), keep=True
        )
        weight, offset = (None if each is None else each[rows] for each in (self.weight, self.offset))
        return SampledRows(table, self.y[rows], weight, offset, self.keys[rows], self.places[rows])

    def in_order(self) -> SampledRows:
        """The rows in the order of the large table."""
        return self.take(np.argsort(self.places))


@final
@dataclass(frozen=True, eq=False)
class SampledPart:
    """Rows that may be in the sample: keys, places, cells column by column, and what comes with them."""

    keys: Float64Array
    places: NDArray[np.int64]
    columns: tuple[NDArray[Any], ...]  # float64, or objects: plain levels, None for missing
    beside: tuple[NDArray[Any] | None, ...]  # target, weight, offset

    def take(self, rows: Any) -> SampledPart:
        """Rows at these positions, or where a mask is true."""
        return SampledPart(
            self.keys[rows],
            self.places[rows],
            tuple(column[rows] for column in self.columns),
            tuple(None if each is None else each[rows] for each in self.beside),
        )


class RowSample:
    """The ``size`` rows with the smallest keys of all rows that were added."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.limit = np.inf  # rows with larger keys are not among them
        self._parts: list[SampledPart] = []

    def __getstate__(self) -> dict[str, Any]:
        self.smallest()  # nothing else need travel
        return vars(self)

    def add_(self, part: SampledPart) -> None:
        """Take in rows whose keys are not above the limit."""
        self._parts.append(part)
        if sum(len(each.keys) for each in self._parts) >= 2 * self.size:
            self.smallest()

    def merge_(self, other: RowSample) -> None:
        """Take in the rows of another sample."""
        for part in other._parts:
            self.add_(part)

    def smallest(self) -> SampledPart | None:
        """The rows of the sample, sorted by their keys; None if there are none."""
        if not self._parts:
            return None
        whole = _together(self._parts)
        # Of equal keys, which hardly occur, the earlier row comes first: so the order of merging does not matter.
        kept = whole.take(np.lexsort((whole.places, whole.keys))[: self.size])
        self._parts = [kept]
        if len(kept.keys) == self.size:
            self.limit = float(kept.keys[-1])
        return kept


def _together(parts: Sequence[SampledPart]) -> SampledPart:
    return SampledPart(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.places for part in parts]),
        tuple(
            _one_below_another(parts_of_column)
            for parts_of_column in zip(*(part.columns for part in parts), strict=True)
        ),
        tuple(
            None if arrays[0] is None else np.concatenate(arrays)
            for arrays in zip(*(p.beside for p in parts), strict=True)
        ),
    )


def _one_below_another(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One array of all cells: numbers, unless there are levels that are no numbers."""
    if len({column.dtype for column in columns}) == 1:
        return np.concatenate(columns)
    return np.concatenate([column.astype(object) for column in columns])


def cells_table(
    names: Sequence[str],
    kinds: Sequence[str],
    columns: Sequence[NDArray[Any]],
    named: bool = True,
    orders: Sequence[tuple[object, ...]] | None = None,
) -> Table:
    """A table of cells in memory, each column of a known kind, and with an order of its levels where one is known."""

    def read(position: int, rows: RowIndex) -> Cells:
        order = orders[position] if orders else ()
        return Cells(names[position], columns[position][rows], kinds[position], order=order)

    return Table(tuple(names), named, (len(columns[0]), len(columns)), read, tuple(names) if named else ())


def as_numbers(column: NDArray[Any]) -> NDArray[Any]:
    """Cells of a column of numbers: a batch in which all were missing, or booleans, came as objects."""
    if column.dtype != object:
        return column
    return np.array([np.nan if is_missing(cell) else float(cell) for cell in column])


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
