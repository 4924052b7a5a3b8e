"""How good a model is on rows that it has not seen, by the metrics of its task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lambdak.cli.errors import InputError

if TYPE_CHECKING:
    from lambdak.model.model import Model


class Scored(Protocol):
    """Rows of which a model can compute the raw scores, in memory or not."""

    def scored(self, model: Model) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]:
        """Targets, raw scores and weights."""


def metrics(estimator: Any, rows: Scored) -> dict[str, float]:
    """Name of the metric → number."""
    from lambdak.model.metrics import class_codes, raw_metrics

    y, raw, weight = rows.scored(estimator.model_)
    if hasattr(estimator, "classes_"):
        unknown = y[class_codes(estimator.classes_, y) < 0]
        if len(unknown):
            raise InputError(f"the test rows have a class that the model does not know: {unknown[0].item()!r}")
    return {own.name: own.value for own in raw_metrics(estimator.model_, y, raw, weight)}
