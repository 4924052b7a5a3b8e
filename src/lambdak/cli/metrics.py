"""How good a model is on rows that it has not seen, by the metrics of its task."""

from __future__ import annotations

from typing import Any

from lambdak.cli.dataset import Dataset
from lambdak.cli.errors import InputError
from lambdak.model.metrics import class_codes, model_metrics
from lambdak.model.offsets import row_offset


def metrics(model: Any, data: Dataset) -> dict[str, float]:
    """Name of the metric → number."""
    if hasattr(model, "classes_"):
        unknown = data.y[class_codes(model.classes_, data.y) < 0]
        if len(unknown):
            raise InputError(f"the test rows have a class that the model does not know: {unknown[0].item()!r}")
    offset = row_offset(model.model_.loss, data.offset, data.exposure)
    return {own.name: own.value for own in model_metrics(model.model_, data.X, data.y, data.weight, offset)}
