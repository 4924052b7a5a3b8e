"""Types of a model that skops asks for, where MLflow writes it by itself."""

from __future__ import annotations

from typing import Any

from lambdak.estimators.files import pipeline_types


def trusted_types(model: Any) -> list[str]:
    """Return the types of this library that a fitted model, or a Pipeline with one, consists of.

    ``mlflow.sklearn.log_model(model, name="model", skops_trusted_types=lambdak.mlflow.trusted_types(model))`` writes it
    as MLflow does by itself. They only hold numbers and names. Types of other libraries that skops does not know are
    not among them: trust those yourself.
    """
    return pipeline_types(model)
