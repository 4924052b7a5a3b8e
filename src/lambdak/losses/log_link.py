"""Log link, the mean is eʳ: half the deviance of Tweedie's family, with Poisson and gamma as its ends."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from lambdak._types import Float64Array, FloatArray
from lambdak.losses.contract import Loss, Target
from lambdak.losses.links import EXPONENT_LIMIT, LOG, Link

SMALLEST, LARGEST = 1e-15, 1e15  # positive targets of a log link, well inside exp(±EXPONENT_LIMIT)


class _HalfDeviance(Loss):
    """μᵃ/a + y μ⁻ᵇ/b minus its minimum over μ, for μ = eʳ, a = 2 − p, b = p − 1: the family of Tweedie's power p."""

    link: ClassVar[Link] = LOG

    @abstractmethod
    def _exponents(self) -> tuple[float, float]: ...  # a, b

    @property
    def compiled(self) -> tuple[str, list[float]]:
        """Return the kernel's name and numbers of this loss."""
        return "half_deviance", list(self._exponents())

    def _predict(self, raw: FloatArray) -> FloatArray:
        """μ = eʳ, the mean."""
        return np.asarray(self.link.inverse(raw))

    def _loss(self, raw: FloatArray, y: Target) -> FloatArray:
        a, b = self._exponents()
        zero = y < SMALLEST
        unit = np.where(zero, raw.dtype.type(1), y)
        loss = _rise(raw, unit, a) - y * _rise(raw, unit, -b)
        return np.asarray(loss + zero * raw.dtype.type(1 / a) if a else loss)

    def _slope(self, raw: FloatArray, y: Target) -> FloatArray:
        a, b = self._exponents()
        up = np.exp(np.minimum(a * raw, EXPONENT_LIMIT)) if a else 1.0
        down = y * np.exp(np.minimum(-b * raw, EXPONENT_LIMIT)) if b else y
        return np.asarray(up - down)

    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike:
        a, b = self._exponents()
        events = weight * y if (weight * y).any() else weight / (2 * len(y))
        return np.asarray(logsumexp(-b * offset, b=events) - logsumexp(a * offset, b=weight))

    def _check(self, y: Float64Array, name: str) -> None:
        super()._check(y, name)
        self._refuse(
            name, y < 0, y, "be >= 0", "the log link keeps the mean positive; loss='squared_error' takes any sign"
        )
        self._refuse(name, y > LARGEST, y, f"be <= {LARGEST:g}", "divide y by its mean")


@final
@dataclass(frozen=True)
class Poisson(_HalfDeviance):
    """eʳ − y r + y log y − y: counts and rates, log link; half the deviance.

    >>> Poisson().start([0, 1, 0, 2], offset=np.log([1.0, 1.0, 2.0, 2.0])).round(4)  # 3 events in 6 years
    array([-0.6931])
    """

    name: ClassVar[str] = "poisson"

    def _exponents(self) -> tuple[float, float]:
        return 1.0, 0.0


@final
@dataclass(frozen=True)
class Gamma(_HalfDeviance):
    """y e⁻ʳ + r − log y − 1: positive amounts, log link; half the deviance."""

    name: ClassVar[str] = "gamma"

    def _exponents(self) -> tuple[float, float]:
        return 0.0, 1.0

    def _check(self, y: Float64Array, name: str) -> None:
        self._refuse(name, y <= 0, y, "be > 0", "loss='tweedie' takes zeros")
        self._refuse(name, y < SMALLEST, y, f"be >= {SMALLEST:g}", "divide y by its mean")
        super()._check(y, name)


@final
@dataclass(frozen=True)
class Tweedie(_HalfDeviance):
    """μ²⁻ᵖ/(2−p) + y μ¹⁻ᵖ/(p−1) minus its minimum, μ = eʳ, 1 < p = ``power`` < 2: amounts with zeros, log link."""

    name: ClassVar[str] = "tweedie"
    power: float = 1.5

    def __post_init__(self) -> None:
        if not 1.0 < self.power < 2.0:
            raise ValueError(f"power must be in (1, 2); got {self.power}: Poisson() is the limit 1, Gamma() is 2")

    @classmethod
    def from_settings(cls, **settings: float) -> Loss:
        """Poisson and gamma are its ends."""
        power = settings["power"]
        return Poisson() if power == 1 else Gamma() if power == 2 else cls(power)

    def _exponents(self) -> tuple[float, float]:
        return 2.0 - self.power, self.power - 1.0


def _rise(raw: FloatArray, unit: FloatArray, k: float) -> FloatArray:
    """(μᵏ − unitᵏ) / k for μ = eʳ, without cancellation near μ = unit; r − log unit for k = 0."""
    if not k:
        return np.asarray(raw - np.log(unit))
    limit = EXPONENT_LIMIT / k
    inside = np.minimum(raw, limit) if k > 0 else np.maximum(raw, limit)
    size = unit**k
    rise = size * np.expm1(k * (inside - np.log(unit)))
    return np.asarray(rise / k + (rise + size) * (raw - inside))
