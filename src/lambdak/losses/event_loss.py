"""Whether an event happened by one time: two classes, with the link of the cumulative hazard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from lambdak._types import Float64Array, FloatArray
from lambdak.losses.class_losses import _seen, _with_offset
from lambdak.losses.contract import Loss, Predicts, Target
from lambdak.losses.hazards import ProportionalHazards
from lambdak.losses.links import CLOGLOG, EXPONENT_LIMIT, Link

_HAZARD = ProportionalHazards()


@final
@dataclass(frozen=True)
class EventLog(Loss):
    """−y log F − (1 − y) log(1 − F) with F = 1 − exp(−eʳ): r is the logarithm of the cumulative hazard.

    >>> EventLog().predict(np.array([-30.0, 0.0])).round(3)
    array([[1.   , 0.   ],
           [0.368, 0.632]])
    """

    name: ClassVar[str] = "event_log_loss"
    link: ClassVar[Link] = CLOGLOG
    predicts: ClassVar[Predicts] = Predicts.CLASSES
    n_classes = 2

    def output_names(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The second class, that there was an event."""
        return (f"class {labels[1]}",)

    def _predict(self, raw: FloatArray) -> FloatArray:
        """(exp(−eʳ), 1 − exp(−eʳ)): probabilities (..., 2) of no event, and of one."""
        hazard = np.exp(np.minimum(raw, EXPONENT_LIMIT))
        return np.stack([np.exp(-hazard), -np.expm1(-hazard)], axis=-1)

    def _limited(self, predictions: FloatArray) -> FloatArray:
        link = self.output_link
        if link.is_free:
            return predictions
        return np.stack([link.other.limited(predictions[..., 0]), link.limited(predictions[..., 1])], axis=-1)

    def _loss(self, raw: FloatArray, y: Target) -> FloatArray:
        return np.asarray(y * _HAZARD.log_loss_before(raw) + (1 - y) * _HAZARD.value(raw))

    def _slope(self, raw: FloatArray, y: Target) -> FloatArray:
        return np.asarray(y * _HAZARD.slope_before(raw) + (1 - y) * _HAZARD.slope(raw))

    def _start(self, y: Float64Array, weight: Float64Array, offset: Float64Array) -> ArrayLike:
        no, yes = _seen(np.array([weight @ (1.0 - y), weight @ y]), weight)
        return _with_offset(self, np.log(-np.log([no / (no + yes)])), y, weight, offset)

    def _check(self, y: Float64Array, name: str) -> None:
        super()._check(y, name)
        self._refuse(name, (y < 0) | (y > 1), y, "be in [0, 1]", "code whether there was an event as 0 and 1")
