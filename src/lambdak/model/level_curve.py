r"""The whole distribution of a row from its quantiles: Q(t) for any level t, and the level F(y) of any number y.

Between two fitted levels Q is the weighted mean of their quantiles, Q(t) = (1 − w) Q_l + w Q_{l+1}, with a weight
w = (t − q_l) / (q_{l+1} − q_l) that is the same in all rows. So whatever holds for every fitted quantile, as it does
for columns that never fall, caps and bends, holds for every level, and order holds because w rises. Beyond the
outermost levels Q is that quantile less (plus) a number that depends on t alone: every halving of the probability that
is left moves it equally far, about as in an exponential tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._types import Float64Array

MEAN_HALVINGS = 1.5  # of a row beyond the outermost level: the mean of a tail is so many times its step
_HALVINGS = 48  # into which tails are cut where they are integrated: what is left is 2^-48 of their probability
_MOST_HALVINGS = 1100.0  # more are zero in float64
_ROWS_AT_ONCE = 1 << 13  # a hundred numbers of each: some megabytes


@final
@dataclass(frozen=True)
class LevelCurve:
    """Q(t) and F(y) of rows, from their quantiles (rows, levels), in ascending order.

    Attributes
    ----------
    levels : tuple of float
        The fitted levels.
    below, above : float
        How far every halving of the probability that is left moves a quantile beyond the first and the last level.
    low, high : float
        The range of predictions, at whose ends all levels beyond it are.

    Examples
    --------
    >>> curve = LevelCurve((0.1, 0.5, 0.9), 1.0, 2.0)
    >>> quantiles = np.array([[1.0, 2.0, 4.0]])
    >>> curve.at(quantiles, [0.05, 0.1, 0.3, 0.9, 0.95])
    array([[0. , 1. , 1.5, 4. , 6. ]])
    >>> curve.level_of(quantiles, [1.5])
    array([0.3])
    """

    levels: tuple[float, ...]
    below: float = 0.0
    above: float = 0.0
    low: float = -np.inf
    high: float = np.inf

    def at(self, quantiles: Float64Array, levels: ArrayLike) -> Float64Array:
        """Q(t), (rows, n), at levels (n,) for all rows or (rows, n) of their own.

        No rounding brings two of them out of order, whichever calls computed them.
        """
        t = np.asarray(levels, np.float64)
        known, last = np.array(self.levels), len(self.levels) - 1
        t = np.broadcast_to(t, (len(quantiles), t.shape[-1]))
        place = np.clip(np.searchsorted(known, t, side="right") - 1, 0, last)
        after = np.minimum(place + 1, last)
        low, high = (np.take_along_axis(quantiles, own, axis=1) for own in (place, after))
        width = np.where(after > place, known[after] - known[place], 1.0)
        share = np.clip((t - known[place]) / width, 0.0, 1.0)
        inner = np.minimum(low + share * (high - low), high)
        inner -= np.where(t < known[0], _far(self.below, _halvings(t / known[0])), 0.0)
        inner += np.where(t > known[-1], _far(self.above, _halvings((1 - t) / (1 - known[-1]))), 0.0)
        return np.asarray(np.clip(inner, self.low, self.high))

    def level_of(self, quantiles: Float64Array, y: ArrayLike, *, first: bool = False) -> Float64Array:
        """F(y), (rows,): the last level whose quantile is at most y; the ``first`` one that is at least y."""
        numbers = np.asarray(y, np.float64)
        column = numbers[:, None]
        known, last = np.array(self.levels), len(self.levels) - 1
        count = np.sum(quantiles < column if first else quantiles <= column, axis=1)
        before, after = np.clip(count - 1, 0, last), np.minimum(count, last)
        rows = np.arange(len(quantiles))
        low, high = quantiles[rows, before], quantiles[rows, after]
        rise = np.where(high > low, high - low, 1.0)
        share = np.where(high > low, (numbers - low) / rise, 0.0)
        inner = np.minimum(known[before] + share * (known[after] - known[before]), known[after])
        down = known[0] * _left(quantiles[:, 0] - numbers, self.below, first)
        up = 1 - (1 - known[-1]) * _left(numbers - quantiles[:, -1], self.above, not first)
        found = np.where(count == 0, down, np.where(count > last, up, inner))
        under = numbers <= self.low if first else numbers < self.low
        over = numbers > self.high if first else numbers >= self.high
        return np.asarray(np.where(under, 0.0, np.where(over, 1.0, found)))

    def crps(self, quantiles: Float64Array, y: Float64Array) -> Float64Array:
        """Continuous ranked probability score of each row, ∫ (F(z) − 1[z ≥ y])² dz, exactly but for 2⁻⁴⁸ of a tail."""
        blocks = [slice(first, first + _ROWS_AT_ONCE) for first in range(0, len(y), _ROWS_AT_ONCE)]
        return np.concatenate([self._crps(quantiles[rows], y[rows]) for rows in blocks])

    def _crps(self, quantiles: Float64Array, y: Float64Array) -> Float64Array:
        tail = 0.5 ** np.arange(1, _HALVINGS + 1)
        ends = [self.levels[0] * tail[::-1], np.array(self.levels), 1 - (1 - self.levels[-1]) * tail]
        levels = np.concatenate([end[(end > 0) & (end < 1)] for end in ends])
        knots = self.at(quantiles, levels)
        low, high, target = knots[:, :-1], knots[:, 1:], y[:, None]
        middle = np.clip(target, low, high)
        width = np.where(high > low, high - low, 1.0)
        at = levels[:-1] + (middle - low) / width * np.diff(levels)
        under = (middle - low) * (levels[:-1] ** 2 + levels[:-1] * at + at**2)
        one, other = 1 - at, 1 - levels[1:]
        over = (high - middle) * (one**2 + one * other + other**2)
        outside = np.maximum(knots[:, 0] - y, 0.0) + np.maximum(y - knots[:, -1], 0.0)
        return np.asarray((under + over).sum(axis=1) / 3 + outside)


def _halvings(share: Float64Array) -> Float64Array:
    """How often one must be halved to come to a share in [0, 1], with straight lines between whole numbers.

    It is exact but for one rounding, so that it never rises as the share does.
    """
    mantissa, exponent = np.frexp(np.clip(share, 0.0, 1.0))
    return np.asarray(np.where(share > 0, 2 * (1 - mantissa) - exponent, np.inf))


def _far(step: float, halvings: Float64Array) -> NDArray[Any]:
    return np.where(np.isinf(halvings), np.inf, step * np.where(np.isinf(halvings), 0.0, halvings))


def _left(distance: Float64Array, step: float, closed: bool) -> Float64Array:
    """What is left of a probability so far beyond a quantile: the inverse of :func:`_halvings`.

    Without a tail it is nothing; at the quantile itself all of it, unless the side is ``closed``.
    """
    beyond = np.maximum(distance, 0.0)
    if step <= 0:
        return np.where((beyond > 0) | closed, 0.0, 1.0)
    with np.errstate(over="ignore"):
        halvings = np.minimum(beyond / step, _MOST_HALVINGS)
    whole = np.floor(halvings)
    return np.asarray(np.ldexp(1 - (halvings - whole) / 2, -whole.astype(np.int64)))
