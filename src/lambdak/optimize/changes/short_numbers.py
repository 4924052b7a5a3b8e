"""Numbers that people can read: the end of a range, moved into the range until it has few digits."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np

from lambdak.table.column_types import Column
from lambdak.table.numeric_column import Numeric

_CLOSE = 0.05  # of the way from where a row is: what rounding may add to it
_MOST_DIGITS = 18
_MOST_WHOLE = 1e15  # beyond, all floats are whole


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


def seems_whole(column: Column, value: float) -> bool:
    """Whether a column of numbers, of which this is one, seems to hold whole numbers."""
    nodes = column.nodes() if isinstance(column, Numeric) else np.array([value])
    return bool(value == round(value) and abs(value) < _MOST_WHOLE and (nodes == np.round(nodes)).all())


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
