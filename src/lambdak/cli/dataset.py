"""The data that a model is fitted to or tested on: columns, target, weights and offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from lambdak.cli import tables
from lambdak.cli.errors import InputError, listed, note
from lambdak.cli.models import with_parts
from lambdak.table.dates import date_columns, expanded, part_names

if TYPE_CHECKING:
    from lambdak.model.model import Model
    from lambdak.table.rows import Rows

Positions = NDArray[np.intp]
FEWEST_TEST_ROWS = 10  # that a metric is worth printing for


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows of a file, of which X is a table of pyarrow."""

    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def y(self) -> NDArray[Any]:
        """Target of each row."""
        return self.rows.target

    @property
    def column_names(self) -> Sequence[str]:
        """The columns to predict from."""
        return list(self.rows.X.column_names)

    def fit_(self, estimator: Any, **more: Any) -> None:
        """Fit an estimator to the rows."""
        beside = {"offset": self.rows.offset, "exposure": self.rows.exposure}
        beside = {name: values for name, values in beside.items() if values is not None}
        estimator.fit(self.rows.X, self.y, self.rows.weight, **beside, **more)

    def split(self, fraction: float, classes: bool, seed: int) -> tuple[Self, Self | None]:
        """The rows to train on, and a share to test on; none if it would be too small for a metric."""
        parts = split_rows(self.y, fraction, classes, seed)
        return (self, None) if parts is None else (self.take(parts[0]), self.take(parts[1]))

    def scored(self, model: Model) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]:
        """Targets, raw scores and weights of the rows."""
        from lambdak.model.rows import row_offset

        offset = row_offset(model.loss, self.rows.offset, self.rows.exposure, len(self.rows))
        return self.y, model.raw(self.rows.X, offset), self.rows.weight

    def take(self, positions: Positions) -> Self:
        """Dataset of the rows at these positions."""
        beside = {name: getattr(self.rows, name) for name in ("y", "weight", "offset", "exposure")}
        taken: dict[str, Any] = {name: None if values is None else values[positions] for name, values in beside.items()}
        return replace(self, rows=replace(self.rows, X=self.rows.X.take(positions), **taken))


@dataclass(frozen=True)
class ColumnRoles:
    """Which column of a table is the target, the weight, …, and which are ignored."""

    target: str
    weight: str | None = None
    offset: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    drop_missing: bool = False
    exposure: str | None = None

    def read(self, path: str, given: tables.Format | None) -> Dataset:
        """The data of a file."""
        return self.dataset(tables.read(path, given, text=self.categorical), path)

    def like(self, data: Dataset, path: str, given: tables.Format | None) -> Dataset:
        """The data of another file, with the columns and types of the given data."""
        text = [field.name for field in data.rows.X.schema if str(field.type) == "string"]
        table = tables.read(path, given, text)
        table = with_parts(table, data.column_names)
        tables.check_names(data.column_names, table, path, "the table to fit")
        return replace(self, categorical=text).dataset(table, path)

    def dataset(self, table: Any, path: str) -> Dataset:
        """The data of a table that was read from a file."""
        from lambdak.table.rows import Rows, exposure_rows

        self.check(table, path)
        table = self._complete(table, path)
        X = self.features(table, path)
        weight, offset, exposure = (
            None if name is None else numbers(table, name, path) for name in self.beside.values()
        )
        if exposure is not None:
            exposure_rows(exposure)  # names rows as they are in the file
        return Dataset(Rows(X, cells(table, self.target), weight, offset, exposure))

    @property
    def beside(self) -> dict[str, str | None]:
        """Option → the column that it names."""
        return {"--weight": self.weight, "--offset": self.offset, "--exposure": self.exposure}

    @property
    def _roles(self) -> dict[str, Sequence[str]]:
        parts = {option: [name] for option, name in self.beside.items() if name is not None}
        return {"--target": [self.target], **parts, "--drop": self.drop}

    def check(self, table: Any, path: str) -> None:
        """Refuse names of columns that the table does not have."""
        for option, names in (self._roles | {"--categorical": self.categorical}).items():
            tables.check_names(names, table, path, option)

    def features(self, table: Any, path: str) -> Any:
        """The columns to predict from, with notes on those that are doubtful."""
        X = table.drop_columns(sorted({name for names in self._roles.values() for name in names}))
        if not X.column_names:
            raise InputError(f"{path} has no column left to predict {self.target!r} from")
        X = without_dates(X)
        _refuse_kinds(X, path)
        _note_doubts(X, self.categorical)
        return X

    def _complete(self, table: Any, path: str) -> Any:
        """The table without rows whose target is missing, if that was requested."""
        missing = missing_cells(table.column(self.target))
        return table.filter(~missing) if self.ignores(missing, path) else table

    def ignores(self, missing: NDArray[np.bool_], path: str) -> bool:
        """Whether rows are ignored because their target is missing; refused unless that was requested."""
        if not missing.any():
            return False
        counted = f"{missing.sum()} of {len(missing)} rows"
        if missing.all():
            raise InputError(f"the target {self.target!r} is missing in every row of {path}")
        if not self.drop_missing:
            raise InputError(
                f"the target {self.target!r} is missing in {counted} of {path}: fill it in, or ignore these rows "
                "with --drop-missing"
            )
        note(f"ignored {counted}, whose target is missing")
        return True


def missing_cells(column: Any) -> NDArray[np.bool_]:
    """Which cells of a column of pyarrow are missing or not a number."""
    return np.asarray(column.is_null(nan_is_null=True).to_numpy(), np.bool_)


def cells(table: Any, name: str) -> NDArray[Any]:
    """A column without gaps as an array: numbers, booleans, or text."""
    series = nw.from_native(table, eager_only=True)[name]
    if series.dtype in (nw.Categorical, nw.Enum, nw.String):
        return np.array(series.cast(nw.String).to_list())
    if series.dtype == nw.Decimal:
        return np.asarray(series.cast(nw.Float64).to_numpy())
    if series.dtype == nw.Boolean or series.dtype.is_numeric():
        return np.asarray(series.to_numpy())
    raise InputError(f"the target {name!r} must hold numbers, booleans or text; got {series.dtype}")


def without_dates(X: Any) -> Any:
    """The table with numbers instead of dates."""
    dates = date_columns(X)
    for name in dates:
        note(f"column {name!r} holds dates: expanded into {listed(part_names(name))}; --drop {name} ignores it")
    return expanded(X, dates) if dates else X


def _note_doubts(X: Any, categorical: Sequence[str]) -> None:
    """Name identifiers, and the cells that keep columns from being numbers, by their rows in the file."""
    from lambdak.table.doubtful_columns import identifier_reason, stray_text
    from lambdak.table.read import read_table

    table = read_table(X)
    for i, name in enumerate(table.names):
        if name in categorical:
            continue
        found, reason = stray_text(table.cells(i)), identifier_reason(table.cells(i))
        if found is not None:
            note(f"{found}: correct or empty such cells; --categorical {name} says that it is text")
        if reason is not None and len(table.names) > 1:
            note(f"column {name!r} looks like an identifier ({reason}): --drop {name} ignores it")


def _refuse_kinds(X: Any, path: str) -> None:
    for name, dtype in nw.from_native(X, eager_only=True).schema.items():
        if dtype.is_temporal() or dtype.is_nested():
            raise InputError(
                f"column {name!r} of {path} holds {dtype}, and not numbers or text: replace it with numbers, such as a "
                f"year, or ignore it with --drop {name!r}"
            )


def numbers(table: Any, name: str, path: str, first_row: int = 0) -> NDArray[np.float64]:
    """A column of finite numbers without gaps; ``first_row`` is where the table begins in its file."""
    values = table.column(name).to_pylist()
    for row, value in enumerate(values, first_row):
        if isinstance(value, bool | str) or value is None or not np.isfinite(value):
            raise InputError(f"column {name!r} of {path} must hold a number in every row; got {value!r} in row {row}")
    return np.array(values, np.float64)


def split_rows(y: NDArray[Any], fraction: float, classes: bool, seed: int) -> tuple[Positions, Positions] | None:
    """Rows to train on, and a random share to test on, by their positions; None if all are trained on."""
    from sklearn.model_selection import train_test_split

    count = round(fraction * len(y))
    if not fraction:
        return None
    if count < FEWEST_TEST_ROWS:
        note(f"no test rows: {count} of {len(y)} rows would be too few for a metric")
        return None
    counts = np.unique(y, return_counts=True)[1] if classes else np.array([])
    strata = y if classes and counts.min() >= 2 and count >= len(counts) else None
    train, test = train_test_split(np.arange(len(y)), test_size=count, random_state=seed, stratify=strata)
    if classes:  # a class that only test rows have could not be learnt
        known = np.isin(y[test], y[train])
        train, test = np.concatenate([train, test[~known]]), test[known]
    return train, test
