"""MaxSlope: "a unit more of this column moves the raw score by at most that"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import ClassVar, Self, final

import numpy as np

from lambdak._types import Float64Array
from lambdak.shapes.contract import Draw, Key, Points, Shape
from lambdak.shapes.naming import is_cap
from lambdak.table.column_contract import Column

_FAR = 1e100  # that steps of a direction begin and end within, so that they are finite

Direction = tuple[tuple[int, float], ...]  # positions of columns, and by how much each moves


@final
@dataclass(frozen=True, repr=False)
class MaxSlope(Shape):
    """Say "a unit more of this column moves the raw score by at most ``limit``".

    None for the column is every column of numbers, each with this limit. A dict of columns and weights is a direction:
    if each of its columns moves by its weight times t, the raw score moves by at most the limit times the size of t.
    Missing cells are no numbers: from and to them there is no slope.

    >>> MaxSlope("income", 0.02)
    MaxSlope('income', limit=0.02)
    >>> MaxSlope({"own_funds": 1, "loan": -1}, 0.1)
    MaxSlope({'own_funds': 1.0, 'loan': -1.0}, limit=0.1)
    """

    columns: Key | Mapping[Key, float] | tuple[tuple[Key, float], ...] | None
    limit: float

    ordered: ClassVar[bool] = False
    kind: ClassVar[str] = "slope"
    method: ClassVar[str] = (
        "value is the largest weighted sum of ‖A(b) − A(a)‖₂ / (b − a) over the pieces between knots, of a direction "
        "over every choice of one piece, or a flat end, of each column; or a bound on it if they are many"
    )

    def __post_init__(self) -> None:
        if not is_cap(self.limit):
            raise ValueError(f"limit of MaxSlope must be a number that is not negative; got {self.limit!r}")
        if isinstance(self.columns, Mapping):
            object.__setattr__(self, "columns", tuple(self.columns.items()))
        if isinstance(self.columns, tuple):
            object.__setattr__(self, "columns", tuple(_weighted(pair) for pair in self.columns))
        if self.columns == () or isinstance(self.columns, list):
            raise ValueError(
                "columns of MaxSlope must be one column, None for all, or a dict of columns and weights, such as "
                f"{{'own_funds': 1, 'loan': -1}}; got {self.columns!r}"
            )

    def __repr__(self) -> str:
        who = dict(self.columns) if isinstance(self.columns, tuple) else self.columns
        return f"MaxSlope({who!r}, limit={self.limit!r})"

    @property
    def keys(self) -> tuple[Key, ...]:
        """The columns whose slope is limited; none where these are all columns of numbers."""
        if isinstance(self.columns, tuple):
            return tuple(key for key, _ in self.columns)
        return () if self.columns is None else (self.columns,)  # type: ignore[return-value]

    def renamed(self, keys: Sequence[Key]) -> Self:
        """Return the limit on other columns; those of a direction are in order."""
        if isinstance(self.columns, tuple):
            weights = [weight for _, weight in self.columns]
            pairs = sorted(zip(keys, weights, strict=True), key=lambda pair: (isinstance(pair[0], str), pair[0]))
            return type(self)(tuple(pairs), self.limit)
        return type(self)(keys[0] if keys else None, self.limit)

    def directions(self, columns: Sequence[Column]) -> tuple[Direction, ...]:
        """Return the directions along which it limits slopes; it must be placed."""
        if isinstance(self.columns, tuple):
            return (tuple((int(key), weight) for key, weight in self.columns),)
        alone = self.positions or tuple(i for i, column in enumerate(columns) if column.is_number)
        return tuple(((i, 1.0),) for i in alone)

    def about(self, columns: Sequence[Column]) -> tuple[int, ...]:
        """Return the positions of the columns of its directions."""
        return tuple(dict.fromkeys(i for direction in self.directions(columns) for i, _ in direction))

    def contradicts(self, other: Shape, names: Sequence[str]) -> str:
        """Return that there are two limits."""
        if isinstance(other, MaxSlope) and other.columns == self.columns and other.limit != self.limit:
            return f"there are two limits, {self.limit} and {other.limit}: keep the smaller one"
        return ""

    def words(self, names: Sequence[str], what: str) -> str:
        """Return the limit, and what a unit more is."""
        if not isinstance(self.columns, tuple):
            which = names[self.positions[0]] if self.positions else "any one column of numbers"
            return f"a unit more of {which} moves the raw score by at most {self.limit}"
        moves = [f"{'+' if weight > 0 else '−'}{abs(weight):g} of {names[int(key)]}" for key, weight in self.columns]
        return f"a step of {' and '.join(moves)} moves the raw score by at most {self.limit}"

    @property
    def factors(self) -> tuple[float, ...]:
        """One of two rows minus the other."""
        return 1.0, -1.0

    def points(self, columns: Sequence[Column], draw: Draw) -> Points:
        """Return rows apart by some t along one of its directions; every third is a step to the next number."""
        every = self.directions(columns)
        first: dict[int, Float64Array] = {}
        last: dict[int, Float64Array] = {}
        if len(every) > 1:  # each column alone: the one that moves differs from row to row
            rows = {i: (draw(i), draw(i)) for ((i, _),) in every}
            moving = np.arange(len(next(iter(rows.values()))[0])) % len(rows)
            for place, (i, (low, high)) in enumerate(rows.items()):
                first[i], last[i] = low, np.where(moving == place, _beside(low, high), low)
        elif every and len(every[0]) == 1:
            ((i, _),) = every[0]
            first[i] = draw(i)
            last[i] = _beside(first[i], draw(i))
        elif every:
            (lead, weight), *_ = every[0]
            begin = np.clip(draw(lead), -_FAR, _FAR)
            steps = (_beside(begin, np.clip(draw(lead), -_FAR, _FAR)) - begin) / weight
            for i, own in every[0]:
                first[i] = begin if i == lead else np.clip(draw(i), -_FAR, _FAR)
                last[i] = first[i] + own * steps
        return first, last

    def slack(self, points: Points) -> Float64Array | float:
        """Return the limit times how far apart the rows are."""
        weights = dict(self.columns) if isinstance(self.columns, tuple) else {}
        before, after = points
        steps = [np.abs(after[i] - before[i]) / abs(weights.get(i, 1.0)) for i in before]
        return np.asarray(self.limit * np.max(steps, axis=0)) if steps else 0.0


def _weighted(pair: object) -> tuple[Key, float]:
    """A column and its weight, a number that is not zero."""
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        raise TypeError(
            f"columns of MaxSlope must be one column, None for all, or a dict of columns and weights; got {pair!r}"
        )
    key, weight = pair
    if isinstance(weight, bool) or not isinstance(weight, Real) or not isfinite(weight) or not weight:
        raise ValueError(f"weight of {key!r} in MaxSlope must be a number that is not zero; got {weight!r}")
    return key, float(weight)


def _beside(numbers: Float64Array, others: Float64Array) -> Float64Array:
    """Other numbers, of which every third is the next one that a float can be."""
    found = others.copy()
    found[::3] = np.nextafter(numbers[::3], others[::3])
    return found
