"""Dask collections, partition by partition: what a worker reads, and where X, y, weights and offsets must agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_weight
from lambdak.table.large.batches import Drawn
from lambdak.table.read import read_table
from lambdak.table.rows import log_exposure, optional_rows, target_rows


@dataclass(frozen=True)
class Partition:
    """One partition, still to be computed: delayed pieces of X, y, sample_weight and offset."""

    index: int
    X: Any
    y: Any
    sample_weight: Any = None
    offset: Any = None

    @property
    def pieces(self) -> tuple[Any, Any, Any, Any]:
        """What a worker computes."""
        return self.X, self.y, self.sample_weight, self.offset


def partitions(X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> list[Partition]:
    """The partitions of collections that belong together."""
    names = ("X", "y", "sample_weight", "offset")
    given = dict(zip(names, (X, y, sample_weight, offset), strict=True))
    if y is None:
        raise ValueError("y must be given: a Dask Series or Array with the partitions of X")
    count = len(pieces_of(X))
    pieces = {name: pieces_of(value, name, X, count) for name, value in given.items() if value is not None}
    rows = zip(*(pieces.get(name, [None] * count) for name in names), strict=True)
    return [Partition(index, *own) for index, own in enumerate(rows)]


def is_collection(value: object) -> bool:
    """Whether a value is a collection of Dask."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def logarithms(exposure: Any) -> Any:
    """The logarithm of a collection of exposures, which are checked when they are computed: an offset."""
    _check_collection(exposure, "exposure")
    array = exposure if hasattr(exposure, "chunks") else exposure.to_dask_array()
    return array.map_blocks(log_exposure, dtype=np.float64)


def pieces_of(value: Any, name: str = "X", X: Any = None, count: int | None = None) -> list[Any]:
    """The partitions of a collection, delayed: as many as X has, if their ``count`` is given.

    Those of an array are blocks of whole rows, cut like those of X.
    """
    _check_collection(value, name)
    pieces = _blocks(value, name, X) if hasattr(value, "chunks") else list(value.to_delayed())
    if count is not None and len(pieces) != count:
        raise ValueError(
            f"{name} must have the {count} partitions of X; got {len(pieces)}: take both from one collection, or "
            f"call repartition or rechunk on {name}"
        )
    return pieces


def _check_collection(value: object, name: str) -> None:
    if not is_collection(value):
        raise TypeError(
            f"{name} must be a Dask DataFrame, Series or Array; got {type(value).__name__}: for a table in memory use "
            "the estimator of lambdak itself"
        )


def _blocks(array: Any, name: str, X: Any) -> list[Any]:
    """The blocks of an array, of whole rows."""
    if name == "X" and array.ndim != 2:
        raise ValueError(f"X must have two axes; got {array.ndim}")
    if array.ndim == 2 and array.numblocks[1] > 1:
        array = array.rechunk({1: -1})
    known = getattr(X, "chunks", None)
    if known is not None and name != "X" and _differ(known[0], array.chunks[0]):
        if sum(known[0]) != sum(array.chunks[0]):
            raise ValueError(f"{name} must have the {sum(known[0])} rows of X; got {sum(array.chunks[0])}")
        array = array.rechunk({0: known[0]})
    return list(np.asarray(array.to_delayed()).ravel())


def _differ(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether the lengths of blocks are known and differ."""
    return not np.isnan([*one, *other]).any() and one != other


def drawn(index: int, pieces: Sequence[Any]) -> Drawn | None:
    """A partition whose X, y, sample_weight and offset were computed; None if it has no rows."""
    X, y, sample_weight, offset = pieces
    table = read_table(X, keep=False)
    rows = table.shape[0]
    for name, own in (("y", y), ("sample_weight", sample_weight), ("offset", offset)):
        if own is not None and len(own) != rows:
            raise ValueError(
                f"{name} must have the {rows} rows that X has; got {len(own)}: take both from one collection, so that "
                "they are cut alike"
            )
    if not rows:
        return None
    weight = None if sample_weight is None else _numbers(sample_weight)
    if weight is not None and weight.any():
        check_weight(weight, rows)
    own = None if offset is None else optional_rows(_numbers(offset), rows, "offset")
    return Drawn(index, table, target_rows(y), weight, own, f"partition {index}")


def _numbers(values: Any) -> NDArray[np.float64]:
    return np.asarray(np.asarray(values).reshape(-1), np.float64)
