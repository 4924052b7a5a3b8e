r"""How training moves the columns of shapes: C = V G + F θ, with semidefinite G and free θ, in which every shape holds.

Shapes that say no more than which way a column steps and bends are spread as the column knows best. All others are
spread by their statements alone: V has generators of the numbers c that satisfy them (``shapes/generators.py``), F is
what no statement speaks of. What is free in several columns together only, such as equal slopes of two columns of which
one dominates the other, is in V with both signs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import NamedTuple, Self, final

import numpy as np
from scipy.linalg import null_space

from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.pencil.statements import Combination
from lambdak.shapes.contract import Shape
from lambdak.shapes.generators import different, generators
from lambdak.table.column_contract import Column

_CLOSE = 1e-9  # next to the largest factor of a statement: less is rounding
_SMALL = 1e-10  # a singular value of orthonormal directions
_TINY = 1e-300  # replaces zero in a division


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

    def without(self, gone: Collection[int]) -> Self:
        """Return the spread where these columns, but not all of its columns, do nothing."""
        return self

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
        """The position of the column that is spread."""
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
    places: tuple[int, ...]  # where its columns are in the table
    table: Sequence[Column]
    shapes: Sequence[Shape]  # placed in the table
    flip: int  # the sign of the loss
    gone: frozenset[int] = field(default=frozenset())  # owners whose matrices are zero

    @property
    def columns(self) -> list[Column]:
        """The columns of the table that are spread together."""
        return [self.table[i] for i in self.places]

    @cached_property
    def statements(self) -> list[Combination]:
        """All that its shapes ask of its columns."""
        asked = ((shape, own) for shape in self.shapes for own in shape.statements(self.table))
        return [turned(own, shape, self.flip) for shape, own in asked if _within(own, self.columns)]

    @cached_property
    def sufficient(self) -> list[Combination]:
        """What implies its statements; numbers below zero are further matrices, of each shape its own."""
        found: list[Combination] = []
        last = 0
        for shape in self.shapes:
            own = [turned(one, shape, self.flip) for one in shape.sufficient(self.table) if _within(one, self.columns)]
            found += [{j + last if j < 0 else j: q for j, q in statement.items()} for statement in own]
            last += min((j for statement in own for j in statement if j < 0), default=0)
        return found

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
        factors, width = self._factors, self._coordinates.shape[1]
        rays, shared = generators(factors, self._ends), self._shared
        moved = np.abs(factors[:, :width]).max(axis=1, initial=0.0) > 0
        if (moved & ((factors @ rays).max(axis=1, initial=0.0) <= _CLOSE)).any():
            names, own = [column.name for column in self.table], [column.name for column in self.columns]
            raise ValueError(
                f"constraints on {', '.join(own)} cannot be trained together, because between them some steps must be "
                f"zero: {', '.join(repr(shape.named(names)) for shape in self.shapes)}: leave one out"
            )
        spread = self._coordinates @ np.concatenate([different(rays[:width]), shared, -shared], axis=1)
        return np.asarray(spread / np.maximum(np.ptp(np.pad(spread, ((0, 1), (0, 0))), axis=0), _TINY))

    @cached_property
    def _unscaled(self) -> Float64Array:
        """(design columns, n): slopes between knots, or levels, of all columns; nothing of those that are gone."""
        result = np.zeros((self.stop - self.start, 0))
        for i, column in zip(self.owners, self.columns, strict=True):
            own = np.zeros((self.stop - self.start, column.n_free * (i not in self.gone)))
            own[column.start - self.start : column.stop - self.start] = _slopes(column)[:, : own.shape[1]]
            result = np.concatenate([result, own], axis=1)
        return result

    @cached_property
    def _coordinates(self) -> Float64Array:
        """(design columns, n): slopes or levels, in units of each column in which statements have factors about 1."""
        return np.asarray(self._unscaled * self._units[: self._unscaled.shape[1]])

    @cached_property
    def _ends(self) -> list[int]:
        """Where the coordinates of each column end."""
        sizes = (column.n_free * (i not in self.gone) for i, column in zip(self.owners, self.columns, strict=True))
        return list(accumulate(sizes, initial=0))

    @cached_property
    def _raw_factors(self) -> Float64Array:
        """(sufficient statements, slopes and further matrices), each scaled to its largest factor."""
        further = sorted({j for own in self.sufficient for j in own if j < 0})
        moved = [{j: q for j, q in own.items() if j >= 0} for own in self.sufficient]
        beside = np.array([[float(own.get(j, 0)) for j in further] for own in self.sufficient], np.float64)
        factors = unscaled(moved, self.start, self.stop) @ self._unscaled
        return _scaled(np.concatenate([factors, beside.reshape(len(moved), len(further))], axis=1))

    @cached_property
    def _units(self) -> Float64Array:
        """The inverse of the largest factor of each column, and of each further matrix."""
        most, own = np.abs(self._raw_factors).max(axis=0, initial=0.0), self._ends[-1]
        parts = [np.full(last - first, most[first:last].max(initial=0.0)) for first, last in pairwise(self._ends)]
        most = np.concatenate([*parts, most[own:]])
        return np.asarray(1 / np.where(most > 0, most, 1.0))

    @cached_property
    def _factors(self) -> Float64Array:
        """(sufficient statements, coordinates and further matrices), each scaled to its largest factor."""
        return _scaled(self._raw_factors * self._units)

    @cached_property
    def _shared(self) -> Float64Array:
        """(coordinates, n): what is free in several columns together, apart from what is free in each of them."""
        width = self._coordinates.shape[1]
        both = null_space(self._factors)[:width] if len(self._factors) else np.zeros((width, 0))
        for first, last in pairwise(self._ends):
            alone = _null_space(self._factors[:, first:last])
            both[first:last] -= alone @ (alone.T @ both[first:last])
        left, sizes, _ = np.linalg.svd(both, full_matrices=False)
        return np.asarray(left[:, sizes > _SMALL])

    def moved(self, owners: Sequence[int]) -> Self:
        """Return the spread with its columns at other positions."""
        places = dict(zip(self.owners, owners, strict=True))
        return replace(self, owners=tuple(owners), gone=frozenset(places[i] for i in self.gone))

    def without(self, gone: Collection[int]) -> Self:
        """Return the spread where these columns do nothing: what is said of them with others is said of the others."""
        return replace(self, gone=self.gone.union(own for own in gone if own in self.owners))

    def free(self, owner: int) -> Float64Array:
        """Return a basis of what no statement speaks of, up to a constant."""
        place = self.owners.index(owner)
        column, own = self.columns[place], slice(*self._ends[place : place + 2])
        free = self._coordinates[column.start - self.start : column.stop - self.start, own]
        free = free @ _null_space(self._factors[:, own])
        if not column.is_number or column.n_ramps:  # a constant does nothing that the model's own does not
            free = free - free.mean(axis=0)
        left, sizes, _ = np.linalg.svd(free, full_matrices=False)
        return np.asarray(left[:, sizes > _SMALL])


def _slopes(column: Column) -> Float64Array:
    """Return the coordinates in which a column is free, those of segments as slopes over its whole range."""
    ramps = column.ramps()
    if column.n_ramps:
        ramps[:, : column.n_ramps] *= column.lengths() / column.lengths().sum()
    return ramps


def _null_space(factors: Float64Array) -> Float64Array:
    return np.asarray(null_space(factors)) if len(factors) and factors.shape[1] else np.eye(factors.shape[1])


def _scaled(factors: Float64Array) -> Float64Array:
    """Return rows that are scaled to their largest entry."""
    return np.asarray(factors / np.maximum(np.abs(factors).max(axis=1, initial=0.0), _TINY)[:, None])


def dense(statements: Sequence[Combination], start: int, stop: int) -> Float64Array:
    """Return the factors (statements, stop − start) of design columns, each statement scaled to its largest one."""
    return _scaled(unscaled(statements, start, stop))


def unscaled(statements: Sequence[Combination], start: int, stop: int) -> Float64Array:
    """Return the factors (statements, stop − start) of design columns."""
    result = np.zeros((len(statements), stop - start))
    for row, statement in zip(result, statements, strict=True):
        for j, factor in statement.items():
            row[j - start] = float(factor)
    return result


def spreads(shapes: Sequence[Shape], columns: Sequence[Column], flip: int) -> list[Spread]:
    """Return the generators of the columns that these placed shapes constrain; ``flip`` is the sign of the loss."""
    found: list[Spread] = []
    for owners, members in _connected(shapes, columns):
        steps = _steps(members, columns[owners[0]], flip) if len(owners) == 1 else None
        if steps is None:
            found.append(Generated(owners, owners, columns, members, flip))
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


def _within(statement: Combination, columns: Sequence[Column]) -> bool:
    """Return whether a statement is about design columns of these columns, or about further matrices alone."""
    return all(j < 0 for j in statement) or any(
        column.start <= j < column.stop for column in columns for j in statement
    )
