"""Cheap points that reach a goal, found without proof: one column, two columns, greedily more; then taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak.optimize.goals import Region
from lambdak.optimize.prices import Price
from lambdak.pencil.spectrum import Float64Array

_PARTS = 16  # of a move that are tried in one call
_ROUNDS = 6  # in which a move is taken back: to 16⁻⁶ of it
_PAIRS = 48  # single moves of which all pairs are tried


@final
@dataclass(frozen=True, eq=False)
class Moves:
    """A region, prices, and the axes that may move, (axes,)."""

    region: Region
    price: Price
    free: NDArray[np.bool_]

    def first(self) -> list[Float64Array]:
        """Valid points: by one column, by two, by several; the cheapest of each kind, taken back as far as possible."""
        x = self.price.start[None]
        singles, gains = self._singles(x[0])
        found = [self._cheapest(singles, gains >= 0), self._pair(singles, gains), self._greedy(x[0])]
        return [self.back(own) for own in found if own is not None]

    def _singles(self, x: Float64Array) -> tuple[Float64Array, Float64Array]:
        """All points that differ from x on one axis, and their excess."""
        axes = self.region.axes
        own = [(i, v) for i in np.flatnonzero(self.free) for v in axes[i].points.tolist() if v != x[i]]
        points = np.repeat(x[None], len(own), axis=0)
        for row, (i, v) in zip(points, own, strict=True):
            row[i] = v
        return points, self.region.excess(points) if len(points) else np.empty(0)

    def _cheapest(self, points: Float64Array, valid: NDArray[np.bool_]) -> Float64Array | None:
        if not valid.any():
            return None
        own = points[valid]
        return np.asarray(own[np.argmin(self.price.total(own))])

    def _pair(self, singles: Float64Array, gains: Float64Array) -> Float64Array | None:
        """Two of the moves that gain most for their price."""
        start = self.price.start
        gain = gains - self.region.excess(start[None])[0]
        worth = np.where(gain > 0, gain / (self.price.total(singles) + 1e-300), 0.0)
        few = np.argsort(-worth, kind="stable")[:_PAIRS]
        few = np.union1d(few, np.argsort(-gain, kind="stable")[:_PAIRS])
        few = few[gain[few] > 0]
        first, second = np.triu_indices(len(few), 1)
        a, b = singles[few[first]], singles[few[second]]
        both = np.where(a != start, a, b)
        differ = ((a != start) & (b != start)).sum(axis=1) == 0
        both = both[differ]
        return self._cheapest(both, self.region.excess(both) >= 0) if len(both) else None

    def _greedy(self, x: Float64Array) -> Float64Array | None:
        """One move after the other, the one that gains most for its price."""
        here = float(self.region.excess(x[None])[0])
        for _ in range(4 * len(x)):
            points, gains = self._singles(x)
            if not len(points):
                return None
            if (gains >= 0).any():
                return self._cheapest(points, gains >= 0)
            more = self.price.total(points) - self.price.total(x[None])[0]
            size = np.maximum(more, 1e-3 * np.abs(more).max(initial=1e-300))
            worth = np.where(gains > here, (gains - here) / size, -np.inf)
            if not np.isfinite(worth).any():
                return None
            x, here = points[np.argmax(worth)], float(gains[np.argmax(worth)])
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
            tried = self._rounded(tried, i)
            points = np.repeat(x[None], len(tried), axis=0)
            points[:, i] = tried
            first = int(np.argmax(self.region.excess(points) >= 0))
            x, invalid = points[first], tried[first - 1] if first else invalid
        return x

    def _coordinates(self, end: float, shares: Float64Array, i: int) -> Float64Array:
        return self._rounded(self.price.start[i] + shares * (end - self.price.start[i]), i)

    def _rounded(self, x: Float64Array, i: int) -> Float64Array:
        """Whole coordinates, away from the row's own."""
        if not self.price.whole[i]:
            return x
        away = np.where(x >= self.price.start[i], np.ceil(x), np.floor(x))
        return np.asarray(away)


def hitting_sets(sets: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """The smallest choices of one element or more of every set."""
    found: list[frozenset[int]] = [frozenset()]
    for own in sets:
        found = [have if have & own else have | {i} for have in found for i in ([0] if have & own else sorted(own))]
        found = list(dict.fromkeys(found))
        found = [have for have in found if not any(other < have for other in found)]
    return found
