"""A row to decide about, the columns of it that may move, and what it costs to move them.

A row has cells by column name, and copies of it with other cells are what ``predict`` says they are. Its columns are
axes with the row's own coordinates among their points. A move costs so much for each unit of a number, or for another
level of a category: on such an axis the price is affine between vertices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_positive
from lambdak._types import Float64Array
from lambdak.model import Model
from lambdak.model.rows import column_named, given_table
from lambdak.optimize.axes import Axis, make_axis
from lambdak.optimize.scores import is_pencil
from lambdak.table.category_levels import OTHER
from lambdak.table.column_contract import Column
from lambdak.table.read import Table, named_array
from lambdak.table.rows import optional_rows

_OUTWARDS = 1e-12  # relative: covers the rounding of prices
_UNITS = 8 * float(np.finfo(np.float64).eps)  # covers the rounding of coordinates
WAYS = ("up", "down")


@final
@dataclass(frozen=True, eq=False)
class DecidedRow:
    """One row of a table, and the model that predicts it.

    Attributes
    ----------
    model : Model
    cells : mapping of str to cell
        Numbers and levels by column name; None where a cell is missing.
    offset : float
        Added to every raw score.
    """

    model: Model
    cells: Mapping[str, Any]
    offset: float = 0.0

    def raw(self, changes: Sequence[Mapping[str, Any]]) -> Float64Array:
        """Raw scores (changes, outputs) of the row with other cells, as ``predict`` computes them."""
        names = self.model.encoder.feature_names
        cells = np.empty((len(changes), len(names)), object)
        for cell, change in zip(cells, changes, strict=True):
            cell[:] = [change.get(name, self.cells[name]) for name in names]
        offset = np.full(len(changes), self.offset) if self.offset else None
        return np.asarray(self.model.raw(named_array(cells, names), offset), np.float64).reshape(len(changes), -1)


def read_rows(model: Model, X: Any, offset: ArrayLike | None = None) -> list[DecidedRow]:
    """The rows of a table; a mapping or a one-dimensional array is one row."""
    table = given_table(model, X)
    positions = model.encoder.positions(table)
    columns = [
        _cells(column, table, position) for column, position in zip(model.encoder.columns, positions, strict=True)
    ]
    offsets = optional_rows(offset, table.shape[0], "offset")
    names = model.encoder.feature_names
    return [
        DecidedRow(model, dict(zip(names, cells, strict=True)), 0.0 if offsets is None else float(offsets[i]))
        for i, cells in enumerate(zip(*columns, strict=True))
    ]


def read_row(model: Model, row: Any, offset: float | None = None) -> DecidedRow:
    """A mapping, a one-dimensional array, or a table with one row."""
    rows = read_rows(model, row, None if offset is None else np.ravel(np.asarray(offset, np.float64)))
    if len(rows) != 1:
        raise ValueError(f"row must be a single row; got {len(rows)} rows: pass X.iloc[[i]] or X[i : i + 1]")
    return rows[0]


def _cells(column: Column, table: Table, position: int) -> list[Any]:
    """Plain cells of one column: floats or levels, None where one is missing."""
    cells = table.cells(position)
    if column.is_number:
        return [None if np.isnan(number) else number for number in cells.numbers().tolist()]
    codes, levels = cells.levels()
    return [levels[code] for code in codes.tolist()]


def model_of(model: Any) -> Model:
    """The model of a fitted estimator, or itself."""
    fitted = getattr(model, "model_", model)
    if is_pencil(model):
        raise TypeError(
            f"model must be a fitted estimator or its model_, which know the rows of training; got "
            f"{type(model).__name__}: lambdak.optimize.minimize takes it, and Pencil.inverse solves f(z) = value"
        )
    if not isinstance(fitted, Model):
        raise TypeError(f"model must be a fitted estimator or its model_; got {type(model).__name__}")
    return fitted


@final
@dataclass(frozen=True, eq=False)
class Price:
    """Σ_i, or with ``largest`` max_i, of unit_i |x_i − start_i|; of a category unit_i if its level is another one.

    Attributes
    ----------
    start, unit : arrays of shape (axes,)
        The row's own coordinates; unit is positive.
    levels, whole : arrays of shape (axes,)
        Whether an axis is a category, and whether it has whole coordinates only.
    largest : bool
    """

    start: Float64Array
    unit: Float64Array
    levels: NDArray[np.bool_]
    whole: NDArray[np.bool_]
    largest: bool = False

    def parts(self, x: Float64Array) -> Float64Array:
        """What each axis costs, (n, axes)."""
        moved = np.abs(x - self.start)
        return np.asarray(self.unit * np.where(self.levels, moved != 0, moved))

    def part(self, i: int, x: Float64Array) -> Float64Array:
        """What axis i costs at coordinates of any shape."""
        moved = np.abs(x - self.start[i])
        return np.asarray(self.unit[i] * ((moved != 0) if self.levels[i] else moved))

    def outwards(self, x: Float64Array, i: Any = slice(None)) -> Float64Array:
        """Coordinates of axes ``i`` with whole ones rounded away from the row's own."""
        start = self.start[i]
        return np.asarray(np.where(self.whole[i], np.where(x >= start, np.ceil(x), np.floor(x)), x))

    def total(self, x: Float64Array) -> Float64Array:
        """What points (n, axes) cost, (n,)."""
        return self.joined(self.parts(x))

    def joined(self, parts: Float64Array) -> Float64Array:
        """The price from those of the axes, (n, axes)."""
        return np.asarray(parts.max(axis=1, initial=0.0) if self.largest else parts.sum(axis=1))

    def least(self, low: Float64Array, high: Float64Array) -> Float64Array:
        """What each axis costs at least in boxes, (n, axes)."""
        return self.parts(np.clip(self.start, low, high))

    def affordable(self, low: Float64Array, high: Float64Array, budget: float) -> tuple[Float64Array, Float64Array]:
        """The boxes without what costs more than the budget; a box of which nothing is left has low > high."""
        if not np.isfinite(budget):
            return low, high
        least = self.least(low, high)
        rest = 0.0 if self.largest else least.sum(axis=1, keepdims=True) - least
        room = (budget * (1 + _OUTWARDS) - rest) / self.unit + _UNITS * np.abs(self.start)
        first, last = self.start - room, self.start + room
        first, last = np.where(self.whole, np.ceil(first), first), np.where(self.whole, np.floor(last), last)
        stay = self.levels & (room < 1 - _OUTWARDS)
        first, last = np.where(stay, self.start, first), np.where(stay, self.start, last)
        free = self.levels & ~stay
        return np.where(free, low, np.maximum(low, first)), np.where(free, high, np.minimum(high, last))


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

    def cells(self, x: Float64Array) -> dict[str, Any]:
        """The user's cells of the columns that moved."""
        moved = zip(self.axes, self.start.tolist(), x.tolist(), strict=True)
        return {axis.name: axis.cell(coordinate) for axis, start, coordinate in moved if coordinate != start}


def movable(row: DecidedRow, names: Sequence[str]) -> list[Column]:
    """Columns of these names whose cell in the row is not missing."""
    columns = [row.model.encoder.columns[column_named(row.model, name)] for name in names]
    return [column for column in columns if row.cells[column.name] is not None]


def axis_around(column: Column, cell: Any, bounds: Any = None, whole: bool = False, way: str | None = None) -> Axis:
    """The axis of a column around the row's own cell, which bounds never exclude; ``way`` allows one direction."""
    if not column.is_number:
        return _levels_around(column, cell, bounds, way)
    axis = make_axis([column], bounds, whole)
    if whole and is_broken(cell):
        raise ValueError(f"column {column.name!r} must hold a whole number in every row, as it is in whole; got {cell}")
    points = np.union1d(axis.points, [cell])
    points = points[points >= cell] if way == "up" else points[points <= cell] if way == "down" else points
    return Axis(column.name, points, (), whole)


def is_broken(cell: Any) -> bool:
    """Whether a cell is a number that is not whole."""
    return isinstance(cell, float) and not cell.is_integer()


def _levels_around(column: Column, cell: Any, bounds: Any, way: str | None) -> Axis:
    """The row's own level first."""
    if way is not None:
        raise ValueError(f"column {column.name!r} is a category, which has no direction: take it out of directions")
    others = [level for level in _others(column, bounds) if level != cell and level is not OTHER]
    return Axis(column.name, np.arange(1.0 + len(others)), (cell, *others), True)


def _others(column: Column, bounds: Any) -> Sequence[Any]:
    if all(level is None or level is OTHER for level in column.known_levels):
        return ()
    return make_axis([column], bounds, True).levels


def spreads(model: Model, given: Mapping[Any, float] | None) -> dict[str, float]:
    """The spread of every column, some of them the user's."""
    found = {column.name: column.spread for column in model.encoder.columns}
    for name, value in (given or {}).items():
        known_name = model.encoder.feature_names[column_named(model, name)]
        found[known_name] = check_positive(value, f"scale of column {known_name!r}")
    return found
