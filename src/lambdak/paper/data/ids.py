r"""Criteo's columns as active ids of one table, in the two ways of the paper.

"bucketed" puts integers into buckets, which are then levels like those of categories; "continuous" takes them as
weights. Id 0 is the constant, which every row has. The data are in chronological order: levels, means and deviations
are those of the training rows, the first 80 %.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray
from lambdak.paper.data.cache import Cache, building, open_cache
from lambdak.paper.data.criteo import COLUMNS, INTEGERS
from lambdak.paper.data.encoders import Encoder, Gaps, Levels, bucket, levels, numbers, signed_numbers
from lambdak.paper.data.rows import SparseData, ordered_splits
from lambdak.paper.protocols import CriteoColumns

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
