"""Complements and Substitutes: "the more of one, the more (the less) the other is worth"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Self, final

import numpy as np

from lambdak.pencil.statements import Combination, rises
from lambdak.shapes.anchored import Anchored
from lambdak.shapes.contract import Draw, Key, Points, Shape
from lambdak.shapes.interactions import Interactions
from lambdak.table.column_contract import Column

_METHOD = (
    "the raw score must be an end of the spectrum; in every pencil the matrices of these columns must be c I + g P "
    "with one diagonal P of zeros and ones, and each g must go one way along its numbers, {} where the raw score is "
    "the last eigenvalue, {} where it is the first: compared in fractions; missing cells are ignored"
)


@dataclass(frozen=True, init=False, repr=False)
class Joint(Shape):
    """What Complements and Substitutes share: two or more columns of numbers, every two of which work together."""

    columns: tuple[Key, ...]

    def __init__(self, *columns: Key) -> None:
        object.__setattr__(self, "columns", tuple(columns))
        if len(columns) < 2:
            raise ValueError(f"{type(self).__name__} must name two columns or more; got {list(columns)}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.columns))})"

    @property
    def keys(self) -> tuple[Key, ...]:
        """The columns that the shape is about."""
        return self.columns

    def renamed(self, keys: Sequence[Key]) -> Self:
        """Return the shape about other columns."""
        return type(self)(*keys)

    @classmethod
    def restored(cls, values: Mapping[str, Any]) -> Self:
        """Return the shape of these columns."""
        return cls(*values["columns"])

    def patterned(self, columns: Sequence[Column]) -> dict[int, list[Combination]]:
        """Return the steps from number to number of each of its columns."""
        found: dict[int, list[Combination]] = {}
        for i in self.positions:
            steps = rises(columns[i].increments(), 1)
            found[i] = [{columns[i].start + j: q for j, q in factors.items()} for factors in steps]
        return found

    def contradicts(self, other: Shape, names: Sequence[str]) -> str:
        """Return that columns that do not interact are worth the same whatever the other is, or that both are asked."""
        if isinstance(other, Interactions):
            apart = next((pair for pair in combinations(self.positions, 2) if not other.allow(pair)), None)
            who = "" if apart is None else f"{names[apart[0]]} and {names[apart[1]]}"
            return who and f"{who} have no group in common, so they do not interact: give them one"
        if isinstance(other, Anchored) and other.cell is None and other.positions[0] in self.positions:
            return "the matrix of a missing cell is free, and all others would be measured from it: anchor a number"
        both = {*self.positions} & {*other.positions} if isinstance(other, Joint) else set()
        if other.joint != self.joint and len(both) > 1:
            who = " and ".join(names[i] for i in sorted(both))
            return f"{who} would be worth the same whatever the other is: keep one of the two, or use Interactions"
        return ""

    @property
    def factors(self) -> tuple[float, ...]:
        """Two rows at opposite corners of a box, minus the two at the others: the first are those in order."""
        return self.joint, self.joint, -self.joint, -self.joint

    def points(self, columns: Sequence[Column], draw: Draw) -> Points:
        """Return all columns high, all low, one of them high, all others high."""
        ends = {i: np.sort([draw(i), draw(i)], axis=0) for i in self.positions}
        turn = np.arange(len(ends[self.positions[0]][0])) % len(ends)  # whose the one is
        high, low = ({i: own[end] for i, own in ends.items()} for end in (1, 0))
        one = {i: np.where(turn == place, high[i], low[i]) for place, i in enumerate(ends)}
        others = {i: np.where(turn == place, low[i], high[i]) for place, i in enumerate(ends)}
        return high, low, one, others

    def words(self, names: Sequence[str], what: str) -> str:
        """Return how they work together."""
        *others, last = (names[i] for i in self.positions)
        more, rest = "more" if self.joint > 0 else "less", "the other" if len(others) == 1 else "each other"
        return (
            f"the higher one of {', '.join(others)} and {last} is, the {more} a rise of {rest} adds to the score "
            f"behind {what.removesuffix(',')}, or the same"
        )


@final
@dataclass(frozen=True, init=False, repr=False)
class Complements(Joint):
    """Say "the more of one, the more the other is worth", of every two of these columns.

    >>> Complements("education", "experience")
    Complements('education', 'experience')
    """

    joint: ClassVar[int] = 1
    kind: ClassVar[str] = "complements"
    method: ClassVar[str] = _METHOD.format("all the same way", "any two opposite ways")


@final
@dataclass(frozen=True, init=False, repr=False)
class Substitutes(Joint):
    """Say "the more of one, the less the other is worth", of every two of these columns.

    >>> Substitutes("solar", "wind") == Substitutes("solar", "wind")
    True
    """

    joint: ClassVar[int] = -1
    kind: ClassVar[str] = "substitutes"
    method: ClassVar[str] = _METHOD.format("any two opposite ways", "all the same way")
