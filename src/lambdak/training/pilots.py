r"""Small models that decide about the members: how strongly to regularise, and which columns vanish.

A test of every column by itself, before any model is trained, says which may have no effect. Where the loss is −g at
the best constant, a column that does nothing has n bᵀ Σ⁻¹ b ~ χ², b = mean(z g), where z are its first ramps and Σ is
their covariance. The squares of g are tested too: a column that acts only through its interactions makes them larger in
some of its cells. What is found so is only suspected: pilot models decide whether they do better without such columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import chi2

from lambdak._types import Float64Array
from lambdak.losses import Arrangement, Loss
from lambdak.model.outputs import eigenvalue_indices, outputs_of
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.training.effort import GRID, MIDDLE, PILOT_ROWS, Regularisation, Schedule
from lambdak.training.plan import Plan
from lambdak.training.problem import Folds, Problem
from lambdak.training.session import Session
from lambdak.training.trainer import Trainer

# Small models that decide which columns vanish: odd, so that most of them is always defined (benchmarks/noise.py).
_SELECTION_MODELS = 5
# Of more, the most frequent ones: it bounds the time. Three were too easy to tell apart: on pens and vowels they chose
# the fourth and fifth of six strengths, with all classes the first is best (benchmarks/recipe.py, docs/decisions.md).
_PILOT_CLASSES = 10
_FEWEST_SUSPECTS = 8  # columns without effect that are worth a comparison: fewer cost nothing to keep
_SUSPECT_SHARE = 0.2  # of all columns: it bounds how often a second set of pilot models is trained; no study of its own
_MANY = 100  # columns, of which models are trained with a single strength only: it bounds the time
# Of the loss, that models must gain without them: larger models use columns that pilot models cannot
# (benchmarks/weaknesses.py: with 90 columns of noise R² .802 against .716 before, docs/decisions.md).
_WORTH = 0.02


class PilotFindings(NamedTuple):
    """What pilot models found: trained columns to leave out, and the strengths of the grid, the best one first."""

    dropped: list[int]
    strengths: list[int]


def explore(session: Session, plan: Plan) -> PilotFindings:
    """Train pilot models with all strengths, and without the columns that show no effect, if there are many."""
    small = _of_pilot_size(sample_of(session))
    folds = small.folds(1, larger=2)  # noise in the choice of a strength costs more than fewer rows
    if folds is None and session.validation is None:
        return PilotFindings(sorted(plan.dropped), [MIDDLE])
    least = max(_FEWEST_SUSPECTS, _SUSPECT_SHARE * len(plan.columns))
    suspects = columns_without_effect(session.problem, plan, session.copies) if len(plan.columns) > least else ()
    if len(suspects) < least:
        losses = _losses(small, plan, range(len(GRID)), folds)
        return PilotFindings(sorted(plan.dropped), np.argsort(losses).tolist())
    lean = replace(plan, dropped=plan.dropped.union(suspects))
    without = _losses(small, lean, range(len(GRID)), folds)
    best = int(without.argmin())
    first = best if len(plan.columns) <= _MANY else best + 2
    stronger = range(min(first, len(GRID) - 1), min(best + 3, len(GRID)))  # more columns need no less
    whole = _losses(small, plan, stronger, folds)
    if without.min() > whole.min() - _WORTH * abs(whole.min()):
        return PilotFindings(sorted(plan.dropped), [stronger[i] for i in np.argsort(whole)])
    return PilotFindings(sorted(lean.dropped), np.argsort(without).tolist())


def unseen_loss(session: Session, plan: Plan) -> float | None:
    """Return the loss of pilot models of middle strength on unseen rows; None where there are none."""
    small = _of_pilot_size(sample_of(session))
    folds = small.folds(1, larger=2)
    if folds is None and session.validation is None:
        return None
    return float(_losses(small, plan, range(MIDDLE, MIDDLE + 1), folds)[0])


def compared(
    session: Session, plan: Plan, strengths: Sequence[int], folds: Folds | None, schedule: Schedule
) -> tuple[Trainer, int]:
    """Return trained models, two for each of these strengths in each of several folds, and the number of these folds.

    Without folds, where validation rows were given, there is one turn.
    """
    recipe, turns = session.settings.recipe, 1
    chosen = [regularisation for strength in strengths for regularisation in recipe.grid[strength]]
    if folds is not None:
        rows = session.problem.n_rows
        turns = recipe.pilot_folds(rows, int(folds.fold.max()) + 1, session.problem.pencils)
        folds = Folds(folds.fold, tuple(np.repeat(np.arange(turns), len(chosen)).tolist()))
    return session.trained(plan, chosen * turns, folds, schedule), turns


def _losses(small: Session, plan: Plan, strengths: range, folds: Folds | None) -> Float64Array:
    """Return the loss on unseen rows with each of these strengths."""
    rows, classes = small.problem.n_rows, small.problem.outputs.pencils
    schedule = small.settings.recipe.pilot_schedule(rows, small.settings.max_iter, classes)
    pilots, turns = compared(small, plan, strengths, folds, schedule)
    return np.asarray(pilots.best.reshape(turns, -1, 2).mean(axis=(0, 2)), np.float64)


def vanishing_columns(session: Session, plan: Plan, regularisations: list[Regularisation]) -> list[int]:
    """Columns that become zero in most selection models: small, with the penalty, and without other constraints."""
    levels = [own for own in plan.spreads if own.owners[0] in plan.rises]  # quantile levels stay
    penalised = replace(plan, spreads=levels, caps={}, groups={}, alpha=session.settings.alpha)
    chosen = [regularisations[i % len(regularisations)] for i in range(_SELECTION_MODELS)]
    folds = session.folds(_SELECTION_MODELS)
    schedule = session.settings.recipe.schedule(session.problem.n_rows, session.settings.max_iter)
    models = _of_pilot_size(session).trained(penalised, chosen, folds, schedule)
    spans = [slice(column.start, column.stop) for column in session.draft.trained.columns]
    size = np.stack([np.abs(models.parameters.coef[:, span]).max(axis=(1, 2)) for span in spans])
    alive = (size > 0).reshape(len(size), _SELECTION_MODELS, -1).any(axis=2).mean(axis=1) > 0.5
    return sorted(plan.dropped.union(np.flatnonzero(~alive).tolist()))


def sample_of(session: Session) -> Session:
    """Session of a fit with fewer rows and classes, if there are many."""
    return _of_few_classes(session.sampled(PILOT_ROWS))


def _of_pilot_size(session: Session) -> Session:
    draft, settings = session.draft, session.settings
    dim = settings.recipe.pilot_dim
    # A position among the members' eigenvalues means nothing in smaller matrices: pilots then read the middle one.
    eig_idx = settings.eig_idx if dim == draft.dim else None
    indices = eigenvalue_indices(dim, draft.end, eig_idx)

    def at_indices(some: Problem) -> Problem:
        return replace(some, outputs=outputs_of(some.loss, indices))

    validation = None if session.validation is None else at_indices(session.validation)
    return replace(session, draft=replace(draft, dim=dim), problem=at_indices(session.problem), validation=validation)


def _of_few_classes(session: Session) -> Session:
    """The rows of the most frequent classes: what suits ten of many classes, suits all."""
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


_LEVEL = 0.01  # of the test: a column of noise passes it with this probability
_SLOW = 5  # directions of a column in which most effects are: the first ones, which change slowly along it
_SAMPLE = 40_000  # rows of a long table: with more, every column has an effect
_TAILS = 0.005  # of the gradients, cut off: few rows must not decide
_RANK = 1e-6  # eigenvalues below this share of the largest are rounding


def columns_without_effect(problem: Problem, plan: Plan, copies: int) -> frozenset[int]:
    """Columns whose test finds nothing, unless it finds nothing in any; the table's rows come in so many ``copies``."""
    design, weight, gradient = _sample(problem, copies)
    targets = [_standard(_clipped(target), weight) for target in (gradient, gradient**2)]
    share, rows = weight / weight.sum(), weight.sum() ** 2 / (weight**2).sum()
    Z = design.to_sparse(len(plan.moments.mean)).T
    means = [Z @ (share[:, None] * target) for target in targets]
    candidates = [i for i in range(len(plan.columns)) if i not in plan.rises]
    p_values = [_smallest_p_value(plan.columns[i], plan, means, rows) for i in candidates]
    suspected = [i for i, p in zip(candidates, p_values, strict=True) if p > _LEVEL]
    return frozenset(suspected) if len(suspected) < len(candidates) else frozenset()


def _sample(problem: Problem, copies: int) -> tuple[Design, Float64Array, Float64Array]:
    """Rows, their weights, and the gradients of the loss at the start (rows, outputs or copies)."""
    rows = problem.n_rows // copies
    chosen = np.arange(0, rows, max(rows // _SAMPLE, 1), dtype=np.int32)
    copied = (copies * chosen[:, None] + np.arange(copies)).ravel()
    raw = problem.constant_raw(copied)
    gradient = problem.loss.gradient(raw, problem.y[copied][None])[0].reshape(len(chosen), -1).astype(np.float64)
    weight = np.ones(len(chosen)) if problem.weight is None else problem.weight[copied[::copies]].astype(np.float64)
    design = problem.design.take(problem.design_rows(copied)[:: copies * problem.copies])
    return design, weight, gradient


def _clipped(target: Float64Array) -> Float64Array:
    low, high = np.quantile(target, [_TAILS, 1 - _TAILS], axis=0)
    return np.asarray(np.clip(target, low, np.maximum(high, low)))


def _standard(target: Float64Array, weight: Float64Array) -> Float64Array:
    """Centred, uncorrelated, of unit variance; directions that never vary are left out."""
    share = weight / weight.sum()
    centred = target - share @ target
    values, basis = np.linalg.eigh((share[:, None] * centred).T @ centred)
    size = float((share @ target**2).max())  # next to which rounding is nothing
    varies = values > _RANK * max(size, 1e-300)
    return np.asarray(centred @ (basis[:, varies] / np.sqrt(values[varies])))


def _smallest_p_value(column: Column, plan: Plan, means: Sequence[Float64Array], rows: float) -> float:
    """Over both targets, and over the slow directions of the column and all of them; corrected for so many tests."""
    values, directions = _directions(column, plan)
    kept = values > _RANK * values.max(initial=1e-300)
    p_values = [1.0]
    for mean in means:
        terms = rows * (directions[kept] @ mean[column.start : column.stop]) ** 2 / values[kept, None]
        p_values += [chi2.sf(part.sum(), max(part.size, 1)) for part in (terms, terms[-_SLOW:])]
    return float(min(p_values)) * (len(p_values) - 1)


def _directions(column: Column, plan: Plan) -> tuple[Float64Array, Any]:
    """Uncorrelated directions (n, p) of a column and their variances, those that change slowly along it last."""
    span, covariance = slice(column.start, column.stop), plan.moments.covariance
    if covariance.ndim == 1 or not column.is_number:  # levels are uncorrelated but for the constant
        return (covariance if covariance.ndim == 1 else covariance.diagonal())[span], sparse.eye_array(
            column.width
        ).tocsr()
    ramps = column.ramps()
    values, basis = np.linalg.eigh(ramps.T @ plan.moments.block(span) @ ramps)
    return values, (ramps @ basis).T
