"""A fit from top to bottom: small models choose, members are trained, unseen rows correct them, a model is made."""

from __future__ import annotations

from dataclasses import replace

from lambdak.eigen.blas import single_threaded_blas
from lambdak.model import Model
from lambdak.training.calibration import Groups, with_calibration
from lambdak.training.checkpoint import nothing_kept
from lambdak.training.choice import choose_members
from lambdak.training.draft import Draft
from lambdak.training.factor import factor_of
from lambdak.training.finish import Fit, TrainingState, corrections, finished, in_balance, of_some_rows
from lambdak.training.members import gain_from_refit, refit_members, run_members
from lambdak.training.rows import TrainingRows
from lambdak.training.session import FitRequest, Session


@nothing_kept()
def fit_model(request: FitRequest) -> Fit:
    """Return a new model: every line is a stage, and what it decides is decided in the function that it calls."""
    with single_threaded_blas():
        request.begin()
        session, plan, rows, regularisations = choose_members(request)
        groups = _groups(request, session.draft, rows)
        draft, settings, n_rows = session.draft, session.settings, session.problem.n_rows
        thorough, checkpoint = settings.max_iter is None, request.checkpoint
        trainer = session.members(session.new_parameters(plan, regularisations), len(regularisations))
        run = run_members(trainer, settings.schedule(n_rows), checkpoint, settings.verbose, refined=thorough)
        shift, factor = corrections(trainer, draft)
        if thorough and not run.complete and draft.outputs.refits and gain_from_refit(trainer):
            refit_members(trainer, settings.recipe.refit_schedule(n_rows), checkpoint, run)
        state = TrainingState(trainer.theta, plan, regularisations, shift, factor)
        fit = in_balance(finished(trainer, draft, rows, state, run.events), rows, request)
        checkpoint.finish()
        return replace(fit, model=with_calibration(fit.model, trainer, draft, shift, groups))


def _groups(request: FitRequest, draft: Draft, rows: TrainingRows) -> Groups | None:
    """Return the groups that are calibrated apart, of the rows that members are measured on."""
    measured = request.rows.encoded_validation(draft.encoder, request.settings.threads)
    return Groups.of(request.settings.calibrate_by, draft, rows if measured is None else measured)


@nothing_kept()
def continue_fit(model: Model, state: TrainingState, request: FitRequest, partial: bool) -> Fit:
    """Return the fit of a model whose members are trained further on these rows, for a few epochs if ``partial``."""
    with single_threaded_blas():
        request.begin(model.coef, model.start, *state.theta)
        settings, draft = request.settings, Draft.of(model, state.plan.trained, state.plan.terms)
        rows = request.rows.encoded(model.encoder, settings.threads)
        session, count = Session.of(draft, draft.written(rows), request), len(state.regularisations)
        parameters = state.plan.parameters(state.regularisations, model.dim, session.problem.pencils, settings.threads)
        parameters.continue_(state.theta)
        trainer = session.members(parameters, count)
        schedule = settings.continued_schedule(session.problem.n_rows, partial)
        run = run_members(trainer, schedule, request.checkpoint, settings.verbose)
        state = replace(state, theta=trainer.theta, factor=factor_of(trainer, draft))
        fit = _with_tails(finished(trainer, draft, rows, state, run.events), model)
        fit = of_some_rows(fit) if partial else in_balance(fit, rows, request)
        request.checkpoint.finish()
        return fit


def _with_tails(fit: Fit, before: Model) -> Fit:
    """Return the fit with the tails of the model before: what rows were covered was counted with other members."""
    known = before.calibration
    return fit if known is None else replace(fit, model=fit.model.replace(calibration=known.uncounted()))
