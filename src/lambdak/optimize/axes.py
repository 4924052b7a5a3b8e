"""The columns that are free to choose, as coordinates: a number, a whole number, or a level by its position.

Between two neighbouring points of an axis every model is affine in its matrices, so bounds only look at points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.table.category_levels import OTHER
from lambdak.table.column_contract import Column
from lambdak.table.knots import MOST_WHOLE
from lambdak.table.numeric_column import Numeric


@final
@dataclass(frozen=True, eq=False)
class Axis:
    """One free column, and the points that a search may move it to.

    Attributes
    ----------
    name : str
        The user's name of the column.
    points : array of shape (P,)
        Increasing, the two bounds included: numbers at which a slope may change, or positions among ``levels``.
    levels : tuple
        The levels to choose from; empty for numbers.
    whole : bool
        Whether only whole numbers may be chosen: true for levels.
    jumps : array of shape (P − 1,), optional
        Whether there is nothing to choose between a point and the next.
    """

    name: str
    points: Float64Array
    levels: tuple[object, ...] = ()
    whole: bool = False
    jumps: NDArray[np.bool_] | None = None

    @property
    def low(self) -> float:
        """Lowest point of the axis."""
        return float(self.points[0])

    @property
    def high(self) -> float:
        """Highest point of the axis."""
        return float(self.points[-1])

    def cell(self, x: float) -> Any:
        """The user's cell at a coordinate."""
        if self.levels:
            return self.levels[round(x)]
        return round(x) if self.whole else float(x)

    def coordinate(self, cell: Any) -> float:
        """The coordinate of a user's cell."""
        return float(self.levels.index(cell)) if self.levels else float(cell)

    def piece(self, x: Float64Array) -> tuple[NDArray[np.intp], Float64Array]:
        """The point before each coordinate, and how far it is on the way to the next, in [0, 1]."""
        if len(self.points) == 1:
            return np.zeros(x.shape, np.intp), np.zeros(x.shape)
        before = np.clip(np.searchsorted(self.points, x, side="right") - 1, 0, len(self.points) - 2)
        first, last = self.points[before], self.points[before + 1]
        return before, np.asarray(np.clip((x - first) / (last - first), 0.0, 1.0))

    def count_between(self, low: Float64Array, high: Float64Array) -> NDArray[np.intp]:
        """How many points lie strictly inside of intervals, (n,)."""
        first = np.searchsorted(self.points, low, side="right")
        return np.asarray(np.maximum(np.searchsorted(self.points, high, side="left") - first, 0))

    def vertices(self, low: Float64Array, high: Float64Array) -> Float64Array:
        """(n, J): the ends of intervals and the points between, increasing; the high end fills up shorter rows."""
        first = np.searchsorted(self.points, low, side="right")
        steps = np.arange(int(self.count_between(low, high).max(initial=0)) + 1)
        found = self.points[np.minimum(first[:, None] + steps, len(self.points) - 1)]
        return np.concatenate([low[:, None], np.minimum(found, high[:, None])], axis=1)

    def split(self, low: Float64Array, high: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Where intervals are halved: the high ends of the first halves and the low ends of the second ones.

        At a point, if there is one inside, so that the halves hold as many points; otherwise in the middle.
        """
        first = np.searchsorted(self.points, low, side="right")
        last = np.searchsorted(self.points, high, side="left")
        middle = self.points[np.minimum((first + last) // 2, len(self.points) - 1)]
        middle = np.where(last > first, middle, 0.5 * low + 0.5 * high)
        if self.whole:
            end = np.minimum(np.floor(middle), high - 1)
            return end, end + 1
        return (middle, middle) if self.jumps is None else self._beside_jumps(middle)

    def _beside_jumps(self, middle: Float64Array) -> tuple[Float64Array, Float64Array]:
        """The two points on either side of a jump that ``middle`` is in or next to; elsewhere ``middle`` itself."""
        jumps = np.concatenate([[False], np.asarray(self.jumps), [False]])  # jumps[p] is that before point p
        after = np.searchsorted(self.points, middle, side="left")  # the point at or after it
        before = np.searchsorted(self.points, middle, side="right") - 1
        leaps_back, leaps_on = jumps[after], jumps[before + 1]
        end = np.where(leaps_back, self.points[np.maximum(after - 1, 0)], middle)
        begin = np.where(leaps_on & ~leaps_back, self.points[np.minimum(before + 1, len(self.points) - 1)], middle)
        begin = np.where(leaps_back, self.points[after], begin)
        return end, begin

    def nearest(self, x: Float64Array) -> Float64Array:
        """Coordinates (n,) that may be chosen, close to these."""
        x = np.clip(x, self.low, self.high)
        if self.whole:
            return np.asarray(np.rint(x))
        if self.jumps is None or len(self.points) == 1:
            return np.asarray(x)
        before, share = self.piece(x)
        return np.where(self.jumps[before], self.points[before + (share >= 0.5)], x)


def make_axis(columns: Sequence[Column], bounds: Any, whole: bool) -> Axis:
    """The axis of a free column, as one or several models know it, within the user's bounds."""
    if not any(column.is_number for column in columns):
        return _level_axis(columns, bounds)
    numeric = [column for column in columns if isinstance(column, Numeric)]
    if len(numeric) < len(columns):
        raise ValueError(f"column {columns[0].name!r} is a category in one model and a number in another")
    return _number_axis(numeric, bounds, whole)


def _level_axis(columns: Sequence[Column], bounds: Any) -> Axis:
    name = columns[0].name
    known = [level for level in columns[0].known_levels if level is not None and level is not OTHER]
    several = known if bounds is None else [bounds] if isinstance(bounds, str) or np.ndim(bounds) == 0 else bounds
    levels = list(dict.fromkeys(several))
    unknown = [level for level in levels if level not in known]
    if unknown or not levels:
        raise ValueError(f"bounds of column {name!r} must be some of its levels, {known}; got {unknown or levels}")
    return Axis(name, np.arange(float(len(levels))), tuple(levels), True)


def _number_axis(columns: Sequence[Numeric], bounds: Any, whole: bool) -> Axis:
    name = columns[0].name
    low, high = _ends(columns, bounds)
    points = np.concatenate([[low, high], *(np.append(column.nodes(), column.corners()) for column in columns)])
    points = points[(points >= low) & (points <= high)]
    if whole:
        low, high = np.ceil(low), np.floor(high)
        if low > high:
            raise ValueError(
                f"bounds of column {name!r} hold no whole number; got {bounds!r}: widen them, or list the columns of "
                "whole numbers in whole, without this one"
            )
        if max(abs(low), abs(high)) > MOST_WHOLE:
            raise ValueError(f"whole numbers of column {name!r} must be at most 2**52; got bounds {(low, high)}")
        points = np.clip(np.concatenate([np.floor(points), np.ceil(points)]), low, high)
    return Axis(name, np.unique(points + 0.0), (), whole)


def _ends(columns: Sequence[Numeric], bounds: Any) -> tuple[float, float]:
    """The bounds of a column: the user's, and where those are None the training range."""
    name, seen = columns[0].name, (min(column.low for column in columns), max(number.high for number in columns))
    given = (None, None) if bounds is None else bounds
    try:
        low, high = (outermost if end is None else float(end) for outermost, end in zip(seen, given, strict=True))
    except (TypeError, ValueError):
        raise ValueError(f"bounds of column {name!r} must be (low, high); got {bounds!r}") from None
    if not low <= high:
        raise ValueError(f"bounds of column {name!r} must have the lower number first; got {bounds!r}")
    if not np.isfinite([low, high]).all():
        raise ValueError(f"column {name!r} has no range of training rows: give bounds={{{name!r}: (low, high)}}")
    return low, high


def cells_of(axes: Sequence[Axis], x: Float64Array) -> Mapping[str, Any]:
    """The user's cells at the coordinates (axes,)."""
    return {axis.name: axis.cell(coordinate) for axis, coordinate in zip(axes, x.tolist(), strict=True)}
