r"""Straight lines below and above an increasing link on an interval: a + b s, b ≥ 0.

exp is convex, the logistic function convex below 0 and concave above. Below a convex function is its tangent, below a
concave one its chord, and where both occur the line through the lower end that is nowhere above it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from lambdak._types import Float64Array
from lambdak.losses import Link
from lambdak.losses.links import EXPONENT_LIMIT, IDENTITY, LOG, LOGIT

_ROUNDING = 1e-13  # of a line and of a link, relative to what they are computed from


class Line(NamedTuple):
    """The line a + b s, one for each box: arrays (n,)."""

    a: Float64Array
    b: Float64Array


def below(link: Link, low: Float64Array, high: Float64Array) -> Line:
    """A line that is nowhere above the link between ``low`` and ``high``, (n,) each."""
    if link is IDENTITY:
        return Line(np.zeros(len(low)), np.ones(len(low)))
    if link is LOG:
        line = _exp_below(low, high)
    elif link is LOGIT:
        line = _logistic_below(low, high)
    else:
        raise ValueError(f"no line is known for the link {link.name!r}")
    return Line(line.a - _slack(line, low, high), line.b)


def above(link: Link, low: Float64Array, high: Float64Array) -> Line:
    """A line that is nowhere below the link."""
    if link is LOGIT:  # the logistic function is symmetric about (0, 1/2)
        a, b = below(LOGIT, -high, -low)
        return Line(1.0 - a, b)
    if link is LOG:
        line = _exp_above(low, high)
        return Line(line.a + _slack(line, low, high), line.b)
    return below(link, low, high)


def _slack(line: Line, low: Float64Array, high: Float64Array) -> Float64Array:
    return np.asarray(_ROUNDING * (np.abs(line.a) + line.b * np.maximum(np.abs(low), np.abs(high))))


def _exp_below(low: Float64Array, high: Float64Array) -> Line:
    """The tangent in the middle; where exp is cut off, a constant."""
    straight = high <= EXPONENT_LIMIT
    middle = np.minimum(0.5 * low + 0.5 * high, EXPONENT_LIMIT)
    slope = np.where(straight, np.exp(middle), 0.0)
    return Line(np.where(straight, slope * (1.0 - middle), np.exp(np.minimum(low, EXPONENT_LIMIT))), slope)


def _exp_above(low: Float64Array, high: Float64Array) -> Line:
    """The chord; where exp is cut off, a constant."""
    top = np.exp(np.minimum(high, EXPONENT_LIMIT))
    slope = np.where(high <= EXPONENT_LIMIT, top * _chord(low - high), 0.0)
    return Line(top - slope * high, slope)


def _chord(t: Float64Array) -> Float64Array:
    """(1 − exp(t)) / −t for t ≤ 0."""
    return np.asarray(np.where(t < -1e-12, np.expm1(t) / np.where(t < -1e-12, t, 1.0), 1.0))


def _logistic_below(low: Float64Array, high: Float64Array) -> Line:
    middle = 0.5 * low + 0.5 * high
    convex = high <= 0.0
    at = np.where(convex, middle, low)
    wide = high - low
    chord = np.where(wide > 1e-9, (expit(high) - expit(low)) / np.where(wide > 1e-9, wide, 1.0), 0.0)
    tangent = expit(at) * expit(-at)
    slope = np.where(convex, tangent, np.minimum(tangent, chord))
    return Line(expit(at) - slope * at, slope)
