"""Scale: weights have none, targets of any size are fitted alike or refused, and every number of a fit is finite."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from fit_cases import X, Y, new

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, load
from lambdak.training import finish as fit_module

IDENTITY_LOSSES = ["squared_error", "absolute_error", "huber", "quantile"]
WEIGHT = np.random.default_rng(2).uniform(0.5, 2.0, len(Y))
CLASSES = np.digitize(Y, [-0.3, 0.3])
SETTINGS = {"effort": "fast", "max_iter": 3, "random_state": 0}
OTHERS = {
    "quantiles": lambda weight: SpectralQuantileRegressor(**SETTINGS).fit(X, Y, weight).predict_quantiles(X),
    "two classes": lambda weight: SpectralClassifier(**SETTINGS).fit(X, Y > 0, weight).predict_proba(X),
    "three classes": lambda weight: SpectralClassifier(**SETTINGS).fit(X, CLASSES, weight).predict_proba(X),
    "ordered": lambda weight: SpectralOrdinalClassifier(**SETTINGS).fit(X, CLASSES, weight).predict_proba(X),
    **{loss: lambda weight, loss=loss: new(loss=loss).fit(X, Y, weight).predict(X) for loss in IDENTITY_LOSSES},
    "poisson": lambda weight: new(loss="poisson").fit(X, Y + 2, weight).predict(X),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_equal_weights_are_as_none_to_the_last_bit_whatever_their_size(kind):
    expected = OTHERS[kind](None)
    for constant in (3.0, 1e39, 1e-50, 1e308, 5e-324):
        np.testing.assert_array_equal(OTHERS[kind](np.full(len(Y), constant)), expected)


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("power", [-1000, 1000])
def test_weights_times_a_power_of_two_change_not_a_bit(kind, power):
    np.testing.assert_array_equal(OTHERS[kind](np.ldexp(WEIGHT, power)), OTHERS[kind](WEIGHT))


def test_weights_that_are_mixed_over_the_whole_range_fit_the_heavy_rows():
    rng = np.random.default_rng(0)
    heavy = rng.random(len(Y)) < 0.5
    for weight in (np.where(heavy, 1e300, 1e-300), np.where(heavy, 1e-10, 5e-324)):
        predicted = new().fit(X, np.where(heavy, Y, 1e6), weight).predict(X)
        assert np.corrcoef(predicted[heavy], Y[heavy])[0, 1] > 0.8
    model = new().fit(X, Y, 10.0 ** rng.uniform(-300, 300, len(Y)))
    assert np.isfinite(model.predict(X)).all()


def test_class_weights_and_weights_may_both_be_huge():
    plain = SpectralClassifier(class_weight={False: 1, True: 2}, **SETTINGS).fit(X, Y > 0, WEIGHT)
    huge = SpectralClassifier(class_weight={False: 2.0**1000, True: 2.0**1001}, **SETTINGS)
    huge.fit(X, Y > 0, np.ldexp(WEIGHT, 1000))
    np.testing.assert_array_equal(huge.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("loss", IDENTITY_LOSSES)
@pytest.mark.parametrize("unit", [2.0**-990, 2.0**990, 1e-162, 1e155, 1e-290, 1e290])
def test_predictions_follow_the_units_of_the_target(loss, unit):
    expected = new(loss=loss).fit(X, Y).predict(X)
    predicted = new(loss=loss).fit(X, unit * Y).predict(X)
    exact = np.frexp(unit)[0] == 0.5
    np.testing.assert_allclose(predicted / unit, expected, rtol=0, atol=0.0 if exact else 1e-13)


@pytest.mark.parametrize("unit", [2.0**-990, 1e155])
def test_quantiles_follow_the_units_of_the_target_and_keep_their_order(unit):
    expected = SpectralQuantileRegressor(**SETTINGS).fit(X, Y).predict_quantiles(X)
    predicted = SpectralQuantileRegressor(**SETTINGS).fit(X, unit * Y + unit).predict_quantiles(X)
    np.testing.assert_allclose(predicted / unit - 1.0, expected, rtol=0, atol=1e-6)
    assert (np.diff(predicted, axis=1) >= 0).all()


@pytest.mark.parametrize("unit", [1e-290, 1e155, 1e290])
def test_a_model_of_huge_or_tiny_targets_is_capped_saved_and_explained(unit, tmp_path):
    model = new(max_influence={0: 0.5 * unit}, monotonic_cst={1: 1}).fit(X, unit * Y)
    plain = new(max_influence={0: 0.5}, monotonic_cst={1: 1}).fit(X, Y)
    np.testing.assert_allclose(model.feature_strengths_ / unit, plain.feature_strengths_, rtol=1e-12)
    np.testing.assert_allclose(model.feature_importances_ / unit, plain.feature_importances_, rtol=1e-12)
    local, same = model.explain_local(X[:5]), plain.explain_local(X[:5])
    np.testing.assert_allclose(local.attribution / unit, same.attribution, rtol=0, atol=1e-7)
    pairs = zip(model.explain_global(X[:20]).interactions, plain.explain_global(X[:20]).interactions, strict=True)
    for one, two in pairs:
        assert (one.joint / unit, one.h_statistic) == pytest.approx((two.joint, two.h_statistic), rel=1e-6)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "model.safetensors").predict(X), model.predict(X))


@pytest.mark.parametrize("level", [0.0, 1e-200, 1.0, 1e200])
def test_a_constant_of_any_size_is_predicted(level):
    predicted = new(max_iter=None).fit(X, np.full(len(Y), level)).predict(X)
    np.testing.assert_allclose(predicted, level, rtol=1e-4, atol=0 if level else 1e-4)


@pytest.mark.parametrize("unit", [1e-305, 1e302])
def test_targets_beyond_the_limits_are_refused_with_the_way_out(unit):
    with pytest.raises(
        ValueError, match=r"y must (spread by at least|be within) .*: (multiply|divide) y by a constant"
    ):
        new().fit(X, unit * Y)


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile"])
def test_a_robust_loss_survives_any_outlier(loss):
    y = Y.copy()
    y[3] = 1e300
    predicted = new(loss=loss, max_iter=None).fit(X, y).predict(X)
    assert np.corrcoef(np.delete(predicted, 3), np.delete(Y, 3))[0, 1] > 0.9


@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
@pytest.mark.parametrize("unit", [1e-300, 1e-12])
def test_rare_events_are_fitted_as_frequent_ones_are(loss, unit):
    expected = new(loss=loss).fit(X, np.exp(Y)).predict(X)
    np.testing.assert_allclose(new(loss=loss).fit(X, unit * np.exp(Y)).predict(X) / unit, expected, rtol=1e-2)


@pytest.mark.parametrize("far", [16777217.0, 1e12])
def test_an_offset_keeps_its_digits_in_training_and_prediction(far):
    short = {"max_iter": 1}  # longer training magnifies the rounding of Y + far
    plain, shifted = new(**short).fit(X, Y), new(**short).fit(X, Y + far, offset=np.full(len(Y), far))
    np.testing.assert_allclose(shifted.predict(X), plain.predict(X), atol=1e-12 * far)
    np.testing.assert_allclose(plain.predict(X, offset=far) - far, plain.predict(X), rtol=0, atol=1e-15 * far)


def test_rows_without_weight_may_have_targets_of_any_size():
    rows = np.random.default_rng(0).uniform(-1, 1, (5200, 1))
    y, weight = rows[:, 0].copy(), np.random.default_rng(1).uniform(0.5, 2.0, 5200)
    y[:3], weight[:3] = 1e300, 0.0
    predicted = new().fit(rows, y, weight).predict(rows)
    assert np.corrcoef(predicted[3:], y[3:])[0, 1] > 0.99


@pytest.mark.parametrize("warm", [True, False])
def test_a_fit_that_fails_leaves_the_model_as_it_was(warm):
    model = new(warm_start=True).fit(X, Y)
    before, predicted = model.model_, model.predict(X)
    with pytest.raises(ValueError, match=r"got 1e\+300: fit a new model"):
        model.fit(X, np.full(len(Y), 1e300)) if warm else model.partial_fit(X, np.full(len(Y), 1e300))
    assert model.model_ is before
    np.testing.assert_array_equal(model.predict(X), predicted)


def test_matrices_that_are_not_finite_are_never_kept(monkeypatch):
    model = new(warm_start=True).fit(X, Y)
    before, matrices_of = model.model_, fit_module.matrices_of
    monkeypatch.setattr(fit_module, "matrices_of", lambda *given: matrices_of(*given) * np.float32(np.nan))
    for run in (lambda: model.fit(X, Y), lambda: model.partial_fit(X, Y), lambda: new().fit(X, Y)):
        with pytest.raises(ValueError, match="the fit failed: coef of the model is not finite"):
            run()
    assert model.model_ is before


@pytest.mark.parametrize("value", [10**400, -(10**5000), Decimal("1e400")], ids=["int", "negative int", "decimal"])
def test_numbers_beyond_float64_are_named_wherever_they_come(value):
    beside = np.array([*Y[:-1], value], object)
    model, row = new().fit(X, Y), len(Y) - 1
    calls = {
        "y": lambda: new().fit(X, beside),
        "sample_weight": lambda: new().fit(X, Y, beside),
        "offset": lambda: new().fit(X, Y, offset=beside),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=rf"{name} must fit into float64.*; got -?1e\+\d+ at row {row}"):
            call()
    with pytest.raises(ValueError, match=r"offset must fit into float64.*; got -?1e\+\d+ at row 0"):
        model.predict(X, offset=value)


def test_a_table_that_holds_a_number_beyond_float64_names_column_and_row():
    table = pd.DataFrame({"age": pd.Series([*range(99), 10**400], dtype=object)})
    with pytest.raises(ValueError, match=r"column 'age' contains .*; got 1e\+400 in row 99"):
        new().fit(table, Y[:100])
    model = new().fit(pd.DataFrame({"age": range(100)}), Y[:100])
    with pytest.raises(ValueError, match=r"column 'age' contains .*; got 1e\+400 in row 99"):
        model.predict(table)
    with pytest.raises(TypeError, match="column 'age' is made of decimals"):
        new().fit(pd.DataFrame({"age": [Decimal("1e400")] * 100}), Y[:100])
