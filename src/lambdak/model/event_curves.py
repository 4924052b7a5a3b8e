r"""Curves over time of rows: from raw scores at the knots to survival, cumulative hazard, quantiles and means.

Between the knots of log t the raw score is straight, beyond them it continues with the same slope for all rows. What is
computed never rises (survival) or falls (hazard) with time, whatever rounding does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from lambdak._checks import check_numbers
from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.lazy import cached_property
from lambdak.losses.survival import Survival
from lambdak.model.model import Model
from lambdak.table.rows import rows_shown

_NODES = 12  # of the quadrature on each piece: a smooth function of a few percent change, exact to 1e-9
_LEAST_SCORE = -700.0  # whose exponential is within float64: the hazard of anything earlier is nothing
_MOST_NODES = 64  # before the first knot, where the survival of some rows is steep


@final
@dataclass(frozen=True, eq=False)
class EventCurves:
    """The curves of some rows.

    Attributes
    ----------
    loss : Survival
        With the knots and the link.
    raw : array of shape (rows, knots)
        Raw scores at the knots, in order.
    """

    loss: Survival
    raw: Float64Array

    @classmethod
    def of(cls, model: Model, raw: FloatArray) -> EventCurves:
        """The curves of rows with these raw scores of a model."""
        loss = model.loss
        if not isinstance(loss, Survival):
            raise TypeError(f"curves over time need a model of times to an event; got one of {loss.predicts.value}")
        return cls(loss, np.maximum.accumulate(np.asarray(raw, np.float64), axis=1))

    def take(self, rows: Sequence[int]) -> EventCurves:
        """The curves of some of the rows."""
        return EventCurves(self.loss, self.raw[list(rows)])

    @cached_property
    def levels(self) -> Float64Array:
        """Logarithms of the knots."""
        return np.log(self.loss.times)

    def scores(self, times: ArrayLike) -> Float64Array:
        """Raw scores (rows, times); minus infinity at time 0."""
        given = check_times(times)
        piece, share, shift = self.loss.place(given)
        return _never_falling(_between(self.raw[:, piece], self.raw[:, piece + 1], share) + shift, given)

    def hazard(self, times: ArrayLike, after: ArrayLike | None = None) -> Float64Array:
        """Cumulative hazards (rows, times), counted from ``after``: one time, or one for each row."""
        given = check_times(times)
        hazard = _never_falling(self._hazard_at(self.scores(given)), given)  # log(1 + eʳ) may fall by a last bit
        return hazard if after is None else np.maximum(hazard - self._passed(after)[:, None], 0.0)

    def survival(self, times: ArrayLike, after: ArrayLike | None = None) -> Float64Array:
        """Probabilities (rows, times) of no event by a time, given that there was none by ``after``."""
        return np.exp(-self.hazard(times, after))

    def _hazard_at(self, scores: Float64Array) -> Float64Array:
        return np.where(scores == -np.inf, 0.0, self.loss.hazard.value(np.maximum(scores, _LEAST_SCORE)))

    def _passed(self, after: ArrayLike) -> Float64Array:
        """Cumulative hazard (rows,) of every row at its own time."""
        rows, given = np.arange(len(self.raw)), check_times(after, "conditional_after")
        if given.shape not in ((1,), rows.shape):
            raise ValueError(
                f"conditional_after must be one time, or one for each of {len(rows)} rows; got {len(given)}"
            )
        piece, share, shift = self.loss.place(np.broadcast_to(given, rows.shape))
        return self._hazard_at(_between(self.raw[rows, piece], self.raw[rows, piece + 1], share) + shift)

    def quantile(self, probability: float, after: ArrayLike | None = None) -> Float64Array:
        """The times (rows,) by which an event has this probability: where the curve is straight, solved for it."""
        if not 0 < probability < 1:
            raise ValueError(f"probability must be in (0, 1); got {probability}")
        hazard = np.full(len(self.raw), -np.log1p(-probability))
        if after is not None:
            hazard = hazard + self._passed(after)
        wanted = self.loss.hazard.raw(hazard)
        rows, levels, tail = np.arange(len(self.raw)), self.levels, self.loss.tail
        piece = np.clip((self.raw < wanted[:, None]).sum(axis=1) - 1, 0, len(levels) - 2)
        left, right = self.raw[rows, piece], self.raw[rows, piece + 1]
        share = np.clip((wanted - left) / np.maximum(right - left, 1e-300), 0.0, 1.0)
        inside = levels[piece] + share * (levels[piece + 1] - levels[piece])
        before, beyond = (np.minimum(wanted - self.raw[:, 0], 0), np.maximum(wanted - self.raw[:, -1], 0))
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(inside + (before + beyond) / tail))

    def restricted_mean(self, horizon: float, after: float = 0.0) -> Float64Array:
        """The mean time (rows,) without an event up to a horizon, by quadrature between the knots."""
        end = float(check_times(horizon, "horizon")[0])
        if not after <= end:
            raise ValueError(f"horizon must be after {after:g}; got {end:g}")
        inner = [time for time in self.loss.times if after < time < end]
        total = np.zeros(len(self.raw))
        for low, high in zip([after, *inner], [*inner, end], strict=True):
            nodes, weights = np.polynomial.legendre.leggauss(_NODES if low > 0 else _MOST_NODES)
            times = low + (high - low) * (nodes + 1) / 2
            total += self.survival(times, after or None) @ weights * (high - low) / 2
        return total

    @property
    def risk(self) -> Float64Array:
        """One number for each row, the larger the earlier: the mean raw score over the knots, quantiles of the events.

        It rises with a column whenever the probability of an event does at every time.
        """
        return np.asarray(self.raw.mean(axis=1))


def _never_falling(values: Float64Array, times: Float64Array) -> Float64Array:
    """Values (rows, times) that rounding has put out of the order of the times become equal to the one before."""
    order, found = np.argsort(times, kind="stable"), np.empty_like(values)
    found[:, order] = np.maximum.accumulate(values[:, order], axis=1)
    return found


def _between(left: Float64Array, right: Float64Array, share: Float64Array) -> Float64Array:
    """What is at a share of the way, never beyond an end."""
    return np.clip((1 - share) * left + share * right, left, right)


def check_times(times: ArrayLike, name: str = "times") -> Float64Array:
    """Return times (n,), if each is finite and not negative."""
    given = np.atleast_1d(np.asarray(check_numbers(times, name), np.float64))
    bad = ~(np.isfinite(given) & (given >= 0))
    if given.ndim != 1 or bad.any():
        got = (
            f"{given[bad][0]:g} at {rows_shown(bad).replace('row', 'position')}"
            if given.ndim == 1
            else f"shape {given.shape}"
        )
        raise ValueError(f"{name} must be finite and not negative; got {got}")
    return given
