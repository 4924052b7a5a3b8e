"""Small models that decide about the members: how strongly to regularise, and which columns vanish."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.losses import Arrangement, Loss
from lambdak.model.outputs import eigenvalue_indices, outputs_of
from lambdak.training.effort import GRID, MIDDLE, PILOT_ROWS, Regularisation
from lambdak.training.plan import Plan
from lambdak.training.problem import Problem
from lambdak.training.screening import columns_without_effect
from lambdak.training.session import Session
from lambdak.training.trainer import Folds, Schedule, Trainer

_SELECTION_MODELS = 5  # small models that decide which columns vanish
_PILOT_CLASSES = 3  # of many, the most frequent ones
_FEWEST_SUSPECTS = 8  # columns without effect that are worth a comparison
_SUSPECT_SHARE = 0.2  # of all columns
_MANY = 100  # columns, of which models are trained with a single strength only
_WORTH = 0.02  # of the loss, that models must gain without them: larger models use columns that pilot models cannot


@dataclass(frozen=True)
class Findings:
    """What pilot models found: a plan, maybe with fewer columns, and the strengths of the grid, the best one first."""

    plan: Plan
    strengths: list[int]


def explore(session: Session, plan: Plan) -> Findings:
    """Train pilot models with all strengths, and without the columns that show no effect, if there are many."""
    small = _of_pilot_size(sample_of(session))
    folds = small.folds(1, larger=2)  # noise in the choice of a strength costs more than fewer rows
    if folds is None and session.validation is None:
        return Findings(plan, [MIDDLE])
    least = max(_FEWEST_SUSPECTS, _SUSPECT_SHARE * len(plan.columns))
    suspects = columns_without_effect(session.problem, plan, session.copies) if len(plan.columns) > least else ()
    if len(suspects) < least:
        losses = _losses(small, plan, range(len(GRID)), folds)
        return Findings(plan, np.argsort(losses).tolist())
    lean = replace(plan, dropped=plan.dropped.union(suspects))
    without = _losses(small, lean, range(len(GRID)), folds)
    best = int(without.argmin())
    first = best if len(plan.columns) <= _MANY else best + 2
    stronger = range(min(first, len(GRID) - 1), min(best + 3, len(GRID)))  # more columns need no less
    whole = _losses(small, plan, stronger, folds)
    if without.min() > whole.min() - _WORTH * abs(whole.min()):
        return Findings(plan, [stronger[i] for i in np.argsort(whole)])
    return Findings(lean, np.argsort(without).tolist())


def _losses(small: Session, plan: Plan, strengths: range, folds: Folds | None) -> Float64Array:
    """The loss on unseen rows with each of these strengths."""
    recipe, rows = small.settings.recipe, len(small.problem.design)
    chosen = [regularisation for strength in strengths for regularisation in recipe.grid[strength]]
    turns = 1
    if folds is not None:
        turns = recipe.pilot_folds(rows, int(folds.fold.max()) + 1, small.problem.pencils)
        folds = Folds(folds.fold, tuple(np.repeat(np.arange(turns), len(chosen)).tolist()))
    schedule = recipe.pilot_schedule(rows, small.settings.max_iter)
    pilots = _trained(small, plan, chosen * turns, folds, schedule)
    return np.asarray(pilots.best.reshape(turns, -1, 2).mean(axis=(0, 2)), np.float64)


def vanishing_columns(session: Session, plan: Plan, regularisations: list[Regularisation]) -> frozenset[int]:
    """Columns that become zero in most selection models: small, with the penalty, and without other constraints."""
    levels = [own for own in plan.spreads if own.owners[0] in plan.rises]  # quantile levels stay
    penalised = replace(plan, spreads=levels, caps={}, groups={}, alpha=session.settings.alpha)
    chosen = [regularisations[i % len(regularisations)] for i in range(_SELECTION_MODELS)]
    folds = session.folds(_SELECTION_MODELS)
    schedule = session.settings.recipe.schedule(len(session.problem.design), session.settings.max_iter)
    models = _trained(_of_pilot_size(session), penalised, chosen, folds, schedule)
    spans = [slice(column.start, column.stop) for column in session.draft.trained.columns]
    size = np.stack([np.abs(models.parameters.coef[:, span]).max(axis=(1, 2)) for span in spans])
    alive = (size > 0).reshape(len(size), _SELECTION_MODELS, -1).any(axis=2).mean(axis=1) > 0.5
    return plan.dropped | frozenset(np.flatnonzero(~alive).tolist())


def _trained(
    session: Session, plan: Plan, regularisations: list[Regularisation], folds: Folds | None, schedule: Schedule
) -> Trainer:
    """Models with these regularisations, trained."""
    trainer = session.trainer(session.new_parameters(plan, regularisations), folds)
    for _ in trainer.run(schedule):
        pass
    return trainer


def sample_of(session: Session) -> Session:
    """Session of a fit with fewer rows and classes, if there are many."""
    return _of_few_classes(session.sampled(PILOT_ROWS))


def _of_pilot_size(session: Session) -> Session:
    draft, settings = session.draft, session.settings
    dim = settings.recipe.pilot_dim
    # A position among the members' eigenvalues means nothing in smaller matrices: pilots then read the middle one.
    eig_idx = settings.eig_idx if dim == draft.dim else None
    indices = eigenvalue_indices(dim, settings.end, eig_idx)

    def at_indices(some: Problem) -> Problem:
        return replace(some, outputs=outputs_of(some.loss, indices))

    validation = None if session.validation is None else at_indices(session.validation)
    return replace(session, draft=replace(draft, dim=dim), problem=at_indices(session.problem), validation=validation)


def _of_few_classes(session: Session) -> Session:
    """The rows of the most frequent classes: what suits three of many classes, suits all."""
    loss, codes = session.problem.loss, session.problem.y
    if loss.arrangement is not Arrangement.PER_CLASS or loss.n_outputs <= _PILOT_CLASSES:
        return session
    frequent = np.argsort(-np.bincount(codes, minlength=loss.n_outputs), kind="stable")[:_PILOT_CLASSES]
    frequent.sort()
    validation = None if session.validation is None else _of_classes(session.validation, frequent)
    return replace(session, problem=_of_classes(session.problem, frequent), validation=validation)


def _of_classes(problem: Problem, classes: NDArray[np.intp]) -> Problem:
    loss: Loss = replace(problem.loss, n_classes=len(classes))  # type: ignore[type-var]
    kept = problem.take(np.flatnonzero(np.isin(problem.y, classes)).astype(np.int32))
    outputs = outputs_of(loss, problem.outputs.indices)
    return replace(kept, y=np.searchsorted(classes, kept.y), loss=loss, start=kept.start[classes], outputs=outputs)
