"""Adam with PyTorch's defaults and a constant rate, as the paper's models are trained."""

from __future__ import annotations

import numpy as np

from lambdak._checks import FloatArray
from lambdak._steps import step_engine

BETAS = (0.9, 0.999)
TINY = 1e-8


class Adam:
    """The clock and the corrections of the two moments; the moments themselves belong to the model."""

    def __init__(self, rate: float) -> None:
        self._rate, self._steps = rate, 0

    def tick(self) -> None:
        """Begin the next step: it may come in parts."""
        self._steps += 1

    def step_(self, theta: FloatArray, grad: FloatArray, first: FloatArray, second: FloatArray) -> None:
        """Move some parameters, in place. Arrays are contiguous and of padded size."""
        correct = 1.0 / (1.0 - BETAS[1] ** self._steps)
        rate = self._rate / (1.0 - BETAS[0] ** self._steps)
        flat = [part.reshape(1, -1) for part in (theta, grad, first, second)]
        step_engine().adam(*flat, [rate], [1.0], *BETAS, correct, TINY, 0)


def logistic_slope(scores: FloatArray, y: FloatArray) -> FloatArray:
    """Derivative of the mean log-loss with respect to the scores: (sigmoid(s) − y) / rows."""
    slope: FloatArray = np.tanh(scores * np.float32(0.5))
    slope *= np.float32(0.5)
    slope += np.float32(0.5)
    slope -= y
    slope *= np.float32(1.0 / len(y))
    return slope
