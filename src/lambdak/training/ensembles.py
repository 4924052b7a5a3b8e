"""What several models together lose on unseen rows, from two of them."""

from __future__ import annotations

import numpy as np

from lambdak._types import Float64Array
from lambdak.training.trainer import Trainer

_MOST = 3  # models: the variance of two that are also regularised differently promises more than many keep


def expected_losses(trainer: Trainer, members: int) -> Float64Array:
    """(pairs, rows): the loss of the mean of so many models like two neighbours of the stack, on rows not seen by both.

    The mean of two models loses less than each of them by half of their variance, that of n by 1 − 1/n of it. A single
    model that is regularised too weakly does badly, but several of them may do well together.
    """
    raw, rows, problem = trainer.unseen()
    pairs = raw.reshape(-1, 2, *raw.shape[1:])
    own = rows if isinstance(rows, slice) else rows[::2]
    y = problem.y[own]
    together = problem.loss.of_rows(pairs.mean(axis=1), y).astype(np.float64)
    first, second = (problem.loss.of_rows(pairs[:, i], y).astype(np.float64) for i in range(2))
    alone = (first + second) / 2
    share = 2 * (1 - 1 / min(members, _MOST))
    weight = 1.0 if problem.weight is None else problem.weight[own] / problem.weight[own].mean(axis=-1, keepdims=True)
    return np.asarray(weight * (alone - share * (alone - together)), np.float64)
