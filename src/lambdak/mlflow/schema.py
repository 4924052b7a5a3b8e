"""What a model takes and gives, as MLflow writes it down, and typical rows to try it with."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema, TensorSpec
from mlflow.types.schema import AnyType

from lambdak.estimators.files import last_step
from lambdak.table.close_names import shown_names
from lambdak.table.column_contract import Column
from lambdak.table.frames import make_frame
from lambdak.table.numeric_column import Numeric

METHODS = ("predict", "predict_proba", "predict_interval", "predict_quantiles")  # that a served model may be asked for
_METHOD = "method"  # the name of the parameter that asks for one


def typical_rows(model: Any) -> Any:
    """Two rows of a model as a table, or as an array if it was fitted to one: medians, and its commonest levels.

    They are made from what the model holds, so that none of the training rows leaves the house.
    """
    encoder = model.model_.encoder
    if not encoder.from_names:
        return np.array([[column.baseline_name for column in encoder.columns]] * 2)
    return make_frame({column.name: [_typical(column)] * 2 for column in encoder.columns})


def _typical(column: Column) -> Any:
    """The median of a number, the first level of a category that is not missing."""
    if column.is_number:
        return column.baseline_name
    return next((level for level in column.known_levels if level is not None), None)


def signature_of(model: Any, example: Any = None) -> ModelSignature | None:
    """What a model takes and gives: numbers as doubles, categories as they are; any may be missing.

    Columns whose knots are whole numbers take any type: MLflow refuses integers where it expects doubles, and missing
    cells where it expects integers.

    Of a Pipeline, whose steps say nothing of their table, it is inferred from an ``example``, and None without one.
    """
    last = last_step(model)
    params = ParamSchema([ParamSpec(_METHOD, DataType.string, METHODS[0])])
    if last is not model and example is None:
        return None
    rows = typical_rows(model) if example is None else example
    taken = _inferred(rows) if last is not model else _taken(last)
    return ModelSignature(taken, _given(model.predict(rows)), params)


def _taken(model: Any) -> Schema:
    encoder = model.model_.encoder
    if not encoder.from_names:
        return Schema([TensorSpec(np.dtype(np.float64), (-1, len(encoder.columns)))])
    return Schema([ColSpec(_type(column), column.name) for column in encoder.columns])


def _type(column: Column) -> DataType | AnyType:
    if isinstance(column, Numeric):
        return AnyType() if (column.nodes() % 1 == 0).all() else DataType.double
    kinds = {type(level) for level in column.known_levels if level is not None}
    return {frozenset([bool]): DataType.boolean, frozenset([int]): DataType.long}.get(frozenset(kinds), DataType.string)


def _inferred(rows: Any) -> Schema:
    from mlflow.models import infer_signature

    schema: Schema = infer_signature(rows).inputs
    return schema


def _given(predicted: Any) -> Schema:
    """What comes out, as MLflow infers it from predictions."""
    from mlflow.models import infer_signature

    schema: Schema = infer_signature(np.asarray(predicted)).inputs
    return schema


def asked_method(model: Any, params: dict[str, Any] | None) -> Any:
    """Return the method that ``params`` ask for; an error names those that there are."""
    name = (params or {}).get(_METHOD, METHODS[0])
    known = [method for method in METHODS if hasattr(model, method)]
    if name not in known:
        raise ValueError(f"{_METHOD} must be one of {shown_names(known)}; got {name!r}")
    return getattr(model, name)
