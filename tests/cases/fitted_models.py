"""Small fitted models of every kind, and copies of them with other attributes."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from scipy import sparse

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor

SMALL = {"effort": "fast", "max_iter": 3, "n_estimators": 2, "dim": 5, "random_state": 0, "n_jobs": 1}
POOLED = SMALL | {"max_categories": 3}  # so that rare regions, and those never seen, are one level
CAP = 1.5


def table(rows=240, seed=0):
    """A number that should rise, one with gaps, a category with gaps and pooled levels, and one of two levels."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 80, rows)
    X = pd.DataFrame(
        {
            "income": rng.gamma(2.0, 2.0, rows),
            "age": np.where(rng.random(rows) < 0.15, np.nan, age),
            "region": rng.choice(["north", "south", None], rows, p=[0.5, 0.3, 0.2]).astype(object),
            "kind": rng.choice(["a", "b"], rows),
        }
    )
    X.loc[:2, "region"] = ["rare", "rare", "odd"]  # which are pooled
    y = np.sqrt(X["income"]) - 0.02 * age * (X["region"] == "north") + (X["kind"] == "a") + rng.normal(0, 0.2, rows)
    return X, y.to_numpy()


X, Y = table()
NUMBERS = X[["income", "age"]].assign(age=X["age"].fillna(50.0))
CUTS = np.digitize(Y, np.quantile(Y, [0.25, 0.5, 0.75]))
SPARSE = sparse.random_array((240, 4), density=0.4, rng=np.random.default_rng(1), format="csr")
WIDE = pd.DataFrame({"code": [f"c{i % 140}" for i in range(700)], "income": np.resize(X["income"], 700)})
MODELS = {
    "regressor": lambda: SpectralRegressor(monotonic_cst={"income": 1, "age": -1}, **POOLED).fit(X, Y),
    "free": lambda: SpectralRegressor(**POOLED).fit(X, Y),
    "capped": lambda: SpectralRegressor(max_influence={"income": CAP, "region": CAP}, **POOLED).fit(X, Y),
    "linear": lambda: SpectralRegressor(n_knots=0, **POOLED).fit(X, Y),
    "convex": lambda: SpectralRegressor(shape="convex", monotonic_cst={"income": 1}, **POOLED).fit(X, Y),
    "concave": lambda: SpectralRegressor(shape="concave", **POOLED).fit(X, Y),
    "straight": lambda: SpectralRegressor(shape="convex", n_knots=0, **POOLED | {"dim": 1}).fit(NUMBERS, Y),
    "additive": lambda: SpectralRegressor(**POOLED | {"dim": 1}).fit(X, Y),
    "single": lambda: SpectralRegressor(**POOLED | {"n_estimators": 1}).fit(X, Y),
    "poisson": lambda: SpectralRegressor("poisson", **POOLED).fit(X, np.maximum(Y, 0)),
    "binary": lambda: SpectralClassifier(monotonic_cst={"income": 1}, **POOLED).fit(X, np.where(Y > 1.5, "yes", "no")),
    "multiclass": lambda: SpectralClassifier(**POOLED).fit(X, CUTS),
    "quantiles": lambda: SpectralQuantileRegressor((0.1, 0.5, 0.9), monotonic_cst={"income": 1}, **POOLED).fit(X, Y),
    "one quantile": lambda: SpectralQuantileRegressor([0.3], **POOLED).fit(X, Y),
    "ordinal": lambda: SpectralOrdinalClassifier(monotonic_cst={"income": 1}, **POOLED | {"dim": 7}).fit(X, CUTS),
    "sparse": lambda: SpectralRegressor(**POOLED).fit(SPARSE, SPARSE.sum(axis=1)),
    "wide": lambda: SpectralRegressor(**SMALL).fit(WIDE, np.resize(Y, 700)),
}
TABLES = {"sparse": SPARSE, "wide": WIDE, "straight": NUMBERS}
KINDS = list(MODELS)
HONEST = [kind for kind in KINDS if kind != "wide"]


@cache
def fitted(kind):
    """A model that is shared by all tests: never change it, change a copy."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column .* levels", UserWarning)  # pooled, as requested
        return MODELS[kind]()


def rows_of(kind):
    return TABLES.get(kind, X)


def changed(estimator, **attributes):
    """A copy of an estimator whose frozen model differs in these attributes."""
    copy = deepcopy(estimator)
    copy.model_ = copy.model_.replace(**attributes)
    return copy


def with_columns(estimator, columns, **attributes):
    """A copy whose encoder has other columns."""
    encoder = replace(estimator.model_.encoder, columns=tuple(columns))
    return changed(estimator, encoder=encoder, **attributes)


def at_indices(estimator, *indices):
    """A copy that reads other eigenvalues."""
    return changed(estimator, outputs=replace(estimator.model_.outputs, indices=indices))


def own_coef(kind):
    """A shared model, and a copy of its coefficients to change."""
    model = fitted(kind)
    return model, model.model_.coef.copy()


def almost_equal_quantiles(apart=1e-16):
    """Quantiles that are apart by less than rounding, so that raw scores of neighbours cross."""
    model, coef = own_coef("quantiles")
    coef[:, model.model_.encoder.n_design :] *= apart
    return changed(model, coef=coef)
