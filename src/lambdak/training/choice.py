"""What is decided before members are trained: columns, capacity, and how strongly each member is regularised.

Pilot models, small ones, decide about columns and regularisation (:mod:`lambdak.training.pilots`). Models of full size
that are trained for a short time, the trials, decide about the capacity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lambdak._types import Float64Array
from lambdak.training.compiled_loss import warn_of_slow_loss
from lambdak.training.draft import draft, kept_apart, terms_of_shapes
from lambdak.training.effort import MANY_CLASSES, Regularisation
from lambdak.training.factor import largest_factor
from lambdak.training.high_cardinality import with_shared_levels
from lambdak.training.pilots import compared, explore, sample_of, unseen_loss, vanishing_columns
from lambdak.training.plan import Plan
from lambdak.training.problem import Folds
from lambdak.training.rows import TrainingRows
from lambdak.training.session import FitRequest, Session
from lambdak.training.settings import FitSettings
from lambdak.training.trainer import Trainer

# Standard errors by which a larger capacity, which costs time, must be better. Without it capacity was chosen where it
# hurt: magic, adult and flights of benchmarks/ranks.py's tables (docs/decisions.md).
_CERTAINTY = 1.5
# Models: the variance of two that are also regularised differently promises more than many keep; no study of its own.
_MOST = 3
_FACTORS = (1.0, 1.25, 1.5, 2.0)  # of log-odds: members get about 1.5 where classes are many (docs/decisions.md)


@dataclass(frozen=True)
class Option:
    """A session with matrices and knots of one size, what is requested of its columns, and the encoded table."""

    session: Session
    plan: Plan
    rows: TrainingRows


class MembersChoice(NamedTuple):
    """The session of the chosen capacity, its plan, the encoded table, and the regularisation of each member."""

    session: Session
    plan: Plan
    rows: TrainingRows
    regularisations: list[Regularisation]


def choose_members(request: FitRequest) -> MembersChoice:
    """Return what pilot and trial models choose, without the columns that vanish where they may."""
    stage = request.checkpoint.stage
    request = _of_chosen_loss(request)
    warn_of_slow_loss(request.loss)
    option = _encoded(request, request.settings.fitted_to(request.loss))
    dropped, strengths = stage("pilot models", lambda: explore(option.session, option.plan))
    options = _capacities(request, _without(option, dropped))
    place, strengths = stage("capacity", lambda: choose_capacity(options, strengths))
    chosen, regularisations = options[place], option.session.settings.recipe.regularisations(strengths)
    session, plan = chosen.session, chosen.plan
    if not session.settings.alpha:
        return MembersChoice(session, plan, chosen.rows, regularisations)
    lean = _without(chosen, stage("vanishing columns", lambda: vanishing_columns(session, plan, regularisations)))
    _, strengths = stage("pilot models of the other columns", lambda: explore(session, lean.plan))
    return MembersChoice(session, lean.plan, chosen.rows, session.settings.recipe.regularisations(strengths))


def _of_chosen_loss(request: FitRequest) -> FitRequest:
    """Return the request with the loss that does best on unseen rows, where that is left to the fit."""
    losses = request.loss.alternatives
    if not losses:
        return request

    def measured() -> list[float | None]:
        alike = [replace(request, loss=loss, rng=deepcopy(request.rng)) for loss in losses]  # the same folds
        options = [_encoded(own, own.settings.fitted_to(own.loss)) for own in alike]
        return [unseen_loss(option.session, option.plan) for option in options]

    found = request.checkpoint.stage("loss", measured)
    known = [np.inf if value is None else value for value in found]
    return replace(request, loss=losses[int(np.argmin(known))])


def _without(option: Option, dropped: Iterable[int]) -> Option:
    """Return the option without these trained columns."""
    return replace(option, plan=replace(option.plan, dropped=frozenset(dropped)))


def _encoded(request: FitRequest, settings: FitSettings, like: Option | None = None) -> Option:
    """Return the table encoded, with the rows in the order and the terms of another option, if there is one."""
    rows, terms = (None, None) if like is None else (like.rows, like.session.draft.terms)
    sketch, rows = draft(request.estimator, request.rows, request.loss, request.classes, settings, rows)
    if sketch.promises.interactions is not None or terms_of_shapes(sketch.promises, sketch.loss.sign) is not None:
        sketch, settings = kept_apart(sketch, rows, settings, terms)
    sketch, written = with_shared_levels(sketch, rows, request.rng)
    session = Session.of(sketch, written, replace(request, settings=settings))
    return Option(session, session.plan(), rows)


def _capacities(request: FitRequest, option: Option) -> list[Option]:
    """Return the option and, where there is a choice, one with more capacity."""
    session, columns = option.session, len(option.plan.columns) - len(option.plan.dropped)
    larger = session.settings.enlarged(session.problem.pencils, session.problem.n_rows / max(columns, 1))
    if larger is None:
        return [option]
    other = _encoded(request, larger, option)
    sizes = {(own.session.draft.dim, own.session.draft.encoder.n_design) for own in (option, other)}
    return [option, _without(other, option.plan.dropped)] if len(sizes) > 1 else [option]


def choose_capacity(options: Sequence[Option], strengths: Sequence[int]) -> tuple[int, list[int]]:
    """Return which option's members lose least on unseen rows, and its strengths, the best one first.

    The strengths are those of the grid, those that pilot models liked first. The first option is tried with the best
    two, but with one where classes are many, whose models take long; others with what was best there.
    """
    sample = sample_of(options[0].session)
    folds = sample.folds(1, larger=2)
    if len(options) == 1 or (folds is None and sample.validation is None):
        return 0, list(strengths)
    many = sample.problem.outputs.pencils >= MANY_CLASSES
    chosen, lowest = (0, list(strengths)), None
    for i, option in enumerate(options):
        tried = sorted(chosen[1][: 1 if i or many else 2])
        losses = _losses(option, tried, folds)
        order = losses.mean(axis=1).argsort()
        if lowest is None or _is_better(losses[order[0]], lowest):
            chosen, lowest = (i, list(dict.fromkeys([*(tried[k] for k in order), *strengths]))), losses[order[0]]
    return chosen


def _is_better(losses: Float64Array, others: Float64Array) -> bool:
    """Return whether these losses of rows are below the others of the same rows, more than by chance."""
    gain = others - losses
    return bool(gain.mean() > _CERTAINTY * gain.std() / np.sqrt(len(gain)))


def _losses(option: Option, strengths: Sequence[int], folds: Folds | None) -> Float64Array:
    """Return what the members together would lose, (strengths, rows)."""
    session, recipe = sample_of(option.session), option.session.settings.recipe
    schedule = recipe.trial_schedule(session.problem.n_rows, session.settings.max_iter)
    trainer, turns = compared(session, option.plan, strengths, folds, schedule)
    factors = [factor for factor in _FACTORS if factor <= largest_factor(option.session.draft)]
    losses = expected_losses(trainer, recipe.members, factors)
    return np.concatenate(losses.reshape(turns, len(strengths), -1), axis=1)


def expected_losses(trainer: Trainer, members: int, factors: Sequence[float] = (1.0,)) -> Float64Array:
    """Return the loss of the mean of so many models like two neighbours of the stack, on rows unseen by both.

    Its shape is (pairs, rows). The mean of two models loses less than each of them by half of their variance, that of n
    by 1 − 1/n of it. A single model that is regularised too weakly does badly; several of them may do well together.
    Eigenvalues are multiplied by the best of the ``factors``.
    """
    raw, rows, problem = trainer.unseen()
    unseen = rows if isinstance(rows, slice) else rows[::2]
    y, share, weight = problem.y[unseen], 2 * (1 - 1 / min(members, _MOST)), np.ones(1)
    if problem.weight is not None:
        weight = problem.weight[unseen] / problem.weight[unseen].mean(axis=-1, keepdims=True)

    def losses(factor: float) -> Float64Array:
        pairs = trainer.unseen(factor)[0].reshape(-1, 2, *raw.shape[1:])
        together = problem.loss.of_rows(pairs.mean(axis=1), y).astype(np.float64)
        first, second = (problem.loss.of_rows(pairs[:, i], y).astype(np.float64) for i in range(2))
        alone = (first + second) / 2
        return np.asarray(weight * (alone - share * (alone - together)), np.float64)

    tried = np.stack([losses(factor) for factor in factors])
    return np.asarray(tried[tried.mean(axis=2).argmin(axis=0), np.arange(tried.shape[1])])
