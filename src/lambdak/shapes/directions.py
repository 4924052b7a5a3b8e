"""RisingAlong and Dominates: "moving these columns together in this direction never lowers the prediction"."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, ClassVar, Self, final

import numpy as np

from lambdak._types import Float64Array
from lambdak.pencil.statements import Combination, rises
from lambdak.shapes.contract import Draw, Key, Points, Shape
from lambdak.table.column_contract import Column

# Of one shape: the checker without lambdak proves 1,225 of them in each of six pencils of dim 12 in 1.6 s.
MOST_STATEMENTS = 1600

_METHOD = (
    "its columns must continue straight beyond the training range, and the weighted sum of their slopes must be "
    "positive semidefinite for all combinations of segments; value is the smallest of their eigenvalues"
)


class Direction(Shape):
    """A direction in which predictions never fall: so much of each of some columns."""

    columns: tuple[Key, ...]
    straight: ClassVar[bool] = True
    method: ClassVar[str] = _METHOD

    @property
    @abstractmethod
    def along(self) -> tuple[float, ...]:
        """How much of each of its columns."""

    @property
    def keys(self) -> tuple[Key, ...]:
        """The columns that move along the direction."""
        return self.columns

    def most_knots(self) -> Mapping[Key, int]:
        """Return as many knots as keep the combinations of segments few."""
        segments = 1
        while (segments + 1) ** len(self.columns) <= MOST_STATEMENTS:
            segments += 1
        return dict.fromkeys(self.columns, segments + 1)

    def placed(self, columns: Sequence[Column]) -> Self:
        """Return the shape with positions for names, after a check that its statements are few enough to be proven."""
        found = super().placed(columns)
        own = [columns[i] for i in found.positions]
        count = prod(max(column.n_steps, 1) for column in own)
        if count > MOST_STATEMENTS:
            names = ", ".join(repr(column.name) for column in own)
            raise ValueError(
                f"{self!r} would be {count:,} statements, one for each combination of the segments of {names}, and "
                f"{MOST_STATEMENTS:,} are the most that are proven quickly: lower n_knots"
            )
        return found

    def statements(self, columns: Sequence[Column]) -> list[Combination]:
        """Return the weighted sum of slopes for every combination of segments: it is semidefinite."""
        slopes = [self._slopes(columns[i], v) for i, v in zip(self.positions, self.along, strict=True)]
        found = [{j: q for slope in own for j, q in slope.items()} for own in product(*slopes)]
        return [own for own in found if own]  # columns of one number have no slope

    def sufficient(self, columns: Sequence[Column]) -> list[Combination]:
        """Return that each slope is at least a matrix of its column, and that these sum up to zero.

        They are as many as segments, not as their combinations. Numbers below zero are these matrices.
        """
        slopes = [self._slopes(columns[i], v) for i, v in zip(self.positions, self.along, strict=True)]
        own = range(-1, -len(slopes), -1)
        found: list[Combination] = []
        for further, segments in zip(own, slopes[:-1], strict=True):
            found += [{**slope, further: Fraction(-1)} for slope in segments]
        return found + [{**slope, **dict.fromkeys(own, Fraction(1))} for slope in slopes[-1]]

    def _slopes(self, column: Column, weight: float) -> list[Combination]:
        """Return the slope of each segment times a weight; that of a column without any is nothing."""
        lengths = column.exact_lengths()
        steps = rises(column.increments(), 1) if column.n_steps else []
        return [
            {column.start + j: q * Fraction(weight) / length for j, q in step.items()}
            for step, length in zip(steps, lengths, strict=True)
        ] or [{}]

    def joined(self, columns: Sequence[Column]) -> list[tuple[int, ...]]:
        """Return all its columns together."""
        return [self.positions]

    def contradicts(self, other: Shape, names: Sequence[str]) -> str:
        """Return that predictions cannot rise both ways along a line."""
        if not isinstance(other, Direction) or {*other.positions} != {*self.positions}:
            return ""
        mine, others = (dict(zip(own.positions, own.along, strict=True)) for own in (self, other))
        shares = {Fraction(mine[i]) / Fraction(others[i]) for i in mine}
        if len(shares) > 1 or shares.pop() > 0:
            return ""
        return "the prediction would neither rise nor fall along this line: keep one of the two"

    @property
    def factors(self) -> tuple[float, ...]:
        """The second of two rows is not below the first."""
        return -1.0, 1.0

    def points(self, columns: Sequence[Column], draw: Draw) -> Points:
        """Return rows and the same rows further along, by steps that no rounding bends; where that fails, not moved."""
        first = np.array([draw(i) for i in self.positions])
        goal, along = draw(self.positions[0]), np.array(self.along, np.float64)[:, None]
        steps = np.exp2(np.round(np.log2(np.maximum(np.abs((goal - first[0]) / along[0]), sys.float_info.min))))
        first, second = _moved(first, steps * along)
        rows = (dict(zip(self.positions, own, strict=True)) for own in (first, second))
        return tuple(rows)


def _moved(first: Float64Array, move: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return numbers (columns, rows) that are near these, and those that lie beyond them by exactly this move."""
    grid = np.spacing(np.maximum(np.abs(first), np.abs(first + move)).clip(max=1e300))
    first = np.rint(first / grid) * grid
    second = first + move
    exact = ((second - first == move) & (second - move == first) & (np.abs(second) < 1e300)).all(axis=0)
    return first, np.where(exact, second, first)


@final
@dataclass(frozen=True, init=False, repr=False)
class RisingAlong(Direction):
    """Say "so much more of these columns and so much less of those, together, never lowers the prediction".

    >>> RisingAlong({"own_funds": 1, "loan": -1})
    RisingAlong({'own_funds': 1, 'loan': -1})
    """

    columns: tuple[Key, ...]
    weights: tuple[float, ...]

    kind: ClassVar[str] = "direction"

    def __init__(self, direction: Mapping[Key, float]) -> None:
        if not isinstance(direction, Mapping):
            raise TypeError(f"RisingAlong takes a dict, such as {{'own_funds': 1, 'loan': -1}}; got {direction!r}")
        weights = tuple(own.item() if isinstance(own, np.generic) else own for own in direction.values())
        for key, weight in zip(direction, weights, strict=True):
            number = isinstance(weight, int | float) and not isinstance(weight, bool)
            if not (number and 0 < abs(weight) <= sys.float_info.max):
                raise ValueError(
                    f"RisingAlong needs a number that is not zero for {key!r}; got {weight!r}: leave it out"
                )
        if len(weights) < 2:
            raise ValueError(f"RisingAlong needs two columns or more; got {dict(direction)}: Rising takes one")
        object.__setattr__(self, "columns", tuple(direction))
        object.__setattr__(self, "weights", weights)

    def __repr__(self) -> str:
        return f"RisingAlong({dict(zip(self.columns, self.weights, strict=True))!r})"

    @property
    def along(self) -> tuple[float, ...]:
        """How much of each of its columns."""
        return self.weights

    def renamed(self, keys: Sequence[Key]) -> Self:
        """Return the direction in other columns."""
        if len({*keys}) < len(keys):
            raise ValueError(f"{self!r} must name every column once, by name or by position")
        return type(self)(dict(zip(keys, self.weights, strict=True)))

    @classmethod
    def restored(cls, values: Mapping[str, Any]) -> Self:
        """Return the direction with these columns and weights."""
        found = dict(zip(values["columns"], values["weights"], strict=True))
        if len(found) < len(values["columns"]):
            raise ValueError(f"RisingAlong must name every column once; got {list(values['columns'])}")
        return cls(found)

    def words(self, names: Sequence[str], what: str) -> str:
        """Return what rises and falls together."""
        parts = [
            f"{names[i]} {'rises' if v > 0 else 'falls'} by {abs(v):g}"
            for i, v in zip(self.positions, self.weights, strict=True)
        ]
        return f"{what} never falls when {' and '.join([', '.join(parts[:-1]), parts[-1]])}, or any multiple of that"


@final
@dataclass(frozen=True, init=False, repr=False)
class Dominates(Direction):
    """Say "a unit more of the first column and a unit less of the second never lowers the prediction".

    >>> Dominates("own_funds", "loan")
    Dominates('own_funds', 'loan')
    """

    columns: tuple[Key, ...]

    kind: ClassVar[str] = "dominance"

    def __init__(self, column: Key, other: Key) -> None:
        object.__setattr__(self, "columns", (column, other))

    def __repr__(self) -> str:
        return f"Dominates({', '.join(map(repr, self.columns))})"

    @property
    def along(self) -> tuple[float, ...]:
        """One more of the first, and one less of the second."""
        return 1.0, -1.0

    def renamed(self, keys: Sequence[Key]) -> Self:
        """Return the shape of other columns."""
        return type(self)(*keys)

    @classmethod
    def restored(cls, values: Mapping[str, Any]) -> Self:
        """Return the shape of these columns."""
        return cls(*values["columns"])

    def words(self, names: Sequence[str], what: str) -> str:
        """Return which column outweighs which."""
        first, second = (names[i] for i in self.positions)
        return f"{what} never falls when {first} rises and {second} falls by the same amount"
