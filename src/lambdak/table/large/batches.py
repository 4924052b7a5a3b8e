"""Large tables as batches of rows, read from the start as often as needed: Parquet files, datasets, user iterables.

Only one batch is in memory, and the next one of a file, which is read meanwhile. ``as_batches(X)`` says whether ``X``
is such a table, and ``drawn`` splits its batches into features, target, weight and offset.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_weight
from lambdak.table.cells import Cells
from lambdak.table.close_names import asked
from lambdak.table.read import Table, read_table
from lambdak.table.rows import Rows, log_exposure, optional_rows

ROWS_AT_ONCE: Final = 1 << 17  # of a batch: some tens of megabytes

_ONCE = (
    "X can be read only once ({kind}), but a large fit reads it several times: give a path, a pyarrow.dataset.Dataset, "
    "or an object whose __iter__ starts from the beginning"
)
_END: Final = object()


class ChangedSourceError(ValueError):
    """A table that is another one than when it was read first."""


class Batches(ABC):
    """A large table: iterating yields its batches from the start, as pyarrow, pandas or polars tables.

    Attributes
    ----------
    column_names : tuple of str
        Its columns, in order.
    n_rows : int or None
        Rows of all batches, if that is known without reading them.
    fingerprint : str or None
        Text that changes whenever the source does; None if that cannot be known.
    path : path or None
        Where it is, if it was given by its path.
    """

    column_names: tuple[str, ...]
    n_rows: int | None = None
    fingerprint: str | None = None
    path: str | os.PathLike[str] | None = None

    def __init__(self) -> None:
        self._rows: list[int] = []  # of each batch, as far as they are known from earlier passes
        self._whole = False  # whether these are all

    @abstractmethod
    def read(self) -> Iterator[tuple[str, Any]]:
        """Where each batch comes from, in words, and the batch; from the start."""

    def __iter__(self) -> Iterator[Any]:
        for _, batch in self.placed():
            yield batch

    def placed(self) -> Iterator[tuple[str, Any]]:
        """Batches with where they come from, in words; passes without rows or that differ are refused."""
        count, first = 0, {"": 0}
        for where, batch in self.read():
            rows = _n_rows(batch)
            if rows == 0:
                continue
            before = first.get(where, 0)
            place = f"{where}, rows counted from {before}" if before else where
            first = {where: before + rows}
            if count == len(self._rows) and not self._whole:
                self._rows.append(rows)
            if count >= len(self._rows) or rows != self._rows[count]:
                known = self._rows[count] if count < len(self._rows) else "no"
                raise ChangedSourceError(f"{place} had {known} rows before, and now {rows}: {_SAME}")
            count += 1
            yield place, batch
        if count == 0:
            raise ValueError("X must have rows; got none")
        if count < len(self._rows):
            raise ChangedSourceError(f"X had {len(self._rows)} batches before, and now {count}: {_SAME}")
        if self.n_rows is not None and sum(self._rows) != self.n_rows:
            raise ChangedSourceError(
                f"X has n_rows = {self.n_rows}, but its batches have {sum(self._rows)} rows: {_SAME}"
            )
        self._whole = True


_SAME = "each pass over X must give the same batches"


class IterableBatches(Batches):
    """What users iterate themselves: frames of any library, from an object that can start again.

    If it has an attribute ``n_rows``, so many rows are expected: progress has an end, and fewer numbers are looked at.

    It is read in the caller's thread, for connections to a database may be bound to it.
    """

    def __init__(self, source: Any) -> None:
        super().__init__()
        self._source = source
        first = next(iter(self._start()), None)
        if first is None:
            raise ValueError("X must have rows; got no batches")
        self.column_names, self._first_rows = _names(first), _n_rows(first)
        known = getattr(source, "n_rows", None)
        self.n_rows = int(known) if isinstance(known, int) else None

    def _start(self) -> Iterable[Any]:
        if hasattr(self._source, "reset"):
            self._source.reset()
        return self._source  # type: ignore[no-any-return]

    def read(self) -> Iterator[tuple[str, Any]]:
        """Where batches come from, in words, and the batches, in parts if they are long."""
        for number, batch in enumerate(self._start()):
            place = f"batch {number} of X"
            if not is_frame(batch):
                raise TypeError(f"{place} must be a pyarrow, pandas or polars table; got {type(batch).__name__}")
            if set(_names(batch)) != set(self.column_names):
                raise ValueError(
                    f"{place} must have the columns of the first one, {list(self.column_names)}; "
                    f"got {list(_names(batch))}"
                )
            if number == 0 and _n_rows(batch) != self._first_rows:
                raise ChangedSourceError(
                    f"{place} had {self._first_rows} rows before, and now {_n_rows(batch)}: {_SAME}"
                )
            frame = _as_frame(batch)
            for start in range(0, _n_rows(batch), ROWS_AT_ONCE):
                yield place, _part(frame, start)


@dataclass(frozen=True, eq=False)
class Drawn(Rows):
    """One batch of a large table; its target is as in the batch, and all its weights may be zero.

    Attributes
    ----------
    index : int
        Its number, from zero: the same in every pass.
    place : str
        Where it comes from, in words.
    """

    y: NDArray[Any]
    index: int = 0
    place: str = "X"


def as_batches(X: object) -> Batches | None:
    """``X`` as batches of rows, or None if it is an ordinary table.

    Takes the path of a Parquet file or of a folder of such files, a ``pyarrow.dataset.Dataset``, batches that were read
    already, and objects that can be iterated again, over pyarrow, pandas or polars tables: either ``__iter__`` starts
    again, or ``reset()`` does so.
    """
    if isinstance(X, Batches):
        return X
    if isinstance(X, str | os.PathLike):
        from lambdak.table.large.parquet import path_batches

        batches = path_batches(X)
        batches.path = X
        return batches
    kind = type(X)
    if kind.__module__.startswith("pyarrow") and kind.__name__ == "RecordBatchReader":
        raise TypeError(_ONCE.format(kind=kind.__name__))
    if kind.__module__.startswith("pyarrow._dataset"):
        from lambdak.table.large.parquet import dataset_batches

        return dataset_batches(X)
    return IterableBatches(X) if _gives_batches(X) else None


def _gives_batches(X: Any) -> bool:
    if is_frame(X) or any(hasattr(X, name) for name in ("shape", "__array__", "__dataframe__", "collect", "compute")):
        return False
    if isinstance(X, list | tuple):
        return len(X) > 0 and is_frame(X[0])
    if not isinstance(X, Iterable) or isinstance(X, Mapping | Set | bytes):
        return False
    if isinstance(X, Iterator) and not hasattr(X, "reset"):
        raise TypeError(_ONCE.format(kind=type(X).__name__))
    return True


def drawn(
    batches: Batches, y: object, sample_weight: object = None, offset: object = None, exposure: object = None
) -> Iterator[Drawn]:
    """Split batches into features, target, weight and offset, which are columns of the table, by name.

    The logarithm of an ``exposure`` is an offset.
    """
    names = _chosen(batches, {"y": y, "sample_weight": sample_weight, "offset": offset, "exposure": exposure})
    features = [name for name in batches.column_names if name not in names.values()]
    if not features:
        raise ValueError(f"X must have columns beside {', '.join(map(repr, names.values()))}; got none")
    for index, (place, batch) in enumerate(batches.placed()):
        with errors_at(place):
            part = replace(_split(index, batch, names, features), place=place)
        yield part


def _chosen(batches: Batches, given: Mapping[str, object]) -> dict[str, str]:
    """What each special column is called."""
    names: dict[str, str] = {}
    for what, name in given.items():
        if name is None and what != "y":
            continue
        if not isinstance(name, str):
            raise TypeError(f"{what} must be the name of a column where X is a large table; got {type(name).__name__}")
        if name not in batches.column_names:
            raise ValueError(
                f"{what} must be a column of X, one of {list(batches.column_names)}; got {name!r}"
                f"{asked(name, batches.column_names)}"
            )
        if name in names.values():
            raise ValueError(f"y, sample_weight and offset must be different columns; got {name!r} more than once")
        names[what] = name
    return names


def _split(index: int, batch: Any, names: dict[str, str], features: Sequence[str]) -> Drawn:
    table = read_table(batch, keep=False)
    where = {name: i for i, name in enumerate(table.names)}
    beside = {what: table.cells(where[name]) for what, name in names.items()}
    weight = beside["sample_weight"].numbers() if "sample_weight" in beside else None
    if weight is not None and weight.any():
        check_weight(weight, len(weight))
    offset = optional_rows(beside["offset"].numbers(), table.shape[0], "offset") if "offset" in beside else None
    if "exposure" in beside:
        offset = log_exposure(beside["exposure"].numbers())
    features_only = _selected(table, [where[name] for name in features])
    return Drawn(features_only, _plain(beside["y"]), weight, offset, index=index)


def _plain(cells: Cells) -> NDArray[Any]:
    """The cells of a column, one per row."""
    if cells.factors is None:
        return cells.values
    codes, keys = cells.factors
    distinct = np.empty(len(keys), object)
    distinct[:] = keys
    return distinct[codes]


def _selected(table: Table, positions: Sequence[int]) -> Table:
    """Some columns of a table, which is not read yet."""
    return Table(
        tuple(table.names[i] for i in positions),
        table.named,
        (table.shape[0], len(positions)),
        lambda i, rows: table.read(positions[i], rows),
        [table.labels[i] for i in positions],
        keep=False,
        by_cell=lambda chosen: table.by_cell([positions[i] for i in chosen]),
    )


@contextmanager
def errors_at(place: str) -> Iterator[None]:
    """Say where bad cells are."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise type(error)(f"{error} (in {place})") from error


def ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Iterate over batches, with the next one read while this one is used."""
    with ThreadPoolExecutor(1, "lambdak-reader") as reader:
        coming = reader.submit(next, batches, _END)
        while (batch := coming.result()) is not _END:
            coming = reader.submit(next, batches, _END)
            yield batch


# ---- frames of any library --------------------------------------------------------------------------------------


def is_frame(X: object) -> bool:
    """Whether ``X`` is a table of pandas or polars, or a table or a batch of pyarrow."""
    library, kind = type(X).__module__.split(".")[0], type(X).__name__
    return (library in ("pandas", "polars") and kind == "DataFrame") or (
        library == "pyarrow" and kind in ("Table", "RecordBatch")
    )


def _n_rows(batch: Any) -> int:
    return int(batch.shape[0])


def _names(batch: Any) -> tuple[str, ...]:
    return tuple(map(str, batch.schema.names if hasattr(batch, "num_rows") else batch.columns))


def _as_frame(batch: Any) -> Any:
    """A batch of pyarrow as a table, without a copy; others as they are."""
    if type(batch).__name__ != "RecordBatch":
        return batch
    import pyarrow

    return pyarrow.Table.from_batches([batch])


def _part(frame: Any, start: int) -> Any:
    if _n_rows(frame) <= ROWS_AT_ONCE:
        return frame
    return frame.slice(start, ROWS_AT_ONCE) if hasattr(frame, "slice") else frame[start : start + ROWS_AT_ONCE]
