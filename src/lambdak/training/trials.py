"""Models of full size, trained for a short time, that decide about the capacity and the strength of the members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lambdak._types import Float64Array
from lambdak.training.effort import GRID
from lambdak.training.ensembles import expected_losses
from lambdak.training.pilots import sample_of
from lambdak.training.plan import Plan
from lambdak.training.rows import TrainingRows
from lambdak.training.session import Session
from lambdak.training.trainer import Folds

_CERTAINTY = 1.5  # standard errors by which a larger capacity, which costs time, must be better


@dataclass(frozen=True)
class Option:
    """A session with matrices and knots of one size."""

    session: Session
    plan: Plan
    rows: TrainingRows


def choose_capacity(options: Sequence[Option], strengths: Sequence[int]) -> tuple[Option, list[int]]:
    """The option whose members lose least on unseen rows, and its strengths, the best one first.

    The strengths are those of the grid, those that pilot models liked first; larger capacities need no less.
    """
    sample = sample_of(options[0].session)
    folds = sample.folds(1, larger=2)
    if len(options) == 1 or (folds is None and sample.validation is None):
        return options[0], list(strengths)
    chosen, lowest = (options[0], list(strengths)), None
    for i, option in enumerate(options):
        tried = sorted({*strengths[: 2 - i], min(strengths[0] + i, len(GRID) - 1)})
        losses = _losses(option, tried, folds)
        order = losses.mean(axis=1).argsort()
        if lowest is None or _is_better(losses[order[0]], lowest):
            chosen, lowest = (option, [tried[k] for k in order]), losses[order[0]]
    return chosen


def _is_better(losses: Float64Array, others: Float64Array) -> bool:
    """Whether these losses of rows are below the others of the same rows, more than by chance."""
    gain = others - losses
    return bool(gain.mean() > _CERTAINTY * gain.std() / np.sqrt(len(gain)))


def _losses(option: Option, strengths: Sequence[int], folds: Folds | None) -> Float64Array:
    """(strengths, rows): what the members together would lose."""
    session, recipe = sample_of(option.session), option.session.settings.recipe
    chosen = [regularisation for strength in strengths for regularisation in recipe.grid[strength]]
    rows, turns = len(session.problem.design), 1
    if folds is not None:
        turns = recipe.pilot_folds(rows, int(folds.fold.max()) + 1, session.problem.pencils)
        folds = Folds(folds.fold, tuple(np.repeat(np.arange(turns), len(chosen)).tolist()))
    trainer = session.trainer(session.new_parameters(option.plan, chosen * turns), folds)
    for _ in trainer.run(recipe.trial_schedule(rows, session.settings.max_iter)):
        pass
    losses = expected_losses(trainer, recipe.members)
    return np.concatenate(losses.reshape(turns, len(strengths), -1), axis=1)
