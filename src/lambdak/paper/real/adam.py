"""Adam with PyTorch's defaults and a constant rate, as the paper's models are trained."""

from __future__ import annotations

import numpy as np

from lambdak._types import FloatArray
from lambdak.eigen.engine import DescentRule
from lambdak.eigen.steps import step_engine
from lambdak.paper.data.rows import SparseBatch
from lambdak.paper.synthetic.stacks import PYTORCH_ADAM


class Adam:
    """The clock and the corrections of the two moments; the moments themselves belong to the model."""

    def __init__(self, rate: float, threads: int = 0) -> None:
        self._rate, self._threads, self._steps = rate, threads, 0

    def step_(self, theta: FloatArray, grad: FloatArray, first: FloatArray, second: FloatArray) -> None:
        """Move parameters (size,), in place. Arrays are contiguous and of padded size."""
        rule, state = self._tick(), (theta[None], grad[None], first[None], second[None])
        step_engine().adam(state, rule[:1], [1.0], rule[1:], 0, self._threads)

    def descend_(self, batch: SparseBatch, vector: FloatArray, slope: FloatArray, dim: int, table: FloatArray) -> None:
        """Move the rows of a table (n_ids, 3, padded D) that a batch names: θ and its moments, in place."""
        design = (batch.ids, batch.weights)
        step_engine().descend(design, vector, slope, dim, table, self._tick(), self._threads)

    def lengths(self, second: FloatArray) -> FloatArray:
        """How far the last step went per unit of gradient, by the second moments (n, D): the mean of each row, (n,)."""
        size = np.sqrt(second / (1 - PYTORCH_ADAM.beta2**self._steps)).mean(axis=-1)
        return np.asarray(self._rate / (size + PYTORCH_ADAM.tiny))

    def _tick(self) -> DescentRule:
        """Begin the next step: its rate, and the other numbers of Adam."""
        self._steps += 1
        return self._rate / PYTORCH_ADAM.rate_correction(self._steps), *PYTORCH_ADAM.rule(self._steps)


def logistic_slope(scores: FloatArray, y: FloatArray) -> FloatArray:
    """Derivative of the mean log-loss with respect to the scores: (sigmoid(s) − y) / rows."""
    slope: FloatArray = np.tanh(scores * np.float32(0.5))
    slope *= np.float32(0.5)
    slope += np.float32(0.5)
    slope -= y
    slope *= np.float32(1.0 / len(y))
    return slope
