r"""How training moves columns that work together: A(x) = c(x) I + h_1(x) P + h_2(x) (I − P).

P is a diagonal of zeros and ones.
The values of A(x) are u = c + h_1 on P's ones and v = c + h_2
elsewhere. Every other shape of the column asks that the same sums Q of u, and of v, are not negative; c, h_1 and h_2
each satisfy that, h_1 goes one way and h_2 the other, so u − v = h_1 − h_2 goes the way it must. Where c is free one of
the two would do, but c would have to undo what rises where the target falls: minus a product was then fitted far worse
than a product (benchmarks/joint.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.lazy import cached_property
from lambdak.eigen.packing import diagonal_indices
from lambdak.shapes.contract import Shape
from lambdak.shapes.ends import directions, end_of_spectrum, pattern_numbers
from lambdak.shapes.rising import Falling, Rising
from lambdak.shapes.spreads import Free, Spread, Support, spreads
from lambdak.table.column_contract import Column


@final
@dataclass(frozen=True, eq=False)
class Patterned(Spread):
    """A column whose matrices are c I + g P: what moves c, and what moves g."""

    owner: int
    column: Column
    pattern: int  # its number
    direction: int  # of g
    base: Spread | None  # of c; None if it is free
    moves: Sequence[tuple[Spread, Support]]  # of g, on P's ones and elsewhere

    @property
    def owners(self) -> tuple[int, ...]:  # type: ignore[override]
        """The position of the column that is spread."""
        return (self.owner,)

    @property
    def _parts(self) -> list[tuple[Spread, Support]]:
        base = [] if self.base is None else [(self.base, Support(self.pattern, 0))]
        return [*base, *self.moves]

    @property
    def size(self) -> int:
        """The number of semidefinite matrices of all parts."""
        return sum(own.size for own, _ in self._parts)

    @property
    def start(self) -> int:
        """The first design column."""
        return self.column.start

    @cached_property
    def weights(self) -> Float64Array:
        """V of all parts side by side, each as long as if it were alone."""
        rows = max((len(own.weights) for own, _ in self._parts), default=0)
        parts = []
        for own, _ in self._parts:
            part = np.zeros((rows, own.size))
            part[: len(own.weights)] = own.weights * (self.size / max(own.size, 1))
            parts.append(part)
        return np.concatenate(parts, axis=1)

    @property
    def supports(self) -> list[Support]:
        """Where each of the semidefinite matrices is not zero."""
        return [support for own, support in self._parts for _ in range(own.size)]

    def moved(self, owners: Sequence[int]) -> Self:
        """Return the spread with its column at another position."""
        return replace(self, owner=owners[0])

    def free(self, owner: int) -> Float64Array:
        """Return what is free in c, and in missing cells."""
        return np.concatenate([own.ramps for own in self.free_parts(owner)], axis=1)

    def free_parts(self, owner: int) -> list[Free]:
        """Return what is free in c, by which only multiples of I move, and missing cells, which any matrix moves."""
        free = self.column.ramps() if self.base is None else self.base.free(owner)
        missing = self.column.missing - self.column.start
        rows = np.arange(self.column.width) == missing
        numbers = np.where(rows[:, None], 0.0, free)
        cells = np.eye(self.column.width)[:, rows]
        return [Free(numbers[:, numbers.any(axis=0)], scalar=True), Free(cells)]


def all_spreads(shapes: Sequence[Shape], columns: Sequence[Column], flip: int) -> list[Spread]:
    """Return the generators of all columns that placed shapes constrain; ``flip`` is the sign of the loss."""
    found = spreads(shapes, columns, flip)
    if not any(own.joint for own in shapes):
        return found
    ways = directions(shapes, end_of_spectrum(shapes, flip), flip)
    numbers = pattern_numbers(shapes)
    alone = {own.owners[0]: own for own in found if len(own.owners) == 1}
    for own in found:
        if len(own.owners) > 1 and ways.keys() & {*own.owners}:
            named, told = [column.name for column in columns], {*own.owners}
            asked = ", ".join(repr(shape.named(named)) for shape in shapes if not told.isdisjoint(shape.positions))
            raise ValueError(
                f"constraints on {', '.join(named[i] for i in own.owners)} cannot be trained together: {asked}: leave "
                "out the complements and substitutes, or what compares their columns with others"
            )
    patterned: list[Spread] = []
    for i, way in ways.items():
        if columns[i].n_steps:
            moves = _moves(shapes, columns, flip, i, way, Support(numbers[i], 1))
            moves += _moves(shapes, columns, flip, i, -way, Support(numbers[i], -1))
            if not moves and columns[i].n_rising(0, 1):
                named = [column.name for column in columns]
                asked = ", ".join(repr(own.named(named)) for own in shapes if i in own.positions)
                raise ValueError(
                    f"constraints on {named[i]} cannot be trained together, because a column that turns cannot work "
                    f"together with others: {asked}: leave one out"
                )
            patterned.append(Patterned(i, columns[i], numbers[i], way, alone.get(i), moves))
    others = [own for own in found if ways.keys().isdisjoint(own.owners) or not columns[own.owners[0]].n_steps]
    return sorted([*others, *patterned], key=lambda own: own.owners)


def _moves(
    shapes: Sequence[Shape], columns: Sequence[Column], flip: int, i: int, way: int, support: Support
) -> list[tuple[Spread, Support]]:
    """What moves a column this way and keeps all that its other shapes ask; nothing if these ask for the opposite."""
    own = [shape for shape in shapes if (i,) in shape.joined(columns)]
    step = (Rising if way * flip > 0 else Falling)(i)
    if any(isinstance(shape, Rising | Falling) and shape != step for shape in own):
        return []
    found = [other for other in spreads([*own, step], columns, flip) if other.owners == (i,)]
    return [(other, support) for other in found if _possible(other)]


def _possible(spread: Spread) -> bool:
    """Whether not all that a column may do is nothing, as if it must fall before a turn and never does."""
    try:
        return bool(spread.weights.any())
    except ValueError:
        return False


def pattern(number: int, dim: int) -> NDArray[np.bool_]:
    """Return where a diagonal P has ones: half of them, in the first rows, or in rows that differ from those.

    Rotated coordinates are as good as any, so the first pattern loses nothing by being in order.
    """
    ones = np.arange(dim) < max(dim // 2, 1)
    return ones if number == 0 else np.random.default_rng(number).permutation(ones)


def diagonal_of(support: Support, dim: int) -> NDArray[np.bool_]:
    """Return the entries of the diagonal that a matrix with this support may have, all of them equal."""
    if not support.side:
        return np.ones(dim, np.bool_)
    ones = pattern(support.pattern, dim)
    return ones if support.side > 0 else ~ones


def nearest_patterned(packed: FloatArray, number: int, dim: int) -> FloatArray:
    """Return the matrices c I + g P that are nearest to packed ones (..., width)."""
    result, diagonal = np.zeros_like(packed), diagonal_indices(dim)
    ones = pattern(number, dim)
    for side in (ones, ~ones):
        if side.any():
            result[..., diagonal[side]] = packed[..., diagonal[side]].mean(axis=-1, keepdims=True)
    return result
