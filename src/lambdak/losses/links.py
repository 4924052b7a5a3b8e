"""From raw scores to what users see: the inverse link, and what a raw score means in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
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
    """

    name: str
    units: str
    short: str
    inverse: Callable[[Scores], Any]
    joint: bool = False
    rounding: float = 0.0
    most: float = math.inf

    def predictions(self, scores: Scores) -> Scores:
        """Means, quantiles or probabilities from raw scores (..., outputs).

        >>> LOGIT.predictions(np.array([0.0, 2.0])).round(3)
        array([0.5  , 0.881])
        """
        return np.asarray(self.inverse(scores))

    def outwards(self, lower: Scores, upper: Scores) -> tuple[Scores, Scores]:
        """An interval of predictions that no rounding leaves."""
        if not self.rounding:
            return lower, upper
        return np.maximum(lower * (1 - self.rounding) - _TINY, 0.0), upper * (1 + self.rounding) + _TINY

    def __reduce__(self) -> str:  # pickled by its name in this module: it holds a function
        return self.name.upper()


def _shares(scores: Scores) -> Scores:
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def _limited_exp(scores: Scores) -> Scores:
    return np.asarray(np.exp(np.minimum(scores, EXPONENT_LIMIT)))


# exp and the logistic function of NumPy and SciPy err by a few units in the last place, and sums over some classes by a
# few more; before a softmax, differences of raw scores are rounded too.
IDENTITY = Link("identity", "the target", "", np.array)
LOG = Link(
    "log", "the logarithm of the prediction", " (logarithm)", _limited_exp, rounding=64 * _EPS, most=EXPONENT_LIMIT
)
LOGIT = Link("logit", "log-odds", " (log-odds)", expit, rounding=64 * _EPS)
SOFTMAX = Link(
    "softmax", "the logarithm of a class's share before it is normalised", " (log-share)", _shares, True, 4096 * _EPS
)
