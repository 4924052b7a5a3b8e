"""From a table to a model: draft, plan, pilot models, members, matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich import get_console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lambdak._checks import FloatArray
from lambdak.eigen.blas import single_threaded_blas
from lambdak.losses import Loss
from lambdak.model import Model
from lambdak.model.importance import mean_effects
from lambdak.pencil.spectrum import Float64Array
from lambdak.training.draft import Draft, draft
from lambdak.training.effort import Regularisation
from lambdak.training.finish import matrices_of, quantile_shift, shift_quantiles_, shrink_factor, start_shift
from lambdak.training.limits import check_fit
from lambdak.training.pilots import explore, vanishing_columns
from lambdak.training.plan import Plan
from lambdak.training.polish import polish
from lambdak.training.rows import GivenRows, TrainingRows
from lambdak.training.session import Session
from lambdak.training.settings import FitSettings
from lambdak.training.settle import settled
from lambdak.training.trainer import Event, Schedule, Trainer
from lambdak.training.trials import Option, choose_capacity
from lambdak.training.wide_categories import with_wide_categories

_POLISHED = 0.25  # of the loss on unseen rows: where a polish gains more, the steps of a refit are too coarse


_EARLY = 0.3  # of the epochs: members whose best states came before lose by further epochs


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
    """A model, how it was trained, and what its columns do to the training rows on average."""

    model: Model
    state: TrainingState
    history: tuple[Event, ...]
    effects: Float64Array


@dataclass(frozen=True)
class Request:
    """What is to be fitted: rows, a loss, settings; ``classes`` are the labels behind the codes of a classifier."""

    estimator: str
    rows: GivenRows
    loss: Loss
    settings: FitSettings
    rng: np.random.Generator
    classes: NDArray[Any] | None = None


def fit_model(request: Request) -> Fit:
    """A new model."""
    with single_threaded_blas():
        option, regularisations = _chosen(request)
        session, plan, settings = option.session, option.plan, option.session.settings
        if settings.alpha:
            plan = replace(plan, dropped=vanishing_columns(session, plan, regularisations))
            regularisations = settings.recipe.regularisations(explore(session, plan).strengths)
        parameters = session.new_parameters(plan, regularisations)
        trainer = session.trainer(parameters, session.folds(len(regularisations)))
        run = _run(trainer, settings.schedule(len(session.problem.design)), settings, settings.max_iter is None)
        sketch = session.draft
        shift, factor = _quantile_shift(trainer, sketch), _factor(trainer, sketch)
        if settings.max_iter is None and not run.complete and _gains_from_refit(trainer, sketch):
            _refit(trainer, settings.recipe.refit_schedule(len(session.problem.design)))
        state = TrainingState(trainer.theta, plan, regularisations, shift, factor)
        return _finished(trainer, sketch, option.rows, state, run.events)


def _chosen(request: Request) -> tuple[Option, list[Regularisation]]:
    """What pilot and trial models choose: columns, capacity, and the regularisation of each member."""
    settings = request.settings.fitted_to(request.loss)
    option = _option(request, settings)
    findings = explore(option.session, option.plan)
    options = [replace(option, plan=findings.plan)]
    problem, columns = option.session.problem, len(findings.plan.columns) - len(findings.plan.dropped)
    larger = settings.enlarged(problem.outputs.pencils, len(problem.design) / max(columns, 1))
    if larger is not None:
        other = _option(request, larger)
        options.append(replace(other, plan=replace(other.plan, dropped=findings.plan.dropped)))
    chosen, strengths = choose_capacity(options, findings.strengths)
    return chosen, settings.recipe.regularisations(strengths)


def _option(request: Request, settings: FitSettings) -> Option:
    sketch, rows = draft(request.estimator, request.rows, request.loss, request.classes, settings)
    sketch, written = with_wide_categories(sketch, rows, request.rng)
    session = _session(sketch, written, replace(request, settings=settings))
    return Option(session, session.plan(), rows)


def continue_fit(model: Model, state: TrainingState, request: Request, partial: bool) -> Fit:
    """The same model, its members trained further on these rows."""
    with single_threaded_blas():
        settings, sketch = request.settings, Draft.of(model, state.plan.trained)
        rows = request.rows.encoded(model.encoder, settings.threads)
        session = _session(sketch, sketch.written(rows), request)
        parameters = state.plan.parameters(state.regularisations, model.dim, model.outputs.pencils, settings.threads)
        parameters.continue_(state.theta)
        trainer = session.trainer(parameters, session.folds(len(state.regularisations)))
        run = _run(trainer, settings.continued_schedule(len(session.problem.design), partial), settings, False)
        state = replace(state, theta=trainer.theta, factor=_factor(trainer, sketch))
        return _finished(trainer, sketch, rows, state, run.events)


def _session(sketch: Draft, rows: TrainingRows, request: Request) -> Session:
    validation = request.rows.encoded_validation(sketch.encoder, request.settings.threads)
    measured = None if validation is None else sketch.problem(sketch.written(validation))
    return Session(sketch, sketch.problem(rows), measured, request.settings, request.rng)


def _factor(trainer: Trainer, sketch: Draft) -> float:
    return 1.0 if sketch.outputs.levels else shrink_factor(trainer)


def _quantile_shift(trainer: Trainer, sketch: Draft) -> NDArray[np.float64] | None:
    return quantile_shift(trainer, sketch.outputs.quantile_levels) if sketch.outputs.quantile_levels else None


def _finished(
    trainer: Trainer, sketch: Draft, rows: TrainingRows, state: TrainingState, history: tuple[Event, ...]
) -> Fit:
    shift = 0.0 if sketch.outputs.levels else start_shift(trainer, state.factor)
    coef = np.asarray(state.factor * matrices_of(trainer, sketch, state.plan), np.float64)
    if state.quantile_shift is not None:
        shift_quantiles_(coef, sketch, state.quantile_shift)
    start = sketch.start + shift * sketch.scale / trainer.problem.scale
    model = replace(sketch, start=start).model(coef, trainer.members)
    check_fit(model, rows.design, trainer.best)
    model = settled(model)
    return Fit(model, state, history, mean_effects(model, rows.design, rows.weight, trainer.parameters.threads))


class _Run(NamedTuple):
    """What happened in the training of members."""

    events: tuple[Event, ...]
    complete: bool  # whether the members are to stay as they are: interrupted, or polished with success


def _run(trainer: Trainer, schedule: Schedule, settings: FitSettings, polished: bool) -> _Run:
    """Train with a progress bar; an interrupted training keeps the best models so far."""
    events: list[Event] = []
    columns = (TextColumn("fitting"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[loss]}"))
    with Progress(*columns, TimeRemainingColumn(), disable=not settings.verbose) as progress:
        bar = progress.add_task("fit", total=schedule.epochs, loss="")
        try:
            for event in trainer.run(schedule):
                events.append(event)
                progress.update(bar, advance=1, loss=f"loss {event.validation.mean():.5g}")
            before = float(trainer.best.mean())
            if polished:
                for seen in polish(trainer):
                    progress.update(bar, loss=f"polish, loss {seen.mean():.5g}")
        except KeyboardInterrupt:
            if not events:
                raise
            progress.console.print(f"interrupted: keeping the best models after {len(events)} epochs")
            return _Run(tuple(events), complete=True)
    return _Run(tuple(events), complete=before - float(trainer.best.mean()) > _POLISHED * abs(before))


def _gains_from_refit(trainer: Trainer, sketch: Draft) -> bool:
    """Whether rows were left out, none of them calibrate levels, and members did not overfit early."""
    return trainer.leaves_rows_out and not sketch.outputs.levels and trainer.improved_until.mean() > _EARLY


def _refit(trainer: Trainer, schedule: Schedule) -> None:
    """Train the members further on all rows; if that is interrupted, they stay as they were."""
    try:
        trainer.refit(schedule)
    except KeyboardInterrupt:
        get_console().print("interrupted: keeping the models as they were before the refit on all rows")
