"""Valley and Peak: "it never rises before the turn, and never falls after it", or the mirror image."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from lambdak._types import Float64Array
from lambdak.pencil.statements import Combination, rises
from lambdak.shapes.bending import Concave, Convex
from lambdak.shapes.contract import Draw, Effect, Key, OneColumn, Points, Shape
from lambdak.shapes.rising import Monotone
from lambdak.table.category_levels import shown
from lambdak.table.column_contract import Column
from lambdak.table.numeric_column import Numeric

_LIGHTEST = 1e-9  # of the largest mass of a cell: keeps cells without rows in place


@dataclass(frozen=True, repr=False)
class Turning(OneColumn):
    """Which way a column goes before its turn and after it.

    Parameters
    ----------
    column : str or int
        Its name or position.
    at : number or level, optional
        The turn: a number, or a level of a category with an order. None lets training choose it, from the rows that it
        is fitted to; the certificate and files then name the turn that was chosen.
    chosen : bool
        Whether training chose the turn. Models say so; a user has no reason to.
    """

    at: object = None
    chosen: bool = False

    sign: ClassVar[int]  # 1 if it rises after the turn
    numeric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.at, np.generic):
            object.__setattr__(self, "at", self.at.item())
        number = isinstance(self.at, int | float)
        if isinstance(self.at, bool) or (number and not abs(self.at) <= sys.float_info.max):  # type: ignore[arg-type]
            raise ValueError(f"at of {type(self).__name__} must be a finite number or a level; got {self.at!r}")

    def nodes(self) -> Mapping[Key, Sequence[float]]:
        """Return the turn, if it is a number."""
        return {self.column: (float(self.at),)} if isinstance(self.at, int | float) else {}

    # ---- where it turns ----------------------------------------------------------------------------------------

    def placed(self, columns: Sequence[Column]) -> Self:
        """Return the shape with a position for the name, after a check that the column can turn there."""
        found = super().placed(columns)
        column = columns[found.positions[0]]
        if isinstance(column, Numeric):
            self._check_number(column)
        elif not column.order:
            raise ValueError(
                f"{self!r} needs numbers or an order, and {column.name!r} is a category: make it an ordered category, "
                "as pandas.Categorical(values, levels, ordered=True) does"
            )
        elif self.at is not None and self.at not in column.order:
            raise ValueError(f"at of {self!r} must be a level of {column.name!r}: {list(column.order)}")
        return found

    def _check_number(self, column: Numeric) -> None:
        if self.at is None:
            return
        if not isinstance(self.at, int | float):
            raise ValueError(f"at of {self!r} must be a number, because {column.name!r} is a column of numbers")
        at, inside = float(self.at), column.low < float(self.at) < column.high
        if not inside and not column.bounded and column.n_steps:
            raise ValueError(
                f"{self!r} must turn inside of the training range [{column.low:g}, {column.high:g}], because "
                f"{column.name!r} continues straight beyond it, as another constraint needs"
            )
        if inside and at not in column.nodes():
            raise ValueError(f"{self!r} needs a knot at its turn, and {column.name!r} has none: use n_knots=2 or more")

    @property
    def unsettled(self) -> bool:
        """Whether training chooses the turn."""
        return self.at is None

    def settled(self, columns: Sequence[Column], effect: Effect) -> Self:
        """Return the shape with the turn that fits the effect of the column best, among its knots or levels."""
        column = columns[self.positions[0]]
        cells, places = _cells(column)
        values, mass = effect(self.positions[0])
        inner = slice(1, -1) if isinstance(column, Numeric) and not column.bounded and column.n_steps else slice(None)
        if not len(cells[inner]):
            raise ValueError(
                f"{type(self).__name__}({column.name!r}) needs a knot inside of the training range, because the column "
                "continues straight, as another constraint needs: raise n_knots, or leave one of the two out"
            )
        misfits = misfits_of_turns(self.sign * values[places], mass[places])[inner]
        return replace(self, at=cells[inner][int(np.argmin(misfits))], chosen=True)

    def requested(self) -> Self:
        """Return the shape as the user gave it: without a turn that training chose."""
        return replace(self, at=None, chosen=False) if self.chosen else self

    # ---- what it asks of the matrices --------------------------------------------------------------------------

    def statements(self, columns: Sequence[Column]) -> list[Combination]:
        """Return every step from a cell to the next: it subtracts before the turn, and adds after it."""
        column = columns[self.positions[0]]
        if isinstance(column, Numeric):
            steps = rises(column.increments(), self.sign) if column.n_steps else []
            ends = column.nodes()[1:] if column.n_steps else ()
            turned = [step if end > self._number else _negative(step) for step, end in zip(steps, ends, strict=True)]
            return [{column.start + j: q for j, q in factors.items()} for factors in turned]
        levels, at = self._levels(column), column.order.index(self.at)
        signs = [Fraction(self.sign if rank >= at else -self.sign) for rank in range(len(levels) - 1)]
        pairs = zip(pairwise(levels), signs, strict=True)
        return [{column.start + low: -sign, column.start + high: sign} for (low, high), sign in pairs]

    @property
    def _number(self) -> float:
        return float(self.at)  # type: ignore[arg-type]

    def _levels(self, column: Column) -> list[int]:
        """Where the levels are among those of the column, from the lowest to the highest."""
        return [column.known_levels.index(level) for level in column.order]

    def joined(self, columns: Sequence[Column]) -> list[tuple[int, ...]]:
        """Return its column alone."""
        return [self.positions]

    def bent(self, column: Column) -> tuple[int, int] | None:
        """Return that all steps go one way, if the turn is outside of the training range."""
        if not isinstance(column, Numeric) or column.low < self._number < column.high:
            return None
        return (self.sign if self._number <= column.low else -self.sign), 0

    def contradicts(self, other: Shape, names: Sequence[str]) -> str:
        """Return that a column turns once, and that what goes both ways does not only rise, nor bend the other way."""
        if isinstance(other, Concave if self.sign > 0 else Convex) and {*self.positions} & {*other.positions}:
            return f"both together leave {names[self.positions[0]]!r} flat: keep one of the two"
        if not isinstance(other, Turning | Monotone) or other.positions != self.positions or other == self:
            return ""
        name = names[self.positions[0]]
        if isinstance(other, Turning):
            return f"{name!r} has one turn: keep one of the two"
        return (
            f"both together leave {name!r} flat on one side of the turn: keep one of the two, or give the column from "
            "the turn on, as X[column].clip(lower=turn) does, and let that rise or fall"
        )

    # ---- how it is attacked, and worded ------------------------------------------------------------------------

    def words(self, names: Sequence[str], what: str) -> str:
        """Return which way it goes up to the turn, and after it."""
        first, then = ("rises", "falls") if self.sign > 0 else ("falls", "rises")
        turn = shown(self.at)
        who = names[self.positions[0]]
        return f"{what} never {first} as {who} rises up to {turn}, and never {then} after it" + (
            " (this turn was chosen by training)" if self.chosen else ""
        )

    @property
    def factors(self) -> tuple[float, ...]:
        """Of two rows on the same side, the one further from the turn is not below the other; or not above it."""
        return -self.sign, self.sign

    def points(self, columns: Sequence[Column], draw: Draw) -> Points:
        """Return pairs of rows on the same side of the turn, the nearer one first."""
        (i,) = self.positions
        column, first, last = columns[i], draw(i), draw(i)
        if isinstance(column, Numeric):
            near, far = _same_side(first, last, self._number)
            return {i: near}, {i: far}
        levels = np.array(self._levels(column), np.float64)
        near, far = _same_side(first % len(levels), last % len(levels), float(column.order.index(self.at)))
        return {i: levels[near.astype(np.intp)]}, {i: levels[far.astype(np.intp)]}


def misfits_of_turns(values: Float64Array, mass: Float64Array) -> Float64Array:
    """Return of each cell how far values are, in squares, from the nearest ones that fall up to it and rise after it.

    >>> misfits_of_turns(np.array([3.0, 1.0, 2.0]), np.ones(3))
    array([2. , 0. , 0.5])
    """
    weights = np.maximum(mass, _LIGHTEST * mass.max(initial=0.0)) if mass.any() else np.ones(len(mass))
    return np.array([_misfit(values, weights, at) for at in range(len(values))])


def _misfit(values: Float64Array, weights: Float64Array, at: int) -> float:
    """Return the misfit of the best values of which that at this cell is the lowest."""
    sides = [slice(at - 1, None, -1) if at else slice(0, 0), slice(at + 1, None)]  # from the turn outwards both rise
    fits = [isotonic_regression(values[own], sample_weight=weights[own]) if len(values[own]) else [] for own in sides]
    total, mass = weights[at] * values[at], weights[at]
    flat, heavy = np.concatenate(fits), np.concatenate([weights[own] for own in sides])
    for cell in np.argsort(flat, kind="stable"):  # what would be below the turn is level with it
        if flat[cell] * mass >= total:
            break
        total, mass = total + heavy[cell] * flat[cell], mass + heavy[cell]
    lowest = total / mass
    fitted = np.full(len(values), lowest)
    for own, side in zip(sides, fits, strict=True):
        fitted[own] = np.maximum(side, lowest)
    return float(weights @ (values - fitted) ** 2)


def _cells(column: Column) -> tuple[list[object], NDArray[np.intp]]:
    """Return knots or levels in their order, and where they are among the design columns of the column."""
    if isinstance(column, Numeric):
        knots = column.nodes().tolist()
        return (knots, np.arange(len(knots))) if column.n_ramps else (knots[:1], np.zeros(1, np.intp))
    return [*column.order], np.array([column.known_levels.index(level) for level in column.order], np.intp)


def _same_side(first: Float64Array, second: Float64Array, turn: float) -> tuple[Float64Array, Float64Array]:
    """Return numbers on the same side of the turn, the nearer ones first; one on the other side becomes the turn."""
    left = first < turn
    low, high = np.sort([first, np.where(left == (second < turn), second, turn)], axis=0)
    return np.where(left, high, low), np.where(left, low, high)


def _negative(statement: Combination) -> Combination:
    return {j: -factor for j, factor in statement.items()}


@final
@dataclass(frozen=True, repr=False)
class Valley(Turning):
    """Say "the prediction never rises as this column rises up to the turn, and never falls after it".

    >>> Valley("age", at=45)
    Valley('age', at=45)
    """

    sign: ClassVar[int] = 1
    kind: ClassVar[str] = "valley"
    method: ClassVar[str] = (
        "every step from a cell to the next must subtract a positive semidefinite matrix before the turn and add one "
        "after it; value is the smallest of their eigenvalues"
    )


@final
@dataclass(frozen=True, repr=False)
class Peak(Turning):
    """Say "the prediction never falls as this column rises up to the turn, and never rises after it".

    >>> Peak("temperature")
    Peak('temperature')
    """

    sign: ClassVar[int] = -1
    kind: ClassVar[str] = "peak"
    method: ClassVar[str] = (
        "every step from a cell to the next must add a positive semidefinite matrix before the turn and subtract one "
        "after it; value is the smallest of their eigenvalues"
    )
