"""How good a model is on rows that it has not seen, in the measures that belong to its task."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import metrics

from lambdak.cli.errors import InputError
from lambdak.cli.rows import Rows


def scores(model: Any, rows: Rows) -> dict[str, float]:
    """Measure → number."""
    if hasattr(model, "classes_"):
        return _of_classes(model, rows)
    if model.levels_:
        return _of_quantiles(model, rows)
    beside = {} if rows.offset is None else {"offset": rows.offset}
    predicted = model.predict(rows.X, **beside)
    weighted = {"sample_weight": rows.weight}
    return {
        "R²": float(metrics.r2_score(rows.y, predicted, **weighted)),
        "RMSE": float(metrics.root_mean_squared_error(rows.y, predicted, **weighted)),
        "MAE": float(metrics.mean_absolute_error(rows.y, predicted, **weighted)),
    }


def _of_classes(model: Any, rows: Rows) -> dict[str, float]:
    unknown = rows.y[~np.isin(rows.y, model.classes_)]
    if len(unknown):
        raise InputError(f"the rows to score have a class that the model does not know: {unknown[0].item()!r}")
    probability, weighted = model.predict_proba(rows.X), {"sample_weight": rows.weight}
    labels, counts = np.unique(rows.y, return_counts=True)
    found = {
        "accuracy": float(metrics.accuracy_score(rows.y, model.classes_[probability.argmax(axis=1)], **weighted)),
        "share of the largest class": float(counts.max() / counts.sum()),
        "log loss": float(metrics.log_loss(rows.y, probability, labels=model.classes_, **weighted)),
    }
    if len(model.classes_) == 2 and len(labels) == 2:
        found["ROC AUC"] = float(metrics.roc_auc_score(rows.y == model.classes_[1], probability[:, 1], **weighted))
    return found


def _of_quantiles(model: Any, rows: Rows) -> dict[str, float]:
    quantiles, levels = model.predict_quantiles(rows.X), model.levels_
    losses = [
        metrics.mean_pinball_loss(rows.y, column, alpha=level, sample_weight=rows.weight)
        for column, level in zip(quantiles.T, levels, strict=True)
    ]
    found = {"mean pinball loss": float(np.mean(losses))}
    if len(levels) > 1:
        inside = (quantiles[:, 0] <= rows.y) & (rows.y <= quantiles[:, -1])
        found["share between the outer quantiles"] = float(np.average(inside, weights=rows.weight))
        found["share that should be"] = float(levels[-1] - levels[0])
    return found
