"""From trained members to a model: what unseen rows correct, exact matrices, and promises that hold as computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.isotonic import isotonic_regression

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.packing import diagonal_indices
from lambdak.model import Model
from lambdak.model.influence import apart, of_outputs, rounding_matters, score_range, together
from lambdak.model.known_target import KnownTarget, average_prediction, decimals_of
from lambdak.model.mean_effects import mean_effects
from lambdak.model.model import evaluate
from lambdak.model.readout import readouts
from lambdak.model.slopes import steepest_slope
from lambdak.model.widening import widen_
from lambdak.shapes import Interactions
from lambdak.shapes.ends import pattern_numbers
from lambdak.shapes.patterns import nearest_patterned
from lambdak.shapes.slope import Direction
from lambdak.shapes.spreads import Generated, spreads
from lambdak.training.balance import balanced
from lambdak.training.draft import Draft
from lambdak.training.effort import Regularisation
from lambdak.training.factor import factor_of
from lambdak.training.limits import check_fit
from lambdak.training.plan import Plan
from lambdak.training.rows import TrainingRows
from lambdak.training.session import FitRequest
from lambdak.training.trainer import Event, Trainer

_SAMPLE = 50_000  # rows that decide about the start: its error is then below half a percent of the targets' spread
# That the start may move, in units of the scale: a bound on a correction that is small where members are trained.
_FARTHEST = 0.5
_CLOSE = 1e-6  # of that, the tolerance of the search: about the rounding of scores in float32


@dataclass(frozen=True)
class TrainingState:
    """What training needs to continue, and nothing else does."""

    theta: Sequence[FloatArray]  # the parameters behind the matrices
    plan: Plan
    regularisations: list[Regularisation]  # of the members
    quantile_shift: NDArray[np.float64] | None
    factor: float  # of all matrices


@dataclass(frozen=True)
class Fit:
    """A model, how it was trained, what its columns do to the training rows on average, and what the target is like."""

    model: Model
    state: TrainingState
    history: tuple[Event, ...]
    effects: Float64Array
    target: KnownTarget


def corrections(trainer: Trainer, draft: Draft) -> tuple[NDArray[np.float64] | None, float]:
    """Return what unseen rows say of the members: how far quantiles must move, and the factor of all matrices."""
    levels = draft.outputs.quantile_levels
    return quantile_shift(trainer, levels) if levels else None, factor_of(trainer, draft)


def finished(
    trainer: Trainer, draft: Draft, rows: TrainingRows, state: TrainingState, history: tuple[Event, ...]
) -> Fit:
    """Return the model of trained members, with what it was trained from and what it is known to do."""
    shift = 0.0 if draft.outputs.levels else start_shift(trainer, state.factor)
    coef = np.asarray(state.factor * matrices_of(trainer, draft, state.plan), np.float64)
    if state.quantile_shift is not None:
        shift_levels_(coef, draft, state.quantile_shift)
    if draft.loss.times:
        shift_levels_(coef, draft, draft.loss.least_rise / draft.scale)
    start = draft.start + shift * draft.scale / trainer.problem.scale
    model = replace(draft, start=start).model(coef, trainer.members)
    check_fit(model, rows.design, trainer.best)
    model = settled(model)
    threads = trainer.parameters.threads
    effects = mean_effects(model, rows.design, rows.weight, threads)
    return Fit(model, state, history, effects, _known_target(model, rows, threads))


def _known_target(model: Model, rows: TrainingRows, threads: int) -> KnownTarget:
    """Return the decimals of a numeric target, and the average of the model's predictions."""
    decimals = None if model.classes is not None or model.loss.times else decimals_of(rows.y)
    return KnownTarget(None, decimals, average_prediction(model, rows.design, rows.weight, rows.offset, threads))


def of_some_rows(fit: Fit) -> Fit:
    """Return the fit without an average of the predictions, which would be that of the last rows only."""
    return replace(fit, target=replace(fit.target, average=None))


def in_balance(fit: Fit, rows: TrainingRows, request: FitRequest) -> Fit:
    """Return the fit with predictions that add up to the targets, if that was requested."""
    if not request.settings.balance:
        return fit
    threads = request.settings.threads
    model = settled(balanced(fit.model, request.rows, threads))
    return replace(fit, model=model, target=_known_target(model, rows, threads))


def matrices_of(trainer: Trainer, draft: Draft, plan: Plan) -> FloatArray:
    """Coefficients of all members; where they are constrained, computed in float64 throughout."""
    shapes = draft.promises.shapes
    guarded = trainer.parameters.guarded or any(own.end for own in shapes)
    coef = trainer.parameters.exact(trainer.theta) if guarded else trainer.coef
    for first, *others in draft.trained.parts:
        if not (first.is_number or others):
            _centre_(coef, slice(first.start, first.stop), plan)
    matrices = draft.trained.matrices(coef)
    patterned = pattern_numbers(shapes)
    if patterned or draft.terms is not None:
        matrices = matrices.copy()
    for i, number in patterned.items():
        column, together = draft.encoder.columns[i], {k for k, own in patterned.items() if own == number}
        cells = slice(column.start, column.start + len(column.rising()))
        models = np.flatnonzero(_reads_several(draft, together, len(matrices)))
        matrices[models, cells] = nearest_patterned(matrices[models, cells], number, draft.dim)
    if draft.terms is not None:
        draft.terms.keep_apart_(matrices, draft.encoder.columns, draft.dim, draft.outputs.pencils)
    return matrices


def _reads_several(draft: Draft, columns: set[int], models: int) -> NDArray[np.bool_]:
    """(models,): whether a term reads more than one of these columns, which then share a pattern."""
    if draft.terms is None:
        return np.ones(models, np.bool_)
    several = np.array([len(columns.intersection(own)) > 1 for own in draft.terms.groups])
    return np.asarray(several[np.arange(models) // draft.outputs.pencils % len(several)])


def _centre_(coef: FloatArray, span: slice, plan: Plan) -> None:
    """Move the mean matrix of a category to the constant, so that an unseen level, a zero, is average."""
    rows, share = coef[:, span], plan.moments.mean[span].astype(coef.dtype)
    mean = np.einsum("p,mpw->mw", share / max(share.sum(), 1e-30), rows)
    rows -= mean[:, None]
    coef[:, 0] += mean


def quantile_shift(trainer: Trainer, levels: tuple[float, ...]) -> NDArray[np.float64]:
    """How far each quantile must move to cover its share of unseen rows; in order, so that they cannot cross.

    What the mean of all members needs is known for single members and for the mean of a team, the members that have not
    seen the same rows: errors that a mean has less of count 1/n among n members, so the rest is extrapolated.
    """
    raw, rows, problem = trainer.unseen()
    y = np.asarray(np.broadcast_to(problem.y[rows][..., 0], raw.shape), np.float64)
    weight = None if problem.weight is None else np.broadcast_to(problem.weight[rows], raw.shape)
    teams = trainer.teams()
    size, members = teams.shape[1], trainer.members
    alone = _needed(y - raw, weight, levels)
    if size == 1:
        return alone
    first = teams[:, 0]
    together = _needed(y[first] - raw[teams].mean(axis=1), None if weight is None else weight[first], levels)
    further = (1 / size - 1 / members) / (1 - 1 / size)
    return np.asarray(isotonic_regression(together + further * (together - alone)), np.float64)


def _needed(error: FloatArray, weight: FloatArray | None, levels: tuple[float, ...]) -> NDArray[np.float64]:
    """The quantiles of errors (…, rows × levels), with room for one more row on the outer side, in order."""
    errors = error.reshape(-1, len(levels))
    weights = None if weight is None else weight.reshape(-1, len(levels))[:, 0]
    room = [np.clip(q + (2 * q - 1) / len(errors), 0.0, 1.0) for q in levels]
    quantiles = [np.quantile(errors[:, j], q, weights=weights, method="inverted_cdf") for j, q in enumerate(room)]
    return np.asarray(isotonic_regression(np.asarray(quantiles)), np.float64)


def start_shift(trainer: Trainer, factor: float) -> float:
    """How far the start must move for the least loss on the training rows, in units of the problem's raw scores.

    With a mean loss, predictions then add up to the targets; members stop in the middle of their noise.
    """
    problem = trainer.problem
    if not problem.outputs.single or problem.loss.robust:
        return 0.0
    rows = np.arange(0, problem.n_rows, max(problem.n_rows // _SAMPLE, 1), dtype=np.int32)
    some = problem.take(rows)
    values = evaluate(trainer.coef, trainer.parameters.dim, problem.outputs.indices, some.design, None, 0)
    mean = values.reshape(-1, problem.pencils, *values.shape[1:]).mean(axis=0)
    raw = some.raw(factor * mean, slice(None)).astype(np.float64)

    def loss(shift: float) -> float:
        return float(some.loss.value(raw + shift, some.y, some.weight)[0])

    reach = _FARTHEST * problem.scale
    minimum = minimize_scalar(loss, bounds=(-reach, reach), method="bounded", options={"xatol": _CLOSE * reach})
    return float(minimum.x) if minimum.fun < loss(0.0) else 0.0


def shift_levels_(coef: FloatArray, draft: Draft, shift: NDArray[np.float64]) -> None:
    """Add a multiple of the identity to the matrix of each level, in every term its share."""
    coef[:, draft.encoder.n_design :, diagonal_indices(draft.dim)] += shift[:, None] / draft.n_terms


_ROOM = 1 - 1e-9  # for the rounding of a scaled column in float64, which is 1e-16 per cell
_MOST_ROUNDS = 20  # of scaling: it bounds the loop; where twenty do not help, rounding is as large as the cap
_NOTHING = 1e-2  # of the target's spread: effects that are not worth an error


def settled(model: Model) -> Model:
    """The model with promises that hold exactly, and for what is computed; a constant, if all it says is rounding."""
    model, caps = _scaled(model, {}), _caps(model)
    for _ in range(_MOST_ROUNDS):
        beyond = [(columns, factor) for columns, cap in caps if (factor := cap(model)) < 1]
        if not beyond:
            return _weighed(model)
        for columns, factor in beyond:
            model = _scaled(model, dict.fromkeys(columns, factor))
    names = [model.encoder.columns[i].name for i in dict.fromkeys(i for columns, _ in caps for i in columns)]
    raise ValueError(f"max_influence of {names} cannot be kept, because rounding is as large: raise it, or omit them")


def _weighed(model: Model) -> Model:
    """The model, unless rounding matters next to what it says: then a constant, or an error if it says something."""
    outputs = readouts(model)
    if not rounding_matters(outputs):
        return model
    reach = max(map(score_range, outputs))
    if reach <= _NOTHING * model.scale:
        return _scaled(model, dict.fromkeys(range(len(model.encoder.columns)), 0.0))
    promises = model.promises
    if any(own.kind != Interactions.kind for own in promises.shapes) or model.outputs.in_order:
        raise ValueError(
            f"what was requested cannot be kept, because rounding matters: raw scores are about {model.start[0]:.3g} "
            f"and move by {reach:.3g} only: subtract a constant from y before the fit, and add it to predictions"
        )
    return model


def _caps(model: Model) -> list[tuple[tuple[int, ...], Callable[[Model], float]]]:
    """Columns with caps on what they do, and what such columns of a model are to be multiplied by."""
    tied = _tied(model)
    influence = [*(((i,), cap) for i, cap in model.promises.capped.items()), *model.promises.groups]
    slopes = model.promises.slopes(model.encoder.columns)
    return [
        *((tied(columns), partial(_factor, columns=columns, cap=cap)) for columns, cap in influence),
        *((tied([i for i, _ in own]), partial(_flatter, direction=own, limit=limit)) for own, limit in slopes),
    ]


def _tied(model: Model) -> Callable[[Sequence[int]], tuple[int, ...]]:
    """From columns to these and all that shapes compare with them, which keep their proportions."""
    found = spreads(model.promises.shapes, model.encoder.columns, model.loss.sign)
    sets = [{*own.owners} for own in found if isinstance(own, Generated)]
    return lambda columns: tuple(sorted({*columns}.union(*(own for own in sets if not own.isdisjoint(columns)))))


def _factor(model: Model, columns: tuple[int, ...], cap: float) -> float:
    """What these columns are to be multiplied by, so that no change of them exceeds a cap."""
    factors = []
    for output in readouts(model):
        bound = together(output, columns)
        room = cap - 2 * output.error
        kept = of_outputs(output, bound) <= cap
        factors.append(1.0 if kept else max(_ROOM * room / bound, 0.0))
    return min(factors)


def _flatter(model: Model, direction: Direction, limit: float) -> float:
    """What columns are to be multiplied by, so that no slope along a direction of them exceeds a limit."""
    steepest = max(steepest_slope(output, direction).bound for output in apart(readouts(model)))
    return 1.0 if steepest <= limit else _ROOM * limit / steepest


def _scaled(model: Model, factors: dict[int, float]) -> Model:
    coef = np.array(model.coef)
    for i, factor in factors.items():
        column = model.encoder.columns[i]
        coef[:, column.start : column.stop] *= factor
    widen_(coef[..., : model.matrices.shape[-1]], model.encoder, model.promises, model.loss, model.outputs)
    return model if (coef == model.coef).all() else model.replace(coef=coef)
