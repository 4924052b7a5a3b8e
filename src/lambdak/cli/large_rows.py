"""The data that a model is fitted to and tested on, where a table is not to be in memory: rows read batch by batch.

What is in memory of all rows is the target, where each row belongs, and the raw scores of the test rows.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lambdak.cli import tables
from lambdak.cli.dataset import ColumnRoles, Positions, cells, missing_cells, numbers, split_rows
from lambdak.cli.errors import InputError
from lambdak.cli.models import with_parts
from lambdak.cli.plain_files import STREAM
from lambdak.cli.table_streams import SAME, TableStream, Wanted, table_stream
from lambdak.cli.tables import Format
from lambdak.eigen.lazy import cached_property
from lambdak.table.dates import expanded
from lambdak.table.large.batches import Batches

if TYPE_CHECKING:
    from lambdak.model.model import Model
    from lambdak.table.large.parquet import ParquetBatches

_HEAD = 200_000  # rows by which the task is chosen, and doubtful columns are named


@contextmanager
def large_data(roles: ColumnRoles, path: str, given: Format | None, cache: Path | None = None) -> Iterator[LargeRows]:
    """All rows of a table that have a target, for the time of the block.

    A file that changes meanwhile, be it between two passes, is an error that names it.
    """
    from lambdak.table.large.parquet import path_batches

    state = _state(path)  # before the file is opened: a cache of its rows is then never one of those that came later
    with table_stream(path, given) as stream:
        roles.check(stream, path)
        every = [name for name in stream.column_names if name not in roles.drop]
        stream.prepare(Wanted(roles.categorical, [], every, every), lambda _: None)
        parquet = Path(path).is_dir() or (tables.format_of(path, given) is Format.PARQUET and not path.endswith(".gz"))
        files = path_batches(path) if parquet and path != STREAM else None
        table = _LargeTable(path, roles, stream, every, files, state if files is None else files.fingerprint)
        parts = list(table.targets())
        missing = np.concatenate([part for part, _ in parts])
        roles.ignores(missing, path)
        y = np.concatenate([targets for _, targets in parts])
        yield LargeRows(table, np.flatnonzero(~missing), y, table.column_names, cache)


@contextmanager
def large_like(rows: LargeRows, path: str, given: Format | None) -> Iterator[LargeRows]:
    """The rows of another table, with the columns and types of the given rows, for the time of the block."""
    roles = replace(rows.table.roles, categorical=rows.table.text_columns)
    with large_data(roles, path, given) as others:
        tables.check_names(rows.column_names, others, path, "the table to fit")
        yield others


@dataclass(frozen=True, eq=False)
class _LargeTable:
    """A file or a folder, and what its columns are."""

    path: str
    roles: ColumnRoles
    stream: TableStream
    every: Sequence[str]  # columns that are read
    parquet: ParquetBatches | None  # Parquet, which the library itself reads: one object knows what the files were
    fingerprint: str | None  # text that changes with what is read; None of standard input

    @cached_property
    def column_names(self) -> Sequence[str]:
        """The columns to predict from; doubtful ones of the first rows are named."""
        tables.check_text(self._head.schema, self.path)
        head = replace(self.roles, drop=[]).features(self._head, self.path)
        return list(head.column_names)

    @property
    def text_columns(self) -> list[str]:
        """The columns of text."""
        return [field.name for field in self._head.schema if field.name in self.column_names and _is_text(field.type)]

    @cached_property
    def _head(self) -> Any:
        parts, rows = [], 0
        for _, part in self.placed():
            parts.append(part)
            rows += part.num_rows
            if rows >= _HEAD:
                break
        return tables.arrow().concat_tables(parts, promote_options="permissive").slice(0, _HEAD)

    def placed(self, columns: Sequence[str] | None = None) -> Iterator[tuple[str, Any]]:
        """Where parts come from, and the parts: of Parquet files those of the library, so that fits are the same."""
        names = list(self.every if columns is None else columns)
        if self.parquet is not None:
            for place, part in self.parquet.some_columns(names).read():
                yield place, tables.with_text(part, self.roles.categorical)
        else:
            yield from ((self.path, part) for part in self.stream.parts(names) if part.num_rows)

    def targets(self) -> Iterator[tuple[NDArray[np.bool_], NDArray[Any]]]:
        """Which targets of each part are missing, and those that are not."""
        name = self.roles.target
        for _, part in self.placed([name]):
            missing = missing_cells(part.column(name))
            yield missing, cells(part.filter(~missing), name)


def _state(path: str) -> str | None:
    """Text that changes with a file; None for standard input, and where there is no file, which is refused later."""
    if path == STREAM or not Path(path).exists():
        return None
    about = os.stat(path)
    return repr((os.path.realpath(path), about.st_size, about.st_mtime_ns))


@dataclass(frozen=True, eq=False)
class LargeRows:
    """Some rows of a table that is read batch by batch, each with a target."""

    table: _LargeTable
    rows: Positions  # their positions in the table
    y: NDArray[Any] = field(repr=False)  # of these rows
    column_names: Sequence[str]
    cache: Path | None

    def __len__(self) -> int:
        return len(self.rows)

    def split(self, fraction: float, classes: bool, seed: int) -> tuple[LargeRows, LargeRows | None]:
        """The rows to train on and to test on: those that a table in memory would have."""
        parts = split_rows(self.y, fraction, classes, seed)
        return (self, None) if parts is None else (self._some(parts[0]), self._some(parts[1]))

    def _some(self, chosen: Positions) -> LargeRows:
        chosen = np.sort(chosen)
        return replace(self, rows=self.rows[chosen], y=self.y[chosen])

    def fit_(self, estimator: Any, **more: Any) -> None:
        """Fit an estimator to the rows, from a cache on disk."""
        roles = self.table.roles
        beside = {"offset": roles.offset, "exposure": roles.exposure}
        beside = {name: column for name, column in beside.items() if column is not None}
        estimator.fit(TrainingBatches(self), roles.target, roles.weight, **beside, cache=self.cache, **more)

    def parts(self) -> Iterator[tuple[str, int, Any]]:
        """Where parts come from, how many rows of the file are before them, and the rows among them, dates expanded."""
        first, last, before = 0, "", 0
        for place, part in self.table.placed():
            before = before if place == last else 0
            end = int(np.searchsorted(self.rows, first + part.num_rows))
            begin = int(np.searchsorted(self.rows, first))
            taken = self.rows[begin:end] - first
            if len(taken):
                yield place, before, self._dated(part if len(taken) == part.num_rows else part.take(taken))
            first, last, before = first + part.num_rows, place, before + part.num_rows

    def _dated(self, part: Any) -> Any:
        dates = [name for name in part.column_names if name not in self._kept]
        return expanded(part, dates) if dates else part

    @cached_property
    def _kept(self) -> set[str]:
        """Columns that stay as they are."""
        roles = self.table.roles
        return {*self.column_names, roles.target, *(name for name in roles.beside.values() if name is not None)}

    def scored(self, model: Model) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]:
        """Targets, raw scores and weights, part by part."""
        from lambdak.eigen.runtime import get_num_threads
        from lambdak.model.rows import row_offset

        roles, done, raw, weights = self.table.roles, 0, list[NDArray[Any]](), list[NDArray[np.float64]]()
        for place, before, part in self.parts():
            y = self.y[done : done + part.num_rows]
            done += part.num_rows
            if len(y) < part.num_rows or not np.array_equal(cells(part, roles.target), y):
                raise InputError(f"the target in {place} is another one than when it was read first: {SAME}")
            weight, offset, exposure = (
                None if name is None else numbers(part, name, place, before) for name in roles.beside.values()
            )
            X = with_parts(part, model.encoder.feature_names).select(list(model.encoder.feature_names))
            raw.append(model.raw(X, row_offset(model.loss, offset, exposure, part.num_rows), get_num_threads()))
            if weight is not None:
                weights.append(weight)
        if done < len(self):
            raise InputError(f"{self.table.path} has fewer rows than when it was read first: {SAME}")
        return self.y, np.concatenate(raw), np.concatenate(weights) if weights else None


class TrainingBatches(Batches):
    """The rows to train on, as the library takes a large table."""

    def __init__(self, rows: LargeRows) -> None:
        super().__init__()
        self._source, self.n_rows = rows, len(rows)
        roles = rows.table.roles
        beside = [name for name in (roles.target, *roles.beside.values()) if name is not None]
        self.column_names = (*rows.column_names, *dict.fromkeys(beside))
        self.path = rows.table.path if rows.cache is not None and rows.table.path != STREAM else None
        source = rows.table.fingerprint
        if source is not None:
            digest = hashlib.sha256(repr((source, self.column_names, list(roles.categorical))).encode())
            digest.update(rows.rows.tobytes())
            self.fingerprint = digest.hexdigest()

    def read(self) -> Iterator[tuple[str, Any]]:
        """Batches, from the start; errors count rows as they are in the batch."""
        for place, before, part in self._source.parts():
            where = f"{place}, the rows to train on from row {before} on" if before else place
            yield where, part.select(list(self.column_names))


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string")
