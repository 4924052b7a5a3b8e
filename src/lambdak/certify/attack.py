"""The contract of an attack on one kind of claim, and the guided search that every kind shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.certify.cells import Values
from lambdak.certify.certificate import Claim
from lambdak.certify.search import Points, Rows, Search, allowed
from lambdak.certify.verification import Check

_DRAWN = 256  # comparisons of which those nearest to a violation are where the guided search begins
_STARTS = 32  # of it, half of them the nearest, half of them any
_SWEEPS = 2  # over all columns
_CANDIDATES = 12  # cells that are tried of each
_STRONGEST = 10  # columns that are changed in every sweep
_OTHERS = 6  # columns that are changed in a sweep beside these


class Margins(NamedTuple):
    """Comparisons: a margin that is negative by more than rounding, or not a number, is a violation."""

    values: Float64Array
    rounding: Float64Array | float
    shown: Float64Array | None = None  # the same in units to be shown


class Attack(ABC):
    """Tries to break one claim, by comparing the outputs of a few rows that belong together: its points."""

    def __init__(self, search: Search, claim: Claim) -> None:
        self.search, self.claim = search, claim

    @property
    def hopeless(self) -> bool:
        """Whether there is nothing to try."""
        return False

    @property
    def first(self) -> tuple[int, ...]:
        """Columns that the guided search changes in every sweep, before all others."""
        return ()

    @abstractmethod
    def begin(self, count: int) -> Points:
        """Draw random points to begin the search with."""

    def cells(self, j: int, count: int) -> tuple[Values, ...]:
        """Cells of column j to try: for each of the points its own."""
        return (self.any_cell(j, count),)

    def tried(self, points: Points, j: int) -> Points:
        """The points with other cells in column j."""
        cells = self.cells(j, len(points[0]))
        return tuple(rows.put(j, own) for rows, own in zip(points, cells, strict=True))

    @abstractmethod
    def margins(self, points: Points) -> Margins:
        """The comparison itself, on what users see."""

    def near(self, points: Points) -> Float64Array:
        """(rows,): what the guided search brings down."""
        return np.asarray(self.margins(points).values.min(axis=1))

    def scan(self, points: Points) -> Margins | None:
        """Further comparisons around the points that the guided search ended at."""
        return None

    # ---- what several kinds need -------------------------------------------------------------------------------

    def any_cell(self, j: int, count: int) -> Values:
        """Cells of column j, most of them tried ones."""
        pool, some = self.search.pools[j], self.search.some
        return np.where(self.search.rng.random(count) < 0.75, some(pool.tried, count), some(pool.seen, count))

    def rounding(self, points: Points) -> Float64Array:
        """(rows, 1): what rounding can do to a comparison of raw scores of these rows."""
        return allowed(self.claim, self.search, points)

    def raw(self, points: Points) -> Float64Array:
        """Raw scores of all points, (points, rows, outputs)."""
        return self.search.raw(together(points)).reshape(len(points), len(points[0]), -1)


def together(points: Points) -> Rows:
    """All points one after the other: a single call predicts them."""
    return Rows(np.concatenate([rows.columns for rows in points], axis=1))


def spread(rows: Rows, i: int, values: Values) -> Rows:
    """Every row with each of these cells in column i, one after the other."""
    index = np.repeat(np.arange(len(rows)), len(values))
    return rows.take(index).put(i, np.tile(values, len(rows)))


def run(attack: Attack) -> Check:
    """Random comparisons, then the guided search."""
    tally = _Tally(attack.claim)
    if not attack.hopeless:
        for count in attack.search.blocks():
            tally.add(attack.margins(attack.begin(count)))
        _guided(attack, tally)
    return tally.done()


def _guided(attack: Attack, tally: _Tally) -> None:
    """Change one column after the other to whatever cells bring a few points nearest to a violation."""
    points, least = _starts(attack)
    for _ in range(_SWEEPS):
        for j in _order(attack):
            points, least = _step(attack, points, least, j)
        tally.add(attack.margins(points), guided=True)
    scanned = attack.scan(points)
    if scanned is not None:
        tally.add(scanned, guided=True)


def _order(attack: Attack) -> list[int]:
    """The columns of a sweep: those of the claim, then the strongest of the others and some of the rest."""
    others = [j for j in attack.search.strongest if j not in attack.first]
    rng, strongest = attack.search.rng, others[:_STRONGEST]
    rest = rng.permutation(others[_STRONGEST:])[:_OTHERS]
    return [*attack.first, *rng.permutation([*strongest, *rest]).astype(int).tolist()]


def _starts(attack: Attack) -> tuple[Points, Float64Array]:
    points = attack.begin(_DRAWN)
    near = _lowest(attack.near(points))
    half = _STARTS // 2
    chosen = np.concatenate([np.argsort(near, kind="stable")[:half], np.arange(half)])
    return tuple(rows.take(chosen) for rows in points), near[chosen]


def _step(attack: Attack, points: Points, least: Float64Array, j: int) -> tuple[Points, Float64Array]:
    starts = len(points[0])
    index = np.repeat(np.arange(starts), _CANDIDATES)
    tried = attack.tried(tuple(rows.take(index) for rows in points), j)
    found = _lowest(attack.near(tried)).reshape(starts, _CANDIDATES)
    best = np.arange(starts) * _CANDIDATES + found.argmin(axis=1)
    better = found.min(axis=1) < least
    moved = (rows.where(better, other.take(best)) for rows, other in zip(points, tried, strict=True))
    return tuple(moved), np.minimum(least, found.min(axis=1))


def _lowest(near: Float64Array) -> Float64Array:
    """What is not a number is a violation, and the search may stay there."""
    return np.where(np.isnan(near), -np.inf, near)


class _Tally:
    """Counts comparisons of one claim, and keeps the smallest margin."""

    def __init__(self, claim: Claim) -> None:
        self._claim, self._tried, self._broken = claim, 0, 0
        self._margin, self._guided, self._number = np.inf, False, True

    def add(self, margins: Margins, guided: bool = False) -> None:
        """Count comparisons, and keep the worst of them."""
        values, shown = margins.values, margins.values if margins.shown is None else margins.shown
        self._tried += values.size
        self._broken += int(np.count_nonzero(_broken(margins)))
        self._number &= not np.isnan(values).any()
        least = float(np.fmin.reduce(shown, axis=None, initial=np.inf))
        if least < self._margin:
            self._margin, self._guided = least, guided

    def done(self) -> Check:
        """The comparisons as a check."""
        claim, known = self._claim, self._number and bool(np.isfinite(self._margin))
        margin = self._margin if known else None
        return Check(claim.kind, claim.subject, claim.statement, self._tried, self._broken, margin, self._guided)


def _broken(margins: Margins) -> NDArray[np.bool_]:
    return ~(margins.values >= -np.asarray(margins.rounding))
