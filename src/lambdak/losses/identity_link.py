"""Identity link, the raw score is the prediction: a mean, a median, a mean that outliers cannot pull, and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from lambdak._checks import check_positive
from lambdak._types import Float64Array, FloatArray
from lambdak.losses.contract import Arrangement, Loss, Predicts, Target, _columns, _rows

NORMAL_MAD = 1.4826  # standard deviation over median absolute deviation of a normal distribution
OUTLIER_CAP = 5.0  # outliers stretch the scale of a robust loss to five robust spreads, not further
_ROUNDING = 64 * np.finfo(np.float64).eps  # a spread below this part of the numbers is none
_SMALL = 2.0**-10  # a constant below this would be lost in the noise of a fit in units of 1
_FAR = 2.0**30  # spreads from the middle: a solver would not find its way back from farther away


@final
@dataclass(frozen=True)
class SquaredError(Loss):
    """(r − y)² / 2, with derivative r − y: the mean. Half of scikit-learn's ``mean_squared_error``.

    >>> SquaredError().value(np.array([[0.0, 3.0]]), np.array([1.0, 1.0]))
    array([1.25])
    """

    name: ClassVar[str] = "squared_error"

    @property
    def compiled(self) -> tuple[str, list[float]]:
        """Return the kernel's name and numbers of this loss."""
        return self.name, []

    def _loss(self, raw: FloatArray, y: Target) -> FloatArray:
        error = raw - y
        return 0.5 * error * error

    def _slope(self, raw: FloatArray, y: Target) -> FloatArray:
        return raw - y

    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike:
        return _mean(y - offset, weight)

    def _scale(self, values: Float64Array, weight: Float64Array) -> float:
        return _std(values, weight) or _size(values)


class _Robust(Loss):
    """Losses that grow linearly: their scale must not follow a few outliers."""

    robust: ClassVar[bool] = True

    def _scale(self, values: Float64Array, weight: Float64Array) -> float:
        return min(_std(values, weight), OUTLIER_CAP * _robust_spread(values, weight)) or _size(values)


@final
@dataclass(frozen=True)
class AbsoluteError(_Robust):
    """|r − y|: the median."""

    name: ClassVar[str] = "absolute_error"

    @property
    def compiled(self) -> tuple[str, list[float]]:
        """Return the kernel's name and numbers of this loss."""
        return self.name, []

    def _loss(self, raw: FloatArray, y: Target) -> FloatArray:
        return np.abs(raw - y)

    def _slope(self, raw: FloatArray, y: Target) -> FloatArray:
        return np.sign(raw - y)

    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike:
        return _quantile(y - offset, weight, 0.5)


@final
@dataclass(frozen=True)
class Huber(_Robust):
    """e²/2 for |e| ≤ t and t|e| − t²/2 beyond, with e = r − y, t = delta · spread: a mean that outliers cannot pull.

    ``delta`` counts robust spreads of the target: ``resolved(y)`` measures the spread, which is 1 until then.

    >>> round(Huber().resolved([10.0, 20.0, 30.0, 40.0, 1e6]).spread, 3)
    14.826
    """

    name: ClassVar[str] = "huber"
    delta: float = 1.35  # 95 % efficient for normal errors
    spread: float = 1.0

    def __post_init__(self) -> None:
        check_positive(self.delta, "delta")
        check_positive(self.spread, "spread")

    def resolved(self, y: ArrayLike, weight: ArrayLike | None = None, offset: ArrayLike | None = None) -> Huber:
        """Return the same loss with ``spread`` = 1.4826 · median |v − median v| for v = y − offset."""
        target, weights, offsets = _rows(y, weight, offset)
        values = target - offsets
        return replace(self, spread=_robust_spread(values, weights) or _size(values))

    @property
    def compiled(self) -> tuple[str, list[float]]:
        """Return the kernel's name and numbers of this loss."""
        return self.name, [self.delta * self.spread]

    def _loss(self, raw: FloatArray, y: Target) -> FloatArray:
        inner = self._slope(raw, y)
        return inner * (raw - y - 0.5 * inner)

    def _slope(self, raw: FloatArray, y: Target) -> FloatArray:
        threshold = self.delta * self.spread
        return np.asarray(np.minimum(np.maximum(raw - y, -threshold), threshold))

    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike:
        unit = self.delta * self.spread  # so that the solver's absolute tolerance has the right size
        middle = _quantile(y - offset, weight, 0.5)  # half of the rows lie on either side: the root is near
        low, high = middle - _FAR * unit, middle + _FAR * unit
        share, values = weight / weight.sum(), np.clip(y - offset, low, high) / unit
        return unit * float(brentq(lambda c: share @ np.clip(c - values, -1.0, 1.0), values.min(), values.max()))


@final
@dataclass(frozen=True)
class Quantile(_Robust):
    """max(q e, (q − 1) e) with e = y − r: the q-quantile, q = ``quantile``."""

    name: ClassVar[str] = "quantile"
    quantile: float = 0.5

    def __post_init__(self) -> None:
        _check_fraction(self.quantile, "quantile")

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """The one quantile level of the loss."""
        return (self.quantile,)

    @property
    def compiled(self) -> tuple[str, list[float]]:
        """Return the kernel's name and numbers of this loss."""
        return self.name, [self.quantile]

    def _loss(self, raw: FloatArray, y: Target) -> FloatArray:
        error = y - raw
        return np.asarray(np.maximum(self.quantile * error, (self.quantile - 1.0) * error))

    def _slope(self, raw: FloatArray, y: Target) -> FloatArray:
        return np.subtract(raw > y, self.quantile, dtype=raw.dtype)

    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike:
        return _quantile(y - offset, weight, self.quantile)


@final
@dataclass(frozen=True)
class Pinball(_Robust):
    """mean_q max(q e_q, (q − 1) e_q) with e_q = y − r_q: several quantiles of one target, (..., Q).

    >>> Pinball((0.1, 0.9)).start(np.arange(11.0))
    array([1., 9.])
    """

    name: ClassVar[str] = "pinball"
    predicts: ClassVar[Predicts] = Predicts.QUANTILES
    no_offset: ClassVar[str] = "subtract it from y, and add it to the quantiles that are predicted"
    quantiles: tuple[float, ...]

    def __post_init__(self) -> None:
        quantiles = tuple(_check_fraction(item, "quantiles") for item in self.quantiles)
        if not quantiles or any(low >= high for low, high in pairwise(quantiles)):
            raise ValueError(f"quantiles must be increasing, and at least one; got {quantiles}")
        object.__setattr__(self, "quantiles", quantiles)

    @property
    def n_outputs(self) -> int:
        """Return the number of quantiles."""
        return len(self.quantiles)

    @property
    def arrangement(self) -> Arrangement:
        """One eigenvalue, at each of the quantile levels."""
        return Arrangement.QUANTILES

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """All quantile levels of the loss."""
        return self.quantiles

    def output_names(self, labels: Sequence[str]) -> tuple[str, ...]:
        """One for each quantile."""
        return tuple(f"quantile {q:g}" for q in self.quantiles)

    def at_levels(self, y: Target) -> tuple[Loss, Target]:
        """Pairs (y, q)."""
        return LevelPinball(), np.column_stack([np.repeat(y, self.n_outputs), np.tile(self.quantiles, len(y))])

    def _predict(self, raw: FloatArray) -> FloatArray:
        """The quantiles; neighbours that rounding has put out of order become equal."""
        return np.asarray(np.maximum.accumulate(raw, axis=-1) if self.n_outputs > 1 else raw.copy())

    def _loss(self, raw: FloatArray, y: Target) -> FloatArray:
        level, error = np.array(self.quantiles, raw.dtype), y[..., None] - _columns(raw, self.n_outputs)
        return np.maximum(level * error, (level - 1.0) * error) @ np.full_like(level, 1.0 / level.size)

    def _slope(self, raw: FloatArray, y: Target) -> FloatArray:
        above = _columns(raw, self.n_outputs) > y[..., None]
        slope = np.subtract(above, np.array(self.quantiles, raw.dtype), dtype=raw.dtype)
        slope *= 1.0 / self.n_outputs
        return slope.reshape(raw.shape)

    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike:
        return _quantile(y - offset, weight, self.quantiles)


@final
@dataclass(frozen=True)
class LevelPinball(_Robust):
    """max(q e, (q − 1) e) with e = y − r and the quantile level q of each row: the target is (y, q), (..., 2)."""

    name: ClassVar[str] = "pinball"

    def _loss(self, raw: FloatArray, y: Target) -> FloatArray:
        error = y[..., 0] - raw
        return np.maximum(y[..., 1] * error, (y[..., 1] - 1.0) * error)

    def _slope(self, raw: FloatArray, y: Target) -> FloatArray:
        return np.asarray((raw > y[..., 0]) - y[..., 1], raw.dtype)

    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike:
        return _quantile(y - offset, weight, 0.5)


def _check_fraction(value: float, name: str) -> float:
    number = float(value)
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name} must be in (0, 1); got {number}")
    return number


def _quantile(values: Float64Array, weight: Float64Array, fraction: float | tuple[float, ...]) -> Float64Array:
    return np.asarray(np.quantile(values, fraction, weights=weight, method="inverted_cdf"))


def _or_else(spread: float, size: float, otherwise: float) -> float:
    """Return ``spread`` if it is more than the rounding of numbers of this size."""
    return spread if spread > _ROUNDING * size else otherwise


def _size(values: Float64Array) -> float:
    """The scale of a constant: 1, but never so large that the constant, nor so small that a unit of it, is lost."""
    size = float(np.abs(values).max())
    return size if 0.0 < size < _SMALL else max(1.0, _ROUNDING * size)


def _unit(values: Float64Array) -> float:
    """A power of two near the largest number: divided by it, squares and sums are finite, and no digit changes."""
    return float(np.exp2(np.maximum(np.frexp(np.abs(values).max())[1], -1000)))


def _mean(values: Float64Array, weight: Float64Array) -> float:
    unit = _unit(values)
    return unit * float(np.average(values / unit, weights=weight))


def _std(values: Float64Array, weight: Float64Array) -> float:
    """The standard deviation; 0 if it is only rounding."""
    unit = _unit(values)
    scaled = values / unit
    centred = scaled - np.average(scaled, weights=weight)
    spread = float(np.sqrt(np.average(centred * centred, weights=weight)))
    return unit * _or_else(spread, float(np.abs(scaled).max()), 0.0)


def _robust_spread(values: Float64Array, weight: Float64Array) -> float:
    """The median absolute deviation, as the standard deviation of a normal distribution; outliers do not change it."""
    middle = _quantile(values, weight, 0.5)
    deviation = _quantile(np.abs(values - middle), weight, 0.5)
    return _or_else(NORMAL_MAD * float(deviation), float(np.abs(middle)), _std(values, weight))
