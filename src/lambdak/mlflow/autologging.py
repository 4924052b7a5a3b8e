"""Settings and figures of every fit, logged to MLflow by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

import mlflow
from lambdak.certify import promised
from lambdak.estimators.fitted import Fitted
from lambdak.mlflow.flavour import log_model

_LONGEST = 500  # letters of a setting
_NAME = "estimator"  # the setting by which a run is known to have a fit


def autolog(*, log_models: bool = True, disable: bool = False) -> None:
    """Log the settings of every fit from now on, how well it did, and how many guarantees are proven.

    A fit is logged to the active run, or to a new one; a second fit in a run becomes a run within it. With
    ``log_models`` the model is logged, too, as :func:`lambdak.mlflow.log_model` does. ``disable=True`` ends it.
    """
    for observer in [own for own in Fitted._observers if isinstance(own, _Logger)]:
        Fitted._observers.remove(observer)
    if not disable:
        Fitted._observers.append(_Logger(log_models))


class _Logger:
    """What is told of every fit."""

    def __init__(self, log_models: bool) -> None:
        self.log_models = log_models

    def __call__(self, estimator: Any) -> None:
        active = mlflow.active_run()
        if active is not None and _NAME not in mlflow.get_run(active.info.run_id).data.params:
            self._log(estimator)
        else:
            with mlflow.start_run(nested=active is not None):
                self._log(estimator)

    def _log(self, estimator: Any) -> None:
        settings = {name: str(value)[:_LONGEST] for name, value in estimator.get_params(deep=False).items()}
        mlflow.log_params({_NAME: type(estimator).__name__} | settings)
        mlflow.log_metrics(_figures(estimator))
        if self.log_models:
            log_model(estimator, report=False)


def _figures(estimator: Any) -> dict[str, float]:
    """How a fit went, in numbers."""
    claims = list(promised(estimator.model_))
    found = {
        "epochs": float(estimator.n_iter_),
        "columns": float(estimator.n_features_in_),
        "guarantees_requested": float(len(claims)),
        "guarantees_proven": float(sum(claim.proven for claim in claims)),
    }
    curves = {"train_loss": estimator.loss_curve_, "validation_loss": estimator.validation_curve_}
    best = {name: float(np.min(curve, axis=0).mean()) for name, curve in curves.items() if len(curve)}
    return found | {name: value for name, value in best.items() if np.isfinite(value)}
