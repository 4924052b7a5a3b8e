"""Guarantees of fitted estimators hold on every row: monotone, convex, capped, zero, never crossing."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak import SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor


def random_pairs(X, column, rng, n=20_000):
    """Random rows, twice: only `column` differs, and is larger in the second."""
    rows = X.iloc[rng.integers(0, len(X), n)].reset_index(drop=True)
    spread = np.nanmax(X[column]) - np.nanmin(X[column])
    ends = np.sort(
        rng.uniform(np.nanmin(X[column]) - 0.2 * spread, np.nanmax(X[column]) + 0.2 * spread, (n, 2)), axis=1
    )
    return rows.assign(**{column: ends[:, 0]}), rows.assign(**{column: ends[:, 1]})


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1, -1])
def test_monotone_columns_hold_on_random_pairs(table, sign):
    X, y = table
    rng = np.random.default_rng(1)
    # requested against the data for -1: a guarantee does not depend on what the data say
    model = SpectralRegressor(monotonic_cst={"income": sign, "age": sign}, effort="fast", random_state=0).fit(X, y)
    for column in ("income", "age"):
        low, high = random_pairs(X, column, rng)
        assert (sign * (model.predict(high) - model.predict(low)) >= -1e-5).all(), column
    if sign == 1:
        assert model.score(X, y) > 0.6


def test_monotone_pencils_are_semidefinite_from_knot_to_knot(table):
    X, y = table
    model = SpectralRegressor(monotonic_cst={"income": 1}, effort="fast", random_state=0).fit(X, y)
    column = model.model_.encoder.columns[0]
    for pencil in model.model_.pencils:
        steps = np.diff(pencil.matrices[column.start : column.start + len(column.knots)].astype(np.float64), axis=0)
        assert np.linalg.eigvalsh(steps).min() > -1e-5


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "sign"), [("convex", 1), ("concave", -1)])
def test_shaped_models_are_convex_or_concave_on_random_segments(shape, sign):
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, (1500, 3))
    y = sign * (np.abs(X[:, 0] + X[:, 1]) + X[:, 2] ** 2) + 0.05 * rng.standard_normal(1500)
    model = SpectralRegressor(shape=shape, dim=9, effort="fast", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    a, b = rng.uniform(-4, 4, (2, 5000, 3))
    t = rng.uniform(0, 1, (5000, 1))
    chord = t[:, 0] * model.predict(a) + (1 - t[:, 0]) * model.predict(b)
    assert (sign * (chord - model.predict(t * a + (1 - t) * b)) >= -1e-4).all()


def test_feature_strengths_bound_every_change_of_a_column(table):
    X, y = table
    rng = np.random.default_rng(3)
    model = SpectralRegressor(effort="fast", random_state=0).fit(X, y)
    strengths = dict(zip(X.columns, model.feature_strengths_, strict=True))
    for column in X.columns:
        other = X.iloc[rng.permutation(len(X))].reset_index(drop=True)
        change = model.predict(X.reset_index(drop=True).assign(**{column: other[column]})) - model.predict(X)
        assert np.abs(change).max() <= strengths[column] + 1e-4
    assert strengths["noise"] < strengths["income"]


def test_an_unseen_level_is_the_average_level_and_stays_within_the_bound(table):
    X, y = table
    model = SpectralRegressor(effort="fast", random_state=0).fit(X, y)
    seen = np.stack([model.predict(X.assign(region=level)) for level in ("north", "south", "west")])
    unseen = model.predict(X.assign(region="east"))
    assert (unseen > seen.min(axis=0) - 1e-3).mean() > 0.95
    assert (unseen < seen.max(axis=0) + 1e-3).mean() > 0.95
    assert np.abs(unseen - seen).max() <= model.feature_strengths_[3] * (1 + 1e-5)


@pytest.mark.parametrize(("classes", "sign"), [(6, 1), (6, -1), (2, 1)])
def test_the_predicted_class_of_an_ordinal_classifier_is_monotone(classes, sign):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (600, 3))
    level = X[:, 0] + np.sin(3 * X[:, 1]) * X[:, 2] + 0.5 * np.exp(X[:, 2]) * rng.standard_normal(600)
    y = np.digitize(sign * level, np.linspace(-1.5, 1.5, classes + 1)[1:-1])
    settings = {"effort": "fast", "max_iter": 20, "dim": 9, "n_estimators": 2, "random_state": 0}
    model = SpectralOrdinalClassifier(monotonic_cst=[sign, 0, 0], **settings).fit(X, y)
    low = rng.uniform(-2, 2, (200_000, 3))
    high = low.copy()
    low[:, 0], high[:, 0] = np.sort(rng.uniform(-2.5, 2.5, (200_000, 2)), axis=1).T
    assert not np.any(sign * (model.predict(high) - model.predict(low)) < 0)


def test_monotone_quantiles_never_fall_on_random_pairs(table):
    X, y = table
    settings = {"monotonic_cst": {"income": 1}, "effort": "fast", "max_iter": 5, "random_state": 0}
    model = SpectralQuantileRegressor((0.1, 0.5, 0.9), **settings).fit(X, y)
    low, high = random_pairs(X, "income", np.random.default_rng(1))
    assert (model.predict_quantiles(high) - model.predict_quantiles(low) >= -1e-5).all()


@pytest.mark.slow
@pytest.mark.parametrize("cap", [0.5, {"income": 0.3}])
def test_max_influence_is_never_exceeded(table, cap):
    X, y = table
    model = SpectralRegressor(effort="fast", max_influence=cap, random_state=0).fit(X, y)
    limits = np.full(4, cap) if isinstance(cap, float) else np.array([0.3, np.inf, np.inf, np.inf])
    assert (model.feature_strengths_ <= limits).all()
    assert model.feature_strengths_[0] > 0.9 * limits[0]  # the cap is used, not avoided
    low, high = (model.predict(X.assign(income=value)) for value in (0.0, 30.0))
    assert np.abs(high - low).max() <= limits[0]


@pytest.mark.slow
def test_alpha_makes_noise_columns_exactly_zero(table):
    X, y = table
    rng = np.random.default_rng(1)
    noisy = X.assign(**{f"noise{i}": rng.standard_normal(len(X)) for i in range(10)})
    model = SpectralRegressor(effort="fast", alpha=1.0, random_state=0).fit(noisy, y)
    zero = model.feature_strengths_ == 0
    assert zero[4:].all()
    assert not zero[[0, 1, 3]].any()


def test_convex_models_of_straight_columns_predict_in_double_precision(table):
    X, y = table
    model = SpectralRegressor(shape="convex", n_knots=0, dim=5, effort="fast", max_iter=2).fit(
        X[["income", "noise"]], y
    )
    assert model.model_.coef.dtype == np.float64


@pytest.mark.parametrize("shape", ["convex", "concave"])
def test_all_raw_scores_of_quantiles_and_ordered_classes_have_the_shape(table, shape):
    X, y = table
    settings = {"shape": shape, "effort": "fast", "max_iter": 1, "random_state": 0}
    cuts = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    targets = (SpectralOrdinalClassifier, cuts), (SpectralOrdinalClassifier, cuts > 0), (SpectralQuantileRegressor, y)
    for model, target in targets:
        claims = [each for each in model(**settings).fit(X, target).certify().claims if each.kind == shape]
        assert claims[0].proven
        assert claims[0].requested
