"""From a table to a model: draft, plan, pilot models, members, matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich import get_console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.blas import single_threaded_blas
from lambdak.losses import Loss
from lambdak.model import Model
from lambdak.model.importance import mean_effects
from lambdak.model.known_target import KnownTarget, average_prediction, decimals_of
from lambdak.training.balance import balanced, check_balance
from lambdak.training.checkpoint import Checkpoint, NoCheckpoint, State, nothing_kept
from lambdak.training.draft import Draft, draft, kept_apart
from lambdak.training.effort import Regularisation
from lambdak.training.fingerprint import digest, rows_digests, settings_text
from lambdak.training.finish import matrices_of, quantile_shift, shift_quantiles_, shrink_factor, start_shift
from lambdak.training.history import events_of, history_state
from lambdak.training.limits import check_fit
from lambdak.training.live_curve import watch_of
from lambdak.training.pilots import Findings, explore, vanishing_columns
from lambdak.training.plan import Plan
from lambdak.training.polish import polish
from lambdak.training.rows import GivenRows, TrainingRows
from lambdak.training.scoring import scoring_of
from lambdak.training.session import Session
from lambdak.training.settings import FitSettings
from lambdak.training.settle import settled
from lambdak.training.terms import Terms
from lambdak.training.trainer import Event, Schedule, Trainer
from lambdak.training.trials import Option, choose_capacity
from lambdak.training.wide_categories import with_wide_categories

_POLISHED = 0.25  # of the loss on unseen rows: where a polish gains more, the steps of a refit are too coarse
_EARLY = 0.3  # of the epochs: members whose best states came before lose by further epochs
_MEMBERS, _TRAINED = "members", "trained members"  # in progress: epochs with folds, and on all rows


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


@dataclass(frozen=True)
class Request:
    """What is to be fitted: rows, a loss, settings; ``classes`` are the labels behind the codes of a classifier.

    ``parameters`` are the settings as the user gave them, by which a ``checkpoint`` knows the call that it belongs to.
    """

    estimator: str
    rows: GivenRows
    loss: Loss
    settings: FitSettings
    rng: np.random.Generator
    classes: NDArray[Any] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    checkpoint: Checkpoint = field(default_factory=NoCheckpoint)

    def __post_init__(self) -> None:
        settled = self.settings.of_rows(self.rows.n_rows, self.rows.validation is not None)
        object.__setattr__(self, "settings", settled)

    def begin(self, *continued: Any) -> None:
        """Begin, or take up what a killed process left; ``continued`` is what the training continues from."""
        if self.settings.balance:
            check_balance(self.loss)

        def call() -> dict[str, str]:
            own = {"estimator": self.estimator, "classes": digest(self.classes), "model": digest(*continued)}
            return own | settings_text(self.parameters) | rows_digests(self.rows)

        self.checkpoint.begin(call, self.rng)


@nothing_kept()
def fit_model(request: Request) -> Fit:
    """A new model."""
    with single_threaded_blas():
        request.begin()
        option, plan, regularisations = choose_members(request)
        session, settings, checkpoint = option.session, option.session.settings, request.checkpoint
        parameters, rows = session.new_parameters(plan, regularisations), len(session.problem.design)
        trainer = session.trainer(parameters, session.folds(len(regularisations)))
        trainer.scoring = scoring_of(settings.scoring, session.draft)
        run = run_members(trainer, settings.schedule(rows), settings, settings.max_iter is None, checkpoint)
        sketch = session.draft
        shift, factor = corrections(trainer, sketch)
        if settings.max_iter is None and not run.complete and _gains_from_refit(trainer, sketch):
            _refit(trainer, settings.recipe.refit_schedule(rows), run, checkpoint)
        state = TrainingState(trainer.theta, plan, regularisations, shift, factor)
        fit = _in_balance(finished(trainer, sketch, option.rows, state, run.events), option.rows, request)
        checkpoint.finish()
        return fit


def choose_members(request: Request) -> tuple[Option, Plan, list[Regularisation]]:
    """Columns, capacity and regularisations of the members, without the columns that vanish where they may."""
    option, regularisations = _chosen(request)
    if not option.session.settings.alpha:
        return option, option.plan, regularisations
    return option, *_without_vanishing(request.checkpoint, option.session, option.plan, regularisations)


def _chosen(request: Request) -> tuple[Option, list[Regularisation]]:
    """What pilot and trial models choose: columns, capacity, and the regularisation of each member."""
    settings = request.settings.fitted_to(request.loss)
    option = _option(request, settings)
    settings = option.session.settings
    findings = _explored(request.checkpoint, "pilot models", option.session, option.plan)
    options = [replace(option, plan=findings.plan)]
    problem, columns = option.session.problem, len(findings.plan.columns) - len(findings.plan.dropped)
    larger = settings.enlarged(problem.pencils, len(problem.design) / max(columns, 1))
    if larger is not None:
        other = _option(request, larger, option.session.draft.terms)
        options.append(replace(other, plan=replace(other.plan, dropped=findings.plan.dropped)))

    def choose() -> tuple[int, list[int]]:
        chosen, strengths = choose_capacity(options, findings.strengths)
        return [option is chosen for option in options].index(True), strengths

    place, strengths = request.checkpoint.stage("capacity", choose)
    return options[place], settings.recipe.regularisations(strengths)


def _explored(checkpoint: Checkpoint, name: str, session: Session, plan: Plan) -> Findings:
    """What pilot models find."""

    def find() -> tuple[list[int], list[int]]:
        findings = explore(session, plan)
        return sorted(findings.plan.dropped), findings.strengths

    dropped, strengths = checkpoint.stage(name, find)
    return Findings(replace(plan, dropped=frozenset(dropped)), strengths)


def _without_vanishing(
    checkpoint: Checkpoint, session: Session, plan: Plan, regularisations: list[Regularisation]
) -> tuple[Plan, list[Regularisation]]:
    """The plan without the columns that vanish, and regularisations that suit the others."""
    chosen = regularisations
    dropped = checkpoint.stage("vanishing columns", lambda: sorted(vanishing_columns(session, plan, chosen)))
    lean = replace(plan, dropped=frozenset(dropped))
    strengths = _explored(checkpoint, "pilot models of the other columns", session, lean).strengths
    return lean, session.settings.recipe.regularisations(strengths)


def _option(request: Request, settings: FitSettings, terms: Terms | None = None) -> Option:
    """A session with the table encoded and, where not all columns may interact, these ``terms`` or those it needs."""
    sketch, rows = draft(request.estimator, request.rows, request.loss, request.classes, settings)
    if sketch.promises.interactions is not None:
        sketch, settings = kept_apart(sketch, rows, settings, terms)
    sketch, written = with_wide_categories(sketch, rows, request.rng)
    session = _session(sketch, written, replace(request, settings=settings))
    return Option(session, session.plan(), rows)


@nothing_kept()
def continue_fit(model: Model, state: TrainingState, request: Request, partial: bool) -> Fit:
    """Fit of a model whose members are trained further on these rows."""
    with single_threaded_blas():
        request.begin(model.coef, model.start, *state.theta)
        settings, sketch = request.settings, Draft.of(model, state.plan.trained, state.plan.terms)
        rows = request.rows.encoded(model.encoder, settings.threads)
        session = _session(sketch, sketch.written(rows), request)
        pencils = session.problem.pencils
        parameters = state.plan.parameters(state.regularisations, model.dim, pencils, settings.threads)
        parameters.continue_(state.theta)
        trainer = session.trainer(parameters, session.folds(len(state.regularisations)))
        trainer.scoring = scoring_of(settings.scoring, sketch)
        schedule = settings.continued_schedule(len(session.problem.design), partial)
        run = run_members(trainer, schedule, settings, False, request.checkpoint)
        state = replace(state, theta=trainer.theta, factor=_factor(trainer, sketch))
        fit = finished(trainer, sketch, rows, state, run.events)
        fit = _of_some_rows(fit) if partial else _in_balance(fit, rows, request)
        request.checkpoint.finish()
        return fit


def _session(sketch: Draft, rows: TrainingRows, request: Request) -> Session:
    validation = request.rows.encoded_validation(sketch.encoder, request.settings.threads)
    measured = None if validation is None else sketch.problem(sketch.written(validation))
    return Session(sketch, sketch.problem(rows), measured, request.settings, request.rng)


def _factor(trainer: Trainer, sketch: Draft) -> float:
    return 1.0 if sketch.outputs.levels else shrink_factor(trainer)


def corrections(trainer: Trainer, sketch: Draft) -> tuple[NDArray[np.float64] | None, float]:
    """What unseen rows say of the members: how far quantiles must move, and the factor of all matrices."""
    levels = sketch.outputs.quantile_levels
    return quantile_shift(trainer, levels) if levels else None, _factor(trainer, sketch)


def finished(
    trainer: Trainer, sketch: Draft, rows: TrainingRows, state: TrainingState, history: tuple[Event, ...]
) -> Fit:
    """The model of trained members."""
    shift = 0.0 if sketch.outputs.levels else start_shift(trainer, state.factor)
    coef = np.asarray(state.factor * matrices_of(trainer, sketch, state.plan), np.float64)
    if state.quantile_shift is not None:
        shift_quantiles_(coef, sketch, state.quantile_shift)
    start = sketch.start + shift * sketch.scale / trainer.problem.scale
    model = replace(sketch, start=start).model(coef, trainer.members)
    check_fit(model, rows.design, trainer.best)
    model = settled(model)
    threads = trainer.parameters.threads
    effects = mean_effects(model, rows.design, rows.weight, threads)
    return Fit(model, state, history, effects, _known_target(model, rows, threads))


def _known_target(model: Model, rows: TrainingRows, threads: int) -> KnownTarget:
    decimals = None if model.classes is not None else decimals_of(rows.y)
    return KnownTarget(None, decimals, average_prediction(model, rows.design, rows.weight, rows.offset, threads))


def _of_some_rows(fit: Fit) -> Fit:
    """Fit without an average of the predictions, which would be that of the last rows only."""
    return replace(fit, target=replace(fit.target, average=None))


def _in_balance(fit: Fit, rows: TrainingRows, request: Request) -> Fit:
    """Fit with predictions that add up to the targets, if that was requested."""
    if not request.settings.balance:
        return fit
    threads = request.settings.threads
    model = settled(balanced(fit.model, request.rows, threads))
    return replace(fit, model=model, target=_known_target(model, rows, threads))


class MembersRun(NamedTuple):
    """What happened in the training of members."""

    events: tuple[Event, ...]
    complete: bool  # whether the members are to stay as they are: interrupted, or polished with success
    refitted: int = 0  # epochs on all rows

    def state(self) -> State:
        """What happened in the training, as named arrays and numbers for a checkpoint."""
        return history_state(self.events) | State({}, {"complete": self.complete, "refitted": self.refitted})


def run_members(
    trainer: Trainer, schedule: Schedule, settings: FitSettings, polished: bool, checkpoint: Checkpoint
) -> MembersRun:
    """Train with a progress bar; an interrupted training keeps the best models so far."""
    if (done := checkpoint.restored(_TRAINED)) is not None:
        trainer.restore_(done)
        return MembersRun(tuple(events_of(done)), done.number("complete"), done.number("refitted"))
    events = _restored_events(trainer, checkpoint)
    columns = (TextColumn("fitting"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[loss]}"))
    watch = watch_of(settings.verbose)
    with Progress(*columns, TimeRemainingColumn(), disable=watch is not None or not settings.verbose) as progress:
        bar = progress.add_task("fit", total=schedule.epochs, completed=len(events), loss="")
        try:
            for event in trainer.run(schedule, events[-1] if events else None):
                events.append(event)
                progress.update(bar, advance=1, loss=f"loss {event.validation.mean():.5g}")
                if watch is not None:
                    watch(events)
                if checkpoint.due():
                    checkpoint.save(_MEMBERS, trainer.state() | history_state(events))
            if watch is not None:
                watch(events, ended=True)
            before = float(trainer.best.mean())
            if polished:
                for seen in polish(trainer):
                    progress.update(bar, loss=f"polish, loss {seen.mean():.5g}")
        except KeyboardInterrupt:
            if not events:
                raise
            progress.console.print(f"interrupted: keeping the best models after {len(events)} epochs")
            checkpoint.keep()
            return MembersRun(tuple(events), complete=True)
    return MembersRun(tuple(events), complete=before - float(trainer.best.mean()) > _POLISHED * abs(before))


def _restored_events(trainer: Trainer, checkpoint: Checkpoint) -> list[Event]:
    """The epochs that members were trained for before the process was killed."""
    begun = checkpoint.restored(_MEMBERS)
    if begun is None:
        return []
    trainer.restore_(begun)
    return events_of(begun)


def _gains_from_refit(trainer: Trainer, sketch: Draft) -> bool:
    """Whether rows were left out, none of them calibrate levels, and members did not overfit early."""
    return trainer.leaves_rows_out and not sketch.outputs.levels and trainer.improved_until.mean() > _EARLY


def _refit(trainer: Trainer, schedule: Schedule, run: MembersRun, checkpoint: Checkpoint) -> None:
    """Train the members further on all rows; if that is interrupted, they stay as they were."""
    try:
        for done in trainer.refit(schedule, run.refitted):
            if checkpoint.due():
                checkpoint.save(_TRAINED, trainer.state() | run._replace(refitted=done).state())
    except KeyboardInterrupt:
        get_console().print("interrupted: keeping the models as they were before the refit on all rows")
        checkpoint.keep()
