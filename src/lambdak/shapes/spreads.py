r"""How training moves the columns of shapes: C = V G + F θ, with semidefinite G and free θ, in which every shape holds.

Shapes that say no more than which way a column steps and bends are spread as the column knows best. All others are
spread by their statements alone. Let Q be the factors of all statements about some columns, without those that others
imply. If the rest is linearly independent, V = Q⁺ (the pseudo-inverse) and the null space F of Q reach every C that
satisfies them, and no other: Q C = G, whatever is in F.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self, final

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import nnls

from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.pencil.statements import Combination
from lambdak.shapes.contract import Shape
from lambdak.table.column_contract import Column

_CLOSE = 1e-9  # a statement that others imply to this is left out of the generators: it is proven with the others
_SMALL = 1e-10  # of the largest singular value


class Support(NamedTuple):
    """Which matrices a generator may be: multiples of I (0), of a pattern's ones (1), or of its zeros (-1)."""

    pattern: int
    side: int


class Free(NamedTuple):
    """Coordinates (p, n) in which a column is free, by any matrices or by multiples of I only."""

    ramps: Float64Array
    scalar: bool = False


class Spread(ABC):
    """The generators of some columns."""

    owners: tuple[int, ...]  # positions of its columns

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of semidefinite matrices."""

    @property
    @abstractmethod
    def start(self) -> int:
        """The first design column that they are spread over."""

    @property
    @abstractmethod
    def weights(self) -> Float64Array:
        """(design columns, size): V with its signs."""

    @abstractmethod
    def moved(self, owners: Sequence[int]) -> Self:
        """Return the spread with its columns at other positions."""

    @abstractmethod
    def free(self, owner: int) -> Float64Array:
        """(p, n): what is free in a column, up to a constant."""

    def n_free(self, owner: int) -> int:
        """Return how many columns :meth:`free` has."""
        return int(self.free(owner).shape[1])

    @property
    def supports(self) -> list[Support]:
        """Which matrices the generators may be, one by one; nothing if any."""
        return []

    def free_parts(self, owner: int) -> list[Free]:
        """Return what is free in a column, part by part."""
        return [Free(self.free(owner))]


@final
@dataclass(frozen=True, eq=False)
class Steps(Spread):
    """A column of numbers that steps one way (``sign``), bends one way (``bend``), or both; 0 is any way."""

    owner: int
    column: Column
    sign: int
    bend: int

    @property
    def owners(self) -> tuple[int, ...]:  # type: ignore[override]
        """Its column."""
        return (self.owner,)

    @property
    def size(self) -> int:
        """The number of steps or hinges, known without them."""
        return self.column.n_rising(self.bend, self.sign)

    @property
    def start(self) -> int:
        """The first design column."""
        return self.column.start

    @property
    def weights(self) -> Float64Array:
        """Steps that are summed up, or hinges."""
        # A hinge (x − κ)₊ that a convex curve adds makes it rise; a concave curve falls where a convex one rises.
        spread = self.column.hinged(self.sign * self.bend) if self.bend else self.column.rising()
        return (self.bend or self.sign) * spread

    def moved(self, owners: Sequence[int]) -> Self:
        """Return the spread with its column at another position."""
        return replace(self, owner=owners[0])

    def free(self, owner: int) -> Float64Array:
        """Return the slope of a column that only bends, and missing cells."""
        if not self.sign:
            return self.column.straight()
        missing = self.column.missing
        cells = np.eye(self.column.width)
        return cells[:, [missing - self.column.start]] if missing >= 0 else cells[:, :0]

    def n_free(self, owner: int) -> int:
        """Return how many columns :meth:`free` has, known without it."""
        return int(self.column.missing >= 0) if self.sign else self.column.n_straight


@final
@dataclass(frozen=True, eq=False)
class Generated(Spread):
    """Columns whose generators follow from statements."""

    owners: tuple[int, ...]
    columns: Sequence[Column]  # of the owners
    statements: Sequence[Combination]
    shapes: Sequence[Shape] = field(default=())

    @property
    def size(self) -> int:
        """The number of generators."""
        return int(self.weights.shape[1])

    @property
    def start(self) -> int:
        """The first design column of its first column."""
        return min(column.start for column in self.columns)

    @property
    def stop(self) -> int:
        """One after the last design column of its last column."""
        return max(column.stop for column in self.columns)

    @cached_property
    def weights(self) -> Float64Array:
        """V, and both signs of what is free in several columns together."""
        factors = without_implied(self._factors)
        if np.linalg.matrix_rank(factors) < len(factors):
            names = ", ".join(column.name for column in self.columns)
            raise ValueError(
                f"constraints on {names} cannot be trained together: {', '.join(map(repr, self.shapes))}: leave one out"
            )
        spread = np.linalg.pinv(factors) if len(factors) else np.zeros((self.stop - self.start, 0))
        spread = np.where(np.abs(spread) > _SMALL * np.abs(spread).max(initial=0.0), spread, 0.0)
        return np.asarray(spread / np.maximum(np.ptp(spread, axis=0), 1e-300))

    @cached_property
    def _factors(self) -> Float64Array:
        return dense(self.statements, self.start, self.stop)

    def moved(self, owners: Sequence[int]) -> Self:
        """Return the spread with its columns at other positions."""
        return replace(self, owners=tuple(owners))

    def free(self, owner: int) -> Float64Array:
        """Return an orthonormal basis of what no statement speaks of, up to a constant."""
        column = self.columns[self.owners.index(owner)]
        own = self._factors[:, column.start - self.start : column.stop - self.start]
        basis = null_space(own) if len(own) else np.eye(column.width)
        basis = basis - basis.mean(axis=0)
        left, sizes, _ = np.linalg.svd(basis, full_matrices=False)
        return np.asarray(left[:, sizes > _SMALL])


def dense(statements: Sequence[Combination], start: int, stop: int) -> Float64Array:
    """Return the factors (statements, stop − start) of design columns, each statement scaled to its largest one."""
    result = np.zeros((len(statements), stop - start))
    for row, statement in zip(result, statements, strict=True):
        largest = max(map(abs, statement.values()), default=1) or 1
        for j, factor in statement.items():
            row[j - start] = float(factor / largest)
    return result


def without_implied(factors: Float64Array) -> Float64Array:
    """Return the rows that are not sums of others times positive numbers."""
    kept = [i for i, row in enumerate(factors) if row.any()]
    for i in list(kept):
        others = [j for j in kept if j != i]
        if others and nnls(factors[others].T, factors[i])[1] <= _CLOSE:
            kept = others
    return factors[kept]


def spreads(shapes: Sequence[Shape], columns: Sequence[Column], flip: int) -> list[Spread]:
    """Return the generators of the columns that these placed shapes constrain; ``flip`` is the sign of the loss."""
    found: list[Spread] = []
    for owners, members in _connected(shapes, columns):
        steps = _steps(members, columns[owners[0]], flip) if len(owners) == 1 else None
        if steps is None:
            asked = [(shape, own) for shape in members for own in shape.statements(columns)]
            statements = [turned(own, shape, flip) for shape, own in asked if _within(own, owners, columns)]
            found.append(Generated(owners, [columns[i] for i in owners], statements, members))
        elif any(steps):
            found.append(Steps(owners[0], columns[owners[0]], *steps))
    return sorted(found, key=lambda own: own.owners)


def turned(statement: Combination, shape: Shape, flip: int) -> Combination:
    """Return a statement for a loss whose raw scores rise (1) or fall (-1) with predictions."""
    if flip > 0 or not shape.ordered:
        return statement
    return {j: -factor for j, factor in statement.items()}


def _steps(shapes: Sequence[Shape], column: Column, flip: int) -> tuple[int, int] | None:
    """Return which way a column steps and bends, if these shapes say no more."""
    said = [own for shape in shapes if (own := shape.bent(column)) is not None]
    if len(said) < len(shapes):
        return None
    signs, bends = ({own for own in ways if own} for ways in zip(*said, strict=True))
    return flip * sum(signs) if column.n_steps else 0, sum(bends) if column.n_ramps else 0


def _connected(shapes: Sequence[Shape], columns: Sequence[Column]) -> list[tuple[tuple[int, ...], list[Shape]]]:
    """Return groups of columns whose shapes ask something of their matrices together."""
    groups: list[tuple[set[int], list[Shape]]] = []
    for shape in shapes:
        for part in shape.joined(columns):
            touched = [group for group in groups if group[0] & {*part}]
            merged = {*part}.union(*(group[0] for group in touched)), [own for group in touched for own in group[1]]
            merged[1].append(shape)
            groups = [group for group in groups if group not in touched] + [merged]
    return [(tuple(sorted(owners)), list(dict.fromkeys(members))) for owners, members in groups]


def _within(statement: Combination, owners: Sequence[int], columns: Sequence[Column]) -> bool:
    """Return whether a statement is about design columns of these columns."""
    return any(columns[i].start <= j < columns[i].stop for i in owners for j in statement)
