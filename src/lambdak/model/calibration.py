r"""How often targets are covered, counted on rows that the model was not trained on: conformal intervals as levels.

Each row tells the first level whose quantile is at least its target, and the last one whose quantile is at most its
target. Of n rows, ⌈s (n + 1)⌉ have their first level at or below the level that :meth:`Calibration.level` answers for a
share s: the target of one more row, exchangeable with these, is at most the quantile there with probability s or more.
An interval is two such levels, so that what holds at every level, order, monotone columns and caps, holds for its ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import freeze_arrays
from lambdak._types import Float64Array
from lambdak.model.level_curve import MEAN_HALVINGS, LevelCurve

# Shares for which levels are kept: a request between two takes the larger one; beyond the last, level 1 is the answer.
SHARES = np.concatenate([np.arange(1, 999) / 1000, np.arange(9990, 10_000) / 10_000])
LEFT_OUT, HELD_OUT = "left out", "held out"
FEWEST = 20  # rows of a group with levels of its own; in others those of all rows count
MOST_GROUPS = 100
_SAME = 1e-9  # between shares that are the same number, such as (1 + 0.9) / 2 and 0.95
_ROOM = 1e-12  # by which a level is moved outwards, relative to it, so that its quantile reaches the target as computed


@final
@dataclass(frozen=True, eq=False)
class Calibration:
    """Tails of the distribution, and the levels that cover a share of rows.

    Attributes
    ----------
    below, above : float
        Steps of the tails, as :class:`lambdak.model.level_curve.LevelCurve` has them, in units of the target.
    tables : array of shape (groups, 2, shares)
        Levels for lower and upper ends, for each of ``SHARES``: of all rows, and then of each group. Without rows to
        count on there are none.
    rows : tuple of int
        The rows counted, of each table.
    column : int or None
        Position of the category whose levels are the groups.
    groups : tuple of int
        The codes of the levels behind the further tables.
    source : {"left out", "held out"}
        Whether members left the rows out, or no member was trained on them.
    """

    below: float
    above: float
    tables: Float64Array
    rows: tuple[int, ...] = ()
    column: int | None = None
    groups: tuple[int, ...] = ()
    source: str = LEFT_OUT

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", np.asarray(self.tables, np.float64).reshape(-1, 2, len(SHARES)))
        freeze_arrays(self)

    @property
    def counted(self) -> bool:
        """Whether there were rows to count on."""
        return len(self.tables) > 0

    @property
    def words(self) -> str:
        """What intervals of a coverage promise, and what that assumes."""
        left_out = self.source == LEFT_OUT
        apart = f", and so in each of {len(self.groups)} groups" if self.groups else ""
        words = (
            f"intervals for a coverage hold the target of a new row at least so often{apart}, if it is exchangeable "
            f"with the {self.rows[0]:,} rows that {'members left out' if left_out else 'no member was trained on'}, on "
            "which their levels were counted"
        )
        return words + ("; and if all members together err no more than a mean of so many does" * left_out)

    def uncounted(self) -> Calibration:
        """The tails alone."""
        return Calibration(self.below, self.above, self.tables[:0])

    def interval(self, coverage: float) -> Float64Array:
        """Levels (groups, 2) of the ends of an interval, either of which is missed by half of what is not covered."""
        ends = np.stack([self.end((1 + coverage) / 2, upper=upper) for upper in (False, True)], axis=1)
        return np.stack([np.minimum(ends[:, 0], 0.5), np.maximum(ends[:, 1], 0.5)], axis=1)

    def end(self, share: float, *, upper: bool) -> Float64Array:
        """Levels (groups,) of an upper end that a share of the targets is below, or of a lower end."""
        place = int(np.searchsorted(SHARES, share - _SAME))
        if place == len(SHARES):
            return np.full(len(self.tables), float(upper))
        return np.asarray(self.tables[:, int(upper), place])

    def of_rows(self, levels: Float64Array, codes: NDArray[np.intp] | None) -> Float64Array:
        """Levels (rows, …) for the groups of rows, of levels (groups, …); ``codes`` (rows,) are those of the column."""
        if codes is None:
            return levels[:1]
        place = np.zeros(len(codes), np.intp)
        for table, code in enumerate(self.groups, 1):
            place[codes == code] = table
        return levels[place]


def counted(
    tails: Calibration,
    curve: LevelCurve,
    quantiles: Float64Array,
    y: Float64Array,
    weight: Float64Array | None = None,
    codes: NDArray[np.intp] | None = None,
    column: int | None = None,
    source: str = LEFT_OUT,
) -> Calibration:
    """Tails with the levels on a curve that cover shares of rows with these quantiles (rows, levels) and targets.

    ``codes`` (rows,) are those of a category, whose levels are groups if they have enough rows.
    """
    first = np.minimum(curve.level_of(quantiles, y, first=True) * (1 + _ROOM), 1.0)
    last = curve.level_of(quantiles, y) * (1 - _ROOM)
    mass = np.ones(len(y)) if weight is None else np.asarray(weight, np.float64)
    found = [np.flatnonzero(mass > 0)]
    groups: list[int] = []
    for code in [] if codes is None else np.unique(codes[found[0]]).tolist():
        own = np.flatnonzero((codes == code) & (mass > 0))
        if len(own) >= FEWEST and code >= 0:
            groups.append(int(code))
            found.append(own)
    tables = [np.stack([1 - _covering(1 - last[own], mass[own]), _covering(first[own], mass[own])]) for own in found]
    return replace(
        tails, tables=np.stack(tables), rows=tuple(map(len, found)), column=column, groups=tuple(groups), source=source
    )


def _covering(first: Float64Array, mass: Float64Array) -> Float64Array:
    """The least of the levels that a share of rows and one more does not exceed, for each of ``SHARES``; 1 if none."""
    order = np.argsort(first, kind="stable")
    share = np.cumsum(mass[order]) / (mass.sum() + mass.mean())
    place = np.searchsorted(share, SHARES - _SAME)
    return np.asarray(np.append(first[order], 1.0)[place])


def tails_of(
    levels: tuple[float, ...], quantiles: Float64Array, y: Float64Array, weight: Float64Array | None = None
) -> Calibration:
    """Tails whose mean is that of rows beyond the outermost levels; of few, that of the levels next to them counts."""
    mass = np.ones(len(y)) if weight is None else np.asarray(weight, np.float64)
    mass = mass / max(mass.mean(), 1e-300)
    steps = []
    for sign, outer, level in ((1, 0, levels[0]), (-1, -1, 1 - levels[-1])):
        beyond = np.maximum(sign * (quantiles[:, outer] - y), 0.0)
        prior = MEAN_HALVINGS * _next(levels, quantiles, y, mass, outer, level)
        mean = (mass @ beyond + prior) / (mass @ (beyond > 0) + 1)
        steps.append(float(mean / MEAN_HALVINGS))
    return Calibration(steps[0], steps[1], np.empty((0, 2, len(SHARES))))


def _next(
    levels: tuple[float, ...], quantiles: Float64Array, y: Float64Array, mass: Float64Array, outer: int, level: float
) -> float:
    """How far a halving of the probability moves quantiles between the outermost level and the next."""
    if len(levels) == 1:
        return float(np.average(np.abs(y - quantiles[:, 0]), weights=mass))
    inner = levels[1] if outer == 0 else 1 - levels[-2]
    gap = quantiles[:, 1] - quantiles[:, 0] if outer == 0 else quantiles[:, -1] - quantiles[:, -2]
    return float(np.average(gap, weights=mass) / np.log2(inner / level))
