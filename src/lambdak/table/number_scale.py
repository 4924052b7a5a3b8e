r"""Where the numbers of a column stand on an axis or a slider: evenly where most rows are, however far the others lie.

The usual range of a column reaches three times the distance of its quartiles beyond them. Where the training range is
much wider, the usual range takes most of the axis, and what lies beyond is compressed: with w the width of the usual
range, a number is log(1 + (x − last) / w) behind its last one. Every number of the training range has its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lambdak._types import Float64Array

_REACH = 3.0  # distances of the quartiles: of a normal distribution, one row in a million lies beyond
_MUCH = 1.0  # widths of the usual range beyond it that are still drawn to scale
TAIL = 0.2  # of an axis, for each end that is compressed
_FEWEST_KNOTS = 5  # that tell quartiles, where a file does not
NEAR = 0.12  # of an axis: ticks of a compressed end are at least so far apart
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@final
@dataclass(frozen=True)
class NumberScale:
    """An axis from ``low`` to ``high``, even from ``first`` to ``last``, and compressed beyond these.

    ``whole`` says whether only whole numbers stand on it.

    Examples
    --------
    >>> scale = NumberScale(0.0, 0.0, 2.0, 50000.0)
    >>> scale.places([0.0, 1.0, 2.0, 50000.0]).round(3).tolist(), scale.numbers([0.4, 0.9]).round(1).tolist()
    ([0.0, 0.4, 0.8, 1.0], [1.0, 316.2])
    >>> scale.ticks(4)
    [0.0, 0.5, 1.0, 1.5, 2.0, 10000.0]
    """

    low: float
    first: float
    last: float
    high: float
    whole: bool = False

    @classmethod
    def of(cls, nodes: Float64Array, quartiles: tuple[float, float] | None, whole: bool) -> NumberScale:
        """Return the scale of a column from its nodes; where its quartiles are not known, these are those of them."""
        low, high, quartiles = float(nodes[0]), float(nodes[-1]), quartiles or _quartiles(nodes)
        if quartiles is None or not quartiles[0] < quartiles[1]:
            return cls(low, low, high, high, whole)
        room = _REACH * (quartiles[1] - quartiles[0])
        first, last = max(low, quartiles[0] - room), min(high, quartiles[1] + room)
        most = _MUCH * (last - first)
        return cls(low, first if first - low > most else low, last if high - last > most else high, high, whole)

    @property
    def is_even(self) -> bool:
        """Whether nothing is compressed."""
        return self.low == self.first and self.last == self.high

    @property
    def _ends(self) -> tuple[float, float]:
        """Where the usual range begins and ends on the axis."""
        return TAIL * (self.low < self.first), 1.0 - TAIL * (self.last < self.high)

    def places(self, x: Any) -> Float64Array:
        """Return where numbers are on the axis, from 0 to 1; others are beyond its ends as far as their share says."""
        numbers, (begin, end), width = np.asarray(x, np.float64), self._ends, self.last - self.first
        if not width > 0.0:
            return np.full(numbers.shape, 0.5)
        found = begin + (end - begin) * (numbers - self.first) / width
        if begin:
            below = begin - begin * _logs(self.first - numbers, width) / _logs(self.first - self.low, width)
            found = np.where(numbers < self.first, below, found)
        if end < 1.0:
            above = end + (1.0 - end) * _logs(numbers - self.last, width) / _logs(self.high - self.last, width)
            found = np.where(numbers > self.last, above, found)
        return np.asarray(found)

    def numbers(self, places: Any) -> Float64Array:
        """Return the numbers at these places."""
        at, (begin, end), width = np.asarray(places, np.float64), self._ends, self.last - self.first
        found = self.first + (at - begin) / (end - begin) * width
        if begin:
            share = np.maximum(begin - at, 0.0) / begin
            found = np.where(
                at < begin, self.first - width * np.expm1(share * _logs(self.first - self.low, width)), found
            )
        if end < 1.0:
            share = np.maximum(at - end, 0.0) / (1.0 - end)
            above = self.last + width * np.expm1(share * _logs(self.high - self.last, width))
            found = np.where(at > end, above, found)
        return np.asarray(np.where(at == 0.0, self.low, np.where(at == 1.0, self.high, found)))

    def even(self, count: int) -> Float64Array:
        """Return so many numbers, evenly along the axis."""
        return np.clip(self.numbers(np.linspace(0.0, 1.0, count)), self.low, self.high)

    def ticks(self, count: int) -> list[float]:
        """Return about so many round numbers of the usual range, and powers of ten of what is compressed."""
        step = _step((self.last - self.first) / max(count, 1))
        step = max(1.0, step) if self.whole and step < 2.5 else step
        usual = [] if not step else [k * step + 0.0 for k in range(*_between(self.first, self.last, step))]
        ticks = [float(f"{tick:.12g}") for tick in usual]
        size = max(abs(self.low), abs(self.high), 1e-300)
        powers = [10.0**k for k in range(int(np.floor(np.log10(size))), int(np.floor(np.log10(size))) - 16, -1)]
        for power in [sign * power for power in powers for sign in (1.0, -1.0)]:
            tail = self.last < power <= self.high or self.low <= power < self.first
            if tail and (np.abs(self.places([*ticks, *self._ends]) - self.places(power)) > NEAR)[: len(ticks)].all():
                ticks.append(power)
        return sorted(ticks)


def _quartiles(nodes: Float64Array) -> tuple[float, float] | None:
    """The quartiles of knots, which lie where the rows are."""
    if len(nodes) < _FEWEST_KNOTS:
        return None
    low, high = np.quantile(nodes[1:-1], [0.25, 0.75])
    return float(low), float(high)


def _logs(beyond: Any, width: float) -> Any:
    return np.log1p(np.maximum(beyond, 0.0) / width)


def _step(rough: float) -> float:
    """The smallest round number that is no less."""
    if not 0.0 < rough < np.inf:
        return 0.0
    unit = 10.0 ** np.floor(np.log10(rough))
    return float(next(step * unit for step in _STEPS if step * unit >= rough * (1 - 1e-12)))


def _between(low: float, high: float, step: float) -> tuple[int, int]:
    """Multiples of a step between two numbers, as a range."""
    return int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1
