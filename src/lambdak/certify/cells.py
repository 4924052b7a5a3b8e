"""The cells that a search for counterexamples puts into a column: those of given rows, and others to try."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.table.category_levels import OTHER
from lambdak.table.cells import LARGEST, Cells
from lambdak.table.column_contract import Column
from lambdak.table.numeric_column import Numeric

EXTREME = 1e300  # a number that a clamped column reads as the end of its range
_BEYOND = 0.2  # of its range, by which random numbers of a column that continues straight leave it on either side
_FAR = 1e3  # ranges beyond its range, where such a column is tried as well
_MOST_NODES = 64  # of a column that are tried, with what is beside and between them

Values = NDArray[np.float64]  # numbers, NaN where one is missing; or positions among levels


@final
@dataclass(frozen=True, eq=False)
class Pool:
    """Cells of one column, as numbers or as positions among ``levels``.

    Attributes
    ----------
    column : Column
        That of the model.
    seen : array of shape (rows,)
        The cells of the rows that a search begins from.
    tried : array of shape (cells,)
        Others: at, beside and between knots, zero, far away, missing; every level, and one that was never seen.
    levels : tuple
        What the positions of a category point at.
    """

    column: Column
    seen: Values
    tried: Values
    levels: tuple[object, ...] = ()

    def cells(self, values: Values) -> Cells:
        """Cells as a table holds them."""
        if self.column.is_number:
            return Cells(self.column.name, values, "number")
        return Cells(self.column.name, values, "text", factors=(values.astype(np.intp), list(self.levels)))

    @property
    def own(self) -> Values:
        """Cells of which a bound on the influence of the column speaks."""
        column = self.column
        if not isinstance(column, Numeric):
            return self.tried
        inside = (self.tried >= column.low) & (self.tried <= column.high)
        return self.tried if column.clamp else self.tried[inside | np.isnan(self.tried)]

    @property
    def several(self) -> bool:
        """Whether not all of these are the same to the model."""
        column = self.column
        if isinstance(column, Numeric):
            return column.low < column.high or column.has_missing
        return len(column.all_names()) > 1


def pool_of(column: Column, cells: Cells) -> Pool:
    """The cells of a column to search with; ``cells`` are those of the given rows."""
    if isinstance(column, Numeric):
        return Pool(column, np.array(cells.numbers()), np.append(numbers_to_try(column), np.nan))
    codes, seen = cells.levels()
    known = [level for level in column.known_levels if level is not OTHER]
    levels = tuple(dict.fromkeys([*seen, *known, None]))
    levels = (*levels, _unseen(levels))
    return Pool(column, codes.astype(np.float64), np.arange(float(len(levels))), levels)


def moves(column: Column) -> bool:
    """Whether a change of its numbers can change a prediction."""
    return isinstance(column, Numeric) and (column.low < column.high or (not column.clamp and column.n_steps > 0))


def scale_of(column: Numeric) -> float:
    """The length of its range; of a column that was constant in training that of a step, or 1 if it has none."""
    return float(column.high - column.low) or float((*column.lengths(), 1.0)[0])


def _unseen(levels: Collection[object]) -> object:
    """A level that is none of these."""
    if any(isinstance(level, str) for level in levels):
        return next(name for i in range(len(levels) + 1) if (name := f"never seen {i}") not in levels)
    return next(number for number in range(len(levels) + 1) if number not in levels)


def nodes_of(column: Numeric) -> Float64Array:
    """Knots, or ends, and the numbers half-way between them, increasing."""
    nodes = np.unique([*column.nodes(), *column.corners()])
    chosen = nodes[np.unique(np.linspace(0, len(nodes) - 1, _MOST_NODES).astype(int))]
    return np.unique([*chosen, *(0.5 * chosen[1:] + 0.5 * chosen[:-1])])


def numbers_to_try(column: Numeric) -> Float64Array:
    """Numbers at which a column could break a claim."""
    nodes, span = nodes_of(column), column.high - column.low
    beside = [np.nextafter(nodes, -np.inf), np.nextafter(nodes, np.inf)]
    far = [-EXTREME, EXTREME] if column.clamp else [column.low - _FAR * span, column.high + _FAR * span]
    near = [column.low - span, column.low - _BEYOND * span, column.high + _BEYOND * span, column.high + span]
    tiny = [-5e-324, -0.0, 0.0, 5e-324]
    return readable(np.array([*nodes, *np.concatenate(beside), *far, *near, *tiny, column.median]))


def random_numbers(rng: np.random.Generator, column: Numeric, count: int) -> Float64Array:
    """Numbers spread over its range, some beyond it."""
    beyond = _BEYOND * (column.high - column.low)
    low, high = readable(np.array([column.low - beyond, column.high + beyond]))
    share = rng.random(count)
    return np.asarray(low * (1.0 - share) + high * share)


def readable(numbers: Float64Array) -> Float64Array:
    """Numbers that a table may hold: what is too large becomes the largest one."""
    return np.clip(numbers, -LARGEST, LARGEST)
