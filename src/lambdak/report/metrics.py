"""How well a model does on given rows, in the numbers that suit its task."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics as scores

from lambdak.losses import Quantile
from lambdak.rows import target_rows

Metric = dict[str, Any]


def metrics(model: Any, X: Any, y: Any) -> list[Metric]:
    """Name, value and meaning of each number; raises if ``y`` does not belong to ``X``."""
    target = target_rows(y)
    raw = model._raw(X)
    if len(target) != len(raw):
        raise ValueError(f"y must have {len(raw)} entries, one per row of X; got {len(target)}")
    if model.levels_:
        return _quantiles(target.astype(np.float64), raw, model.levels_)
    if hasattr(model, "classes_"):
        return _classes(model.classes_, target, model.loss_.predict(raw))
    return _numbers(model.loss_, target.astype(np.float64), raw)


def _metric(name: str, value: float, meaning: str) -> Metric:
    return {"name": name, "value": float(value), "meaning": meaning}


def _numbers(loss: Any, y: NDArray[np.float64], raw: NDArray[Any]) -> list[Metric]:
    predicted = loss.predict(raw)
    found = [
        _metric("R²", _r2(y, predicted), "share of the target's variance that the predictions explain; 1 is perfect"),
        _metric("mean absolute error", scores.mean_absolute_error(y, predicted), "in units of the target"),
        _metric(
            "root mean squared error",
            scores.root_mean_squared_error(y, predicted),
            "in units of the target; large errors count more",
        ),
    ]
    if isinstance(loss, Quantile):
        return [*found, *_quantiles(y, predicted[:, None], (loss.quantile,))]
    if not loss.identity:
        deviance = 2 * float(loss.value(raw.astype(np.float64), y))
        found.append(_metric(f"mean {loss.name} deviance", deviance, "0 is perfect"))
    return found


def _r2(y: NDArray[np.float64], predicted: NDArray[Any]) -> float:
    return float(scores.r2_score(y, predicted)) if len(y) > 1 else float("nan")


def _classes(classes: NDArray[Any], y: NDArray[Any], chance: NDArray[Any]) -> list[Metric]:
    known = np.isin(y, classes)
    found = [_metric("accuracy", np.mean(classes[chance.argmax(axis=1)] == y), "share of rows put in their class")]
    if known.all():
        own = chance[np.arange(len(y)), np.searchsorted(classes, y)]
        loss = -np.log(np.maximum(own, np.finfo(np.float64).tiny)).mean()
        found.append(_metric("log-loss", loss, "mean surprise at the true class; 0 is perfect"))
    if len(classes) == 2 and len(np.unique(y)) == 2 and known.all():
        area = scores.roc_auc_score(y == classes[1], chance[:, 1])
        found.append(_metric("AUC", area, "chance that a row of the second class is ranked above one of the first"))
    return found


def _quantiles(y: NDArray[np.float64], predicted: NDArray[Any], levels: tuple[float, ...]) -> list[Metric]:
    found = []
    for level, own in zip(levels, predicted.T, strict=True):
        meaning = f"share of targets at or below this quantile; {level:g} is wanted"
        found.append(_metric(f"coverage of quantile {level:g}", np.mean(y <= own), meaning))
    losses = [scores.mean_pinball_loss(y, own, alpha=level) for level, own in zip(levels, predicted.T, strict=True)]
    return [*found, _metric("mean pinball loss", float(np.mean(losses)), "in units of the target; smaller is better")]
