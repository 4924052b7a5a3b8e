r"""Criteo's columns as active ids of one table, in the two ways of the paper.

Every category has one id per level, one for MISSING and one for RARE: levels seen less than ``min_count`` times in the
training rows (the first 80 %, the data being in chronological order) are RARE, and levels of other rows that training
never saw are MISSING. Integers are either

- "bucketed": x ↦ 2 + ⌊ln(x)²⌋ for x ≥ 2, smaller ones as they are, and then categories like the others; or
- "continuous": ln(1 + max(x, 0))², standardised on the training rows, as the weight of one id per column. Negative
  integers, of which there are a few, count as 0. A gap is an id of its own with weight one.

Id 0 is the constant, which every row has.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import FloatArray
from lambdak.paper.data.cache import Cache, building, open_cache
from lambdak.paper.data.criteo import COLUMNS, INTEGERS
from lambdak.paper.data.rows import SparseData, ordered_splits

KINDS = ("bucketed", "continuous")
MIN_COUNT = 10
_MISSING, _RARE, _FIRST = 0, 1, 2  # positions of a column's ids
_STEP = 1 << 18  # rows at a time


@dataclass(frozen=True, eq=False)
class _Levels:
    """The levels of one column and their ids; ``base`` is the id of MISSING."""

    base: int
    seen: NDArray[Any]  # sorted
    ids: NDArray[np.int32]
    size: int

    def __call__(self, column: NDArray[Any], gap: NDArray[np.bool_]) -> NDArray[np.int32]:
        if len(self.seen) == 0:
            return np.full(len(column), self.base, np.int32)
        position = np.minimum(np.searchsorted(self.seen, column), len(self.seen) - 1)
        known = (self.seen[position] == column) & ~gap
        return np.where(known, self.ids[position], np.int32(self.base)).astype(np.int32)


@dataclass(frozen=True)
class _Number:
    """A column whose numbers are weights of the id after MISSING."""

    base: int
    mean: float
    scale: float
    size: int = 2

    def __call__(self, column: NDArray[Any], gap: NDArray[np.bool_]) -> NDArray[np.int32]:
        return np.where(gap, self.base, self.base + 1).astype(np.int32)

    def weight(self, column: NDArray[Any], gap: NDArray[np.bool_]) -> FloatArray:
        return np.where(gap, 1.0, (smooth(column) - self.mean) / self.scale).astype(np.float32)


def bucket(x: NDArray[Any]) -> NDArray[np.int32]:
    """Integers x ↦ 2 + ⌊ln(x)²⌋ for x ≥ 2, smaller ones as they are.

    >>> bucket(np.array([-1, 0, 1, 2, 100]))
    array([-1,  0,  1,  2, 23], dtype=int32)
    """
    large = 2 + np.floor(np.log(np.maximum(x, 2)) ** 2)
    return np.where(x >= 2, large, x).astype(np.int32)


def smooth(x: NDArray[Any]) -> FloatArray:
    """Integers x ↦ ln(1 + max(x, 0))²."""
    return np.asarray(np.square(np.log1p(np.maximum(x, 0).astype(np.float64))))


def criteo(raw: Cache, folder: Path, kind: str, min_count: int = MIN_COUNT) -> SparseData:
    """The data of the raw columns, from the cache in ``folder``, which is built if it is not there."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}; got {kind!r}")
    wanted = {"kind": f"criteo-{kind}", "min_count": min_count, "sha256": raw.meta["sha256"]}
    cache = open_cache(folder, wanted)
    if cache is None:
        _build(raw, folder, kind, wanted)
        cache = open_cache(folder, wanted)
    if cache is None:
        raise RuntimeError(f"{folder} was changed while it was built: run again")
    splits = {name: tuple(span) for name, span in cache.meta["splits"].items()}
    labels, ids, values = (cache.arrays[name] for name in ("labels", "ids", "values"))
    return SparseData(labels, splits, cache.meta["sha256"], ids, values, cache.meta["n_ids"])


def _build(raw: Cache, folder: Path, kind: str, wanted: dict[str, Any]) -> None:
    rows = raw.meta["rows"]
    splits = ordered_splits(rows)
    encoders = _encoders(raw, kind, splits["train"][1], wanted["min_count"])
    with building(folder) as writer:
        for start in range(0, rows, _STEP):
            some = slice(start, min(start + _STEP, rows))
            writer.append("labels", np.asarray(raw.arrays["labels"][some]))
            cells = [_cells(raw, name, kind, some) for name in COLUMNS]
            ids = [encode(*cell) for encode, cell in zip(encoders, cells, strict=True)]
            writer.append("ids", np.stack(ids, axis=1))
            pairs = [(e, cell) for e, cell in zip(encoders, cells, strict=True) if isinstance(e, _Number)]
            values = [encode.weight(*cell) for encode, cell in pairs]
            writer.append("values", np.stack(values, axis=1) if values else np.empty((len(ids[0]), 0), np.float32))
        n_ids = 1 + sum(encode.size for encode in encoders)
        writer.finish(wanted | {"rows": rows, "splits": splits, "n_ids": n_ids, "source": raw.meta["source"]})


def _encoders(raw: Cache, kind: str, train: int, min_count: int) -> list[_Levels | _Number]:
    encoders: list[_Levels | _Number] = []
    base = 1
    for name in COLUMNS:
        column, gap = _cells(raw, name, kind, slice(0, train))
        if name in INTEGERS and kind == "continuous":
            encoders.append(_number(base, column[~gap]))
        else:
            encoders.append(_levels(base, column[~gap], min_count))
        base += encoders[-1].size
    return encoders


def _cells(raw: Cache, name: str, kind: str, rows: slice) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A column between two rows, and where it has gaps."""
    gap = raw.arrays["gaps"][rows] >> np.uint64(COLUMNS.index(name)) & np.uint64(1) != 0
    column = np.asarray(raw.arrays[name][rows])
    return bucket(column) if name in INTEGERS and kind == "bucketed" else column, gap


def _levels(base: int, column: NDArray[Any], min_count: int) -> _Levels:
    seen, counts = np.unique(column, return_counts=True)
    frequent = counts >= min_count
    ids = np.where(frequent, base + _FIRST - 1 + np.cumsum(frequent), base + _RARE)
    return _Levels(base, seen, ids.astype(np.int32), _FIRST + int(frequent.sum()))


def _number(base: int, column: NDArray[Any]) -> _Number:
    numbers = smooth(column)
    scale = float(numbers.std()) if len(numbers) else 0.0
    return _Number(base, float(numbers.mean()) if len(numbers) else 0.0, scale or 1.0)
