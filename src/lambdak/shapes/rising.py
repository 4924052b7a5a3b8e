"""Rising and Falling: "the prediction never falls as this column rises"; numbers, or categories with an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Self, final

import numpy as np

from lambdak.pencil.statements import Combination, rises
from lambdak.shapes.contract import Draw, OneColumn, Points, Shape
from lambdak.table.category_levels import OTHER, shown
from lambdak.table.column_contract import Column

_METHOD = (
    "all increment matrices, from knot to knot, must be positive semidefinite; value is the smallest of "
    "their eigenvalues; missing cells are ignored"
)


@dataclass(frozen=True, repr=False)
class Monotone(OneColumn):
    """What Rising and Falling share.

    Attributes
    ----------
    column : str or int
        Its name or position.
    order : tuple of levels, optional
        Of a category, from the lowest level to the highest; None takes the order of a table that knows one, as ordered
        categories of pandas do. Missing cells, pooled and unseen levels are in no order.
    """

    order: tuple[object, ...] | None = None

    sign: ClassVar[int]
    numeric: ClassVar[bool] = False
    kind: ClassVar[str] = "monotone"
    method: ClassVar[str] = _METHOD

    def __post_init__(self) -> None:
        if isinstance(self.order, str) or not (self.order is None or isinstance(self.order, Sequence)):
            raise TypeError(f"order must be a list of levels, from the lowest to the highest; got {self.order!r}")
        if self.order is not None:
            object.__setattr__(self, "order", tuple(self.order))

    def placed(self, columns: Sequence[Column]) -> Self:
        """Return the shape with a position for the name, and the order of a category's levels."""
        found = super().placed(columns)
        column = columns[found.positions[0]]
        if column.is_number:
            if self.order is not None:
                raise ValueError(f"{self!r} must have no order, because {column.name!r} is a column of numbers")
            return found
        order = self.order or column.order
        known = [level for level in column.known_levels if level is not None and level is not OTHER]
        if not order:
            raise ValueError(
                f"{self!r} needs numbers or an order, and {column.name!r} is a category: give its levels from the "
                f"lowest to the highest, {type(self).__name__}({self.column!r}, order={known!r}), or make it an "
                "ordered category"
            )
        unknown = [level for level in known if level not in order]
        if unknown or len({*order}) < len(order):
            raise ValueError(f"order of {column.name!r} must name every level once; got {list(order)} for {known}")
        return replace(found, order=tuple(level for level in order if level in known))

    def statements(self, columns: Sequence[Column]) -> list[Combination]:
        """Return every step from a cell to the next: it adds a semidefinite matrix."""
        column = columns[self.positions[0]]
        if self.order is None:
            steps = rises(column.increments(), self.sign)
            return [{column.start + j: q for j, q in factors.items()} for factors in steps]
        sign, places = Fraction(self.sign), self._places(column)
        return [{column.start + low: -sign, column.start + high: sign} for low, high in pairwise(places)]

    def _places(self, column: Column) -> list[int]:
        """Where the levels are among those of the column, from the lowest to the highest."""
        return [column.known_levels.index(level) for level in self.order or ()]

    def joined(self, columns: Sequence[Column]) -> list[tuple[int, ...]]:
        """Return its column alone."""
        return [self.positions]

    def bent(self, column: Column) -> tuple[int, int] | None:
        """Return that all steps go one way; None for levels."""
        return (self.sign, 0) if self.order is None else None

    def contradicts(self, other: Shape, names: Sequence[str]) -> str:
        """Return that a column cannot both rise and fall."""
        if isinstance(other, Monotone) and other.positions == self.positions and other != self:
            name = names[self.positions[0]]
            if other.sign != self.sign:
                return (
                    f"column {name!r} cannot both rise and fall: keep one of the two, or MaxInfluence({name!r}, 0) if "
                    "it is to do nothing"
                )
            return f"levels of {name!r} have one order: keep one of the two"
        return ""

    def words(self, names: Sequence[str], what: str) -> str:
        """Return that it never falls, or never rises."""
        never = f"{what} never {'falls' if self.sign > 0 else 'rises'} as {names[self.positions[0]]} rises"
        return never + (f" from {' to '.join(map(shown, self.order))}" if self.order else "")

    @property
    def factors(self) -> tuple[float, ...]:
        """The second of two rows is not below the first; or not above it."""
        return -self.sign, self.sign

    def points(self, columns: Sequence[Column], draw: Draw) -> Points:
        """Return pairs of rows that differ in one cell."""
        (i,) = self.positions
        first, last = draw(i), draw(i)
        if self.order is None:
            low, high = np.sort([first, last], axis=0)
            return {i: low}, {i: high}
        places = np.array(self._places(columns[i]), np.float64)
        ranks = np.sort([first, last], axis=0).astype(np.intp) % len(places)
        low, high = places[np.sort(ranks, axis=0)]
        return {i: low}, {i: high}


@final
@dataclass(frozen=True, repr=False)
class Rising(Monotone):
    """Say "the prediction never falls as this column rises".

    >>> Rising("rating", order=["C", "B", "A"])
    Rising('rating', order=('C', 'B', 'A'))
    """

    sign: ClassVar[int] = 1


@final
@dataclass(frozen=True, repr=False)
class Falling(Monotone):
    """Say "the prediction never rises as this column rises".

    >>> Falling("income") == Falling("income")
    True
    """

    sign: ClassVar[int] = -1
