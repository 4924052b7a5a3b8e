"""From raw scores to what users see: the inverse link, and what a raw score means in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Scores = NDArray[np.float64]


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
    """

    name: str
    units: str
    short: str
    inverse: Callable[[Scores], Any]
    joint: bool = False

    def predictions(self, scores: Scores) -> Scores:
        """Means, quantiles or probabilities from raw scores (..., outputs).

        >>> LOGIT.predictions(np.array([0.0, 2.0])).round(3)
        array([0.5  , 0.881])
        """
        return np.asarray(self.inverse(scores))

    def __reduce__(self) -> str:  # pickled by its name in this module: it holds a function
        return self.name.upper()


def _shares(scores: Scores) -> Scores:
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


IDENTITY = Link("identity", "the target", "", np.array)
LOG = Link("log", "the logarithm of the prediction", " (logarithm)", np.exp)
LOGIT = Link("logit", "log-odds", " (log-odds)", expit)
SOFTMAX = Link("softmax", "the logarithm of a class's share before it is normalised", " (log-share)", _shares, True)
