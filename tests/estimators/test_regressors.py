"""Regressors: accuracy, losses, offsets, units, and quantiles that never cross.

Tests ``quantile_regressor``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fitted_models import almost_equal_quantiles, rows_of
from sklearn.linear_model import LinearRegression

from lambdak import SpectralQuantileRegressor, SpectralRegressor
from lambdak.eigen.packing import sym


@pytest.mark.slow
def test_regressor_finds_an_interaction_that_a_linear_model_cannot(table):
    X, y = table
    model = SpectralRegressor(random_state=0).fit(X[:2000], y[:2000])
    linear = LinearRegression().fit(pd.get_dummies(X[:2000]).fillna(50), y[:2000])
    ours = model.score(X[2000:], y[2000:])
    assert ours > 0.88
    assert ours > linear.score(pd.get_dummies(X[2000:]).fillna(50), y[2000:]) + 0.1


def test_quantiles_never_cross_and_cover_what_they_should():
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (4000, 2))
    y = X[:, 0] + (0.3 + np.abs(X[:, 1])) * rng.standard_normal(4000)
    levels = (0.1, 0.5, 0.9)
    model = SpectralQuantileRegressor(levels, effort="fast", random_state=0).fit(X[:3000], y[:3000])
    far = rng.uniform(-10, 10, (20_000, 2))
    assert (np.diff(model.predict_quantiles(far), axis=1) >= 0).all()
    below = (y[3000:, None] <= model.predict_quantiles(X[3000:])).mean(axis=0)
    np.testing.assert_allclose(below, levels, atol=0.06)
    assert np.array_equal(model.predict_interval(X), model.predict_quantiles(X)[:, [0, 2]])
    assert np.array_equal(model.predict(X), model.predict_quantiles(X)[:, 1])
    width = np.diff(model.predict_interval(np.array([[0.0, 0.0], [0.0, 2.0]])), axis=1)[:, 0]
    assert width[1] > 1.5 * width[0]


def test_quantiles_rise_where_raw_scores_cross_by_rounding():
    model, X = almost_equal_quantiles(), rows_of("quantiles")
    assert (np.diff(model.model_.raw(X)) < 0).any()
    assert (np.diff(model.predict_quantiles(X)) >= 0).all()
    predictor, rows = model.predictor(), X.to_dict("records")
    for row, quantiles in zip(rows, model.predict_quantiles(X).tolist(), strict=True):
        own = predictor.predict_quantiles(row)
        assert sorted(own) == list(own)
        assert predictor.predict(row) == own[1]
        np.testing.assert_allclose(own, quantiles, rtol=1e-14)


def test_steps_from_quantile_to_quantile_are_semidefinite(table):
    X, y = table
    model = SpectralQuantileRegressor((0.1, 0.3, 0.5, 0.9), effort="fast", n_estimators=3, random_state=0).fit(X, y)
    for pencil in model.model_.pencils:
        for step in np.diff(pencil.packed[-4:], axis=0):
            assert np.linalg.eigvalsh(sym(step)).min() > -1e-12


@pytest.mark.slow
def test_several_quantiles_of_one_model_are_as_good_as_separate_models(table):
    X, y = table
    levels = (0.1, 0.5, 0.9)
    together = SpectralQuantileRegressor(levels, random_state=0).fit(X[:2000], y[:2000]).predict_quantiles(X[2000:])
    losses = []
    for q, predicted in zip(levels, together.T, strict=True):
        alone = SpectralRegressor("quantile", quantile=q, random_state=0).fit(X[:2000], y[:2000]).predict(X[2000:])
        losses.append([np.maximum(q * e, (q - 1) * e).mean() for e in (y[2000:] - predicted, y[2000:] - alone)])
    joint, separate = np.mean(losses, axis=0)
    assert joint < 1.1 * separate


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]
)
def test_every_loss_beats_the_constant(loss):
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, (1500, 2))
    y = rng.poisson(np.exp(1 + X[:, 0])) + (1.0 if loss == "gamma" else 0.0)
    model = SpectralRegressor(loss, effort="fast", random_state=0).fit(X, y)
    constant = model.model_.loss.value(np.full((1, len(y)), model.model_.start[0]), y.astype(float))[0]
    fitted = model.model_.loss.value(model._raw(X)[None], y.astype(float))[0]
    assert fitted < 0.97 * constant


def test_offset_is_added_to_the_raw_score():
    rng = np.random.default_rng(7)
    X, exposure = rng.uniform(-1, 1, (2000, 1)), rng.uniform(0.1, 2, 2000)
    y = rng.poisson(exposure * np.exp(X[:, 0]))
    model = SpectralRegressor("poisson", effort="fast", random_state=0).fit(X, y, offset=np.log(exposure))
    np.testing.assert_allclose(model.predict(X, offset=np.log(exposure)), exposure * model.predict(X), rtol=1e-4)
    grid = np.linspace(-1, 1, 41)
    assert np.abs(model.predict(grid[:, None]) / np.exp(grid) - 1).mean() < 0.15


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma"])
def test_predictions_of_the_training_rows_add_up_to_the_targets(table, loss):
    X, y = table
    target = np.exp(y - y.max()) + 0.1
    model = SpectralRegressor(loss, effort="fast", random_state=0).fit(X, target)
    weight = 1 / model.predict(X) if loss == "gamma" else np.ones(len(X))  # a deviance weighs by the variance
    np.testing.assert_allclose(np.sum(weight * model.predict(X)), np.sum(weight * target), rtol=1e-4)


def test_weights_decide_between_contradicting_rows():
    X = np.tile([[0.0], [1.0]], (300, 1))
    y = np.concatenate([np.tile([0.0, 1.0], 150), np.tile([1.0, 0.0], 150)])
    weight = np.repeat([10.0, 0.1], 300)
    model = SpectralRegressor(effort="fast", random_state=0).fit(X, y, sample_weight=weight)
    assert np.diff(model.predict([[0.0], [1.0]]))[0] > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared_error", "huber", "absolute_error"])
def test_units_of_the_target_do_not_matter(table, loss):
    X, y = table
    settings = {"effort": "fast", "max_iter": 5, "random_state": 0}
    plain = SpectralRegressor(loss, **settings).fit(X, y).score(X, y)
    for unit, shift in ((1e-12, 0.0), (1e12, 0.0), (1.0, 1e8), (1e30, 0.0)):
        other = SpectralRegressor(loss, **settings).fit(X, unit * y + shift)
        assert other.score(X, unit * y + shift) == pytest.approx(plain, abs=0.02)
