"""Attacks on what must hold in every single row: outputs in order, in their range, and numbers."""

from __future__ import annotations

import numpy as np

from lambdak._types import Float64Array
from lambdak.certify.attack import Attack, Margins
from lambdak.certify.certificate import Claim
from lambdak.certify.search import Points, Search
from lambdak.model.event_curves import EventCurves
from lambdak.shapes.output_range import OutputRange

_BETWEEN = 41  # levels that are tried beside the fitted ones

_FAR = 1e3  # times a knot: beyond the last event and before the first, where curves are extrapolated


class _EveryRow(Attack):
    """Points are single rows."""

    def begin(self, count: int) -> Points:
        """Draw random rows to begin the search with."""
        return (self.search.rows(count),)


class Ordered(_EveryRow):
    """Raw scores that must be in order, and so must be what users see: without any rounding, as it is put in order."""

    def near(self, points: Points) -> Float64Array:
        """The least step from a raw score to the next."""
        return np.asarray(np.diff(self.search.raw(points[0]), axis=1).min(axis=1))

    def margins(self, points: Points) -> Margins:
        """From each raw score to the next, from each quantile to the next; or no probability below zero."""
        steps, seen = np.diff(self.search.raw(points[0]), axis=1), self.search.predict(points[0])
        final = seen if self.claim.kind == "cut-points" else np.diff(self.compared(seen), axis=1)
        rounding = np.column_stack([np.broadcast_to(self.rounding(points), steps.shape), np.zeros_like(final)])
        return Margins(np.column_stack([steps, final]), rounding, steps)

    def compared(self, seen: Float64Array) -> Float64Array:
        """What users see that must be in order, (rows, n)."""
        return seen


class OrderedLevels(Ordered):
    """Quantiles, which must be in order at any level."""

    def compared(self, seen: Float64Array) -> Float64Array:
        """Quantiles at the fitted levels, one step of a float beside them, between and beyond them."""
        model = self.search.model
        fitted = np.array(model.outputs.quantile_levels)
        low, high = (fitted[0], fitted[-1]) if model.calibration is None else (0.0, 1.0)
        near = [np.nextafter(fitted, 0), fitted, np.nextafter(fitted, 1), np.linspace(low, high, _BETWEEN)[1:-1]]
        levels = np.unique(np.clip(np.concatenate(near), low, high))
        return model.level_curve.at(np.asarray(seen, np.float64), levels)


class OrderedTimes(Ordered):
    """Survival, which must never rise with time: at the knots, one step of a float beside them, between and beyond."""

    def margins(self, points: Points) -> Margins:
        """From each raw score to the next, and what survival falls by from each time to the next."""
        raw = self.search.raw(points[0])
        knots = np.array(self.search.model.loss.times)
        near = [np.nextafter(knots, 0), knots, np.nextafter(knots, np.inf), np.sqrt(knots[:-1] * knots[1:])]
        times = np.unique(np.concatenate([[0.0, knots[0] / _FAR, knots[-1] * _FAR], *near]))
        steps, falls = np.diff(raw, axis=1), -np.diff(EventCurves.of(self.search.model, raw).survival(times), axis=1)
        rounding = np.column_stack([np.broadcast_to(self.rounding(points), steps.shape), np.zeros_like(falls)])
        return Margins(np.column_stack([steps, falls]), rounding, steps)


class Numbers(_EveryRow):
    """Predictions that must be numbers, whatever else is claimed of a model."""

    def __init__(self, search: Search) -> None:
        words = "every prediction is a number"
        super().__init__(search, Claim("numbers", "predictions", words, True, False, None, None, ""))

    def margins(self, points: Points) -> Margins:
        """No margin, but whether there is none."""
        return Margins(np.where(np.isnan(self.search.predict(points[0])), np.nan, 0.0), 0.0, np.empty(0))

    def near(self, points: Points) -> Float64Array:
        """Towards the largest raw scores."""
        return -np.asarray(np.abs(self.search.raw(points[0])).max(axis=1))


class Within(_EveryRow):
    """Predictions that must stay in a range, whatever the row: no rounding is allowed for."""

    def margins(self, points: Points) -> Margins:
        """How far each prediction is above the low end and below the high one."""
        seen, classes = self.search.predict(points[0]), self.search.model.classes
        limited = seen if classes is None else seen[:, 1:]
        (wanted,) = self.search.model.promises.of(OutputRange)
        low = limited - wanted.low if wanted.low is not None else limited[:, :0]
        high = wanted.high - limited if wanted.high is not None else limited[:, :0]
        return Margins(np.column_stack([low, high]), 0.0)

    def near(self, points: Points) -> Float64Array:
        """Towards the largest raw scores."""
        return -np.asarray(np.abs(self.search.raw(points[0])).max(axis=1))
