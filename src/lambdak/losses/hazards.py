r"""The cumulative hazard Λ as a function of the raw score, one class for each link, without cancellation.

1 − F = e^{−Λ}: cloglog has Λ = eʳ, which with one additive function is Cox's model; logit has Λ = log(1 + eʳ).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, final

import numpy as np
from scipy.special import expit

from lambdak._types import Float64Array, FloatArray
from lambdak.losses.links import CLOGLOG, EXPONENT_LIMIT, LOGIT, Link

_MOST_HAZARD = 80.0  # of which e^Λ is within float32


class Hazard(ABC):
    """Λ(r), its derivative, and what the likelihood needs of both. It has no state."""

    link: ClassVar[Link]

    @abstractmethod
    def value(self, raw: FloatArray) -> FloatArray:
        """Λ(r)."""

    @abstractmethod
    def slope(self, raw: FloatArray) -> FloatArray:
        """Λ′(r)."""

    @abstractmethod
    def log_slope(self, raw: FloatArray) -> FloatArray:
        """Log Λ′(r)."""

    @abstractmethod
    def log_slope_slope(self, raw: FloatArray) -> FloatArray:
        """The derivative of log Λ′(r)."""

    @abstractmethod
    def growth(self, raw: FloatArray, gap: FloatArray) -> FloatArray:
        """Λ(r + gap) − Λ(r) for gap ≥ 0."""

    @abstractmethod
    def log_loss_before(self, raw: FloatArray) -> FloatArray:
        """−log F(r) = −log(1 − e^{−Λ(r)})."""

    @abstractmethod
    def slope_before(self, raw: FloatArray) -> FloatArray:
        """The derivative of −log F(r)."""

    @abstractmethod
    def raw(self, hazard: Float64Array) -> Float64Array:
        """The raw score of a cumulative hazard."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


@final
class ProportionalHazards(Hazard):
    """Λ = eʳ, which continues as its tangent where squared gradients would leave float32."""

    link = CLOGLOG

    def value(self, raw: FloatArray) -> FloatArray:
        """Return eʳ, with its tangent beyond the limit."""
        inside = np.minimum(raw, EXPONENT_LIMIT)
        return np.asarray(np.exp(inside) * (1 + (raw - inside)))

    def slope(self, raw: FloatArray) -> FloatArray:
        """Return eʳ."""
        return np.asarray(np.exp(np.minimum(raw, EXPONENT_LIMIT)))

    def log_slope(self, raw: FloatArray) -> FloatArray:
        """Return r."""
        return np.minimum(raw, EXPONENT_LIMIT)

    def log_slope_slope(self, raw: FloatArray) -> FloatArray:
        """Return 1."""
        return np.asarray(raw < EXPONENT_LIMIT, raw.dtype)

    def growth(self, raw: FloatArray, gap: FloatArray) -> FloatArray:
        """Return eʳ (e^gap − 1)."""
        return np.asarray(self.slope(raw) * np.expm1(np.minimum(gap, EXPONENT_LIMIT)))

    def log_loss_before(self, raw: FloatArray) -> FloatArray:
        """Return −log(1 − e^{−eʳ}), which is −r far below zero."""
        low = np.minimum(raw, -EXPONENT_LIMIT)
        return np.asarray(-np.log(-np.expm1(-self.slope(np.maximum(raw, -EXPONENT_LIMIT)))) - (low + EXPONENT_LIMIT))

    def slope_before(self, raw: FloatArray) -> FloatArray:
        """Return −Λ / (e^Λ − 1)."""
        hazard = np.clip(self.slope(raw), np.finfo(raw.dtype).tiny, _MOST_HAZARD)
        return np.asarray(-hazard / np.expm1(hazard))

    def raw(self, hazard: Float64Array) -> Float64Array:
        """Return log Λ."""
        return np.log(hazard)


@final
class ProportionalOdds(Hazard):
    """Λ = log(1 + eʳ): F is the logistic function, and r the logarithm of the odds of an event."""

    link = LOGIT

    def value(self, raw: FloatArray) -> FloatArray:
        """Return log(1 + eʳ)."""
        return np.asarray(np.logaddexp(raw, raw.dtype.type(0)))

    def slope(self, raw: FloatArray) -> FloatArray:
        """Return F(r)."""
        return np.asarray(expit(raw))

    def log_slope(self, raw: FloatArray) -> FloatArray:
        """Return log F(r)."""
        return np.asarray(-np.logaddexp(-raw, raw.dtype.type(0)))

    def log_slope_slope(self, raw: FloatArray) -> FloatArray:
        """Return 1 − F(r)."""
        return np.asarray(expit(-raw))

    def growth(self, raw: FloatArray, gap: FloatArray) -> FloatArray:
        """Return log(1 + F(r) (e^gap − 1))."""
        inside = np.minimum(gap, EXPONENT_LIMIT)
        return np.asarray(np.log1p(expit(raw) * np.expm1(inside)) + (gap - inside))

    def log_loss_before(self, raw: FloatArray) -> FloatArray:
        """Return −log F(r)."""
        return np.asarray(np.logaddexp(-raw, raw.dtype.type(0)))

    def slope_before(self, raw: FloatArray) -> FloatArray:
        """Return F(r) − 1."""
        return np.asarray(-expit(-raw))

    def raw(self, hazard: Float64Array) -> Float64Array:
        """Return log(e^Λ − 1)."""
        return np.asarray(hazard + np.log(-np.expm1(-hazard)))


LINKS: dict[str, Hazard] = {"cloglog": ProportionalHazards(), "logit": ProportionalOdds()}
