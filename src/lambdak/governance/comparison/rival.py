"""What a model is compared with: another model, or the predictions or premiums of a current tariff."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier, is_regressor

from lambdak._checks import check_numbers, check_per_row
from lambdak._types import Float64Array
from lambdak.governance.performance.columns import Columns
from lambdak.governance.performance.outcome import Outcome, class_position, of_chance, of_numbers, prediction_of
from lambdak.governance.performance.scored import ScoredRows, check_total
from lambdak.losses import LOG, Predicts
from lambdak.model import Model

_NUMBERS, _CLASSES = "numbers", "probabilities of classes"


def rival_predictions(
    model: Model, other: Any, columns: Columns, offset: ArrayLike | None, output: Any
) -> Float64Array:
    """Predictions of the other side, (rows,), per unit of exposure, of all rows of the table."""
    if other is None:
        raise TypeError("other must be a fitted model, an array, a number, or the name of a column of X; got None")
    rival = other if isinstance(other, Model) else getattr(other, "model_", None)
    _check_same(model, other if rival is None else rival)
    if isinstance(rival, Model):
        return _own_chances(model, rival, columns.X, offset, output)
    if model.classes is not None and hasattr(other, "predict_proba"):
        return _chances(model, other, columns.X, output)
    if hasattr(other, "predict"):
        return _checked(other.predict(columns.X), columns.table_rows, f"predictions of {type(other).__name__}")
    return _checked(columns.raw(other, "other") if isinstance(other, str) else other, columns.table_rows, "other")


def _check_same(model: Model, other: Any) -> None:
    """Refuse a model that predicts something else: the sides of a comparison are about the same target."""
    one, two = _predicted(model), _predicted(other)
    if two and one != two:
        raise ValueError(
            f"other must predict what the model does, {one}; it predicts {two}: compare models of the same target"
        )


def _predicted(model: Any) -> str:
    """What a model predicts, in words; empty where that is not known."""
    if isinstance(model, Model):
        what = {Predicts.NUMBERS: _NUMBERS, Predicts.QUANTILES: "quantiles"}
        return what.get(model.loss.predicts, _CLASSES)
    if not hasattr(model, "predict"):
        return ""
    return _CLASSES if is_classifier(model) else _NUMBERS if is_regressor(model) else ""


def _own_chances(model: Model, other: Model, X: Any, offset: ArrayLike | None, output: Any) -> Float64Array:
    """Predictions of a model of this library; of classes, the probability of the same one."""
    raw = other.raw(X, offset)
    if model.classes is None:
        return prediction_of(other, raw, output)
    chances = np.asarray(other.loss.predict(raw), np.float64)
    return chances[:, _place(model, np.asarray(other.classes).tolist(), output)]


def _checked(values: Any, rows: int, name: str) -> Float64Array:
    predicted = check_numbers(values, name)
    return check_per_row(np.full(rows, predicted) if predicted.ndim == 0 else predicted, rows, name)


def _chances(model: Model, other: Any, X: Any, output: Any) -> Float64Array:
    """The probability of the same class."""
    place = _place(model, np.asarray(other.classes_).tolist(), output)
    return np.asarray(other.predict_proba(X), np.float64)[:, place]


def _place(model: Model, known: list[Any], output: Any) -> int:
    """Where the class that is meant is among those of the other side."""
    label = np.asarray(model.classes).tolist()[class_position(model, output)]
    if label not in known:
        raise ValueError(f"other must know class {label!r}; got one of {known}: compare models of the same classes")
    return known.index(label)


def check_predictions(predicted: Float64Array, rows: Any, name: str) -> None:
    """Refuse predictions that are no numbers, in rows that count."""
    bad = ~np.isfinite(predicted)
    if bad.any():
        at = int(np.argmax(bad))
        raise ValueError(f"{name} must be finite; got {predicted[at]} at row {rows[at]}: fill in or drop such rows")


def rescored(scored: ScoredRows, model: Model, predicted: Float64Array, name: str) -> ScoredRows:
    """Scored rows with other predictions, and all that follows from these."""
    found = _outcome(scored, model, predicted, name)
    expected = scored.exposure * found.expected
    check_total(np.abs(expected), name)
    return replace(scored, expected=expected, predicted=found.order, outcome=found)


def _outcome(scored: ScoredRows, model: Model, predicted: Float64Array, name: str) -> Outcome:
    outcome = scored.outcome
    if outcome.task == "coverage":
        raise ValueError(
            "compare with y needs predictions of means or probabilities; this model predicts quantiles: leave y out, "
            "or read performance(X, y) of both models"
        )
    if outcome.task == "class":
        _refuse((predicted < 0) | (predicted > 1), predicted, scored, name, "be probabilities in [0, 1]")
        return of_chance(outcome.observed, predicted, scored.exposure, outcome.words or "")
    if model.loss.link is LOG:
        _refuse(predicted <= 0, predicted, scored, name, f"be positive for loss={model.loss.name!r}")
        return of_numbers(model.loss, np.log(predicted), predicted, outcome.observed, scored.exposure)
    return of_numbers(model.loss, predicted, predicted, outcome.observed, scored.exposure)


def _refuse(bad: Any, predicted: Float64Array, scored: ScoredRows, name: str, wanted: str) -> None:
    if bad.any():
        at = int(np.argmax(bad))
        raise ValueError(f"{name} must {wanted}; got {predicted[at]:g} at row {scored.rows[at]}: drop such rows")
