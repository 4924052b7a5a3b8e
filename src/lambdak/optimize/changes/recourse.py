"""Changes of rows that reach a target: as data, as a table, and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from lambdak.model.outward import downwards
from lambdak.table.category_levels import shown
from lambdak.table.frames import make_frame
from lambdak.table.shown import Shown

_SAME = 1e-9  # a gap that is no difference


@final
@dataclass(frozen=True, eq=False, repr=False)
class Change(Shown):
    """The cheapest change of one row that was found.

    Attributes
    ----------
    row, number : int
        Position of the row, and of the change among several.
    goal : str
        What is to be reached, in words.
    before, after : number or class
        What is predicted now, and after the change; ``after`` is None if there is none.
    cells : mapping
        The row as it is.
    changes : mapping or None
        The new cells of the columns that change; None if no change was found.
    cost, bound : float
        What it costs, and what any change costs at least, proven. Both are infinite if no change reaches the goal.
    status : str
        "optimal", "time limit", "interrupted", "stalled" (rounding allows no smaller gap) or "infeasible".
    seconds : float
    reachable : float or None
        If no change reaches the goal, the prediction closest to it that was found.
    categories : frozenset of str
        Columns whose cells have no order.
    """

    row: int
    number: int
    goal: str
    before: Any
    after: Any
    cells: Mapping[str, Any]
    changes: Mapping[str, Any] | None
    cost: float
    bound: float
    status: str
    seconds: float
    reachable: float | None = None
    categories: frozenset[str] = frozenset()

    @property
    def gap(self) -> float:
        """By how much another change can be cheaper at most, relative to the cost."""
        if not np.isfinite(self.cost):
            return 0.0 if self.status == "infeasible" else np.inf
        return (self.cost - self.bound) / self.cost if self.cost else 0.0

    @property
    def point(self) -> dict[str, Any]:
        """The row after the change."""
        return {**self.cells, **(self.changes or {})}

    def __str__(self) -> str:
        if self.changes is None and self.status == "infeasible":
            best = "" if self.reachable is None else f", and {_prediction(self.reachable)} at best of what was found"
            now = f"now {_prediction(self.before)}{best}"
            return f"no change of these columns reaches the goal that {self.goal}: proven; {now}"
        if self.changes is None:
            return (
                f"no change was found with which {self.goal} ({self.status}); it costs at least {downwards(self.bound)}"
            )
        if not self.changes:
            return f"{self.goal}, as it is"
        moves = " and ".join(self._move(name, new) for name, new in self.changes.items())
        proof = "no change is cheaper" if self.gap <= _SAME else f"no change costs less than {downwards(self.bound)}"
        then = f"now {_prediction(self.before)}, then {_prediction(self.after)}"
        return f"{self.goal} if {moves} ({then}; cost {self.cost:.4g}, {proof})"

    def _move(self, name: str, new: Any) -> str:
        old = self.cells[name]
        if name in self.categories:
            return f"{name} changes from {shown(old)} to {shown(new)}"
        return f"{name} {'rises' if new > old else 'falls'} from {_cell(old)} to {_cell(new)}"


def _cell(value: Any) -> str:
    """A cell as text: a number with all its digits, as that is what was checked."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return repr(value) if isinstance(value, str) else shown(value)
    return f"{int(value):,}" if value == round(value) and abs(value) < 1e15 else f"{value:,}"


def _prediction(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else _cell(value)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Recourse(Shown):
    """Changes of rows, the cheapest of each row first."""

    changes: tuple[Change, ...]
    columns: tuple[str, ...]
    _like: Any = field(repr=False, default=None)

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __getitem__(self, i: int) -> Change:
        return self.changes[i]

    def __str__(self) -> str:
        return "\n".join(f"row {change.row}: {change}" for change in self.changes)

    def to_frame(self) -> Any:
        """One line for each change, with the whole row after it, in a frame of the library that the rows came from."""
        table: dict[str, list[Any]] = {"row": [change.row for change in self.changes]}
        table["change"] = [change.number for change in self.changes]
        table |= {name: [change.point[name] for change in self.changes] for name in self.columns}
        table["changed"] = [", ".join(change.changes or ()) for change in self.changes]
        for name in ("before", "after", "cost", "bound", "gap", "status"):
            table[name] = [getattr(change, name) for change in self.changes]
        return make_frame(_distinct(table, self.columns), self._like)


def _distinct(table: dict[str, list[Any]], columns: tuple[str, ...]) -> dict[str, Any]:
    """Columns of results that have the name of a column of the user's get an underscore."""
    found: dict[str, Any] = {}
    for k, (name, values) in enumerate(table.items()):
        unique = name
        while unique in found or (unique in columns and not 2 <= k < 2 + len(columns)):
            unique += "_"
        found[unique] = _array(values)
    return found


def _array(values: list[Any]) -> Any:
    array = np.empty(len(values), object)
    array[:] = values
    return array
