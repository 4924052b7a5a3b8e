"""The columns of a row that may move, as axes with the row's own coordinates among their points, and their spreads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_positive
from lambdak._types import Float64Array
from lambdak.model import Model
from lambdak.model.rows import column_named
from lambdak.optimize.axes import Axis, make_axis
from lambdak.optimize.changes.decisions import Goal
from lambdak.optimize.changes.prices import Price
from lambdak.optimize.changes.rows import Row
from lambdak.table.category_levels import OTHER
from lambdak.table.column_types import Category, Column
from lambdak.table.linear_column import Linear
from lambdak.table.numeric_column import Numeric

WAYS = ("up", "down")


@final
@dataclass(frozen=True, eq=False)
class Surroundings:
    """Axes around a row, and where the row is on them, (axes,)."""

    axes: tuple[Axis, ...]
    start: Float64Array

    @property
    def low(self) -> Float64Array:
        """The low ends, (axes,)."""
        return np.array([axis.low for axis in self.axes])

    @property
    def high(self) -> Float64Array:
        """The high ends, (axes,)."""
        return np.array([axis.high for axis in self.axes])

    def price(self, units: Mapping[str, float], largest: bool) -> Price:
        """What moves cost, from the price of a unit of each column."""
        return Price(
            self.start,
            np.array([units[axis.name] for axis in self.axes]),
            np.array([bool(axis.levels) for axis in self.axes]),
            np.array([axis.whole for axis in self.axes]),
            largest,
        )

    def reached(self, row: Row, goal: Goal, points: Float64Array) -> NDArray[np.bool_]:
        """Whether ``predict`` says that the row at points (n, axes) reaches a goal, (n,)."""
        return goal.reached(row.raw([self.cells(x) for x in points]))

    def cells(self, x: Float64Array) -> dict[str, Any]:
        """The user's cells of the columns that moved."""
        moved = zip(self.axes, self.start.tolist(), x.tolist(), strict=True)
        return {axis.name: axis.cell(own) for axis, start, own in moved if own != start}


def movable(row: Row, names: Sequence[str]) -> list[Column]:
    """Columns of these names whose cell in the row is not missing."""
    columns = [row.model.encoder.columns[column_named(row.model, name)] for name in names]
    return [column for column in columns if row.cells[column.name] is not None]


def axis_around(column: Column, cell: Any, bounds: Any = None, whole: bool = False, way: str | None = None) -> Axis:
    """The axis of a column around the row's own cell, which bounds never exclude; ``way`` allows one direction."""
    if isinstance(column, Category):
        return _levels_around(column, cell, bounds, way)
    own = make_axis([column], bounds, whole)
    if whole and cell != np.round(cell):
        raise ValueError(f"column {column.name!r} must hold a whole number in every row, as it is in whole; got {cell}")
    points = np.union1d(own.points, [cell])
    points = points[points >= cell] if way == "up" else points[points <= cell] if way == "down" else points
    return Axis(column.name, points, (), whole)


def _levels_around(column: Category, cell: Any, bounds: Any, way: str | None) -> Axis:
    """The row's own level first."""
    if way is not None:
        raise ValueError(f"column {column.name!r} is a category, which has no direction: take it out of directions")
    others = [level for level in _others(column, bounds) if level != cell and level is not OTHER]
    return Axis(column.name, np.arange(1.0 + len(others)), (cell, *others), True)


def _others(column: Category, bounds: Any) -> Sequence[Any]:
    if all(level is None or level is OTHER for level in column.levels):
        return ()
    return make_axis([column], bounds, True).levels


def spread(column: Column) -> float:
    """The spread of a column in training: of a curve the middle half of its knots, of a line its deviation."""
    if not isinstance(column, Numeric):
        return 1.0
    nodes = column.nodes()
    own = column.scale if isinstance(column, Linear) else float(np.subtract(*np.quantile(nodes, [0.75, 0.25])))
    return own or float(np.ptp(nodes)) or 1.0


def spreads(model: Model, given: Mapping[Any, float] | None) -> dict[str, float]:
    """The spread of every column, some of them the user's."""
    found = {column.name: spread(column) for column in model.encoder.columns}
    for name, value in (given or {}).items():
        own = model.encoder.feature_names[column_named(model, name)]
        found[own] = check_positive(value, f"scale of column {own!r}")
    return found
