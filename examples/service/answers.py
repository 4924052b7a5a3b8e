"""From rows to predictions, as JSON has them."""

from __future__ import annotations

from typing import Any

from lambdak.model.predictor import Predictor


def answer(predictor: Predictor, row: Any) -> dict[str, Any]:
    """What is predicted for one row."""
    found = {"prediction": predictor(row)}
    if predictor.classes:
        found["probabilities"] = {str(label): share for label, share in predictor.predict_proba(row).items()}
    if predictor.quantile_levels:
        levels = map(str, predictor.quantile_levels)
        found["quantiles"] = dict(zip(levels, predictor.predict_quantiles(row), strict=True))
    return found


def answers(predictor: Predictor, rows: list[Any]) -> list[dict[str, Any]]:
    """What is predicted for each of several rows; an error names the row, counted from zero."""
    predictions = predictor.many(rows)  # says which row is wrong
    if not predictor.classes and not predictor.quantile_levels:
        return [{"prediction": prediction} for prediction in predictions]
    return [answer(predictor, row) for row in rows]


def refuse_unknown(predictor: Predictor, rows: list[Any]) -> None:
    """Refuse rows with columns that the model does not know: a wrong name, or data that nobody meant to send."""
    known = frozenset(predictor.columns)
    for number, row in enumerate(rows):
        unknown = [name for name in row if name not in known] if isinstance(row, dict) else []
        if unknown:
            raise ValueError(
                f"row {number}: column {unknown[0]!r} is not one of the model; leave it out, or correct its name: "
                f"{', '.join(predictor.columns)}"
            )
