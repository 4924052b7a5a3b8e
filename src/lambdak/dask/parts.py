"""Dask collections, partition by partition: what a worker reads, and where X, y, weights and offsets must agree."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client, futures_of
from numpy.typing import NDArray

from dask import config
from lambdak._checks import check_weight
from lambdak.table.large.batches import Drawn
from lambdak.table.read import read_table
from lambdak.table.rows import log_exposure, optional_rows, target_rows

NAMES = ("X", "y", "sample_weight", "offset")
_SETTING = threading.RLock()  # held while settings of Dask are other than the user's


@dataclass(frozen=True)
class Partition:
    """One partition: futures of its X, y, sample_weight and offset."""

    index: int
    X: Any
    y: Any
    sample_weight: Any = None
    offset: Any = None

    @property
    def pieces(self) -> tuple[Any, Any, Any, Any]:
        """What a worker computes."""
        return self.X, self.y, self.sample_weight, self.offset


@dataclass(frozen=True)
class Partitions:
    """Collections that are cut alike, by name, and the number of their partitions."""

    collections: Mapping[str, Any]
    count: int

    def computed(self, client: Client) -> list[Partition]:
        """The partitions as futures: X and y of one table come from one graph, which reads it once."""
        futures: dict[str, list[Any]] = {name: [None] * self.count for name in NAMES}
        for arrays in (False, True):  # Dask optimises frames with frames and arrays with arrays
            names = [name for name, value in self.collections.items() if _is_array(value) is arrays]
            for name, value in zip(names, _persisted(client, [self.collections[name] for name in names]), strict=True):
                futures[name] = sorted(futures_of(value), key=lambda future: future.key[1:])
                _check_count(name, len(futures[name]), self.count)
        rows = zip(*(futures[name] for name in NAMES), strict=True)
        return [Partition(index, *pieces) for index, pieces in enumerate(rows)]


def partitions(X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Partitions:
    """The partitions of collections that belong together."""
    arguments = dict(zip(NAMES, (X, y, sample_weight, offset), strict=True))
    if y is None:
        raise ValueError("y must be given: a Dask Series or Array with the partitions of X")
    count = count_of(cut_like(X))
    collections = {name: cut_like(value, name, X, count) for name, value in arguments.items() if value is not None}
    return Partitions(collections, count)


def _persisted(client: Client, collections: list[Any]) -> Sequence[Any]:
    with _as_cut():
        persisted: Sequence[Any] = client.persist(collections) if collections else []
    return persisted


@contextmanager
def _as_cut() -> Iterator[None]:
    """Within it Dask leaves partitions as they are, where it would join small ones of a few columns of a file.

    Settings of Dask are of all threads, and each restores what it has seen: two fits at once take turns.
    """
    with _SETTING, config.set({"optimization.tune.active": False}):
        yield


def is_collection(value: object) -> bool:
    """Whether a value is a collection of Dask."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def logarithms(exposure: Any) -> Any:
    """The logarithm of a collection of exposures, which are checked when they are computed: an offset."""
    _check_collection(exposure, "exposure")
    if _is_array(exposure):
        return exposure.map_blocks(log_exposure, dtype=np.float64)
    return exposure.map_partitions(_log_exposure, meta=exposure._meta.astype(np.float64))


def _log_exposure(exposure: Any) -> Any:
    logs = exposure.astype(np.float64)
    logs[:] = log_exposure(exposure)
    return logs


def pieces_of(value: Any, name: str = "X", X: Any = None, count: int | None = None) -> list[Any]:
    """The partitions of a collection, delayed; those of an array are blocks of whole rows."""
    with _as_cut():
        return list(np.ravel(cut_like(value, name, X, count).to_delayed()))


def cut_like(value: Any, name: str = "X", X: Any = None, count: int | None = None) -> Any:
    """A collection whose partitions hold whole rows: as many as X has, if their ``count`` is given."""
    _check_collection(value, name)
    if _is_array(value):
        value = _of_whole_rows(value, name, X)
    if count is not None:
        _check_count(name, count_of(value), count)
    return value


def count_of(value: Any) -> int:
    """The number of partitions of a collection, or of blocks along the rows of an array."""
    return int(value.numblocks[0] if _is_array(value) else value.npartitions)


def _is_array(value: Any) -> bool:
    return hasattr(value, "chunks")


def _check_count(name: str, pieces: int, count: int) -> None:
    if pieces != count:
        raise ValueError(
            f"{name} must have the {count} partitions of X; got {pieces}: take both from one collection as frames or "
            f"series (Dask may join partitions on the way to an array), or call repartition or rechunk on {name}"
        )


def _check_collection(value: object, name: str) -> None:
    if not is_collection(value):
        raise TypeError(
            f"{name} must be a Dask DataFrame, Series or Array; got {type(value).__name__}: for a table in memory use "
            "the estimator of lambdak itself"
        )


def _of_whole_rows(array: Any, name: str, X: Any) -> Any:
    """An array whose blocks hold whole rows, cut like those of X if the lengths of both are known."""
    if name == "X" and array.ndim != 2:
        raise ValueError(f"X must have two axes; got {array.ndim}")
    if array.ndim == 2 and array.numblocks[1] > 1:
        array = array.rechunk({1: -1})
    blocks = getattr(X, "chunks", None)
    if blocks is not None and name != "X" and _differ(blocks[0], array.chunks[0]):
        if sum(blocks[0]) != sum(array.chunks[0]):
            raise ValueError(f"{name} must have the {sum(blocks[0])} rows of X; got {sum(array.chunks[0])}")
        array = array.rechunk({0: blocks[0]})
    return array


def _differ(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether the lengths of blocks are known and differ."""
    return not np.isnan([*one, *other]).any() and one != other


def drawn(index: int, pieces: Sequence[Any]) -> Drawn | None:
    """A partition whose X, y, sample_weight and offset were computed; None if it has no rows."""
    X, y, sample_weight, offset = pieces
    table = read_table(X, keep=False)
    rows = table.shape[0]
    for name, values in (("y", y), ("sample_weight", sample_weight), ("offset", offset)):
        if values is not None and len(values) != rows:
            raise ValueError(
                f"{name} must have the {rows} rows that X has; got {len(values)}: take both from one collection, so "
                "that they are cut alike"
            )
    if not rows:
        return None
    weight = None if sample_weight is None else _numbers(sample_weight)
    if weight is not None and weight.any():
        check_weight(weight, rows)
    offsets = None if offset is None else optional_rows(_numbers(offset), rows, "offset")
    return Drawn(table, target_rows(y), weight, offsets, index=index, place=f"partition {index}")


def _numbers(values: Any) -> NDArray[np.float64]:
    return np.asarray(np.asarray(values).reshape(-1), np.float64)
