"""Distances to a change of a decision: where one column alone first changes it, and what was found.

One column alone: pieces to its left and to its right that cannot change the decision are proven so, one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.model.outward import downwards
from lambdak.optimize.changes.goals import Region
from lambdak.optimize.relaxation import Boxes
from lambdak.table.category_levels import shown
from lambdak.table.frames import make_frame
from lambdak.table.shown import Shown

_SHOWN = 6  # columns that are named in words
_PARTS = 8  # into which a piece is divided
_ROUNDS = 60
_CLOSE = 1e-9  # relative to the range of the column


@final
@dataclass(frozen=True, eq=False, repr=False)
class ColumnMargin(Shown):
    """How far one column may move alone.

    Attributes
    ----------
    column : str
    cell : number or level
        The row's own.
    safe : tuple
        Two numbers: strictly between them no number changes the decision, proven; infinite where none does on that
        side. Of a category, the levels with which it does not change.
    lower : float
        No smaller move changes it; infinite if none does at all. Another level is a move of 1.
    upper : float
        The smallest move that was found to change it; infinite if none was.
    flip : number, level or None
        The cell with which ``predict`` decides otherwise.
    is_number : bool
        Whether it is a number, not a category; of a category, levels that were seen in training count.
    spread : float
        What distances are relative to where columns are compared.
    """

    column: str
    cell: Any
    safe: tuple[Any, ...]
    lower: float
    upper: float
    flip: Any
    is_number: bool
    spread: float = 1.0

    def __str__(self) -> str:
        if np.isinf(self.lower):
            what = "value" if self.is_number else "known level"
            return f"{self.column} (now {shown(self.cell)}): no {what} of it changes the decision"
        if self.is_number:
            flip = "" if self.flip is None else f", which changes at {self.flip:.6g}"
            return (
                f"{self.column} (now {shown(self.cell)}): may move by {downwards(self.lower)} without changing the "
                f"decision{flip}"
            )
        return f"{self.column} (now {shown(self.cell)}): another level, {shown(self.flip)}, changes the decision"


@final
@dataclass(frozen=True, eq=False, repr=False)
class JointMargin(Shown):
    """How far a row may move: each column alone, and all together.

    Attributes
    ----------
    row : int
    prediction : number or class
        Of the row as it is.
    goal : str
        What the changed decision would be, in words.
    columns : tuple of ColumnMargin
    lower : float
        While no column moves by this many spreads, or more, the decision stays, proven. Infinite: it always does.
    upper : float
        A row at this distance changes it; infinite if none was found.
    cells : mapping or None
        The cells of that row that differ.
    status : str
        "optimal" if the bounds are as close as was asked for, "never" if no row changes it, or why the search ended
        before: "time limit", "interrupted", or "stalled", if rounding allows no more.
    """

    row: int
    prediction: Any
    goal: str
    columns: tuple[ColumnMargin, ...]
    lower: float
    upper: float
    cells: Mapping[str, Any] | None
    status: str

    def __str__(self) -> str:
        if np.isinf(self.lower):
            first = "no change of these columns changes the decision: proven"
        else:
            first = f"if no column moves by {downwards(self.lower)} of its spread, the decision stays: proven"
        found = "" if np.isinf(self.upper) else f"; a row at a distance of {self.upper:.4g} changes it"
        ordered = sorted(self.columns, key=lambda margin: margin.lower / margin.spread)
        more = [f"  and {len(ordered) - _SHOWN} more columns"] if len(ordered) > _SHOWN else []
        return "\n".join([f"row {self.row}: {first}{found}", *(f"  {margin}" for margin in ordered[:_SHOWN]), *more])


@final
@dataclass(frozen=True, eq=False, repr=False)
class Margins(Shown):
    """The margins of some rows."""

    rows: tuple[JointMargin, ...]
    _like: Any = field(repr=False, default=None)

    @property
    def lower(self) -> Any:
        """Proven distance of all columns together, (rows,)."""
        return np.array([margin.lower for margin in self.rows])

    @property
    def upper(self) -> Any:
        """Distance at which the decision was found to change, (rows,)."""
        return np.array([margin.upper for margin in self.rows])

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[JointMargin]:
        return iter(self.rows)

    def __getitem__(self, i: int) -> JointMargin:
        return self.rows[i]

    def __str__(self) -> str:
        return "\n".join(map(str, self.rows))

    def to_frame(self) -> Any:
        """One line for each row and column, and one for all columns together, with the distances."""
        lines = [
            line
            for margin in self.rows
            for line in (
                (margin.row, "all together, in spreads", None, margin.lower, margin.upper, _cells(margin.cells)),
                *((margin.row, c.column, shown(c.cell), c.lower, c.upper, _flip(c.flip)) for c in margin.columns),
            )
        ]
        names = ("row", "column", "cell", "lower", "upper", "changes_at")
        return make_frame({name: _array([line[k] for line in lines]) for k, name in enumerate(names)}, self._like)


def _cells(cells: Mapping[str, Any] | None) -> str | None:
    return None if cells is None else ", ".join(f"{name}={shown(cell)}" for name, cell in cells.items())


def _flip(cell: Any) -> str | None:
    return None if cell is None else shown(cell)


def _array(values: list[Any]) -> Any:
    array = np.empty(len(values), object)
    array[:] = values
    return array


class Crossing(NamedTuple):
    """No coordinate before ``safe`` reaches the goal, and ``found`` does, or is None.

    ``safe`` is infinite if no coordinate does on this side.
    """

    safe: float
    found: float | None


def first_crossing(region: Region, start: float, way: int) -> Crossing:
    """The first coordinate that reaches the goal, from ``start`` on in one direction (1 or -1)."""
    points = region.axes[0].points
    ends = points[points >= start] if way > 0 else points[points <= start][::-1]
    if len(ends) < 2:
        return Crossing(way * np.inf, None)
    whole = region.axes[0].whole
    pieces, close = _Pieces(region, way, whole), 1.0 if whole else _CLOSE * (points[-1] - points[0])
    near, far = ends[:-1], ends[1:]
    may, does = pieces.look(near, far)
    for _ in range(_ROUNDS):
        if not may.any():
            return Crossing(way * np.inf, None)
        k = int(np.argmax(may))
        near, far, may, does = near[k:], far[k:], may[k:], does[k:]  # nothing is reached before
        if does[0] and abs(far[0] - near[0]) <= close:
            near = far if whole else near  # nothing is between two whole numbers
            break
        inner = np.linspace(near[0], far[0], _PARTS + 1)
        inner = np.unique(np.rint(inner))[::way] if whole else inner
        if not (np.diff(inner) * way > 0).all():
            break
        more, there = pieces.look(inner[:-1], inner[1:])
        near, far = np.append(inner[:-1], near[1:]), np.append(inner[1:], far[1:])
        may, does = np.append(more, may[1:]), np.append(there, does[1:])
    return Crossing(float(near[0]), float(far[np.argmax(does)]) if does.any() else None)


class _Pieces(NamedTuple):
    """Pieces of a column: whether they may reach a goal anywhere, and whether they do at their far end."""

    region: Region
    way: int
    whole: bool

    def look(self, near: Float64Array, far: Float64Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether pieces may reach the goal anywhere, (n,), and whether they do at their far end, (n,)."""
        low, high = (near, far) if self.way > 0 else (far, near)
        does = self.region.excess(far[:, None]) >= 0
        may = may_reach(self.region, low[:, None], high[:, None])
        if self.whole:
            may &= high - low > 1.0  # of a piece that is no longer, the near end was looked at before
        return may | does, np.asarray(does)


def may_reach(region: Region, low: Float64Array, high: Float64Array) -> NDArray[np.bool_]:
    """Which boxes (n, axes) may hold a point that reaches the goal."""
    uppers = region.uppers(Boxes.between(region.axes, low, high))
    most = [upper.base + sum(part.max(axis=1) for part in upper.parts) for upper in uppers]
    return np.asarray((np.minimum.reduce(most) if region.every else np.maximum.reduce(most)) >= 0)
