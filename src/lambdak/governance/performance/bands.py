"""Cells in groups that a person can read: bands of numbers, or levels; missing cells are a group of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Final, Literal, Protocol, final

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_int
from lambdak._types import Float64Array
from lambdak.table.band_words import band_words
from lambdak.table.category_levels import OTHER, shown
from lambdak.table.cells import Cells
from lambdak.table.column_contract import Column
from lambdak.table.knots import distinct
from lambdak.table.visible import visible

Codes = NDArray[np.intp]
Kind = Literal["bands", "levels", "periods", "predictions"]

BANDS = 10  # of a column of numbers, and of predictions
MOST_BANDS = 1_000
MISSING: Final = "missing"
NEW: Final = "new levels"
_FEW = 2  # times as many distinct numbers as bands: each may have its own
_MOVED = 0.05  # of a band, so that its ends have few digits
_ENOUGH = 100_000  # rows to choose the ends of bands from; every row is then counted


class Banding(Protocol):
    """How cells of a column are grouped: the same way in any table."""

    @property
    def kind(self) -> Kind:
        """What the groups are."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all groups, also of those without a row."""

    def codes(self, cells: Cells) -> Codes:
        """The group of each cell, (rows,)."""


@final
@dataclass(frozen=True, eq=False)
class NumberBands:
    """Numbers in [ends[j], ends[j + 1]); those below the first and above the last end are in the first and last band.

    The last group is that of missing cells.
    """

    ends: Float64Array
    whole: bool  # whether all numbers are whole
    each: bool = False  # whether every end is a band of its own number

    @property
    def kind(self) -> Kind:
        """Bands of numbers."""
        return "bands"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bands, such as 18–24, or [0.5, 1) where numbers are not whole."""
        last = len(self.ends) - 1
        return (*(self._name(j, last) for j in range(last + 1)), MISSING)

    def _name(self, j: int, last: int) -> str:
        low, high = (None if j == 0 else float(self.ends[j])), (None if j == last else float(self.ends[j + 1]))
        return band_words(low, high, self.whole, self.ends.tolist() if self.each and last == 1 else ())

    def codes(self, cells: Cells) -> Codes:
        """The band of each number."""
        x = cells.numbers()
        found = np.searchsorted(self.ends[1:], x, side="right")
        found[np.isnan(x)] = len(self.ends)
        return found


@final
@dataclass(frozen=True, eq=False)
class LevelBands:
    """One group per level, then missing cells, then levels that are not among these."""

    levels: tuple[object, ...]
    others: str = NEW

    @property
    def kind(self) -> Kind:
        """What the groups are: levels."""
        return "levels"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the levels, then of missing and of other ones; those that look alike differ by a number."""
        return (*_apart([visible(shown(level)) for level in self.levels]), MISSING, self.others)

    def codes(self, cells: Cells) -> Codes:
        """The level of each cell."""
        level_codes, levels = cells.levels()
        place: dict[object, int] = {level: i for i, level in enumerate(self.levels)} | {None: len(self.levels)}
        return np.array([place.get(level, len(place)) for level in levels], np.intp)[level_codes]


def banding(cells: Cells, column: Column | None, weight: Float64Array | None = None, bands: int = BANDS) -> Banding:
    """Groups of a column: quantiles of its numbers by weight, or its levels; those of training first.

    Where a column has few distinct numbers, each is a band.
    """
    if column is not None and not column.is_number:
        return LevelBands(_levels(cells, column.named_levels))
    if column is None and cells.kind not in ("number", "bool"):
        return LevelBands(_levels(cells, ()))
    x = cells.numbers()
    some = _some(x)
    return number_bands(x[some], None if weight is None else weight[some], bands)


def _some(x: Float64Array) -> slice:
    """Rows to choose the ends of bands from."""
    return slice(None, None, -(-len(x) // _ENOUGH) or 1)


def shared_bands(
    old: Float64Array, new: Float64Array, weights: tuple[Float64Array, Float64Array], bands: int
) -> NumberBands:
    """Bands of the old numbers; if these are so few that each has its own, of both samples.

    Otherwise a number that the old sample never had would be in the band of one that it had.

    >>> weights = np.ones(4), np.ones(3)
    >>> shared_bands(np.array([1.0, 1.0, 1.0, 1.0]), np.array([0.5, 1.0, 7.5]), weights, 10).names
    ('< 1', '[1, 7.5)', '≥ 7.5', 'missing')
    """
    samples = [(x[_some(x)], weight[_some(x)]) for x, weight in zip((old, new), weights, strict=True)]
    first_sample = number_bands(*samples[0], bands)
    known = samples[0][0][~np.isnan(samples[0][0]) & (samples[0][1] > 0)]
    if not np.isin(known, first_sample.ends).all():
        return first_sample
    x, share = (np.concatenate(both) for both in zip(*((x, w / w.sum()) for x, w in samples), strict=True))
    return number_bands(x, share, bands)


def number_bands(x: Float64Array, weight: Float64Array | None, bands: int) -> NumberBands:
    """Bands with about the same weight; a number that holds much of it is never split.

    >>> number_bands(np.array([0.0, 0.0, 0.0, 1.5, 2.5, 3.5, 9.0, 9.5]), None, 2).names
    ('< 2', '≥ 2', 'missing')
    """
    most = check_int(bands, "bands", 1, MOST_BANDS)
    seen = ~np.isnan(x) if weight is None else ~np.isnan(x) & (weight > 0)
    values, mass = distinct(x[seen], None if weight is None else weight[seen])
    if not len(values):
        return NumberBands(np.zeros(1), True)
    whole = bool((values == np.floor(values)).all() and np.abs(values).max() < 2**53)
    if most > 1 and len(values) <= _FEW * most:
        return NumberBands(values, whole, True)
    return NumberBands(_short_ends(values, mass, most), whole)


def quantile_codes(score: Float64Array, weight: Float64Array, bands: int) -> Codes:
    """Positions 0 … bands − 1 of rows in the order of their scores, with about the same weight; equal scores share one.

    >>> quantile_codes(np.array([3.0, 1.0, 1.0, 2.0]), np.ones(4), 2)
    array([1, 0, 0, 1])
    """
    unique, place = np.unique(score, return_inverse=True)
    mass = np.asarray(np.bincount(place, weight, len(unique)), np.float64)
    return np.asarray(_shares(mass, bands)[place])


def _shares(mass: Float64Array, bands: int) -> Codes:
    """The bin of each value in order, by the middle of its mass."""
    ends = np.cumsum(mass)
    middle = (ends - mass / 2) / ends[-1] if ends[-1] else np.zeros(len(mass))
    return np.minimum((middle * bands).astype(np.intp), bands - 1)


def _short_ends(values: Float64Array, mass: Float64Array, bands: int) -> Float64Array:
    """Where each bin begins, in as few digits as possible: a small part of a bin may move for it."""
    first = np.unique(_shares(mass, bands), return_index=True)[1]
    sums = np.cumsum(mass)
    before = np.searchsorted(sums, sums[first] - mass[first] - _MOVED * sums[-1] / bands)
    ends = [values[0], *(_short(values[i], values[min(j, i - 1)]) for i, j in zip(first[1:], before[1:], strict=True))]
    return np.array(ends)


def _short(value: float, above: float) -> float:
    """The number in (above, value] with the fewest digits.

    >>> _short(23.6267, 23.41)
    23.6
    """
    for digits in range(1, 17):
        unit = Decimal(1).scaleb(Decimal(float(value)).adjusted() + 1 - digits) if value else Decimal(1)
        short = float(Decimal(float(value)).quantize(unit, ROUND_FLOOR, Context(prec=400)))
        if above < short <= value:
            return short
    return float(value)


def _levels(cells: Cells, known: Sequence[object]) -> tuple[object, ...]:
    """Levels of training, then others as they appear; neither missing cells nor the pooled level."""
    found = dict.fromkeys([*known, *cells.levels()[1]])
    return tuple(level for level in found if level is not None and level is not OTHER)


def _apart(names: list[str]) -> list[str]:
    """Names of which no two are alike, nor like those of other groups."""
    taken: set[str] = {MISSING, NEW}
    result = []
    for name in names:
        unique, i = name, 2
        while unique in taken:
            unique, i = f"{name} ({i})", i + 1
        taken.add(unique)
        result.append(unique)
    return result
