"""What the demo computes, against closed forms and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score
from threadpoolctl import threadpool_limits

from lambdak.cli import demo_results
from lambdak.report.findings.fit import SEEN

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


def test_peers_have_the_same_constraint_and_their_default_settings_otherwise(patients):
    found = demo_results.candidates(patients, "fast")
    monotone = {name: model for name, model in found.items() if demo_results.MONOTONE in name}
    assert len(monotone) == 3
    ours, trees = (found[name + demo_results.MONOTONE] for name in (demo_results.OURS, demo_results.TREES))
    assert ours.monotonic_cst == trees.monotonic_cst == patients.signs
    assert all(model.monotonic_cst == patients.signs for model in monotone.values())
    free = found[demo_results.TREES]
    assert free.monotonic_cst is None is found[demo_results.OURS].monotonic_cst
    usual = HistGradientBoostingRegressor(random_state=0).get_params()
    assert free.get_params() == usual
    assert trees.get_params() == usual | {"monotonic_cst": patients.signs}


def test_quantiles_of_peers_have_the_same_constraint(patients):
    ours, trees = demo_results.quantile_models(patients, "fast", (0.1, 0.9))
    assert [model.quantile for model in trees.models] == [0.1, 0.9]
    for model in (ours, *trees.models):
        assert model.monotonic_cst == patients.signs


def test_constrained_columns_never_fall_of_ours_or_of_boosted_trees(patients, model):
    trees = demo_results.boosted(monotonic_cst=patients.signs).fit(patients.X, patients.y)
    for each in (model, trees):
        predict = demo_results.predictor(each, patients)
        assert demo_results.falls(predict, patients, pairs=2000) == {"bmi": 0, "pressure": 0}


def test_falls_are_counted_once_for_each_pair(patients):
    both_fall = {"bmi": 2000, "pressure": 0}
    assert demo_results.falls(lambda X: -X[:, BMI], patients, pairs=2000) == both_fall
    assert demo_results.falls(lambda X: -X[:, [BMI, BMI]], patients, pairs=2000) == both_fall
    one_of_two = demo_results.falls(lambda X: np.column_stack([X[:, BMI], -X[:, BMI]]), patients, pairs=2000)
    assert one_of_two == both_fall


@pytest.mark.slow
def test_all_candidates_are_fitted_and_the_cap_is_kept(patients):
    with threadpool_limits(1, user_api="openmp"):
        models = demo_results.fit_all(patients, "fast")
    assert list(models) == list(demo_results.candidates(patients, "fast"))
    column, most = demo_results.CAP
    capped, free = (models[f"lambdak, monotone{end}"] for end in (demo_results.CAPPED, ""))
    i = patients.names.index(column)
    assert capped.feature_strengths_[i] <= most < free.feature_strengths_[i]
    swapped = patients.X.copy()
    swapped[:, i] = 3 - swapped[:, i]  # 1 becomes 2, and 2 becomes 1
    predict = demo_results.predictor(capped, patients)  # by name: a warning would be an error here
    assert np.abs(predict(swapped) - predict(patients.X)).max() <= most


@pytest.mark.slow
def test_the_fitted_model_knows_its_columns_by_name_and_predicts_as_before(patients, model):
    plain = demo_results.spectral(patients, "fast").fit(patients.X, patients.y)
    np.testing.assert_array_equal(model.predict(patients.table), plain.predict(patients.X))
    assert model.feature_names_in_.tolist() == list(patients.names)
    explanation = model.explain_global(patients.table)
    assert {effect.column for effect in explanation.effects} == set(patients.names)
    assert explanation["bmi"].sign == explanation["pressure"].sign == 1
    pandas = pytest.importorskip("pandas")
    shuffled = pandas.DataFrame(patients.X, columns=patients.names)[list(patients.names[::-1])]
    np.testing.assert_array_equal(model.predict(shuffled), plain.predict(patients.X))


@pytest.mark.slow
def test_quantiles_are_ordered_and_monotone_where_separate_fits_are_not(patients):
    with threadpool_limits(1, user_api="openmp"):  # boosted trees are faster without threads on so few rows
        fan, found = demo_results.compare_quantiles(
            patients, pairs=2000, effort="fast", levels=(0.1, 0.4, 0.5, 0.6, 0.9)
        )
    ours, apart, in_order = found.values()
    assert ours.crossings == 0 == in_order.crossings
    assert apart.crossings > 100
    assert ours.falls == {"bmi": 0, "pressure": 0}
    assert all(count > 0 for count in apart.falls.values())  # scikit-learn moves leaves after it has constrained them
    assert in_order.loss <= apart.loss  # sorting never makes the mean pinball loss worse
    assert fan.quantiles.shape == (len(fan.y), 5) == (148, 5)
    assert (np.diff(fan.quantiles[:, 2]) >= 0).all()
    assert sorted(fan.y.tolist()) != fan.y.tolist()
    assert fan.inside.sum() == sum(low <= y <= high for y, (low, *_, high) in zip(fan.y, fan.quantiles, strict=True))
    assert fan.inside.mean() == pytest.approx(ours.inside)
    assert 0.6 < ours.inside < 0.95


@pytest.mark.slow
def test_the_report_names_the_target_and_is_measured_on_rows_that_its_fit_did_not_see(patients, tmp_path):
    demo_results.write_report(patients, tmp_path / "report.html", "fast")
    page = (tmp_path / "report.html").read_text()
    assert "Prediction of progression" in page
    assert "on 148 rows that the fit did not see" in page
    assert SEEN not in page
