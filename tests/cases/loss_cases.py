"""Losses, targets, scores and weights shared by the tests of the losses."""

import numpy as np
import pytest

from lambdak.losses import (
    AbsoluteError,
    BinaryLog,
    Gamma,
    Huber,
    Ordinal,
    Pinball,
    Poisson,
    Quantile,
    SoftmaxLog,
    SquaredError,
    Tweedie,
)
from lambdak.losses.event_loss import EventLog
from lambdak.losses.survival import Survival

LOCATION = [
    SquaredError(),
    AbsoluteError(),
    Huber(),
    Huber(0.5, 2.0),
    Quantile(0.3),
    Pinball((0.7,)),
    Pinball((0.1, 0.5, 0.8)),
]
LOG_LINK = [Poisson(), Gamma(), Tweedie(), Tweedie(1.1), Tweedie(1.9)]
CLASSES = [SoftmaxLog(2), SoftmaxLog(4), Ordinal(2), Ordinal(3), Ordinal(5)]
LOSSES = [*LOCATION, *LOG_LINK, BinaryLog(), EventLog(), *CLASSES]
SMOOTH = [SquaredError(), Huber(), *LOG_LINK, BinaryLog(), EventLog(), *CLASSES]
# Their targets are lines of codes and times: test_survival.py has what the contract asks of others.
OF_TIMES = [Survival()]
MODELS, ROWS = 3, 24
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def targets(loss, rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    if isinstance(loss, SoftmaxLog | Ordinal):
        return np.r_[np.arange(loss.n_classes), rng.integers(0, loss.n_classes, rows - loss.n_classes)]
    if isinstance(loss, BinaryLog | EventLog):
        return np.r_[0.0, 1.0, 0.25, rng.integers(0, 2, rows - 3)]
    if isinstance(loss, Gamma):
        return rng.gamma(2.0, 1.5, rows)
    if isinstance(loss, Poisson):
        return rng.poisson(1.5, rows).astype(float)
    if isinstance(loss, Tweedie):
        return rng.gamma(2.0, 1.5, rows) * (np.arange(rows) % 3 > 0)
    return 3.0 + 2.0 * rng.standard_normal(rows)


def scores(loss, *lead, seed=1, dtype=np.float64):
    rng = np.random.default_rng(seed)
    raw = rng.standard_normal((*lead, loss.n_outputs))
    if isinstance(loss, Ordinal):
        raw = np.cumsum(np.abs(raw) + 0.05, axis=-1) - 2.0
    if loss in LOCATION:
        raw = 3.0 + 2.0 * raw
    return (raw[..., 0] if loss.n_outputs == 1 else raw).astype(dtype)


def weights(rows=ROWS, seed=2):
    return np.random.default_rng(seed).integers(1, 4, rows).astype(float)


def numeric_gradient(loss, raw, y, weight, step=1e-6):
    grad = np.empty_like(raw)
    for at in np.ndindex(raw.shape):
        shift = np.zeros_like(raw)
        shift[at] = step
        change = loss.value(raw + shift, y, weight) - loss.value(raw - shift, y, weight)
        grad[at] = change[at[0]] / (2 * step)
    return grad
