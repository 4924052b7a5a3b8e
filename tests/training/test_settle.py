"""Caps hold for what is computed, and a model that is nothing but rounding is constant."""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import SMALL, X, Y, fitted

from lambdak import SpectralClassifier, SpectralRegressor
from lambdak.training.finish import settled


@pytest.mark.parametrize("cap", [1e-300, 1e-13, 1e-12, 1e-9, 1e-6, 0.1])
@pytest.mark.parametrize("signs", [None, {"income": 1}])
def test_caps_hold_for_computed_scores_however_small_they_are(cap, signs):
    model = SpectralRegressor(max_influence={"income": cap}, monotonic_cst=signs, **SMALL).fit(X, Y)
    assert model.feature_strengths_[0] <= cap
    assert model.certify().holds
    assert model.certify(exact=True).holds
    low, high = X.assign(income=X["income"].min()), X.assign(income=X["income"].max())
    assert np.abs(model.predict(high) - model.predict(low)).max() <= cap


@pytest.mark.parametrize("cap", [1e-13, 1e-11])
def test_caps_of_everything_at_the_size_of_rounding_leave_a_constant(cap):
    model = SpectralRegressor(max_influence=cap, **SMALL).fit(X, Y)
    assert model.certify().holds
    assert not model.feature_strengths_.any()
    assert np.ptp(model.predict(X)) == 0.0


def test_every_class_keeps_its_cap():
    model = SpectralClassifier(max_influence={"income": 1e-9}, **SMALL).fit(X, np.digitize(Y, [0.5, 1.5]))
    assert model.feature_strengths_[0] <= 1e-9
    assert model.certify(exact=True).holds


@pytest.mark.parametrize("settings", [{"monotonic_cst": {"income": 1}}, {"max_influence": 0.5}, {"shape": "convex"}])
@pytest.mark.parametrize("target", [np.zeros(len(Y)), np.full(len(Y), 1e6) + 1e-12 * Y], ids=["zero", "constant"])
def test_targets_without_signal_end_with_promises_that_hold(settings, target):
    model = SpectralRegressor(**settings, **SMALL).fit(X, target)
    assert model.certify().holds


@pytest.mark.parametrize("kind", ["free", "regressor", "capped", "convex", "quantiles", "multiclass"])
def test_a_model_that_keeps_its_promises_stays_as_it_is(kind):
    assert settled(fitted(kind).model_) is fitted(kind).model_


@pytest.mark.parametrize("away", [1e9, 1e11])
def test_targets_far_from_zero_keep_their_signal(away):
    for settings in ({}, {"monotonic_cst": {"income": 1}}):
        model = SpectralRegressor(effort="fast", random_state=0, **settings).fit(X, Y + away)
        assert np.corrcoef(model.predict(X) - away, Y)[0, 1] > 0.9
        assert model.certify().holds


def test_targets_so_far_from_zero_that_rounding_matters_are_refused_where_something_was_requested():
    away = Y + 1e14
    with pytest.raises(ValueError, match=r"rounding matters: raw scores are about 1e.14 .* subtract a constant from y"):
        SpectralRegressor(monotonic_cst={"income": 1}, **SMALL).fit(X, away)
    model = SpectralRegressor(effort="fast", random_state=0).fit(X, away)
    assert np.ptp(model.predict(X)) > 1
    assert not any(claim.proven for claim in model.certify().claims)
    assert "Nothing is proven: computing a raw score can err by" in str(model.certify())
