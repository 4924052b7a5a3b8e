"""What training needs to continue ⇄ what a file holds of it: only what cannot be derived from the model itself.

Signs, caps and the columns of quantile levels follow from what the model promises; the covariance is symmetric, so that
half of it is kept; of a category that is trained in other columns, the knots of its curves, the number of its own
matrices, and which of both each of its levels reads. Everything is checked before use, as all of a file is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.packing import packed_size, padded_size
from lambdak.model import Model
from lambdak.store import ModelFileError, SavedTraining
from lambdak.store._fields import damaged, fields, items, number, whole
from lambdak.table.category_column import Category
from lambdak.table.column_contract import Column
from lambdak.table.curve_column import Curve
from lambdak.table.knots import MAX_KNOTS
from lambdak.training.coordinates import MOST_COVARIANCES, Moments
from lambdak.training.draft import Draft, terms_of_shapes
from lambdak.training.effort import Regularisation
from lambdak.training.factor import largest_factor
from lambdak.training.finish import TrainingState
from lambdak.training.plan import Plan
from lambdak.training.session import planned
from lambdak.training.terms import Terms
from lambdak.training.trained_columns import Entries, TrainedColumns

_VALUES = ("regularisations", "quantile_shift", "factor", "dropped", "rewritten")
_TERMS = "terms"  # where not all columns may interact
_LARGEST = 1e15  # of any number: products of a few of them stay within float64
_MOST_CURVES = 64


def saved_training(model: Model, state: TrainingState, effects: Float64Array) -> SavedTraining:
    """What a file is to hold; a state that could not be restored is refused."""
    plan, shift, width = state.plan, state.quantile_shift, packed_size(model.dim)
    trained = plan.trained or TrainedColumns.of(model.encoder.columns)
    values = {
        "regularisations": [list(regularisation) for regularisation in state.regularisations],
        "quantile_shift": None if shift is None else shift.tolist(),
        "factor": float(state.factor),
        "dropped": sorted(plan.dropped),
        "rewritten": [_rewritten_values(trained, i) for i in sorted(trained.levels)],
        **({} if plan.terms is None else {_TERMS: [list(group) for group in plan.terms.groups]}),
    }
    arrays = {
        "effects": effects,
        "mean": plan.moments.mean,
        "covariance": _half(plan.moments.covariance),
        **{f"theta {i}": np.ascontiguousarray(part[..., :width]) for i, part in enumerate(state.theta)},
        **{f"levels {i}": _rewritten_levels(trained, i) for i in trained.levels},
    }
    saved = SavedTraining(arrays, values)
    try:
        restored_training(model, saved)
    except ModelFileError as error:
        raise ValueError(f"the training state cannot be saved, because no one could load it: {error}") from None
    return saved


def restored_training(model: Model, saved: SavedTraining) -> tuple[TrainingState, Float64Array]:
    """State and mean effects in a file, after a check of every number."""
    names = (*_VALUES, _TERMS) if _TERMS in saved.values else _VALUES
    values, arrays = fields(saved.values, "the training state", names), dict(saved.arrays)
    for name, array in arrays.items():
        if not (np.abs(array) <= _LARGEST).all():
            raise damaged(f"{name} of the training state must be within ±{_LARGEST:.0e}")
    trained = _trained(model, values["rewritten"], arrays)
    dropped = _positions(values["dropped"], "dropped", len(trained.columns))
    moments = _moments(arrays, trained.n_design + len(model.outputs.levels))
    terms = _terms(model, values.get(_TERMS))
    draft = Draft.of(model, trained, terms)
    plan, largest = replace(planned(draft, moments), dropped=frozenset(dropped)), largest_factor(draft)
    effects = np.asarray(_taken(arrays, "effects", np.float64, (model.encoder.n_features,)), np.float64)
    theta = _theta(model, plan, arrays)
    if arrays:
        raise damaged(f"the training state has an unknown array {sorted(arrays)[0]!r}")
    factor = number(values["factor"], "factor", largest)
    if factor < 0:
        raise damaged(f"factor must be in [0, {largest:g}]; got {factor}")
    shift = _shift(model, values["quantile_shift"])
    regularisations = _regularisations(len(model.weights) // plan.n_terms, values["regularisations"])
    return TrainingState(theta, plan, regularisations, shift, factor), effects


def _taken(arrays: dict[str, FloatArray], name: str, dtype: type, shape: tuple[int, ...]) -> FloatArray:
    """Take an array of this form out."""
    array = arrays.pop(name, None)
    if array is None or array.dtype != dtype or array.shape != shape:
        got = "none" if array is None else f"{array.dtype} of shape {array.shape}"
        raise damaged(f"{name} of the training state must be {np.dtype(dtype)} of shape {shape}; got {got}")
    return array


def _positions(value: object, name: str, stop: int) -> list[int]:
    """Increasing positions below ``stop``."""
    found = [whole(each, name, 0, stop) for each in items(value, name, 0, stop)]
    if any(first >= second for first, second in pairwise(found)):
        raise damaged(f"{name} of the training state must increase")
    return found


# ---- parameters and regularisation ---------------------------------------------------------------------------------


def _theta(model: Model, plan: Plan, arrays: dict[str, FloatArray]) -> list[FloatArray]:
    models, width, found = len(model.coef), packed_size(model.dim), []
    for i, size in enumerate(plan.sizes):
        part = np.zeros((models, size, padded_size(model.dim)), np.float32)
        part[..., :width] = _taken(arrays, f"theta {i}", np.float32, (models, size, width))
        found.append(part)
    return found


def _terms(model: Model, value: object) -> Terms | None:
    """The groups of columns that the terms of a member read, which must be allowed to interact."""
    if value is None:
        return None
    members, columns, allowed = len(model.weights), len(model.encoder.columns), model.promises.interactions
    groups = [tuple(_positions(group, "terms", columns)) for group in items(value, "terms", 1, members)]
    asked = terms_of_shapes(model.promises, model.loss.sign)
    if asked is not None and tuple(groups) == asked.groups and members % len(groups) == 0:
        return asked
    if allowed is None or members % len(groups) or not all(map(allowed.allow, groups)):
        raise damaged("terms of the training state must be groups of columns that may interact, as many in each member")
    return Terms(tuple(groups), tuple(sorted(set(range(columns)).difference(*groups))))


def _regularisations(members: int, value: object) -> list[Regularisation]:
    found = []
    for each in items(value, "regularisations", members, members):
        damping, decay = (number(part, "regularisations", _LARGEST) for part in items(each, "regularisations", 2, 2))
        if damping < 1 / _LARGEST or decay < 0:
            raise damaged(f"regularisations must be a positive damping and a decay; got {damping} and {decay}")
        found.append(Regularisation(damping, decay))
    return found


def _shift(model: Model, value: object) -> Float64Array | None:
    levels = len(model.outputs.quantile_levels)
    if not levels:
        if value is not None:
            raise damaged("quantile_shift must be null for a model without quantiles")
        return None
    shift = [number(each, "quantile_shift", _LARGEST) for each in items(value, "quantile_shift", levels, levels)]
    if any(first > second for first, second in pairwise(shift)):
        raise damaged("quantile_shift must not fall: quantiles would cross")
    return np.asarray(shift)


# ---- moments -------------------------------------------------------------------------------------------------------


def _half(covariance: Float64Array) -> Float64Array:
    """A symmetric matrix without what it says twice; variances are themselves."""
    return covariance if covariance.ndim == 1 else covariance[np.tril_indices(len(covariance))]


def _moments(arrays: dict[str, FloatArray], n_design: int) -> Moments:
    mean = np.asarray(_taken(arrays, "mean", np.float64, (n_design,)), np.float64)
    size = n_design if n_design > MOST_COVARIANCES else n_design * (n_design + 1) // 2
    half = np.asarray(_taken(arrays, "covariance", np.float64, (size,)), np.float64)
    if n_design > MOST_COVARIANCES:
        return Moments(mean, half)
    covariance, lower = np.empty((n_design, n_design)), np.tril_indices(n_design)
    covariance[lower] = half
    covariance.T[lower] = half
    return Moments(mean, covariance)


# ---- categories that are trained in other columns ------------------------------------------------------------------


def _rewritten_values(trained: TrainedColumns, i: int) -> dict[str, Any]:
    parts = trained.parts[i]
    curves = [part.knots.tolist() for part in parts if isinstance(part, Curve)]
    return {"column": i, "curves": curves, "own": sum(part.width for part in parts if isinstance(part, Category))}


def _rewritten_levels(trained: TrainedColumns, i: int) -> FloatArray:
    """(levels, 2 slots): ids, relative to the first, and weights."""
    levels = trained.levels[i]
    return np.hstack([levels.ids - trained.parts[i][0].start, levels.weights]).astype(np.float32)


def _trained(model: Model, value: object, arrays: dict[str, FloatArray]) -> TrainedColumns:
    given = model.encoder.columns
    listed = [
        fields(each, "rewritten", ("column", "curves", "own")) for each in items(value, "rewritten", 0, len(given))
    ]
    found = dict(zip(_positions([each["column"] for each in listed], "rewritten", len(given)), listed, strict=True))
    if not found:
        return TrainedColumns.of(given)
    parts: list[Sequence[Column]] = []
    levels: dict[int, Entries] = {}
    for i, column in enumerate(given):
        start = parts[-1][-1].stop if parts else 1
        parts.append(_parts(column, start, found[i]) if i in found else [replace(column, start=start)])
        if i in found:
            levels[i] = _levels(column, parts[-1], arrays, i)
    return TrainedColumns(given, parts, levels)


def _parts(column: Column, start: int, value: Mapping[str, Any]) -> list[Column]:
    """Trained columns of a category: curves, and one category that stands for the other matrices.

    Levels of that one mean nothing: only their number counts.
    """
    if column.is_number:
        raise damaged(f"column {column.name!r} of the training state must be a category")
    parts: list[Column] = []
    for each in items(value["curves"], "curves", 0, _MOST_CURVES):
        knots = [number(knot, "knots", _LARGEST) for knot in items(each, "knots", 1, MAX_KNOTS)]
        if any(first >= second for first, second in pairwise(knots)):
            raise damaged("knots of the training state must increase")
        parts.append(Curve(column.name, parts[-1].stop if parts else start, knots=np.asarray(knots)))
    own = whole(value["own"], "own", 0 if parts else 1, column.width + 1)
    last = [Category(column.name, parts[-1].stop if parts else start, levels=tuple(range(own)))] if own else []
    return [*parts, *last]


def _levels(column: Column, parts: Sequence[Column], arrays: dict[str, FloatArray], i: int) -> Entries:
    slots, width = sum(part.n_slots for part in parts), parts[-1].stop - parts[0].start
    ids, weights = np.hsplit(_taken(arrays, f"levels {i}", np.float32, (column.width + 1, 2 * slots)), 2)
    if not ((ids == np.floor(ids)) & (ids >= 0) & (ids < width)).all() or not ((weights >= 0) & (weights <= 1)).all():
        raise damaged(f"levels of column {column.name!r} of the training state must be positions and weights in [0, 1]")
    return Entries(ids.astype(np.int32) + np.int32(parts[0].start), np.ascontiguousarray(weights))
