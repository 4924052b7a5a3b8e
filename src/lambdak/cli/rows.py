"""The rows that a model is fitted to: columns, target, weights and offsets, and which task the target asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from lambdak.cli import tables
from lambdak.cli.errors import InputError, note

FEWEST_HELD = 10  # rows that a score is worth printing for
_MOST_CLASSES = 100


class Task(StrEnum):
    """What kind of target it is."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"
    ORDINAL = "ordinal"
    QUANTILE = "quantile"


@dataclass(frozen=True, eq=False)
class Rows:
    """Columns, a target, and what may come beside them, row by row."""

    X: Any  # a pyarrow table
    y: NDArray[Any]
    weight: NDArray[np.float64] | None = None
    offset: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, places: NDArray[np.intp]) -> Rows:
        """Some of the rows."""
        weight, offset = (None if each is None else each[places] for each in (self.weight, self.offset))
        return Rows(self.X.take(places), self.y[places], weight, offset)


@dataclass(frozen=True)
class Choice:
    """Which columns of a table play which part."""

    target: str
    weight: str | None = None
    offset: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    drop_missing: bool = False

    def read(self, path: str, given: tables.Format | None) -> Rows:
        """The rows of a file."""
        return self.rows(tables.read(path, given, text=self.categorical), path)

    def like(self, rows: Rows, path: str, given: tables.Format | None) -> Rows:
        """The rows of another file, with the columns and kinds of these."""
        text = [field.name for field in rows.X.schema if str(field.type) == "string"]
        table = tables.read(path, given, text)
        tables.check_names(rows.X.column_names, table, path, "the table to fit")
        return replace(self, categorical=text).rows(table, path)

    def rows(self, table: Any, path: str) -> Rows:
        """The rows of a table that came from a file."""
        beside = {"--weight": self.weight, "--offset": self.offset}
        parts = {option: [name] for option, name in beside.items() if name is not None}
        aside = {"--target": [self.target], **parts, "--drop": self.drop}
        for option, names in (aside | {"--categorical": self.categorical}).items():
            tables.check_names(names, table, path, option)
        table = self._complete(table, path)
        X = table.drop_columns(sorted({name for names in aside.values() for name in names}))
        if not X.column_names:
            raise InputError(f"{path} has no column left to predict {self.target!r} from")
        _refuse_kinds(X, path)
        found = (None if name is None else numbers(table, name, path) for name in beside.values())
        return Rows(X, _cells(table, self.target), *found)

    def _complete(self, table: Any, path: str) -> Any:
        """The table without rows whose target is missing, if that was asked for."""
        missing = np.array([cell is None or cell != cell for cell in table.column(self.target).to_pylist()])
        if not missing.any():
            return table
        counted = f"{missing.sum()} of {len(missing)} rows"
        if missing.all():
            raise InputError(f"the target {self.target!r} is missing in every row of {path}")
        if not self.drop_missing:
            raise InputError(
                f"the target {self.target!r} is missing in {counted} of {path}: fill it in, or leave these rows out "
                "with --drop-missing"
            )
        note(f"left out {counted}, whose target is missing")
        return table.filter(~missing)


def _cells(table: Any, name: str) -> NDArray[Any]:
    """A column without gaps as an array: numbers, truth values, or text."""
    series = nw.from_native(table, eager_only=True)[name]
    if series.dtype in (nw.Categorical, nw.Enum, nw.String):
        return np.array(series.cast(nw.String).to_list())
    if series.dtype == nw.Decimal:
        return np.asarray(series.cast(nw.Float64).to_numpy())
    if series.dtype == nw.Boolean or series.dtype.is_numeric():
        return np.asarray(series.to_numpy())
    raise InputError(f"the target {name!r} must hold numbers, truth values or text; got {series.dtype}")


def _refuse_kinds(X: Any, path: str) -> None:
    for name, dtype in nw.from_native(X, eager_only=True).schema.items():
        if dtype.is_temporal() or dtype.is_nested():
            raise InputError(
                f"column {name!r} of {path} holds {dtype}, and not numbers or text: replace it with numbers, such as a "
                f"year, or leave it out with --drop {name!r}"
            )


def numbers(table: Any, name: str, path: str) -> NDArray[np.float64]:
    """A column of finite numbers without gaps."""
    values = table.column(name).to_pylist()
    for row, value in enumerate(values):
        if isinstance(value, bool | str) or value is None or not np.isfinite(value):
            raise InputError(f"column {name!r} of {path} must hold a number in every row; got {value!r} in row {row}")
    return np.array(values, np.float64)


def chosen_task(task: Task, y: NDArray[Any], name: str) -> tuple[Task, str]:
    """The task and why it is this one."""
    text, truth = y.dtype.kind == "U", y.dtype.kind == "b"
    if task in (Task.CLASSIFICATION, Task.ORDINAL):
        return task, "as asked"
    if text:
        _refuse_stray_text(y, name)
    if task is Task.AUTO and (text or truth):
        _refuse_many_classes(y, name)
        return Task.CLASSIFICATION, "its cells are text" if text else "its cells are true or false"
    if text or truth:
        raise InputError(
            f"the target {name!r} must hold numbers for {task.value}; got {y[0].item()!r} in row 0: it looks like "
            "classes, so use --task classification"
        )
    if task is not Task.AUTO:
        return task, "as asked"
    if len(np.unique(y)) == 2:
        note(f"the target {name!r} has two values: use --task classification if they are classes")
    return Task.REGRESSION, "its cells are numbers"


def _refuse_stray_text(y: NDArray[Any], name: str) -> None:
    """Numbers with a few words among them are not classes."""
    number = np.array([_is_number(cell) for cell in y.tolist()])
    if 0.5 < number.mean() < 1:
        row = int(np.argmin(number))
        raise InputError(
            f"the target {name!r} holds text among its numbers: {y[row].item()!r} in row {row}. Correct or empty these "
            "cells, or use --task classification if all of them are names of classes"
        )


def _refuse_many_classes(y: NDArray[Any], name: str) -> None:
    classes = len(np.unique(y))
    if classes > _MOST_CLASSES:
        raise InputError(
            f"the target {name!r} holds {classes} different texts, such as {y[0].item()!r}: if they are classes, use "
            "--task classification; otherwise name another column with --target"
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def split(rows: Rows, fraction: float, classes: bool, seed: int) -> tuple[Rows, Rows | None]:
    """Rows to fit to, and a share that is held out; none if they would be too few to tell anything."""
    held = round(fraction * len(rows))
    if not fraction:
        return rows, None
    if held < FEWEST_HELD:
        note(f"no rows are held out: {held} of {len(rows)} would be too few for a score")
        return rows, None
    counts = np.unique(rows.y, return_counts=True)[1] if classes else np.array([])
    strata = rows.y if classes and counts.min() >= 2 and held >= len(counts) else None
    train, test = train_test_split(np.arange(len(rows)), test_size=held, random_state=seed, stratify=strata)
    if classes:  # a class that only held-out rows have could not be learnt
        known = np.isin(rows.y[test], rows.y[train])
        train, test = np.concatenate([train, test[~known]]), test[known]
    return rows.take(train), rows.take(test)
