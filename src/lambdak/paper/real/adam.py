"""Adam with PyTorch's defaults and a constant rate, as the paper's models are trained."""

from __future__ import annotations

import numpy as np

from lambdak._checks import FloatArray
from lambdak.eigen.steps import step_engine
from lambdak.paper.data.rows import SparseBatch

BETAS = (0.9, 0.999)
TINY = 1e-8


class Adam:
    """The clock and the corrections of the two moments; the moments themselves belong to the model."""

    def __init__(self, rate: float) -> None:
        self._rate, self._steps = rate, 0

    def step_(self, theta: FloatArray, grad: FloatArray, first: FloatArray, second: FloatArray) -> None:
        """Move parameters, in place. Arrays are contiguous and of padded size."""
        rate, *others = self._tick()
        flat = [part.reshape(1, -1) for part in (theta, grad, first, second)]
        step_engine().adam(*flat, [rate], [1.0], *others, 0)

    def descend_(self, batch: SparseBatch, vector: FloatArray, slope: FloatArray, dim: int, table: FloatArray) -> None:
        """Move the rows of a table (n_ids, 3, padded D) that a batch names: θ and its moments, in place."""
        step_engine().descend(batch.ids, batch.weights, vector, slope, dim, table, *self._tick())

    def _tick(self) -> tuple[float, float, float, float, float]:
        """Begin the next step: its rate, and the other numbers of Adam."""
        self._steps += 1
        correct = 1.0 / (1.0 - BETAS[1] ** self._steps)
        return self._rate / (1.0 - BETAS[0] ** self._steps), *BETAS, correct, TINY


def logistic_slope(scores: FloatArray, y: FloatArray) -> FloatArray:
    """Derivative of the mean log-loss with respect to the scores: (sigmoid(s) − y) / rows."""
    slope: FloatArray = np.tanh(scores * np.float32(0.5))
    slope *= np.float32(0.5)
    slope += np.float32(0.5)
    slope -= y
    slope *= np.float32(1.0 / len(y))
    return slope
