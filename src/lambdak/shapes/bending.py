"""Convex and Concave: "every further unit counts more (less) than the one before"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np

from lambdak.pencil.statements import Combination, bends
from lambdak.shapes.contract import Draw, Key, Points, Shape
from lambdak.table.column_contract import Column


@dataclass(frozen=True, init=False, repr=False)
class _Bending(Shape):
    columns: tuple[Key, ...]

    sign: ClassVar[int]
    straight: ClassVar[bool] = True
    ordered: ClassVar[bool] = False

    def __init__(self, *columns: Key) -> None:
        object.__setattr__(self, "columns", tuple(columns))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.columns))})"

    @property
    def keys(self) -> tuple[Key, ...]:
        """The columns that the shape is about; none where these are all columns of numbers."""
        return self.columns

    def renamed(self, keys: Sequence[Key]) -> Self:
        """Return the shape about other columns."""
        return type(self)(*keys)

    @classmethod
    def restored(cls, values: Mapping[str, Any]) -> Self:
        """Return the shape of these columns."""
        return cls(*values["columns"])

    def numbers(self, columns: Sequence[Column]) -> tuple[int, ...]:
        """Return the positions of its columns: all columns of numbers if it names none."""
        return self.positions or tuple(i for i, column in enumerate(columns) if column.is_number)

    about = numbers

    def statements(self, columns: Sequence[Column]) -> list[Combination]:
        """Return every change of slope: it is semidefinite."""
        found: list[Combination] = []
        for i in self.numbers(columns):
            column = columns[i]
            changes = bends(column.increments(), column.exact_lengths(), self.sign)
            found += [{column.start + j: q for j, q in factors.items()} for factors in changes]
        return found

    def joined(self, columns: Sequence[Column]) -> list[tuple[int, ...]]:
        """Return each of its columns alone."""
        return [(i,) for i in self.numbers(columns)]

    def bent(self, column: Column) -> tuple[int, int]:
        """Return that all slopes change one way."""
        return 0, self.sign

    def contradicts(self, other: Shape, names: Sequence[str]) -> str:
        """Return that the same columns cannot bend both ways."""
        if not isinstance(other, _Bending) or other.sign == self.sign:
            return ""
        if not (self.columns and other.columns):
            return "one of them is about all columns of numbers: name its columns, as in Convex('age')"
        both = [names[i] for i in {*self.positions} & {*other.positions}]
        if both:
            return f"what bends both ways is straight: keep one of the two for {', '.join(both)}"
        return ""

    @property
    def factors(self) -> tuple[float, ...]:
        """The mean of two rows is not below the row in the middle; or not above it."""
        return 0.5 * self.sign, 0.5 * self.sign, -self.sign

    def points(self, columns: Sequence[Column], draw: Draw) -> Points:
        """Return both ends of lines through its columns, and their middle, which is a number without rounding."""
        first, last, middle = {}, {}, {}
        for i in self.numbers(columns):
            ends = np.array([draw(i), draw(i)])
            grid = 2.0 * np.spacing(np.abs(ends).max(axis=0))
            first[i], last[i] = np.rint(ends / grid) * grid
            middle[i] = 0.5 * first[i] + 0.5 * last[i]
        return first, last, middle

    def words(self, names: Sequence[str], what: str) -> str:
        """Return what a further unit adds, compared with the one before."""
        chosen, least = [names[i] for i in self.positions], "least" if self.sign > 0 else "most"
        step = f"unit of {chosen[0]}" if len(chosen) == 1 else f"step along {' and '.join(chosen) or 'any numbers'}"
        return f"every further {step} adds at {least} as much to the raw score as the one before ({self.kind})"


@final
@dataclass(frozen=True, init=False, repr=False)
class Convex(_Bending):
    """Say "every further unit counts at least as much as the one before", in these columns together.

    Without names it is about all columns of numbers.

    >>> Convex()
    Convex()
    """

    sign: ClassVar[int] = 1
    end: ClassVar[int] = 1
    kind: ClassVar[str] = "convex"
    method: ClassVar[str] = (
        "the raw score must be the last eigenvalue, its columns must continue straight beyond the training "
        "range, and all changes of slope must be positive semidefinite; value is the smallest of their eigenvalues"
    )


@final
@dataclass(frozen=True, init=False, repr=False)
class Concave(_Bending):
    """Say "every further unit counts at most as much as the one before", in these columns together.

    Without names it is about all columns of numbers.

    >>> Concave() == Concave()
    True
    """

    sign: ClassVar[int] = -1
    end: ClassVar[int] = -1
    kind: ClassVar[str] = "concave"
    method: ClassVar[str] = (
        "the raw score must be the first eigenvalue, its columns must continue straight beyond the training "
        "range, and all changes of slope must be negative semidefinite; value is minus the largest of their eigenvalues"
    )
