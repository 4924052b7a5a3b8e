"""Categories of many levels: close to what is best, the same as trained, and everything that is promised.

Tests ``level_caps``, ``level_curves`` and ``trained_columns``.
"""

from __future__ import annotations

import numpy as np
import pytest
from level_cases import FAST, QUICK, many_levels
from sklearn.metrics import r2_score

from lambdak import IdentifierWarning, SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.model.model import evaluate
from lambdak.training.draft import Draft
from lambdak.training.rows import GivenRows


def shrunken(X, y, other):
    """What the best linear model with known variances predicts: slopes are known, effects are shrunken means."""
    left = y - 0.5 * X["b"]
    sums, count = left.groupby(X["code"]).sum(), left.groupby(X["code"]).size()
    return other["code"].map(sums / (count + 0.49)).fillna(0.0) + 0.5 * other["b"]


@pytest.mark.parametrize("levels", [100, 600])
def test_many_levels_are_fitted_about_as_well_as_with_known_variances(levels):
    X, y, other, unseen = many_levels(levels)
    model = SpectralRegressor(**FAST).fit(X, y)
    assert r2_score(unseen, model.predict(other)) > r2_score(unseen, shrunken(X, y.copy(), other)) - 0.03


def test_classes_are_known_from_their_levels_alone():
    rng = np.random.default_rng(0)
    level, effect = rng.integers(0, 100, 4000), 2 * rng.standard_normal(100)
    y = rng.random(4000) < 1 / (1 + np.exp(-effect[level]))  # most rows have many equals
    X = np.array([f"level {i}" for i in level], object)[:, None]
    for weight in (None, rng.uniform(0.5, 1.5, 4000), rng.integers(1, 4, 4000)):
        model = SpectralClassifier(**FAST).fit(X, y, sample_weight=weight)
        assert np.corrcoef(model.decision_function(X), effect[level])[0, 1] > 0.9


def test_slopes_that_differ_between_levels_are_found():
    X, y, other, unseen = many_levels(300, slope=0.7)
    found = r2_score(unseen, SpectralRegressor(**FAST).fit(X, y).predict(other))
    assert found > r2_score(unseen, shrunken(X, y, other)) + 0.05


def test_levels_that_mean_nothing_do_no_harm():
    X, _, other, _ = many_levels(300)
    y, unseen = X["b"].to_numpy(), other["b"].to_numpy()
    noise = np.random.default_rng(1).standard_normal(len(y))
    model = SpectralRegressor(**FAST).fit(X, y + noise)
    plain = SpectralRegressor(**FAST).fit(X.drop(columns="code"), y + noise)
    assert r2_score(unseen, model.predict(other)) > r2_score(unseen, plain.predict(other.drop(columns="code"))) - 0.02


def test_a_level_of_its_own_for_every_row_changes_nothing():
    X, y, _, _ = many_levels(60, rows=5)
    X = X.assign(code=[f"row {i}" for i in range(len(X))])
    with pytest.warns(IdentifierWarning, match=r"'code' \(300 different texts in 300 rows\)"):
        model = SpectralRegressor(**QUICK).fit(X, y)
    assert model.feature_strengths_[2] == 0.0


@pytest.mark.parametrize("kind", ["regressor", "classes", "quantiles"])
def test_folding_levels_in_changes_no_score(kind):
    X, y, _, _ = many_levels(50, rows=20)
    model = {
        "regressor": SpectralRegressor(**QUICK),
        "classes": SpectralClassifier(**QUICK),
        "quantiles": SpectralQuantileRegressor((0.2, 0.8), **QUICK),
    }[kind].fit(X, np.digitize(y, [-0.5, 0.5]) if kind == "classes" else y)
    state, fitted = model._state, model.model_
    rows = GivenRows(X, y).encoded(fitted.encoder)
    design = state.plan.trained.design(rows.design)
    assert design.ids.max() < state.plan.trained.n_design < fitted.encoder.n_design
    rng = np.random.default_rng(0)
    extra = len(fitted.outputs.quantile_levels)
    coef = rng.standard_normal((2, state.plan.trained.n_design + extra, 16)).astype(np.float32)
    folded = state.plan.trained.matrices(coef)
    sizes = (coef, design, state.plan.trained.n_design), (folded, rows.design, fitted.encoder.n_design)
    trained, whole = (
        evaluate(np.ascontiguousarray(some), 5, (2,), fitted.outputs.expand(own, size), None, 1)
        for some, own, size in sizes
    )
    np.testing.assert_allclose(trained, whole, atol=1e-4)


def test_an_unseen_level_is_trained_as_one_without_other_rows():
    X, y, other, _ = many_levels(60)
    model = SpectralRegressor(**FAST).fit(X, y)
    effect = model.predict(other.assign(code="never seen")) - 0.5 * other["b"]
    assert abs(effect.mean() - y.mean()) < 0.15
    assert len(model.model_.encoder.columns[2].levels) == 60


def test_the_same_seed_gives_the_same_bits_whatever_the_threads():
    X, y, _, _ = many_levels(80)
    one, two = (SpectralRegressor(**QUICK | {"n_jobs": jobs}).fit(X, y) for jobs in (1, 2))
    assert one.model_.coef.tobytes() == two.model_.coef.tobytes()


def test_training_continues_with_the_same_levels():
    X, y, other, unseen = many_levels(80)
    model = SpectralRegressor(**QUICK | {"max_iter": 8}).fit(X, y)
    before = model.predict(other)
    trained = model._state.plan.trained
    model.partial_fit(X.assign(code=np.where(np.arange(len(X)) < 5, "new", X["code"])), y)
    assert model._state.plan.trained is trained
    after = model.predict(other)
    assert (before != after).any()
    assert r2_score(unseen, after) > r2_score(unseen, before) - 0.05


@pytest.mark.parametrize("cap", [0.3, 1e-3])
def test_a_cap_on_many_levels_holds_and_is_made_use_of(cap):
    X, y, _, _ = many_levels(700, rows=6)
    model = SpectralRegressor(max_influence={"code": cap}, **QUICK).fit(X, y)
    assert 0.8 * cap <= model.feature_strengths_[2] <= cap
    assert all(claim.proven for claim in model.certify().claims if claim.requested)
    scores = model.predict(X.head(1).loc[[X.index[0]] * 700].assign(code=X["code"].unique()))
    assert np.ptp(scores) <= cap


def test_convex_models_keep_their_shape_beside_many_levels():
    X, y, _, _ = many_levels(60)
    model = SpectralRegressor(shape="convex", monotonic_cst={"b": 1}, **QUICK).fit(X, y + X["a"].to_numpy() ** 2)
    assert all(claim.proven for claim in model.certify().claims if claim.requested)


def test_rare_levels_of_a_narrow_category_share_a_matrix():
    X, y, _, _ = many_levels(6, rows=50)
    X = X.assign(code=np.where(np.arange(len(X)) < 4, [f"rare {i % 2}" for i in range(len(X))], X["code"]))
    model = SpectralRegressor(**QUICK).fit(X, y).model_
    levels, own = model.encoder.columns[2].levels, model.coef[:, model.encoder.columns[2].start :]
    first, second = (own[:, levels.index(f"rare {i}")] for i in (0, 1))
    assert (first == second).all()
    assert len(levels) == 8


def test_a_draft_of_a_model_has_the_columns_of_its_table():
    X, y, _, _ = many_levels(50, rows=6)
    model = SpectralRegressor(**QUICK).fit(X, y).model_
    assert Draft.of(model).trained.columns == list(model.encoder.columns)
