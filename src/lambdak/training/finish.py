"""From trained parameters to the matrices of a model: exact cones, centred categories, calibrated quantiles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.isotonic import isotonic_regression

from lambdak._types import FloatArray
from lambdak.eigen.packing import diagonal_indices
from lambdak.losses import IDENTITY
from lambdak.model.eigenvalues import evaluate
from lambdak.training.draft import Draft
from lambdak.training.plan import Plan
from lambdak.training.trainer import Trainer

_FACTORS = np.linspace(0.0, 1.0, 21)
_PREFERENCE = 1.0  # of a factor of one over zero, in units of log-likelihood
_MORE_ROWS = 4  # of the rarest class, which could be anywhere …
_ENOUGH_ROWS = 20  # … unless it has many
_TINY = 1e-30
_SAMPLE = 50_000  # rows that decide about the start
_FARTHEST = 0.5  # that the start may move, in units of the scale
_CLOSE = 1e-6  # of that


def matrices_of(trainer: Trainer, draft: Draft, plan: Plan) -> FloatArray:
    """Coefficients of all members; where they are constrained, computed in float64 throughout."""
    guarded = trainer.parameters.guarded or any(own.end for own in draft.promises.shapes)
    coef = trainer.parameters.exact(trainer.theta) if guarded else trainer.coef
    for first, *others in draft.trained.parts:
        if not (first.is_number or others):
            _centre_(coef, slice(first.start, first.stop), plan)
    matrices = draft.trained.matrices(coef)
    if draft.terms is not None:
        matrices = matrices.copy()
        draft.terms.keep_apart_(matrices, draft.encoder.columns, draft.dim, draft.outputs.pencils)
    return matrices


def _centre_(coef: FloatArray, own: slice, plan: Plan) -> None:
    """Move the mean matrix of a category to the constant, so that an unseen level, a zero, is average."""
    rows, share = coef[:, own], plan.moments.mean[own].astype(coef.dtype)
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
    found = [np.quantile(errors[:, j], q, weights=weights, method="inverted_cdf") for j, q in enumerate(room)]
    return np.asarray(isotonic_regression(np.asarray(found)), np.float64)


def shrink_factor(trainer: Trainer) -> float:
    """What all matrices are multiplied by, in [0, 1]: less than 1 where what a model says of unseen rows is too much.

    A positive factor keeps every promise, and at zero a model is the best constant. The factor for single members is
    the most probable one under their loss, in units of log-likelihood, after a weak preference for 1, if up to four
    more rows of a rare class could be anywhere. Their mean has less noise: as if it were that of √members independent
    ones, since all have seen almost the same rows.
    """
    if not trainer.n_unseen:
        return 1.0
    losses = trainer.unseen_losses(_FACTORS).mean(axis=1, dtype=np.float64)
    unit = 2 * max(losses[-1], _TINY) if trainer.problem.loss.link is IDENTITY else 1.0
    cost = trainer.n_unseen * losses / unit + _PREFERENCE * (1 - _FACTORS) ** 2
    if trainer.problem.loss.n_classes:
        classes, counts = np.unique(trainer.problem.y, return_counts=True)
        more = _MORE_ROWS / (1 + counts.min() / _ENOUGH_ROWS)
        cost += more * trainer.unseen_losses(_FACTORS, classes[counts.argmin()]).mean(axis=1)
    best = float(_FACTORS[cost.argmin()])
    return best and float(1 / (1 + (1 / best - 1) / np.sqrt(trainer.members)))


def start_shift(trainer: Trainer, factor: float) -> float:
    """How far the start must move for the least loss on the training rows, in units of the problem's raw scores.

    With a mean loss, predictions then add up to the targets; members stop in the middle of their noise.
    """
    problem = trainer.problem
    if not problem.outputs.single or problem.loss.robust:
        return 0.0
    rows = np.arange(0, len(problem.design), max(len(problem.design) // _SAMPLE, 1), dtype=np.int32)
    some = problem.take(rows)
    values = evaluate(trainer.coef, trainer.parameters.dim, problem.outputs.indices, some.design, None, 0)
    mean = values.reshape(-1, problem.pencils, *values.shape[1:]).mean(axis=0)
    raw = some.raw(factor * mean, slice(None)).astype(np.float64)

    def loss(shift: float) -> float:
        return float(some.loss.value(raw + shift, some.y, some.weight)[0])

    reach = _FARTHEST * problem.scale
    found = minimize_scalar(loss, bounds=(-reach, reach), method="bounded", options={"xatol": _CLOSE * reach})
    return float(found.x) if found.fun < loss(0.0) else 0.0


def shift_quantiles_(coef: FloatArray, draft: Draft, shift: NDArray[np.float64]) -> None:
    """Add a multiple of the identity to the matrix of each quantile level, in every term its share."""
    coef[:, draft.encoder.n_design :, diagonal_indices(draft.dim)] += shift[:, None] / draft.n_terms
