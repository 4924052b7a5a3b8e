"""Models with matrices made by hand, and models that break what was requested of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from fitted_models import SMALL, at_indices, changed, fitted, own_coef, with_columns
from score_cases import packed_from

from lambdak import SpectralRegressor
from lambdak.model.outputs import OrderedOutputs

APART = np.array([0.0, -9.0, 1.0])  # where cut-points start


@cache
def _blank(columns, dim):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (80, columns))
    settings = SMALL | {"dim": dim, "n_estimators": 1, "max_iter": 1, "eig_idx": 0}
    return SpectralRegressor(n_knots=0, **settings).fit(rows, rows[:, 0])


def by_hand(constant, slopes, index=0, low=-1.0, high=1.0):
    """The model λ_index(constant + Σ_i x_i slopes_i), for numbers x_i that are clamped to [low, high]."""
    model = _blank(len(slopes), len(constant))
    coef = np.zeros((1, 1 + len(slopes), model.model_.coef.shape[2]))
    for row, matrix in zip(coef[0], [constant, *slopes], strict=True):
        row[: len(packed_from(matrix))] = packed_from(matrix)
    columns = [
        replace(column, center=0.0, scale=1.0, low=low, high=high, median=0.0, quartiles=None)
        for column in model.model_.encoder.columns
    ]
    return at_indices(with_columns(model, columns, coef=coef, start=np.zeros(1), scale=1.0), index)


def symmetric(rng, dim, size=1.0):
    A = rng.normal(size=(dim, dim))
    return size * (A + A.T) / 2


# ---- models that break what was requested of them


def _broken_slope():
    model, coef = own_coef("regressor")
    column = model.model_.encoder.columns[0]
    coef[0, column.start + 1 : column.stop, :15] -= packed_from(3 * np.eye(5))
    return changed(model, coef=coef)


def _broken_bend():
    model, coef = own_coef("convex")
    column = model.model_.encoder.columns[1]
    coef[0, column.start + 1, :15] += packed_from(3 * np.eye(5))
    return changed(model, coef=coef)


def _broken_index():
    return at_indices(fitted("concave"), 3)


def _broken_order():
    model, coef = own_coef("quantiles")
    coef[1, -1, :15] -= packed_from(9 * np.eye(5))
    return changed(model, coef=coef)


def several_eigenvalues(*indices):
    """Cut-points as they were in files that were saved before: eigenvalues of one matrix."""
    model, coef = own_coef("ordinal")
    return changed(model, coef=coef[:, : model.model_.encoder.n_design], outputs=OrderedOutputs(indices))


def _broken_cut_point():
    model, coef = own_coef("ordinal")
    coef[1, -1, :28] -= packed_from(9 * np.eye(7))
    return changed(model, coef=coef)


def _broken_starts():
    return changed(fitted("ordinal"), start=APART)


def _broken_cap():
    model, coef = own_coef("capped")
    column = model.model_.encoder.columns[2]
    coef[:, column.start : column.stop] *= 50
    return changed(model, coef=coef)


BROKEN = {
    "a step that falls": (_broken_slope, "monotone", "income"),
    "a curve that bends the other way": (_broken_bend, "convex", None),
    "an inner eigenvalue": (_broken_index, "concave", None),
    "a quantile below a lower one": (_broken_order, "quantiles", None),
    "a cut-point below a lower one": (_broken_cut_point, "cut-points", None),
    "eigenvalues out of order": (lambda: several_eigenvalues(3, 2, 5), "cut-points", None),
    "eigenvalues that start apart": (lambda: changed(several_eigenvalues(2, 3, 5), start=APART), "cut-points", None),
    "cut-points that start apart": (_broken_starts, "cut-points", None),
    "a cap that is exceeded": (_broken_cap, "influence", "region"),
}


def broken(fault):
    """A model, and the kind and subject of the claim that it breaks."""
    make, kind, subject = BROKEN[fault]
    return make(), kind, subject
