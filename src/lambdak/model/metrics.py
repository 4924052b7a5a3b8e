"""How well a fitted model does on given rows, in the numbers that belong to its task."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics

from lambdak._types import Float64Array
from lambdak.losses import IDENTITY, Loss, Predicts
from lambdak.model.model import Model
from lambdak.table.rows import read_rows, weights_in_units


class Metric(NamedTuple):
    """A number, its name, and what it means."""

    name: str
    value: float
    meaning: str


def model_metrics(
    model: Model, X: Any, y: ArrayLike, weight: Float64Array | None = None, offset: ArrayLike | None = None
) -> list[Metric]:
    """Metrics of a model on rows; raises if ``y`` does not belong to ``X``.

    A class that the model does not know is never predicted; log loss and area under the curve are then omitted.
    """
    rows = read_rows(X, y, offset=offset, keep=False)
    return raw_metrics(model, rows.target, model.raw(rows.X, rows.offset), weight)


def raw_metrics(
    model: Model, target: NDArray[Any], raw: NDArray[Any], weight: Float64Array | None = None
) -> list[Metric]:
    """Metrics of a model on rows with these raw scores."""
    weight = None if weight is None else weights_in_units(weight)
    if model.classes is not None:
        return _of_classes(model.loss, class_codes(model.classes, target), raw, weight)
    numbers = target.astype(np.float64)
    if model.loss.predicts is Predicts.QUANTILES:
        return _of_quantiles(numbers, raw, model.loss.quantile_levels, weight)
    return _of_numbers(model.loss, numbers, raw, weight)


def class_codes(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Positions of labels among the classes, −1 for one that is not there.

    >>> class_codes(np.array(["a", "b"]), np.array(["b", "a", None], object))
    array([ 1,  0, -1])
    """
    positions = {label: i for i, label in enumerate(classes.tolist())}
    return np.array([positions.get(label, -1) for label in labels.tolist()], np.intp)


def _of_numbers(loss: Loss, y: Float64Array, raw: NDArray[Any], weight: Float64Array | None) -> list[Metric]:
    predicted = loss.predict(raw)
    unit = np.exp2(np.clip(np.frexp(np.abs(y).max())[1], -1000, 1000))  # so that squares are finite
    squares = np.average((y / unit - predicted / unit) ** 2, weights=weight)
    rmse = unit * np.sqrt(squares)
    mae = np.average(np.abs(y - predicted), weights=weight)
    found = [
        Metric(
            "R²",
            _explained(y / unit, float(squares), weight),
            "share of the target's variance that the predictions explain; 1 is perfect",
        ),
        Metric("RMSE", float(rmse), "root mean squared error, in units of the target; large errors count more"),
        Metric("MAE", float(mae), "mean absolute error, in units of the target"),
    ]
    if loss.quantile_levels:
        return [*found, *_of_quantiles(y, predicted[:, None], loss.quantile_levels, weight)]
    if loss.link is not IDENTITY:
        deviance = 2 * float(loss.value(raw.astype(np.float64), y, weight))
        found.append(Metric(f"mean {loss.name} deviance", deviance, "0 is perfect"))
    return found


def _explained(y: Float64Array, squares: float, weight: Float64Array | None) -> float:
    """R² of a mean squared error; of targets without any variance 1 if there is no error, and 0 otherwise."""
    if len(y) < 2:
        return np.nan
    seen = y if weight is None else y[weight > 0]
    if (seen == seen[0]).all():
        return float(squares == 0.0)
    return 1.0 - squares / float(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))


def _of_classes(loss: Loss, codes: NDArray[np.intp], raw: NDArray[Any], weight: Float64Array | None) -> list[Metric]:
    chance = loss.predict(raw)
    right = np.average(loss.classify(raw) == codes, weights=weight)
    largest = max(np.average(codes == code, weights=weight) for code in range(chance.shape[1]))
    found = [
        Metric("accuracy", float(right), "share of rows whose class is predicted"),
        Metric("share of the largest class", float(largest), "the accuracy of always predicting this class"),
    ]
    if (codes < 0).any():
        return found
    own = np.maximum(chance[np.arange(len(codes)), codes], np.finfo(np.float64).tiny)
    mean = np.average(-np.log(own), weights=weight)
    found.append(Metric("log loss", float(mean), "mean negative log-likelihood of the true class; 0 is perfect"))
    if chance.shape[1] == 2 and 0 < codes.sum() < len(codes):
        area = area_under_roc(codes == 1, chance[:, 1], weight)
        meaning = "chance that a row of the second class is ranked above one of the first"
        found.append(Metric("ROC AUC", area, meaning))
    return found


def area_under_roc(positive: NDArray[np.bool_], score: NDArray[Any], weight: Float64Array | None = None) -> float:
    """Share of pairs of rows, one positive and one not, whose scores are in this order; equal ones count half.

    >>> area_under_roc(np.array([False, True, False, True]), np.array([0.1, 0.4, 0.4, 0.8]))
    0.875
    """
    order = np.argsort(score)
    mass = np.ones(len(order)) if weight is None else weight[order]
    last = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)  # of the rows with equal scores
    above = np.cumsum(mass * positive[order])[last]
    below = np.cumsum(mass * ~positive[order])[last]
    pairs = above[-1] * below[-1]
    right = np.diff(above, prepend=0.0) * (below - np.diff(below, prepend=0.0) / 2)
    return float(right.sum() / pairs) if pairs else np.nan


def _of_quantiles(
    y: Float64Array, predicted: NDArray[Any], levels: tuple[float, ...], weight: Float64Array | None
) -> list[Metric]:
    pairs = list(zip(levels, predicted.T, strict=True))
    losses = [metrics.mean_pinball_loss(y, own, alpha=level, sample_weight=weight) for level, own in pairs]
    found = [Metric("mean pinball loss", float(np.mean(losses)), "in units of the target; smaller is better")]
    for level, own in pairs:
        share = np.average(y <= own, weights=weight)
        found.append(Metric(f"share up to the {level:g} quantile", float(share), f"of the rows; {level:g} is wanted"))
    if len(levels) > 1:
        inside = np.average((predicted[:, 0] <= y) & (y <= predicted[:, -1]), weights=weight)
        meaning = f"of the rows; {levels[-1] - levels[0]:g} is wanted"
        found.append(Metric("share between the outer quantiles", float(inside), meaning))
    return found
