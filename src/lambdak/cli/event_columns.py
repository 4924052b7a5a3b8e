"""Columns of a table that say when events were, and what was observed of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from numpy.typing import NDArray

from lambdak.cli.dataset import ColumnRoles, Dataset
from lambdak.cli.errors import InputError

if TYPE_CHECKING:
    from lambdak._types import Float64Array


@dataclass(frozen=True)
class EventColumns:
    """The columns of ``--time`` and ``--event``, or of ``--lower`` and ``--upper``, and of ``--entry``."""

    time: str | None = None
    event: str | None = None
    entry: str | None = None
    lower: str | None = None
    upper: str | None = None

    @property
    def named(self) -> dict[str, str]:
        """Option → its column, of those that are given."""
        return {f"--{name}": value for name, value in vars(self).items() if value is not None}

    @property
    def first(self) -> str:
        """The column of times, which stands for the target; refused where the options do not belong together."""
        given = {option for option in self.named if option != "--entry"}
        if given not in ({"--time"}, {"--time", "--event"}, {"--lower", "--upper"}):
            raise typer.BadParameter(
                "--task survival needs --time and --event, or --lower and --upper; "
                f"got {', '.join(sorted(given)) or 'none of them'}",
                param_hint="--task",
            )
        return self.time or self.lower or ""

    def lines(self, table: Any, path: str) -> Float64Array:
        """A line for each row, as :mod:`lambdak.table.event_times` describes."""
        from lambdak.table.event_times import event_lines, interval_lines

        values = {option: _numbers(table, name, path) for option, name in self.named.items()}
        entry = values.get("--entry")
        try:
            if self.lower is not None:
                return interval_lines(values["--lower"], values["--upper"], entry)
            time = values["--time"]
            return event_lines(values.get("--event", np.ones(len(time))), time, entry)
        except ValueError as error:
            raise InputError(f"{path}: {error}") from None


def _numbers(table: Any, name: str, path: str) -> NDArray[np.float64]:
    """A column of numbers or booleans; what is missing is NaN."""
    values = table.column(name).to_pylist()
    for row, value in enumerate(values):
        if isinstance(value, str):
            raise InputError(f"column {name!r} of {path} must hold numbers; got {value!r} in row {row}")
    return np.array([np.nan if value is None else float(value) for value in values])


@dataclass(frozen=True, eq=False)
class EventDataset(Dataset):
    """Rows of a file with what was observed of them as their target."""

    def fit_(self, estimator: Any, **more: Any) -> None:
        """Fit an estimator to the rows."""
        from lambdak.table.event_times import RIGHT

        code, entry, lower, upper = self.y.T
        upper = np.where(code == RIGHT, np.inf, upper)
        estimator.fit(self.rows.X, sample_weight=self.rows.weight, lower=lower, upper=upper, entry=entry, **more)


@dataclass(frozen=True)
class EventRoles(ColumnRoles):
    """Which columns of a table say when events were, and which are ignored."""

    events: EventColumns = EventColumns()

    @property
    def _roles(self) -> dict[str, Sequence[str]]:
        roles = {option: [name] for option, name in self.events.named.items()}
        return roles | {option: names for option, names in super()._roles.items() if option != "--target"}

    def dataset(self, table: Any, path: str) -> EventDataset:
        """The data of a table that was read from a file."""
        from lambdak.cli.dataset import numbers
        from lambdak.table.rows import Rows

        self.check(table, path)
        weight = None if self.weight is None else numbers(table, self.weight, path)
        return EventDataset(Rows(self.features(table, path), self.events.lines(table, path), weight))
