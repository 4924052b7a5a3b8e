"""How good a model is on rows that it has not seen, in the measures that belong to its task."""

from __future__ import annotations

from typing import Any

from lambdak.cli.errors import InputError
from lambdak.cli.rows import Rows
from lambdak.model.measures import class_codes, measures


def scores(model: Any, rows: Rows) -> dict[str, float]:
    """Measure → number."""
    if hasattr(model, "classes_"):
        unknown = rows.y[class_codes(model.classes_, rows.y) < 0]
        if len(unknown):
            raise InputError(f"the rows to score have a class that the model does not know: {unknown[0].item()!r}")
    return {own.name: own.value for own in measures(model.model_, rows.X, rows.y, rows.weight, rows.offset)}
