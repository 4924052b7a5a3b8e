"""Rising and Falling: "the prediction never falls as this column rises"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from lambdak.pencil.statements import Combination, rises
from lambdak.shapes.contract import Draw, OneColumn, Points, Shape
from lambdak.table.column_contract import Column

_METHOD = (
    "all increment matrices, from knot to knot, must be positive semidefinite; value is the smallest of "
    "their eigenvalues; missing cells are ignored"
)


@dataclass(frozen=True)
class _Monotone(OneColumn):
    sign: ClassVar[int]
    kind: ClassVar[str] = "monotone"
    method: ClassVar[str] = _METHOD

    def statements(self, columns: Sequence[Column]) -> list[Combination]:
        """Return every step from a number to the next: it adds a semidefinite matrix."""
        (i,) = self.positions
        start = columns[i].start
        steps = rises(columns[i].increments(), self.sign)
        return [{start + j: q for j, q in factors.items()} for factors in steps]

    def joined(self, columns: Sequence[Column]) -> list[tuple[int, ...]]:
        """Return its column alone."""
        return [self.positions]

    def bent(self, column: Column) -> tuple[int, int]:
        """Return that all steps go one way."""
        return self.sign, 0

    def contradicts(self, other: Shape, names: Sequence[str]) -> str:
        """Return that a column cannot both rise and fall."""
        if isinstance(other, _Monotone) and other.positions == self.positions and other.sign != self.sign:
            return (
                f"column {names[self.positions[0]]!r} cannot both rise and fall: keep one of the two, or "
                f"MaxInfluence({names[self.positions[0]]!r}, 0) if it is to do nothing"
            )
        return ""

    def words(self, names: Sequence[str], what: str) -> str:
        """Return that it never falls, or never rises."""
        return f"{what} never {'falls' if self.sign > 0 else 'rises'} as {names[self.positions[0]]} rises"

    @property
    def factors(self) -> tuple[float, ...]:
        """The second of two rows is not below the first; or not above it."""
        return -self.sign, self.sign

    def points(self, columns: Sequence[Column], draw: Draw) -> Points:
        """Return pairs of rows that differ in one number."""
        (i,) = self.positions
        low, high = np.sort([draw(i), draw(i)], axis=0)
        return {i: low}, {i: high}


@final
@dataclass(frozen=True)
class Rising(_Monotone):
    """Say "the prediction never falls as this column rises".

    >>> Rising("income")
    Rising(column='income')
    """

    sign: ClassVar[int] = 1


@final
@dataclass(frozen=True)
class Falling(_Monotone):
    """Say "the prediction never rises as this column rises".

    >>> Falling("income") == Falling("income")
    True
    """

    sign: ClassVar[int] = -1
