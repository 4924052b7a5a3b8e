"""Cheap points that reach a goal, found without proof: one column, two columns, greedily more; then taken back.

Of many declined rows at once: where no column alone is enough, few columns that are together, checked by ``predict``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.model import Model
from lambdak.optimize.changes.alternatives import short_end
from lambdak.optimize.changes.goals import Region
from lambdak.optimize.changes.rows import Price
from lambdak.optimize.changes.sweeps import moved
from lambdak.optimize.changes.targets import Approval
from lambdak.table.column_contract import Column
from lambdak.table.design import Design

_PARTS = 16  # of a move that are tried in one call
_ROUNDS = 6  # in which a move is taken back: to 16⁻⁶ of it
_PAIRS = 24  # single moves of which all pairs are tried
_MOST = 6  # columns of a row that are combined
_HALVINGS = 10


@final
@dataclass(frozen=True, eq=False)
class Moves:
    """A region, prices, and the axes that may move, (axes,)."""

    region: Region
    price: Price
    free: NDArray[np.bool_]

    def first(self) -> list[Float64Array]:
        """Valid points: by one column, by two, by several; the cheapest of each kind, taken back as far as possible."""
        if not self.free.any():
            return []
        single = _Singles.of(self, self.price.start)
        found = [self._cheapest(single.points, single.excess >= 0), self._pair(single), self._greedy(single)]
        return [self.back(point) for point in found if point is not None]

    def climb(self) -> Float64Array:
        """The point with the largest excess that single moves lead to, or the best ones of all axes at once."""
        x, here = self.price.start, -np.inf
        while self.free.any():
            single = _Singles.of(self, x)
            if not len(single.points):
                break
            tried = np.stack([single.points[np.argmax(single.excess)], single.together()])
            excess = self.region.excess(tried)
            if excess.max() <= here:
                break
            x, here = tried[np.argmax(excess)], float(excess.max())
        return x

    def _cheapest(self, points: Float64Array, valid: NDArray[np.bool_]) -> Float64Array | None:
        if not valid.any():
            return None
        valid_points = points[valid]
        return np.asarray(valid_points[np.argmin(self.price.total(valid_points))])

    def _pair(self, single: _Singles) -> Float64Array | None:
        """Two of the moves that gain most, or most for their price."""
        gain = single.excess - single.here
        worth = np.where(gain > 0, gain / (self.price.total(single.points) + 1e-300), 0.0)
        few = np.union1d(*(np.argsort(-gains, kind="stable")[:_PAIRS] for gains in (worth, gain)))
        few = few[gain[few] > 0]
        a, b = (few[ids] for ids in np.triu_indices(len(few), 1))
        differ = single.axis[a] != single.axis[b]
        a, b = a[differ], b[differ]
        if not len(a):
            return None
        packed = [base + step[:, a] + step[:, b] for base, step in zip(single.base, single.steps, strict=True)]
        points = np.where(single.points[a] != self.price.start, single.points[a], single.points[b])
        return self._cheapest(points, self.region.excess_of(packed) >= 0)

    def _greedy(self, single: _Singles) -> Float64Array | None:
        """One move after the other, the one that gains most for its price."""
        for _ in range(4 * len(self.free)):
            if (single.excess >= 0).any():
                return self._cheapest(single.points, single.excess >= 0)
            more = self.price.total(single.points) - self.price.total(single.x[None])[0]
            size = np.maximum(more, 1e-3 * np.abs(more).max(initial=1e-300))
            worth = np.where(single.excess > single.here, (single.excess - single.here) / size, -np.inf)
            if not np.isfinite(worth).any():
                return None
            single = _Singles.of(self, single.points[np.argmax(worth)])
        return None

    def back(self, x: Float64Array) -> Float64Array:
        """A valid point with every move taken back as far as it stays valid, the dearest first."""
        for i in np.argsort(-self.price.parts(x[None])[0], kind="stable"):
            if x[i] != self.price.start[i]:
                x = self._one_back(x, int(i))
        return x

    def _one_back(self, x: Float64Array, i: int) -> Float64Array:
        low, high = 0.0, 1.0  # shares of the move
        for _ in range(1 if self.price.levels[i] else _ROUNDS):
            shares = np.linspace(low, high, _PARTS + 1)[:-1] if not self.price.levels[i] else np.zeros(1)
            points = np.repeat(x[None], len(shares), axis=0)
            points[:, i] = self._coordinates(x[i], shares, i)
            valid = self.region.excess(points) >= 0
            if not valid.any():
                low = float(shares[-1])
                continue
            first = int(np.argmax(valid))
            x = points[first]
            if first == 0:
                break
            return self._between(x, i, points[first - 1, i])
        return x

    def _between(self, x: Float64Array, i: int, invalid: float) -> Float64Array:
        """The valid coordinate next to an invalid one."""
        for _ in range(_ROUNDS):
            tried = np.linspace(invalid, x[i], _PARTS + 1)[1:]
            tried = self.price.outwards(tried, i)
            points = np.repeat(x[None], len(tried), axis=0)
            points[:, i] = tried
            first = int(np.argmax(self.region.excess(points) >= 0))
            x, invalid = points[first], tried[first - 1] if first else invalid
        return x

    def _coordinates(self, end: float, shares: Float64Array, i: int) -> Float64Array:
        return self.price.outwards(self.price.start[i] + shares * (end - self.price.start[i]), i)


@final
@dataclass(frozen=True, eq=False)
class _Singles:
    """All points that differ from x on one free axis, with that axis, their matrices, and their excess."""

    x: Float64Array
    here: float
    points: Float64Array  # (n, axes)
    axis: NDArray[np.intp]  # (n,)
    base: list[Float64Array]  # of each score: (members, 1, D)
    steps: list[Float64Array]  # of each score: what the move adds, (members, n, D)
    excess: Float64Array

    @classmethod
    def of(cls, moves: Moves, x: Float64Array) -> _Singles:
        singles = [(i, axis.points[axis.points != x[i]]) for i, axis in enumerate(moves.region.axes) if moves.free[i]]
        axis = np.repeat([i for i, _ in singles], [len(points) for _, points in singles])
        points = np.repeat(x[None], len(axis), axis=0)
        points[np.arange(len(axis)), axis] = np.concatenate([ends for _, ends in singles])
        base = [score.packed(x[None]) for score in moves.region.scores]
        steps = [
            np.concatenate([score.curve_at(i, ends) - score.curve_at(i, x[[i]]) for i, ends in singles], axis=1)
            for score in moves.region.scores
        ]
        excess = moves.region.excess_of([first + step for first, step in zip(base, steps, strict=True)])
        return cls(x, float(moves.region.excess_of(base)[0]), points, axis, base, steps, excess)

    def together(self) -> Float64Array:
        """The best move of every axis that gains by one, all at once."""
        x = self.x.copy()
        for i in np.unique(self.axis):
            of_axis = np.flatnonzero(self.axis == i)
            best = of_axis[np.argmax(self.excess[of_axis])]
            x[i] = self.points[best, i] if self.excess[best] > self.here else x[i]
        return x


def hitting_sets(sets: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """The smallest choices of one element or more of every set."""
    found: list[frozenset[int]] = [frozenset()]
    for members in sets:
        found = [
            have if have & members else have | {i}
            for have in found
            for i in ([0] if have & members else sorted(members))
        ]
        found = list(dict.fromkeys(found))
        found = [have for have in found if not any(other < have for other in found)]
    return found


@final
@dataclass(frozen=True, eq=False)
class Moving:
    """Declined rows, and columns of them that may move.

    Attributes
    ----------
    design : Design
    offset : array of shape (rows,)
    best : array of shape (rows, columns)
        The number, or the position of the level, that gains most in each column; NaN where it may not move.
    gain : array of shape (rows, columns)
        How much.
    start : array of shape (rows, columns)
        The numbers of the rows; NaN where there is none to begin from.
    levels : sequence of tuple
        The levels of each column that may be named.
    whole : array of shape (columns,)
        Which columns hold whole numbers only.
    """

    model: Model
    approval: Approval
    design: Design
    offset: Float64Array
    best: Float64Array
    gain: Float64Array
    start: Float64Array
    levels: Sequence[tuple[Any, ...]]
    whole: NDArray[np.bool_]

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns of the model."""
        return self.model.encoder.columns

    def approved(self, rows: NDArray[np.intp], cells: Mapping[int, Float64Array]) -> NDArray[np.bool_]:
        """Whether rows are approved with other cells, column → (rows,), NaN where a row keeps its own."""
        changed = moved(self.design.take(rows), self.columns, cells, self.levels)
        raw = self.model.scores(changed, self.offset[rows] if self.offset.any() else None)
        return self.approval.reached(raw)

    def together(self) -> list[dict[int, float]]:
        """Cells by column, row by row, that get rows approved: the fewest columns, of those that gain most.

        Numbers are moved back towards the row as far as they stay enough.

        A row for which none were found has an empty dict.
        """
        rows = np.arange(len(self.design))
        gain = np.where(np.isnan(self.best), -np.inf, self.gain)
        order = np.argsort(-gain, axis=1, kind="stable")[:, :_MOST]
        usable = np.take_along_axis(gain, order, axis=1) > 0
        chosen = np.full((len(rows), len(self.columns)), np.nan)
        waiting = rows
        for size in range(2, order.shape[1] + 1):
            for places in combinations(range(order.shape[1]), size):
                tried = waiting[usable[waiting][:, list(places)].all(axis=1)]
                cells = self._moved(tried, order[tried][:, list(places)])
                good = self.approved(tried, dict(enumerate(cells.T))) if tried.size else np.zeros(0, bool)
                chosen[tried[good]] = cells[good]
                waiting = np.setdiff1d(waiting, tried[good])
        return self._as_dicts(self._rounded(self._closer(chosen)))

    def _moved(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Float64Array:
        cells = np.full((len(rows), len(self.columns)), np.nan)
        np.put_along_axis(cells, columns, np.take_along_axis(self.best[rows], columns, axis=1), axis=1)
        return cells

    def _closer(self, chosen: Float64Array) -> Float64Array:
        """Cells with all numbers moved back towards the rows by the same share, as far as it stays enough."""
        start, moves = self.start, ~np.isnan(chosen) & ~np.isnan(self.start)
        rows = np.flatnonzero(moves.any(axis=1))
        enough, less, found = np.ones(len(rows)), np.zeros(len(rows)), chosen.copy()
        for _ in range(_HALVINGS):
            share = 0.5 * (enough + less)
            cells = np.where(moves, start + _at(share, rows, len(start)) * (chosen - start), chosen)
            cells = np.where(self.whole & moves, np.where(chosen > start, np.ceil(cells), np.floor(cells)), cells)
            good = self.approved(rows, dict(enumerate(cells[rows].T)))
            found[rows[good]] = cells[rows[good]]
            enough, less = np.where(good, share, enough), np.where(good, less, share)
        return found

    def _rounded(self, chosen: Float64Array) -> Float64Array:
        """Cells with numbers of few digits, rounded towards those that gain most, where that is still enough."""
        short = chosen.copy()
        for row, i in np.argwhere(~np.isnan(chosen) & ~np.isnan(self.start)).tolist():
            start, own, best = self.start[row, i], chosen[row, i], self.best[row, i]
            short[row, i] = short_end(float(own), float(best), float(start), bool(self.whole[i]))
        rows = np.flatnonzero((short != chosen).any(axis=1) & ~np.isnan(chosen).all(axis=1))
        good = rows[self.approved(rows, dict(enumerate(short[rows].T)))]
        found = chosen.copy()
        found[good] = short[good]
        return found

    def _as_dicts(self, chosen: Float64Array) -> list[dict[int, float]]:
        return [{int(i): float(point[i]) for i in np.flatnonzero(~np.isnan(point))} for point in chosen]


def _at(share: Float64Array, rows: NDArray[np.intp], count: int) -> Float64Array:
    """(count, 1): shares of some rows."""
    found = np.zeros((count, 1))
    found[rows, 0] = share
    return found
