"""Attacks on bounds: two rows that differ in one column, or in several within tolerances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lambdak._types import Float64Array
from lambdak.certify.attack import Attack, Margins, spread
from lambdak.certify.cells import Values, moves, readable
from lambdak.certify.certificate import Claim
from lambdak.certify.search import Points, Search

_MOST_CELLS = 64  # of a column between which the last scan looks for the largest change
_ULPS = 4 * float(np.finfo(np.float64).eps)
_TOWARDS = np.array([-1.0, -1.0, 1.0, 1.0, 0.5])  # tolerances by which a number changes


class _Change(Attack):
    """Points are two rows, whose raw scores must not differ by more than a bound."""

    def __init__(self, search: Search, claim: Claim) -> None:
        super().__init__(search, claim)
        self._bound = float("nan" if claim.value is None else claim.value)

    def margins(self, points: Points) -> Margins:
        """What remains of the bound."""
        before, after = self.raw(points)
        return Margins(self._bound - np.abs(after - before), self.rounding(points))

    def rounding(self, points: Points) -> Float64Array:
        """(rows, 1): that of the raw scores, of their difference, and of a tolerance that is added."""
        return super().rounding(points) + _ULPS * self._bound


class Influence(_Change):
    """Attack on a bound of influence: two rows that differ in any two cells of one column."""

    def __init__(self, search: Search, claim: Claim) -> None:
        super().__init__(search, claim)
        self._i = search.position(claim.subject)
        self._own = search.pools[self._i].own

    @property
    def hopeless(self) -> bool:
        """Whether all cells are the same to the model."""
        return not self.search.pools[self._i].several

    @property
    def first(self) -> tuple[int, ...]:
        """The column itself."""
        return (self._i,)

    def begin(self, count: int) -> Points:
        """Random rows, twice, with random cells of the column."""
        rows = self.search.rows(count)
        before, after = self.cells(self._i, count)
        return rows.put(self._i, before), rows.put(self._i, after)

    def cells(self, j: int, count: int) -> tuple[Values, ...]:
        """Two of the column, or one of another column for both."""
        if j != self._i:
            return (self.any_cell(j, count),) * 2
        return self.search.some(self._own, count), self.search.some(self._own, count)

    def scan(self, points: Points) -> Margins:
        """Between all cells of the column."""
        cells = self._own[self.search.rng.permutation(len(self._own))[:_MOST_CELLS]]
        rows = spread(points[0], self._i, cells)
        scores = self.search.raw(rows).reshape(len(points[0]), len(cells), -1)
        rounding = self.rounding((rows,)).reshape(len(points[0]), len(cells)).max(axis=1)
        return Margins(self._bound - np.ptp(scores, axis=1), rounding[:, None])


class Joint(_Change):
    """Attack on a bound of influence of several columns, any cells of which change at once."""

    def __init__(self, search: Search, claim: Claim, columns: Sequence[int]) -> None:
        super().__init__(search, claim)
        self._own = {j: search.pools[j].own for j in columns}

    @property
    def hopeless(self) -> bool:
        """Whether all cells are the same to the model."""
        return not any(self.search.pools[j].several for j in self._own)

    @property
    def first(self) -> tuple[int, ...]:
        """The columns of the group."""
        return tuple(self._own)

    def begin(self, count: int) -> Points:
        """Random rows, twice, with random cells of these columns."""
        rows, own = self.search.rows(count), list(self._own)
        before, after = np.stack([self.cells(j, count) for j in own], axis=1)
        return rows.put(own, before), rows.put(own, after)

    def cells(self, j: int, count: int) -> tuple[Values, ...]:
        """Two of a column of the group, or one of another column for both."""
        if j not in self._own:
            return (self.any_cell(j, count),) * 2
        return self.search.some(self._own[j], count), self.search.some(self._own[j], count)


class Response(_Change):
    """Attack on a bound of a change within tolerances: all columns that have one change together."""

    def __init__(self, search: Search, claim: Claim, within: Mapping[str, float | str]) -> None:
        super().__init__(search, claim)
        self._within = {search.position(name): size for name, size in within.items()}

    @property
    def hopeless(self) -> bool:
        """Whether no tolerance allows for a change."""
        return not any(self._changes(j) for j in self._within)

    def _changes(self, j: int) -> bool:
        pool, size = self.search.pools[j], self._within[j]
        return pool.several if isinstance(size, str) else moves(pool.column) and size > 0

    @property
    def first(self) -> tuple[int, ...]:
        """The columns with a tolerance."""
        return tuple(self._within)

    def begin(self, count: int) -> Points:
        """Random rows, twice, with changes of these columns."""
        rows, own = self.search.rows(count), list(self._within)
        before, after = np.stack([self.cells(j, count) for j in own], axis=1)
        return rows.put(own, before), rows.put(own, after)

    def cells(self, j: int, count: int) -> tuple[Values, ...]:
        """Two cells within the tolerance, or one of another column for both."""
        size, cells = self._within.get(j, 0.0), self.any_cell(j, count)
        if isinstance(size, str):
            return cells, self.any_cell(j, count)
        if j not in self._within or size == 0.0:
            return cells, cells
        return cells, _within(cells, size * self.search.some(_TOWARDS, count), float(size))


def _within(numbers: Float64Array, change: Float64Array, size: float) -> Float64Array:
    """Numbers that are changed by no more than the tolerance, whichever way the sum is rounded."""
    changed = readable(numbers + change)
    return np.where(np.abs(changed - numbers) > size, np.nextafter(changed, numbers), changed)
