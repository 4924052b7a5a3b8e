r"""Pairs of columns: which of them get a table of their own, and what that does to bounds on boxes.

A pair is worth what its cells explain of the raw score that the tables so far do not, less what as many cells would
explain of anything. On a box the table g_ij is nowhere above p(x_i) + q(x_j), q its mean and p what is missing then, so
that −g_ij has a separable lower bound, which is exact once the box holds one row of either table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, final

import numpy as np

from lambdak._checks import check_int
from lambdak._types import Float64Array
from lambdak.governance.tables.factors import Positions
from lambdak.governance.tables.layout import Coded, Layout, Pair
from lambdak.optimize.axes import Axis
from lambdak.optimize.minimum.bounded import Relaxed
from lambdak.optimize.relaxation import Separable, linear
from lambdak.optimize.scores import Score
from lambdak.table.close_names import asked

_MOST_CELLS = 1 << 16  # of the table of a pair
_CREDIBLE = 20.0  # rows: a cell with as many goes half of the way
_ROUNDING = 1e-14  # of sums, relative to their terms


def check_pairs(layout: Layout, two_way: Any) -> int | list[Pair]:
    """The number of pairs to choose, or the pairs that are named."""
    if isinstance(two_way, str):
        raise TypeError(f"two_way must be a number of pairs, or pairs of column names; got {two_way!r}")
    if not isinstance(two_way, Sequence):
        return check_int(two_way, "two_way", 0, 1 + len(layout.factors) * (len(layout.factors) - 1) // 2)
    names = [factor.column.name for factor in layout.factors]
    found: list[Pair] = []
    for named in two_way:
        if isinstance(named, str) or len(named) != 2 or named[0] == named[1]:
            raise ValueError(f"two_way must hold pairs of two columns, such as {tuple(names[:2])}; got {named!r}")
        unknown = [name for name in named if name not in names]
        if unknown:
            raise ValueError(
                f"two_way must name columns of the model, {names}; got {unknown[0]!r}{asked(unknown[0], names)}"
            )
        i, j = sorted(names.index(name) for name in named)
        if (i, j) in found:
            raise ValueError(f"two_way must name every pair once; got {tuple(named)} again")
        found.append((i, j))
    for pair in found:
        _refuse_large(layout, pair)
    return found


def _refuse_large(layout: Layout, pair: Pair) -> None:
    first, second = (layout.factors[i] for i in pair)
    if len(first) * len(second) > _MOST_CELLS:
        raise ValueError(
            f"the table of {first.column.name!r} and {second.column.name!r} would have {len(first) * len(second)} "
            f"cells, more than {_MOST_CELLS}: choose another pair, or pool rare levels with max_categories in the fit"
        )


def strongest_pairs(layout: Layout, coded: Coded, rest: Float64Array, weight: Float64Array, count: int) -> list[Pair]:
    """The pairs that explain most of the rest (rows,) of the raw score, one after the other; fewer if none does."""
    found: list[Pair] = []
    while len(found) < count:
        best = max(_gains(layout, coded, rest, weight, found), default=(0.0, (0, 0)))
        if best[0] <= 0.0:
            break
        found.append(best[1])
        cell = _cells(layout, coded, best[1])
        mass, total = np.bincount(cell, weight), np.bincount(cell, weight * rest)
        rest = rest - (total / (mass + _CREDIBLE * weight.mean()))[cell]
    return found


def _gains(
    layout: Layout, coded: Coded, rest: Float64Array, weight: Float64Array, known: Sequence[Pair]
) -> Iterator[tuple[float, Pair]]:
    """What the cells of each other pair explain of the rest, beyond what as many would of anything."""
    noise = float(np.average(rest**2, weights=weight)) * float(weight.mean())
    for pair in combinations(range(len(layout.factors)), 2):
        if pair in known or len(layout.factors[pair[0]]) * len(layout.factors[pair[1]]) > _MOST_CELLS:
            continue
        cell = _cells(layout, coded, pair)
        mass, total = np.bincount(cell, weight), np.bincount(cell, weight * rest)
        seen = mass > 0
        yield float((total[seen] ** 2 / mass[seen]).sum()) - noise * np.count_nonzero(seen), pair


def _cells(layout: Layout, coded: Coded, pair: Pair) -> Positions:
    """The cell of the table of a pair that each row belongs to."""
    return np.asarray(coded.ids[pair[0]][:, 0] * len(layout.factors[pair[1]]) + coded.ids[pair[1]][:, 0])


@final
@dataclass(frozen=True, eq=False)
class PairTerm:
    """sign · g_ij at coordinates of the axes: positions among the vertices of each column.

    Attributes
    ----------
    values_at : array of shape (n, m)
        The table, its sign included.
    owners : two arrays
        The row of the table that each vertex of either column belongs to.
    """

    pair: Pair
    axes: tuple[Axis, Axis]
    values_at: Float64Array
    owners: tuple[Positions, Positions]

    @property
    def scores(self) -> tuple[Score, ...]:
        """No raw score: a table depends on no model."""
        return ()

    def values(self, x: Float64Array) -> Float64Array:
        """At coordinates (n, axes), (n,)."""
        first, second = (self._rows(side, x[:, i]) for side, i in enumerate(self.pair))
        return np.asarray(self.values_at[first, second])

    def errors(self, x: Float64Array) -> Float64Array:
        """None: a table is as it is."""
        return np.zeros(len(x))

    def relaxed(self, relaxed: Relaxed) -> Separable:
        """A lower bound on each box."""
        boxes = relaxed.boxes
        nothing = linear(boxes, 0.0, np.zeros(boxes.low.shape[1]))
        first, second = (self._rows(side, boxes.coordinates[i]) for side, i in enumerate(self.pair))
        if boxes.joint:
            return replace(nothing, parts=(self.values_at[first, second],))
        table = self.values_at[first[:, :, None], second[:, None, :]]  # (boxes, J_i, J_j)
        across = table.mean(axis=1)
        down = (table - across[:, None]).min(axis=2)
        loose = np.zeros(boxes.low.shape)
        slack = (table - across[:, None] - down[:, :, None]).max(axis=(1, 2))
        for i, positions in zip(self.pair, (first, second), strict=True):
            loose[:, i] = np.where(np.ptp(positions, axis=1) > 0, 0.5 * slack, 0.0)
        parts = list(nothing.parts)
        parts[self.pair[0]], parts[self.pair[1]] = down, across
        found = replace(nothing, parts=tuple(parts), loose=loose)
        return found.shifted(np.full(len(boxes), -_ROUNDING * float(np.abs(self.values_at).max(initial=0.0))))

    def _rows(self, side: int, x: Float64Array) -> Positions:
        """The rows of the table at coordinates; between two vertices of one row it is theirs."""
        return self.owners[side][self.axes[side].piece(x)[0] + (self.axes[side].piece(x)[1] > 0.5)]
