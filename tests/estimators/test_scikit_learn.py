"""Scikit-learn's manners: its own checks, pipelines, searches, routing, and peers that build on it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from estimator_cases import ALL
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import check_classifiers_train, parametrize_with_checks

import lambdak
from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralRegressor


def exempt(estimator):
    reason = "predicts the median class, which is monotone, and the check wants the most probable one"
    return {"check_classifiers_train": reason} if isinstance(estimator, SpectralOrdinalClassifier) else {}


# Whether the check fails depends on its rows: for some the median class is the most probable one.
@pytest.mark.slow
@parametrize_with_checks(
    [kind(effort="fast", max_iter=4, random_state=0) for kind in ALL], expected_failed_checks=exempt, xfail_strict=False
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class MostProbable(SpectralOrdinalClassifier):
    """What the check that is exempt wants, so that all else in it is checked."""

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_only_the_median_class_is_what_an_ordinal_classifier_is_exempt_for():
    estimator = MostProbable(effort="fast", max_iter=4, random_state=0)
    check_classifiers_train("MostProbable", estimator)
    check_classifiers_train("MostProbable", estimator, readonly_memmap=True, X_dtype="float32")


@pytest.mark.slow
def test_estimators_work_inside_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    model = SpectralRegressor(effort="fast", max_iter=3, random_state=0)
    search = GridSearchCV(make_pipeline(FunctionTransformer(), model), {"spectralregressor__dim": [3, 5]}, cv=2).fit(
        X, y
    )
    assert search.best_estimator_.predict(X).shape == y.shape
    X, y = load_breast_cancer(return_X_y=True)
    calibrated = CalibratedClassifierCV(SpectralClassifier(effort="fast", max_iter=3, random_state=0), cv=2).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    fitted = model.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert clone(fitted).get_params() == fitted.get_params()


def test_weights_are_routed_through_pipelines_and_searches(table):
    X, y = table
    weight = np.where(X["income"] > 4, 3.0, 1.0)
    settings = {"effort": "fast", "max_iter": 3, "random_state": 0}
    with sklearn.config_context(enable_metadata_routing=True):
        model = SpectralRegressor(**settings).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), model).fit(X, y, sample_weight=weight)
        search = GridSearchCV(model, {"alpha": [0.0]}, cv=2).fit(X, y, sample_weight=weight)
    direct = SpectralRegressor(**settings).fit(X, y, weight).predict(X)
    np.testing.assert_array_equal(pipeline.predict(X), direct)
    np.testing.assert_array_equal(search.predict(X), direct)


def test_names_of_a_transformer_with_set_output_reach_the_model(table):
    X, y = table
    scaled = ColumnTransformer([("numbers", StandardScaler(), ["income", "age"])], remainder="passthrough")
    pipeline = make_pipeline(scaled, SpectralRegressor(effort="fast", max_iter=3, random_state=0))
    pipeline.set_output(transform="pandas").fit(X, y)
    names = ["numbers__income", "numbers__age", "remainder__noise", "remainder__region"]
    assert pipeline[-1].feature_names_in_.tolist() == names
    assert pipeline[-1].model_.encoder.columns[3].kind == "category"


def test_names_can_be_forgotten_as_shap_does_on_its_copy_but_not_replaced(table, tmp_path):
    X, y = table
    model = SpectralRegressor(effort="fast", max_iter=2, random_state=0).fit(X, y)
    with pytest.raises(AttributeError, match="rename its columns and fit again"):
        model.feature_names_in_ = ["a"]
    expected, cells = model.predict(X), np.asarray(X, object)
    model.feature_names_in_ = None
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.predict(cells), expected)  # without a warning
    model.save(tmp_path / "nameless.safetensors")
    np.testing.assert_array_equal(lambdak.load(tmp_path / "nameless.safetensors").predict(cells), expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")  # MAPIE tries it on an array
def test_intervals_of_mapie_cover_what_they_should(table):
    regression = pytest.importorskip("mapie.regression")
    X, y = table
    model = SpectralRegressor(effort="fast", random_state=0).fit(X[:1500], y[:1500])
    conformal = regression.SplitConformalRegressor(model, confidence_level=0.9, prefit=True)
    conformal.conformalize(X[1500:2300], y[1500:2300])
    _, intervals = conformal.predict_interval(X[2300:])
    low, high = intervals[:, 0, 0], intervals[:, 1, 0]
    assert 0.85 < np.mean((low <= y[2300:]) & (y[2300:] <= high)) < 0.95
