"""What the demo computes, against closed forms and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score
from threadpoolctl import threadpool_limits

from lambdak.cli import demo_results

BMI, BLOOD_PRESSURE = 2, 3


@pytest.fixture(scope="module")
def patients():
    return demo_results.load_patients()


@pytest.fixture(scope="module")
def model(patients):
    return demo_results.fitted(patients, "fast")


def test_patients_are_in_their_own_units_and_two_columns_must_rise(patients):
    assert patients.X.shape == (442, 10)
    assert 18 <= patients.X[:, BMI].min() < patients.X[:, BMI].max() < 43
    assert np.flatnonzero(patients.signs).tolist() == [BMI, BLOOD_PRESSURE]
    assert len(set(patients.names)) == 10


def test_results_are_those_of_cross_validation(patients):
    models = {"mean": DummyRegressor(), "linear": LinearRegression()}
    found = list(demo_results.cross_validate(patients, models, 3))
    assert [result.model for result in found] == ["mean", "linear"] * 3
    folds = KFold(3, shuffle=True, random_state=0)
    for name, peer in models.items():
        expected = cross_val_score(peer, patients.X, patients.y, cv=folds)
        np.testing.assert_allclose([result.r2 for result in found if result.model == name], expected)
    assert all(result.seconds > 0 for result in found)


def test_constrained_columns_never_fall_where_a_peer_does(patients, model):
    class Falling:
        def predict(self, X):
            return -X[:, BMI]

    assert demo_results.falls(model, Falling(), patients, pairs=2000) == {"bmi": (0, 2000), "pressure": (0, 0)}


@pytest.mark.slow
def test_the_fitted_model_knows_its_columns_by_name_and_predicts_as_before(patients, model):
    plain = demo_results.spectral(patients, "fast").fit(patients.X, patients.y)
    np.testing.assert_array_equal(model.predict(patients.X), plain.predict(patients.X))
    assert model.feature_names_in_.tolist() == list(patients.names)
    explanation = model.explain_global(patients.X)
    assert {effect.column for effect in explanation.effects} == set(patients.names)
    assert explanation["bmi"].sign == explanation["pressure"].sign == 1
    pandas = pytest.importorskip("pandas")
    shuffled = pandas.DataFrame(patients.X, columns=patients.names)[list(patients.names[::-1])]
    np.testing.assert_array_equal(model.predict(shuffled), plain.predict(patients.X))


@pytest.mark.slow
def test_quantiles_never_cross_where_separate_fits_do(patients):
    with threadpool_limits(1, user_api="openmp"):  # boosted trees are faster without threads on so few rows
        fan = demo_results.fan(patients, rows=2000, effort="fast", levels=(0.1, 0.4, 0.5, 0.6, 0.9))
    ours, apart = fan.crossings
    assert ours == 0
    assert apart > 100
    assert fan.quantiles.shape == (len(fan.y), 5) == (148, 5)
    assert (np.diff(fan.quantiles[:, 2]) >= 0).all()
    assert sorted(fan.y.tolist()) != fan.y.tolist()
    assert fan.inside.sum() == sum(low <= y <= high for y, (low, *_, high) in zip(fan.y, fan.quantiles, strict=True))
    assert 0.6 < fan.inside.mean() < 0.95
