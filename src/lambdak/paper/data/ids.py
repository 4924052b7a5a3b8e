"""Criteo's columns as active ids of one table, in the two ways of the paper."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray
from lambdak.paper.data.cache import Cache, building, open_cache
from lambdak.paper.data.criteo import COLUMNS, INTEGERS
from lambdak.paper.data.rows import SparseData, ordered_splits
from lambdak.paper.protocols import CriteoColumns

_MISSING, _RARE, _FIRST = 0, 1, 2  # positions of a column's ids
_POSITIVE, _ZERO, _NEGATIVE, _FIRST_NEGATIVE = 1, 2, 3, 4  # of a column of signed numbers, after MISSING

Gaps = NDArray[np.bool_]
Ids = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of one column and their ids; ``base`` is the id of MISSING."""

    base: int
    seen: NDArray[Any]  # sorted
    ids: Ids
    size: int
    unseen: int  # id of all other levels

    def __call__(self, column: NDArray[Any], gap: Gaps) -> Ids:
        """The id of every cell."""
        return np.where(gap, self.base, _looked_up(column, self.seen, self.ids, self.unseen)).astype(np.int32)


def levels(base: int, column: NDArray[Any], min_count: int, unseen_rare: bool) -> Levels:
    """Levels of the cells of a column that are not empty."""
    seen, counts = np.unique(column, return_counts=True)
    frequent = counts >= min_count
    ids = np.where(frequent, base + _FIRST - 1 + np.cumsum(frequent), base + _RARE)
    unseen = base + (_RARE if unseen_rare else _MISSING)
    return Levels(base, seen, ids.astype(np.int32), _FIRST + int(frequent.sum()), unseen)


@dataclass(frozen=True)
class Numbers:
    """All numbers are weights of the id after MISSING; negative ones, of which there are a few, count as zero."""

    base: int
    squared: bool
    mean: float
    scale: float
    size: int = 2

    def __call__(self, column: NDArray[Any], gap: Gaps) -> Ids:
        """The id of every cell."""
        return np.where(gap, self.base, self.base + 1).astype(np.int32)

    def weight(self, column: NDArray[Any], gap: Gaps) -> FloatArray:
        """The standardised logarithm, and one in gaps."""
        return np.where(gap, 1.0, (logarithm(column, self.squared) - self.mean) / self.scale).astype(np.float32)


def numbers(base: int, column: NDArray[Any], squared: bool) -> Numbers:
    """Standardised on the cells of a column that are not empty."""
    return Numbers(base, squared, *_moments(logarithm(column, squared)))


@dataclass(frozen=True, eq=False)
class SignedNumbers:
    """Positive numbers are weights of one id; zero, and each negative number that was seen, has an id of its own."""

    base: int
    negative: NDArray[Any]  # sorted
    squared: bool
    mean: float
    scale: float

    @property
    def size(self) -> int:
        """How many ids the column has."""
        return _FIRST_NEGATIVE + len(self.negative)

    def __call__(self, column: NDArray[Any], gap: Gaps) -> Ids:
        """The id of every cell; negative numbers that were not seen share one."""
        ids = self.base + _FIRST_NEGATIVE + np.arange(len(self.negative), dtype=np.int32)
        below = _looked_up(column, self.negative, ids, self.base + _NEGATIVE)
        signed = np.select([column > 0, column == 0], [self.base + _POSITIVE, self.base + _ZERO], below)
        return np.where(gap, self.base, signed).astype(np.int32)

    def weight(self, column: NDArray[Any], gap: Gaps) -> FloatArray:
        """The standardised logarithm of positive numbers, one elsewhere."""
        found = (logarithm(column, self.squared) - self.mean) / self.scale
        return np.where((column > 0) & ~gap, found, 1.0).astype(np.float32)


Encoder = Levels | Numbers | SignedNumbers


def signed_numbers(base: int, column: NDArray[Any], squared: bool) -> SignedNumbers:
    """Standardised on the positive cells of a column, with the negative ones that are among its cells."""
    moments = _moments(logarithm(column[column > 0], squared))
    return SignedNumbers(base, np.unique(column[column < 0]), squared, *moments)


def bucket(x: NDArray[Any]) -> NDArray[np.int32]:
    """Integers x ↦ 2 + ⌊ln(x)²⌋ for x ≥ 2, smaller ones as they are.

    >>> bucket(np.array([-1, 0, 1, 2, 100]))
    array([-1,  0,  1,  2, 23], dtype=int32)
    """
    large = 2 + np.floor(np.log(np.maximum(x, 2)) ** 2)
    return np.where(x >= 2, large, x).astype(np.int32)


def logarithm(x: NDArray[Any], squared: bool) -> FloatArray:
    """Integers x ↦ ln(1 + max(x, 0)), or its square."""
    found = np.log1p(np.maximum(x, 0).astype(np.float64))
    return np.asarray(np.square(found) if squared else found)


def _looked_up(column: NDArray[Any], seen: NDArray[Any], ids: Ids, otherwise: int) -> NDArray[Any]:
    """The ids of cells that were seen."""
    if len(seen) == 0:
        return np.full(len(column), otherwise, np.int32)
    position = np.minimum(np.searchsorted(seen, column), len(seen) - 1)
    return np.where(seen[position] == column, ids[position], otherwise)


def _moments(values: FloatArray) -> tuple[float, float]:
    """Mean and deviation; a deviation of zero is one."""
    if len(values) == 0:
        return 0.0, 1.0
    return float(values.mean()), float(values.std()) or 1.0


KINDS = ("bucketed", "continuous")
MIN_COUNT = 10
_STEP = 1 << 18  # rows at a time
_LEAST = 1 << 20  # training rows of which levels are counted, where there are so many: a share of few is too few
_SEED = 0  # of the rows that are counted

Rows = slice | NDArray[np.int64]


def criteo(raw: Cache, folder: Path, kind: str, conventions: CriteoColumns, min_count: int = MIN_COUNT) -> SparseData:
    """The data of the raw columns, from the cache in ``folder``, which is built if it is not there."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}; got {kind!r}")
    wanted = {"kind": f"criteo-{kind}", "min_count": min_count, "sha256": raw.meta["sha256"], **asdict(conventions)}
    cache = open_cache(folder, wanted)
    if cache is None:
        _build(raw, folder, _Encoders(raw, kind, conventions, min_count), wanted)
        cache = open_cache(folder, wanted)
    if cache is None:
        raise RuntimeError(f"{folder} was changed while it was built: run again")
    splits = {name: tuple(span) for name, span in cache.meta["splits"].items()}
    labels, ids, values = (cache.arrays[name] for name in ("labels", "ids", "values"))
    return SparseData(labels, splits, cache.meta["sha256"], ids, values, cache.meta["n_ids"])


class _Encoders:
    """The encoders of all columns, learned from training rows."""

    def __init__(self, raw: Cache, kind: str, conventions: CriteoColumns, min_count: int) -> None:
        self._raw, self._kind, self._conventions, self._min_count = raw, kind, conventions, min_count
        self._train = ordered_splits(raw.meta["rows"])["train"][1]
        self._counted = counted_rows(self._train, conventions.counted)
        self._of_columns: dict[str, Encoder] = {}
        self.n_ids = 1
        for name in COLUMNS:
            self._of_columns[name] = self._learn(name)
            self.n_ids += self._of_columns[name].size

    def ids(self, rows: slice) -> NDArray[np.int32]:
        """The id of every cell, (rows, columns)."""
        return np.stack([encode(*self._cells(name, rows)) for name, encode in self._of_columns.items()], axis=1)

    def values(self, rows: slice) -> FloatArray:
        """The weights of the ids of the first columns, of those that have weights."""
        pairs = ((name, each) for name, each in self._of_columns.items() if not isinstance(each, Levels))
        values = [each.weight(*self._cells(name, rows)) for name, each in pairs]
        return np.stack(values, axis=1) if values else np.empty((rows.stop - rows.start, 0), np.float32)

    def _learn(self, name: str) -> Encoder:
        how, is_number = self._conventions, name in INTEGERS
        if is_number and self._kind == "continuous":
            learn = signed_numbers if how.signs_apart else numbers
            return learn(self.n_ids, self._present(name, self._counted), how.squared)
        if is_number and not how.rare_buckets:  # where nothing is rare there is nothing to count
            return levels(self.n_ids, self._present(name, slice(0, self._train)), 1, how.unseen_rare)
        return levels(self.n_ids, self._present(name, self._counted), self._min_count, how.unseen_rare)

    def _present(self, name: str, rows: Rows) -> NDArray[Any]:
        column, gap = self._cells(name, rows)
        return column[~gap]

    def _cells(self, name: str, rows: Rows) -> tuple[NDArray[Any], Gaps]:
        """Rows of a column, and where it has gaps."""
        gap = self._raw.arrays["gaps"][rows] >> np.uint64(COLUMNS.index(name)) & np.uint64(1) != 0
        column = np.asarray(self._raw.arrays[name][rows])
        return bucket(column) if name in INTEGERS and self._kind == "bucketed" else column, gap


def counted_rows(train: int, share: float) -> Rows:
    """A random share of the training rows, in order, though at least ``_LEAST`` of them."""
    count = max(round(share * train), min(_LEAST, train))
    if count == train:
        return slice(0, train)
    return np.sort(np.random.default_rng(_SEED).choice(train, count, replace=False, shuffle=False))


def _build(raw: Cache, folder: Path, encoders: _Encoders, wanted: dict[str, Any]) -> None:
    rows = raw.meta["rows"]
    with building(folder) as writer:
        for start in range(0, rows, _STEP):
            some = slice(start, min(start + _STEP, rows))
            writer.append("labels", np.asarray(raw.arrays["labels"][some]))
            writer.append("ids", encoders.ids(some))
            writer.append("values", encoders.values(some))
        facts = {"rows": rows, "splits": ordered_splits(rows), "n_ids": encoders.n_ids, "source": raw.meta["source"]}
        writer.finish(wanted | facts)
