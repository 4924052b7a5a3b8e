"""What users ask for, as goals: a class, a side of a number, or the other side of a number."""

from __future__ import annotations

from typing import Any

import numpy as np

from lambdak._types import Float64Array
from lambdak.losses.contract import Predicts
from lambdak.model import Model
from lambdak.optimize.changes.chosen import chosen
from lambdak.optimize.changes.decisions import (
    Goal,
    class_code,
    class_goal,
    ordered_goal,
    other_class_goal,
    threshold_goal,
)
from lambdak.optimize.changes.rows import Row

_RELATIONS = (">=", "<=")


def read_target(row: Row, target: Any, output: Any) -> Goal:
    """The goal of a row."""
    model = row.model
    if isinstance(target, tuple | list):
        return _side(model, target, output)
    code = class_code(model, target) if output is None else None
    if code is not None:
        return class_goal(model, code)
    limit, wanted = _number(model, target), chosen(model, output)
    return threshold_goal(wanted, ">=" if wanted.predictions(row.raw([{}]))[0] < limit else "<=", limit)


def decision_goal(row: Row, threshold: float | None, output: Any) -> Goal:
    """Any other decision than that of the row: the other side of a threshold, or another class."""
    model = row.model
    if threshold is None and output is None and model.classes is not None:
        raw = row.raw([{}])
        return other_class_goal(model, int(model.loss.classify(raw[:, 0] if model.outputs.single else raw)[0]))
    wanted = chosen(model, output)
    now = float(wanted.predictions(row.raw([{}]))[0])
    if threshold is None:
        raise ValueError(f"threshold must be a number, such as {now:.3g}; got None")
    limit = _number(model, threshold)
    return threshold_goal(wanted, "<" if now >= limit else ">=", limit)


def shown_prediction(model: Model, goal: Goal, raw: Float64Array) -> Any:
    """What a goal is about, of raw scores (outputs,): a number or a class."""
    if goal.about is not None:
        return float(goal.about.predictions(raw[None])[0])
    codes = model.loss.classify(raw[:1] if model.outputs.single else raw[None])
    return np.asarray(model.classes).tolist()[int(codes[0])]


def _side(model: Model, target: Any, output: Any) -> Goal:
    if len(target) != 2 or target[0] not in _RELATIONS:
        raise ValueError(f"target must be a class, a number, or ('>=', number) or ('<=', number); got {target!r}")
    relation, limit = target
    code = class_code(model, limit) if output is None else None
    if code is not None and model.loss.predicts is Predicts.ORDERED_CLASSES:
        return ordered_goal(model, relation, code)
    return threshold_goal(chosen(model, output), relation, _number(model, limit))


def _number(model: Model, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if np.isnan(number):
        known = "" if model.classes is None else f" or one of the classes {np.asarray(model.classes).tolist()}"
        raise ValueError(f"target must be a number{known}; got {value!r}")
    return number
