"""For every row the nearest range, or the levels, of one column with which it would be approved, or closer to it.

The ends of a range are moved into it until they have few digits: numbers that people can read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.optimize.changes.sweeps import Bounds, Sweep

_CLOSE = 0.05  # of the way from where a row is: what rounding may add to it
_MOST_DIGITS = 18
_PARTS, _ROUNDS = 8, 4  # in which the end of a range is searched within a piece
_MOST_OF = 0.9  # of what a column can gain, where it is not enough alone
_MOST_LEVELS = 3  # that are named


def short_end(end: float, other: float, start: float, whole: bool) -> float:
    """A number with few digits between one end of a range and the other, close to the first.

    ``start`` is where the row is, NaN if it is nowhere. ``whole`` prefers a whole number, however far into the range.

    >>> short_end(30.3728, -math.inf, 82.0, False), short_end(0.2513, 0.9, 0.1, False)
    (30.0, 0.252)
    >>> short_end(3.2, math.inf, 2.0, True), short_end(3.2, 3.3, 2.0, True)
    (4.0, 3.2)
    """
    up = other > end
    if math.isinf(end) or other == end:
        return end
    room = abs(other - end) if math.isnan(start) else min(abs(end - start), abs(other - end) * 20)
    room = _CLOSE * room if math.isfinite(room) else 0.0
    if whole:
        found = float(Decimal(end).to_integral_value(ROUND_CEILING if up else ROUND_FLOOR))
        if min(end, other) <= found <= max(end, other):
            return found
    return _shortest(end, room, up)


def _shortest(end: float, room: float, up: bool) -> float:
    """The number with the fewest digits that is beyond the end by no more than the room."""
    if not room > 0.0:
        return end
    exact, most = Decimal(repr(float(end))), Decimal(room)  # as people read it; what is found is compared as a float
    first = math.floor(math.log10(max(abs(end), room))) + 1
    for exponent in range(first, first - _MOST_DIGITS, -1):
        unit = Decimal(1).scaleb(exponent)
        found = (exact / unit).to_integral_value(ROUND_CEILING if up else ROUND_FLOOR) * unit
        if abs(found - exact) <= most and (float(found) >= end if up else float(found) <= end):
            return float(found) + 0.0
    return end


Positions = NDArray[np.intp]
Flags = NDArray[np.bool_]


@final
@dataclass(frozen=True, eq=False)
class Alternatives:
    """What one column alone could do for declined rows: arrays of shape (rows,), if nothing else is said.

    Attributes
    ----------
    gain : array
        How much closer to an approval the row would be, in units of the raw score, proven; not positive where the
        column does not speak against it.
    enough : array of bool
        Whether the row would be approved: proven.
    never : array of bool
        Whether no value of the column alone is enough: proven.
    low, high : arrays
        The range of numbers; infinite where it has no end.
    best : array
        The number, or the position of the level, that gains most.
    levels : array of shape (rows, levels)
        Which levels; none of numbers.
    scores : pair of arrays of shape (outputs, rows)
        Between which raw scores then are, proven.
    """

    gain: Float64Array
    enough: Flags
    never: Flags
    low: Float64Array
    high: Float64Array
    best: Float64Array
    levels: Flags
    scores: tuple[Float64Array, Float64Array]


def alternatives(sweep: Sweep, x: Float64Array, now: Float64Array, side: int) -> Alternatives:
    """What the column of a sweep could do for rows whose numbers are ``x``, NaN if missing.

    ``now`` is at least how close the rows are to an approval, as ``gain`` counts. ``side`` is the only direction in
    which a monotone column may point, or 0.
    """
    if sweep.levels:
        return _of_levels(sweep.bounds(), now, sweep.approval.attainable)
    if len(sweep.points) < 2:
        return _nothing(sweep, len(now))
    return _Numbers(sweep, sweep.bounds(), x, now, side).found()


def _of_levels(bounds: Bounds, now: Float64Array, attainable: bool) -> Alternatives:
    """Alternatives of a category: a few of the levels that are enough, or the one that gains most.

    The last level stands for any that training has not seen, and is not among them.
    """
    surplus = np.concatenate([bounds.surplus[:, :-1], np.full((len(now), 1), -np.inf)], axis=1)
    rows, best = np.arange(len(now)), surplus.argmax(axis=1)
    most = surplus[rows, best]
    enough = (most >= 0) & attainable
    order = np.argsort(-surplus, axis=1, kind="stable")[:, :_MOST_LEVELS]
    picked = np.zeros(surplus.shape, bool)
    np.put_along_axis(picked, order, (np.take_along_axis(surplus, order, axis=1) >= 0) & attainable, axis=1)
    picked[rows, best] = True
    never = np.asarray((bounds.shortfall < 0).all(axis=1))
    nan = np.full(len(now), np.nan)
    ends = np.where(picked, bounds.low, np.inf).min(axis=2), np.where(picked, bounds.high, -np.inf).max(axis=2)
    return Alternatives(most - now, enough, never, nan, nan, best.astype(np.float64), picked, ends)


def _nothing(sweep: Sweep, rows: int) -> Alternatives:
    nan, no, none = np.full(rows, np.nan), np.zeros(rows, bool), np.full((len(sweep.outputs), rows), np.nan)
    return Alternatives(np.full(rows, -np.inf), no, ~no, nan, nan, nan, np.zeros((rows, 0), bool), (none, none))


class _Range(NamedTuple):
    """Points ``first`` to ``last`` of each row, and a number beyond the one that is nearer to the row."""

    first: Positions
    last: Positions
    low: Float64Array
    high: Float64Array


@final
@dataclass(frozen=True, eq=False)
class _Numbers:
    """A column of numbers."""

    sweep: Sweep
    bounds: Bounds
    x: Float64Array
    now: Float64Array
    side: int

    def found(self) -> Alternatives:
        ends = self.bounds.ends
        assert ends is not None
        rows, points = np.arange(len(self.now)), self.sweep.points
        known = ~np.isnan(self.x)
        start = np.where(known, self.x, self._middle)
        wrong = known[:, None] & (self.side * (points - start[:, None]) <= 0) & (self.side != 0)
        surplus = np.where(wrong, -np.inf, ends.surplus)
        best = surplus.argmax(axis=1)
        gain = surplus[rows, best] - self.now
        enough = (surplus[rows, best] >= 0) & self.sweep.approval.attainable
        distance = np.where(surplus >= 0, np.abs(points - start[:, None]), np.inf)
        near = np.where(enough, distance.argmin(axis=1), best)
        least = np.where(enough, 0.0, self.now + _MOST_OF * gain)
        spans = self._range(near, least, start, known)
        spans, part = self._extended(spans, near, enough & known & (gain > 0))
        low, high = self._scores(spans, near, part)
        never = np.asarray((self.bounds.shortfall < 0).all(axis=1) & self.sweep.column.bounded)
        none = np.zeros((len(rows), 0), bool)
        return Alternatives(gain, enough, never, *self._open(spans), points[best], none, (low, high))

    @property
    def _middle(self) -> float:
        """Where the range of a missing number is looked for."""
        return float(getattr(self.sweep.column, "median", np.nan))

    def _range(self, near: Positions, least: Float64Array, start: Float64Array, known: Flags) -> _Range:
        """All neighbouring pieces around a point on which the surplus is proven, away from where the row is."""
        points = self.sweep.points
        good = self.bounds.surplus >= least[:, None]  # (rows, pieces)
        rows, last = np.arange(len(near)), len(points) - 1
        up, down = np.full((len(near), last + 1), last), np.zeros((len(near), last + 1), np.intp)
        for k in range(last - 1, -1, -1):
            up[:, k] = np.where(good[:, k], up[:, k + 1], k)
        for k in range(1, last + 1):
            down[:, k] = np.where(good[:, k - 1], down[:, k - 1], k)
        ends = down[rows, near], up[rows, near]
        return _Range(*ends, points[ends[0]], points[ends[1]])

    def _extended(self, spans: _Range, near: Positions, which: Flags) -> tuple[_Range, Bounds | None]:
        """The ranges with their nearer ends moved towards the rows, as far as an approval is proven."""
        points, low, high = self.sweep.points, spans.low.copy(), spans.high.copy()
        above = points[near] > self.x
        piece = np.where(above, spans.first - 1, spans.last)
        inside = (piece >= 0) & (piece < len(points) - 1)
        if self.sweep.whole:  # between two neighbours there is nothing to find
            inside[inside] = np.diff(points)[piece[inside]] > 1.0
        rows = np.flatnonzero(which & inside)
        if not rows.size:
            return spans, None
        piece, up = piece[rows], above[rows]
        begin = np.where(up, points[piece + 1], points[piece])  # proven
        far = np.where(up, np.maximum(points[piece], self.x[rows]), np.minimum(points[piece + 1], self.x[rows]))
        some, end = self.sweep.take(rows), begin
        for _ in range(_ROUNDS):
            x = _between(end, far)
            good = np.logical_and.accumulate(some.within(piece, _ordered(x)).surplus[_along(x)] >= 0, axis=1)
            count = good.sum(axis=1)
            every = np.arange(len(rows))
            end, far = x[every, count], x[every, np.minimum(count + 1, _PARTS)]
        if self.sweep.whole:
            end = np.where(up, np.ceil(end), np.floor(end))
        low[rows], high[rows] = np.where(up, end, low[rows]), np.where(up, high[rows], end)
        x = _between(begin, end)
        part = some.within(piece, _ordered(x))
        return _Range(spans.first, spans.last, low, high), _spread(part, rows, len(near))

    def _scores(self, spans: _Range, near: Positions, part: Bounds | None) -> tuple[Float64Array, Float64Array]:
        """Between which raw scores are in the whole range, each (outputs, rows)."""
        ends = self.bounds.ends
        assert ends is not None
        pieces, nodes = np.arange(len(self.sweep.points) - 1), np.arange(len(self.sweep.points))
        inside = (pieces >= spans.first[:, None]) & (pieces < spans.last[:, None])
        here = nodes == near[:, None]
        low = np.minimum(_least(self.bounds.low, inside), _least(ends.low, here))
        high = -np.minimum(_least(-self.bounds.high, inside), _least(-ends.high, here))
        if part is None:
            return low, high
        return np.minimum(low, part.low.min(axis=2)), np.maximum(high, part.high.max(axis=2))

    def _open(self, spans: _Range) -> tuple[Float64Array, Float64Array]:
        """The ends of a range; beyond the last point nothing changes if the column is constant there."""
        last, bounded = len(self.sweep.points) - 1, self.sweep.column.bounded
        low = np.where((spans.first == 0) & (spans.low == self.sweep.points[0]) & bounded, -np.inf, spans.low)
        high = np.where((spans.last == last) & (spans.high == self.sweep.points[-1]) & bounded, np.inf, spans.high)
        return low, high


def _between(first: Float64Array, last: Float64Array) -> Float64Array:
    """(rows, parts + 1): numbers from first to last, both included."""
    share = np.arange(_PARTS + 1) / _PARTS
    x = first[:, None] * (1 - share) + last[:, None] * share
    x[:, -1] = last
    low, high = np.minimum(first, last)[:, None], np.maximum(first, last)[:, None]
    return np.asarray(np.clip(x, low, high))


def _ordered(x: Float64Array) -> Float64Array:
    """Numbers (rows, n) in increasing order within every row."""
    return np.sort(x, axis=1)


def _along(x: Float64Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of pieces in the order in which x goes."""
    falls = (x[:, 0] > x[:, -1])[:, None]
    pieces = np.arange(x.shape[1] - 1)
    return np.arange(len(x))[:, None], np.where(falls, pieces[::-1], pieces)


def _spread(part: Bounds, rows: Positions, count: int) -> Bounds:
    """Bounds of some rows among those of all; the others have none."""
    low = np.full((len(part.low), count, part.low.shape[2]), np.inf)
    high = np.full_like(low, -np.inf)
    low[:, rows], high[:, rows] = part.low, part.high
    return part._replace(low=low, high=high)


def _least(values: Float64Array, where: Flags) -> Float64Array:
    return np.asarray(np.where(where, values, np.inf).min(axis=2, initial=np.inf))
