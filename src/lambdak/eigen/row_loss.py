"""Losses of rows in plain NumPy, the reference of the kernel's: raw scores are (members, outputs, rows)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen.engine import LossHead

_LIMIT = 40.0  # exp continues as its tangent from here
_SMALLEST = 1e-15  # a target below is zero


def values(head: LossHead, raw: Float64Array, y: Float64Array) -> Float64Array:
    """Loss of each row, (members, rows)."""
    if head.loss == "softmax":
        below = raw - raw.max(axis=1, keepdims=True)
        own = np.take_along_axis(below, y.astype(int)[:, None], axis=1)[:, 0]
        return np.asarray(np.log(np.exp(below).sum(axis=1)) - own)
    return np.asarray(_VALUES[head.loss](raw[:, 0], y, *head.numbers))


def slopes(head: LossHead, raw: Float64Array, y: Float64Array) -> Float64Array:
    """Derivative of the loss with respect to the raw scores, in the shape of ``raw``."""
    if head.loss == "softmax":
        odds = np.exp(raw - raw.max(axis=1, keepdims=True))
        own = np.arange(raw.shape[1])[:, None] == y[:, None]
        return np.asarray(odds / odds.sum(axis=1, keepdims=True) - own)
    return np.asarray(_SLOPES[head.loss](raw[:, 0], y, *head.numbers))[:, None]


def _deviance(raw: Float64Array, y: Float64Array, a: float, b: float) -> Float64Array:
    zero = y < _SMALLEST
    unit = np.where(zero, 1.0, y)
    return _rise(raw, unit, a) - y * _rise(raw, unit, -b) + (zero / a if a else 0.0)


def _rise(raw: Float64Array, unit: Float64Array, k: float) -> Float64Array:
    if not k:
        return np.asarray(raw - np.log(unit))
    inside = np.minimum(raw, _LIMIT / k) if k > 0 else np.maximum(raw, _LIMIT / k)
    grown = unit**k * np.expm1(k * (inside - np.log(unit)))
    return np.asarray(grown / k + (grown + unit**k) * (raw - inside))


def _deviance_slope(raw: Float64Array, y: Float64Array, a: float, b: float) -> Float64Array:
    return np.asarray(np.exp(np.minimum(a * raw, _LIMIT)) - y * np.exp(np.minimum(-b * raw, _LIMIT)))


def _huber(raw: Float64Array, y: Float64Array, threshold: float) -> Float64Array:
    slope = np.clip(raw - y, -threshold, threshold)
    return np.asarray(slope * (raw - y - 0.5 * slope))


_VALUES: dict[str, Callable[..., Float64Array]] = {
    "squared_error": lambda raw, y: 0.5 * (raw - y) ** 2,
    "absolute_error": lambda raw, y: np.abs(raw - y),
    "huber": _huber,
    "quantile": lambda raw, y, q: np.maximum(q * (y - raw), (q - 1) * (y - raw)),
    "log_loss": lambda raw, y: np.logaddexp(0.0, raw) - y * raw,
    "half_deviance": _deviance,
}
_SLOPES: dict[str, Callable[..., Float64Array]] = {
    "squared_error": lambda raw, y: raw - y,
    "absolute_error": lambda raw, y: np.sign(raw - y),
    "huber": lambda raw, y, threshold: np.clip(raw - y, -threshold, threshold),
    "quantile": lambda raw, y, q: (raw > y) - q,
    "log_loss": lambda raw, y: 0.5 * (1 + np.tanh(raw / 2)) - y,
    "half_deviance": _deviance_slope,
}
