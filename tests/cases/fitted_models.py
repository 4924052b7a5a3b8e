"""Small fitted models of every kind, models with matrices made by hand, and scores rebuilt without the library."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit, softmax

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.table.columns import OTHER, Category, Linear

SMALL = {"effort": "fast", "max_iter": 3, "n_estimators": 2, "dim": 5, "random_state": 0, "n_jobs": 1}
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
    X.loc[:2, "region"] = "rare"  # too few rows for a matrix of its own
    y = np.sqrt(X["income"]) - 0.02 * age * (X["region"] == "north") + (X["kind"] == "a") + rng.normal(0, 0.2, rows)
    return X, y.to_numpy()


X, Y = table()
NUMBERS = X[["income", "age"]].assign(age=X["age"].fillna(50.0))
CUTS = np.digitize(Y, np.quantile(Y, [0.25, 0.5, 0.75]))
SPARSE = sparse.random_array((240, 4), density=0.4, rng=np.random.default_rng(1), format="csr")
WIDE = pd.DataFrame({"code": [f"c{i % 140}" for i in range(700)], "income": np.resize(X["income"], 700)})


MODELS = {
    "regressor": lambda: SpectralRegressor(monotonic_cst={"income": 1, "age": -1}, **SMALL).fit(X, Y),
    "free": lambda: SpectralRegressor(**SMALL).fit(X, Y),
    "capped": lambda: SpectralRegressor(max_influence={"income": CAP, "region": CAP}, **SMALL).fit(X, Y),
    "linear": lambda: SpectralRegressor(n_knots=0, **SMALL).fit(X, Y),
    "convex": lambda: SpectralRegressor(shape="convex", monotonic_cst={"income": 1}, **SMALL).fit(X, Y),
    "concave": lambda: SpectralRegressor(shape="concave", **SMALL).fit(X, Y),
    "straight": lambda: SpectralRegressor(shape="convex", n_knots=0, **SMALL | {"dim": 1}).fit(NUMBERS, Y),
    "additive": lambda: SpectralRegressor(**SMALL | {"dim": 1}).fit(X, Y),
    "single": lambda: SpectralRegressor(**SMALL | {"n_estimators": 1}).fit(X, Y),
    "poisson": lambda: SpectralRegressor("poisson", **SMALL).fit(X, np.maximum(Y, 0)),
    "binary": lambda: SpectralClassifier(monotonic_cst={"income": 1}, **SMALL).fit(X, np.where(Y > 1.5, "yes", "no")),
    "multiclass": lambda: SpectralClassifier(**SMALL).fit(X, CUTS),
    "quantiles": lambda: SpectralQuantileRegressor((0.1, 0.5, 0.9), monotonic_cst={"income": 1}, **SMALL).fit(X, Y),
    "one quantile": lambda: SpectralQuantileRegressor([0.3], **SMALL).fit(X, Y),
    "ordinal": lambda: SpectralOrdinalClassifier(monotonic_cst={"income": 1}, **SMALL | {"dim": 7}).fit(X, CUTS),
    "sparse": lambda: SpectralRegressor(**SMALL).fit(SPARSE, SPARSE.sum(axis=1)),
    "wide": lambda: SpectralRegressor(**SMALL).fit(WIDE, np.resize(Y, 700)),
}
TABLES = {"sparse": SPARSE, "wide": WIDE, "straight": NUMBERS}
KINDS = list(MODELS)
HONEST = [kind for kind in KINDS if kind != "wide"]


@cache
def fitted(kind):
    """A model that is shared by all tests: never change it, change a copy."""
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


# ---- scores, from the coefficients and the columns alone


def unpacked(packed):
    """Symmetric matrices (..., d, d) from their lower triangles, off-diagonals over √2."""
    packed = np.asarray(packed, np.float64)
    dim = int((np.sqrt(8 * packed.shape[-1] + 1) - 1) / 2)
    i, j = np.tril_indices(dim)
    out = np.zeros((*packed.shape[:-1], dim, dim))
    out[..., i, j] = out[..., j, i] = packed / np.where(i == j, 1.0, np.sqrt(2.0))
    return out


def packed_from(matrix):
    i, j = np.tril_indices(len(matrix))
    return np.asarray(matrix, float)[i, j] * np.where(i == j, 1.0, np.sqrt(2.0))


def matrices(model, member=0):
    """All matrices of one member, (P, d, d)."""
    return unpacked(model.model_.coef[member][:, : model.model_.dim * (model.model_.dim + 1) // 2])


def gap_in(cell):
    return cell is None or cell != cell


def cell_weights(column, cell):
    """How a cell mixes the column's matrices, as the documentation of the columns says."""
    own = np.zeros(column.stop - column.start)
    if isinstance(column, Category):
        level = None if gap_in(cell) else cell
        found = level if level in column.levels else OTHER
        if found in column.levels:
            own[column.levels.index(found)] = 1.0
        return own
    if gap_in(cell):
        if column.missing >= 0:
            own[column.missing - column.start] = 1.0
            return own
        cell = column.median
    x = min(max(cell, column.low), column.high) if column.clamp else cell
    if isinstance(column, Linear):
        own[0] = (x - column.center) / column.scale
    elif len(column.knots) == 1:
        own[0] = 1.0
    else:
        j = int(np.clip(np.searchsorted(column.knots, x, side="right") - 1, 0, len(column.knots) - 2))
        t = (x - column.knots[j]) / (column.knots[j + 1] - column.knots[j])
        own[[j, j + 1]] = 1.0 - t, t
    return own


def row_matrices(model, cells, output=0):
    """A(row) of each member of one output, (members, d, d); ``cells`` are in the order of the columns."""
    stack = []
    for member in range(
        output if model.model_.outputs.pencils > 1 else 0, len(model.model_.coef), model.model_.outputs.pencils
    ):
        C = matrices(model, member)
        A = C[0] + (C[model.model_.encoder.n_design + output] if model.model_.outputs.quantile_levels else 0.0)
        for column, cell in zip(model.model_.encoder.columns, cells, strict=True):
            A = A + np.tensordot(cell_weights(column, cell), C[column.start : column.stop], 1)
        stack.append(A)
    return np.array(stack)


def score_by_hand(model, cells, output=0):
    index = model.model_.outputs.indices[output if len(model.model_.outputs.indices) > 1 else 0]
    start = model.model_.start[output if len(model.model_.start) > output else 0]
    values = [np.linalg.eigvalsh(A)[index] for A in row_matrices(model, cells, output)]
    return start + model.model_.scale * np.dot(model.model_.weights, values)


def n_outputs(model):
    return len(model.model_.outputs.quantile_levels) or max(
        model.model_.outputs.pencils, len(model.model_.outputs.indices)
    )


def predictions_of(model, rows, output):
    """What ``predict`` and its like say about one output, in the precision of the model."""
    if model.model_.outputs.quantile_levels:
        return model.predict_quantiles(rows)[:, output]
    if not hasattr(model, "classes_"):
        return model.predict(rows)
    shares = model.predict_proba(rows)
    if len(model.model_.outputs.indices) > 1:
        return shares.cumsum(axis=1)[:, output]
    return shares[:, output if model.model_.outputs.pencils > 1 else 1]


def predicted_by_hand(model, scores, output):
    """Predictions of one output from the scores (..., outputs) of all."""
    if model.model_.outputs.pencils > 1:
        return softmax(scores, axis=-1)[..., output]
    own = scores[..., output]
    if hasattr(model, "classes_"):
        return expit(own)
    return np.exp(own) if model.model_.loss.__class__.__name__ == "Poisson" else own


def cells_of(kind, row):
    rows = rows_of(kind)
    return rows.toarray()[row].tolist() if sparse.issparse(rows) else rows.iloc[row].tolist()


def random_cells(model, count, seed=0):
    """Lists of cells: numbers in and beyond the range, gaps, all levels, and a level that was never seen."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        row = []
        for column in model.model_.encoder.columns:
            if isinstance(column, Category):
                levels = ["never seen", *(level for level in column.levels if level is not OTHER)]
                row.append(levels[rng.integers(len(levels))])
            else:
                wide = 0.2 * (column.high - column.low)
                row.append(np.nan if rng.random() < 0.1 else rng.uniform(column.low - wide, column.high + wide))
        found.append(row)
    return found


def frame_of(model, cells):
    return pd.DataFrame(
        {
            column.name: pd.Series([row[i] for row in cells], dtype=float if column.is_number else object)
            for i, column in enumerate(model.model_.encoder.columns)
        }
    )


# ---- models with matrices made by hand


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
        replace(column, center=0.0, scale=1.0, low=low, high=high, median=0.0)
        for column in model.model_.encoder.columns
    ]
    return at_indices(with_columns(model, columns, coef=coef, start=np.zeros(1), scale=1.0), index)


def symmetric(rng, dim, size=1.0):
    A = rng.normal(size=(dim, dim))
    return size * (A + A.T) / 2


# ---- models that break what was asked of them


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


def _broken_cuts():
    return at_indices(fitted("ordinal"), 3, 2, 5)


def _broken_starts():
    return changed(fitted("ordinal"), start=np.array([0.0, -9.0, 1.0]))


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
    "eigenvalues out of order": (_broken_cuts, "cut-points", None),
    "cut-points that start apart": (_broken_starts, "cut-points", None),
    "a cap that is exceeded": (_broken_cap, "influence", "region"),
}


def broken(fault):
    """A model, and the kind and subject of the claim that it breaks."""
    make, kind, subject = BROKEN[fault]
    return make(), kind, subject
