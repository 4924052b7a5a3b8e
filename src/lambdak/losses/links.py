"""From raw scores to what users see: the inverse link, and what a raw score means in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Scores = NDArray[Any]

# In training, exp continues as its tangent from here, so that squared gradients still fit into float32. Predictions
# stay as they are: this one is 200 times the largest target that is allowed, and sums and squares of it are finite.
EXPONENT_LIMIT = 40.0

_EPS, _TINY = float(np.finfo(np.float64).eps), 1e-300


@final
@dataclass(frozen=True)
class Link:
    """prediction = inverse(raw score).

    Attributes
    ----------
    name : str
        As the report and the explanations spell it.
    units : str
        What a raw score means, in words.
    short : str
        The same, in brackets behind a raw score.
    inverse
        From the raw scores (..., outputs) of all outputs to predictions of the same shape.
    joint : bool
        Whether a prediction needs the raw scores of all outputs, so that it may fall while its own raw score rises.
    rounding : float
        The most that computing a prediction from raw scores can do to it, relative to it.
    most : float
        The raw score from which on predictions stay as they are: what bends upwards does so up to here.
    low, high : float
        The range of predictions: those outside of it become its end.
    """

    name: str
    units: str
    short: str
    inverse: Callable[[Scores], Any]
    joint: bool = False
    rounding: float = 0.0
    most: float = math.inf
    low: float = -math.inf
    high: float = math.inf

    def predictions(self, scores: Scores) -> Scores:
        """Means, quantiles or probabilities from raw scores (..., outputs).

        >>> LOGIT.predictions(np.array([0.0, 2.0])).round(3)
        array([0.5  , 0.881])
        """
        return self.limited(np.asarray(self.inverse(scores)))

    def limited(self, predictions: Scores) -> Scores:
        """Predictions in the range: its end for those outside.

        >>> LOG.within(0.5, 2.0).predictions(np.array([-9.0, 0.0, 9.0]))
        array([0.5, 1. , 2. ])
        """
        return predictions if self.is_free else np.asarray(np.clip(predictions, self.low, self.high))

    def within(self, low: float, high: float) -> Link:
        """The link with predictions in this range."""
        return self if (low, high) == (self.low, self.high) else replace(self, low=low, high=high)

    @property
    def is_free(self) -> bool:
        """Whether predictions have no range but that of the function itself."""
        return self.low == -math.inf and self.high == math.inf

    @property
    def free(self) -> Link:
        """The link without a range, one of this module: IDENTITY, LOG, LOGIT, CLOGLOG, LOGLOG, SOFTMAX."""
        return _FREE[self.name]

    @property
    def other(self) -> Link:
        """The link of minus the raw score: of two classes to the probability of the other one."""
        other = _OTHERS.get(self.name)
        if other is None:
            return self
        return other if self.is_free else other.within(1.0 - self.high, 1.0 - self.low)

    def outwards(self, lower: Scores, upper: Scores) -> tuple[Scores, Scores]:
        """An interval of predictions that no rounding leaves."""
        if not self.rounding:
            return lower, upper
        low, high = lower * (1 - self.rounding) - _TINY, upper * (1 + self.rounding) + _TINY
        return self.limited(np.maximum(low, 0.0)), self.limited(high)

    def __reduce__(self) -> str | tuple[Any, ...]:  # pickled by its name in this module: it holds a function
        return self.name.upper() if self.is_free else (_restored, (self.name, self.low, self.high))


def _restored(name: str, low: float, high: float) -> Link:
    return _FREE[name].within(low, high)


def _shares(scores: Scores) -> Scores:
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def _limited_exp(scores: Scores) -> Scores:
    return np.asarray(np.exp(np.minimum(scores, EXPONENT_LIMIT)))


def _of_hazard(scores: Scores) -> Scores:
    """1 − exp(−eʳ): the probability of an event when the logarithm of its cumulative hazard is r."""
    return np.asarray(-np.expm1(-_limited_exp(scores)))


def _of_no_hazard(scores: Scores) -> Scores:
    """exp(−e⁻ʳ): the probability of no event when minus the logarithm of its cumulative hazard is r."""
    return np.asarray(np.exp(-_limited_exp(-scores)))


# exp and the logistic function of NumPy and SciPy err by a few units in the last place, and sums over some classes by a
# few more; before a softmax, differences of raw scores are rounded too.
IDENTITY = Link("identity", "the target", "", np.array)
LOG = Link(
    "log", "the logarithm of the prediction", " (logarithm)", _limited_exp, rounding=64 * _EPS, most=EXPONENT_LIMIT
)
LOGIT = Link("logit", "log-odds", " (log-odds)", expit, rounding=64 * _EPS)
CLOGLOG = Link(
    "cloglog", "the logarithm of the cumulative hazard", " (log cumulative hazard)", _of_hazard, rounding=64 * _EPS
)
LOGLOG = Link(
    "loglog", "minus the logarithm of the cumulative hazard", " (minus log cumulative hazard)", _of_no_hazard,
    rounding=128 * _EPS,
)  # fmt: skip
SOFTMAX = Link(
    "softmax", "the logarithm of a class's share before it is normalised", " (log-share)", _shares, True, 4096 * _EPS
)
_FREE = {link.name: link for link in (IDENTITY, LOG, LOGIT, CLOGLOG, LOGLOG, SOFTMAX)}
_OTHERS = {"logit": LOGIT, "cloglog": LOGLOG, "loglog": CLOGLOG}
