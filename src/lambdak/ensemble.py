"""Convex weights for the members of a stack, found on validation rows."""

from __future__ import annotations

import numpy as np

from lambdak._checks import FloatArray
from lambdak.spectrum import Float64Array
from lambdak.train import Task

_ROUNDS = 100


def convex_weights(task: Task, eigenvalues: FloatArray, members: int) -> Float64Array:
    """Weights ≥ 0 that add up to one, at most ``members`` of them positive, with a small validation loss.

    Exponentiated-gradient steps on the loss of Σ w_m raw_m; the members with the largest weights stay, and their
    weights are found again and drawn halfway to equality, because validation rows are noisy and an average is not.
    """
    raw = task.raw(eigenvalues, slice(None)).astype(np.float64)  # (models, rows[, outputs])
    weights = _minimise(task, raw)
    kept = np.sort(np.argsort(weights)[::-1][:members])
    result = np.zeros(len(weights))
    result[kept] = (_minimise(task, raw[kept]) + 1 / len(kept)) / 2
    return result


def _minimise(task: Task, raw: Float64Array) -> Float64Array:
    models = len(raw)
    weights = np.full(models, 1 / models)
    best, best_loss = weights, np.inf
    flat = raw.reshape(models, -1)
    for _ in range(_ROUNDS if models > 1 else 0):
        mixed = (weights @ flat).reshape(1, *raw.shape[1:])
        loss = float(task.loss.value(mixed, task.y, task.weight)[0])
        if loss < best_loss:
            best, best_loss = weights, loss
        slope = flat @ task.loss.gradient(mixed, task.y, task.weight).reshape(-1)
        slope -= slope @ weights
        spread = np.abs(slope).max()
        if spread == 0:
            break
        weights = weights * np.exp(-0.2 * slope / spread)
        weights /= weights.sum()
    return best
