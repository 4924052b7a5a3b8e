"""From trained parameters to the matrices of a model: exact cones, centred categories, calibrated quantiles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from lambdak._checks import FloatArray
from lambdak.eigen.packing import diagonal_indices
from lambdak.training.draft import Draft
from lambdak.training.plan import Plan
from lambdak.training.trainer import Trainer

_CALIBRATION = 0.5  # share of the quantile shift of single members: their mean has smaller errors, and needs less


def matrices_of(trainer: Trainer, draft: Draft, plan: Plan) -> FloatArray:
    """Coefficients of all members; where they are constrained, computed in float64 throughout."""
    guarded = trainer.parameters.guarded or draft.promises.shape is not None
    coef = trainer.parameters.exact(trainer.theta) if guarded else trainer.coef
    for first, *others in draft.trained.parts:
        if not (first.is_number or others):
            _centre_(coef, slice(first.start, first.stop), plan)
    return draft.trained.matrices(coef)


def _centre_(coef: FloatArray, own: slice, plan: Plan) -> None:
    """Move the mean matrix of a category to the constant, so that an unseen level, a zero, is average."""
    rows, share = coef[:, own], plan.moments.mean[own].astype(coef.dtype)
    mean = np.einsum("p,mpw->mw", share / max(share.sum(), 1e-30), rows)
    rows -= mean[:, None]
    coef[:, 0] += mean


def quantile_shift(trainer: Trainer, levels: tuple[float, ...]) -> NDArray[np.float64]:
    """How far each quantile must move to cover its share of unseen rows; in order, so that they cannot cross."""
    raw, rows, problem = trainer.unseen()
    error = (np.asarray(problem.y[rows][..., 0], np.float64) - raw).reshape(-1, len(levels))
    weight = None
    if problem.weight is not None:
        weight = np.broadcast_to(problem.weight[rows], raw.shape).reshape(-1, len(levels))[:, 0]
    needed = [np.quantile(error[:, j], q, weights=weight, method="inverted_cdf") for j, q in enumerate(levels)]
    share = 1.0 if trainer.members == 1 else _CALIBRATION
    return np.asarray(share * isotonic_regression(np.asarray(needed)), np.float64)


def shift_quantiles_(coef: FloatArray, draft: Draft, shift: NDArray[np.float64]) -> None:
    """Add a multiple of the identity to the matrix of each quantile level."""
    coef[:, draft.encoder.n_design :, diagonal_indices(draft.dim)] += shift[:, None]
