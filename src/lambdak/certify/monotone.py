"""Attacks on monotone columns: two rows that differ in one number, and all predictions that must not fall."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.certify.attack import Attack, Margins, spread, together
from lambdak.certify.cells import Values, moves, nodes_of, random_numbers, scale_of
from lambdak.certify.certificate import Claim
from lambdak.certify.search import Points, Search
from lambdak.losses import Predicts
from lambdak.losses.links import CLOGLOG, LOG, LOGIT, LOGLOG, Link

_NARROW = 1e-3  # of the range: over less, a slope is rounding


class Monotone(Attack):
    """Attack on a monotone column: points are two rows, and the number is larger in the second."""

    def __init__(self, search: Search, claim: Claim) -> None:
        super().__init__(search, claim)
        self._i, self._sign = search.position(claim.subject), float(claim.details["sign"])
        self._column, self._tried = search.numeric()[self._i], search.pools[self._i].tried[:-1]

    @property
    def hopeless(self) -> bool:
        """Whether the column is constant."""
        return not moves(self._column)

    @property
    def first(self) -> tuple[int, ...]:
        """The column itself."""
        return (self._i,)

    def begin(self, count: int) -> Points:
        """Numbers from all over the range, some at knots or far away, and pairs that differ in the last bit."""
        rng, some = self.search.rng, self.search.some
        rows, ends = self.search.rows(count), np.empty((2, count))
        for end in ends:
            end[:] = random_numbers(rng, self._column, count)
            end[1::4] = some(self._tried, len(end[1::4]))
        ends[1, 3::4] = np.nextafter(ends[0, 3::4], np.inf)
        low, high = np.sort(ends, axis=0)
        return rows.put(self._i, low), rows.put(self._i, high)

    def cells(self, j: int, count: int) -> tuple[Values, ...]:
        """Neighbouring knots, or one cell of another column for both."""
        if j != self._i:
            return (self.any_cell(j, count),) * 2
        nodes = nodes_of(self._column)
        if len(nodes) < 2:  # a line that training saw one number of
            nodes = nodes[0] + np.array([0.0, scale_of(self._column)])
        left = self.search.rng.integers(len(nodes) - 1, size=count)
        return nodes[left], nodes[left + 1]

    def near(self, points: Points) -> Float64Array:
        """The least slope of the raw scores: predictions can be too near to their limits to show a way down."""
        (low, high), (wide, width) = self.raw(points), self._width(points)
        rise = self.search.model.loss.sign * self._sign * (high - low).min(axis=1)
        return np.where(wide, rise / width, np.inf)

    def margins(self, points: Points) -> Margins:
        """By how much predictions rise; with ordered classes the predicted class as well."""
        low, high = self.search.ordered(together(points)).reshape(2, len(points[0]), -1)
        rise = np.where(high == low, 0.0, self._sign * (high - low))
        rounding = self._of_predictions(self.rounding(points), low, high)
        wide, width = self._width(points)
        shown = rise[wide] / width[wide, None]
        if self.search.model.loss.predicts is Predicts.ORDERED_CLASSES:
            rise = np.column_stack([rise, self._of_labels(points)])
            rounding = np.column_stack([rounding, self.rounding(points)])
        return Margins(rise, rounding, shown)

    def scan(self, points: Points) -> Margins:
        """All numbers to try, the last bit beside every knot included: no prediction is below an earlier one."""
        values = np.unique(self._tried)
        rows = spread(points[0], self._i, values)
        seen = self._sign * self.search.ordered(rows).reshape(len(points[0]), len(values), -1)
        highest = np.maximum.accumulate(seen, axis=1)[:, :-1]
        rise = np.where(seen[:, 1:] == highest, 0.0, seen[:, 1:] - highest)
        rounding = self.rounding((rows,)).reshape(len(points[0]), len(values), 1)[:, 1:]
        return Margins(rise, self._of_predictions(rounding, np.abs(highest), np.abs(seen[:, 1:])), np.empty(0))

    # ---- widths, rounding, labels ------------------------------------------------------------------------------

    def _width(self, points: Points) -> tuple[NDArray[np.bool_], Float64Array]:
        """(rows,) each: whether the numbers are far apart, and how far in units of the range.

        Of a column that is constant beyond its range, what is beyond does not count.
        """
        low, high = (rows.columns[self._i] for rows in points)
        if self._column.clamp:
            low, high = (np.clip(end, self._column.low, self._column.high) for end in (low, high))
        width = (high - low) / scale_of(self._column)
        return width > _NARROW, np.maximum(width, _NARROW)

    def _of_predictions(self, raw: Float64Array, low: Float64Array, high: Float64Array) -> Float64Array:
        """What rounding of raw scores does to predictions."""
        return rounding_of_predictions(self.search.model.loss.link, raw, low, high)

    def _of_labels(self, points: Points) -> Float64Array:
        """(rows,): zero, or minus what the cut-point moved by that let the predicted class fall."""
        first, second = points if self._sign > 0 else points[::-1]
        before, after = self.search.labels(first), self.search.labels(second)
        cut, rows = np.minimum(after, self.search.model.loss.n_outputs - 1), np.arange(len(after))
        raw = self.raw((first, second))
        return np.where(after < before, raw[0][rows, cut] - raw[1][rows, cut], 0.0)


def rounding_of_predictions(link: Link, raw: Float64Array, low: Float64Array, high: Float64Array) -> Float64Array:
    """Return what rounding of raw scores does to predictions: as much as the link is steep."""
    larger = np.maximum(low, high)
    steep: Float64Array | float = 1.0
    if link in (LOG, CLOGLOG, LOGLOG):  # h e^{-h} <= 1 - e^{-h}
        steep = larger
    elif link is LOGIT:
        steep = np.maximum(low * (1.0 - low), high * (1.0 - high))
    return np.asarray(raw * steep + link.rounding * np.abs(larger))
