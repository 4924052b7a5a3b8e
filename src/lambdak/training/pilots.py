"""Small models that decide about the members: how strongly to regularise, and which columns vanish."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lambdak.model.outputs import eigenvalue_indices, outputs_of
from lambdak.training.effort import MIDDLE, Regularisation, pilot_folds
from lambdak.training.plan import Plan
from lambdak.training.problem import Problem
from lambdak.training.session import Session
from lambdak.training.trainer import Folds, Schedule, Trainer

_SELECTION_MODELS = 5  # small models that decide which columns vanish


def choose_regularisation(session: Session, plan: Plan) -> list[Regularisation]:
    """The regularisation of each member: the strength with which the pilot models did best."""
    recipe, rows = session.settings.recipe, len(session.problem.design)
    grid = [regularisation for pair in recipe.grid for regularisation in pair]
    folds = session.folds(1, larger=2)  # noise in the choice of a strength costs more than fewer rows
    if folds is None and session.validation is None:
        return recipe.regularisations(MIDDLE)
    turns = 1
    if folds is not None:
        turns = pilot_folds(rows, int(folds.fold.max()) + 1, session.problem.outputs.pencils)
        folds = Folds(folds.fold, tuple(np.repeat(np.arange(turns), len(grid)).tolist()))
    schedule = recipe.pilot_schedule(rows, session.settings.max_iter)
    pilots = _trained(session, plan, grid * turns, folds, schedule)
    return recipe.regularisations(int(pilots.best.reshape(turns, -1, 2).mean(axis=(0, 2)).argmin()))


def vanishing_columns(session: Session, plan: Plan, regularisations: list[Regularisation]) -> frozenset[int]:
    """Columns that become zero in most selection models: small, with the penalty, and without other constraints."""
    signs = dict.fromkeys(plan.rises, 1)  # quantile levels stay
    penalised = replace(plan, signs=signs, shape=None, caps={}, alpha=session.settings.alpha)
    chosen = [regularisations[i % len(regularisations)] for i in range(_SELECTION_MODELS)]
    folds = session.folds(_SELECTION_MODELS)
    schedule = session.settings.recipe.schedule(len(session.problem.design), session.settings.max_iter)
    models = _trained(session, penalised, chosen, folds, schedule)
    spans = [slice(column.start, column.stop) for column in session.draft.trained.columns]
    size = np.stack([np.abs(models.parameters.coef[:, span]).max(axis=(1, 2)) for span in spans])
    alive = (size > 0).reshape(len(size), _SELECTION_MODELS, -1).any(axis=2).mean(axis=1) > 0.5
    return frozenset(np.flatnonzero(~alive).tolist())


def _trained(
    session: Session, plan: Plan, regularisations: list[Regularisation], folds: Folds | None, schedule: Schedule
) -> Trainer:
    """Pilot models with these regularisations, trained."""
    small = _small(session)
    trainer = small.trainer(small.new_parameters(plan, regularisations), folds)
    for _ in trainer.run(schedule):
        pass
    return trainer


def _small(session: Session) -> Session:
    """The same fit with the matrices of pilot models."""
    draft, problem, settings = session.draft, session.problem, session.settings
    several = len(problem.outputs.indices) > 1
    dim = max(settings.recipe.pilot_dim, draft.loss.n_outputs + 2 if several else 1)
    # A position among the members' eigenvalues means nothing in smaller matrices: pilots then read the middle one.
    eig_idx = settings.eig_idx if dim == draft.dim else None
    indices = eigenvalue_indices(draft.loss, dim, settings.shape, eig_idx)

    def at_indices(some: Problem) -> Problem:
        return replace(some, outputs=outputs_of(some.loss, indices))

    validation = None if session.validation is None else at_indices(session.validation)
    return replace(session, draft=replace(draft, dim=dim), problem=at_indices(problem), validation=validation)
