"""Names in messages: rows, columns and classes as users know them.

Tests ``table/close_names`` and ``table/matching``.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.table.close_names import meant

RNG = np.random.default_rng(0)
X = pd.DataFrame({"income": RNG.normal(size=60), "age": RNG.normal(size=60)})
Y = X["income"].to_numpy() + X["age"].to_numpy() ** 2
QUICK = {"effort": "fast", "max_iter": 1, "dim": 2, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return SpectralRegressor(**QUICK).fit(X, Y)


@pytest.mark.parametrize("as_", [list, np.array, pd.Series, lambda y: pd.Series(y, dtype="string"), pl.Series])
def test_missing_classes_are_named_by_row_with_what_to_do(as_):
    labels = ["b" if i % 2 else "a" for i in range(60)]
    labels[3] = labels[7] = None
    given = np.array(labels, object) if as_ is np.array else as_(labels)
    for kind in (SpectralClassifier, SpectralOrdinalClassifier):
        with pytest.raises(ValueError, match=r"every row; it is missing at rows 3 and 7: fill them in, or drop them"):
            kind(**QUICK).fit(X, given)


def test_missing_classes_are_named_wherever_y_is_given():
    y, gap = np.arange(60) % 2, np.where(np.arange(60) > 50, np.nan, np.arange(60) % 2)
    fitted = SpectralClassifier(**QUICK).fit(X, y)
    words = "missing at rows 51, 52, 53, 54, 55 and 4 more"
    with pytest.raises(ValueError, match=words):
        fitted.score(X, gap)
    with pytest.raises(ValueError, match=words):
        fitted.partial_fit(X, gap)
    with pytest.raises(ValueError, match=f"y_val .*{words}"):
        fitted.fit(X, y, X_val=X, y_val=gap)
    with pytest.raises(ValueError, match=r"y must be finite .*; got nan at rows 51, 52"):
        SpectralRegressor(**QUICK).fit(X, gap)


@pytest.mark.parametrize(
    "kind", [SpectralRegressor, SpectralQuantileRegressor, SpectralClassifier, SpectralOrdinalClassifier]
)
def test_errors_name_the_argument_and_an_estimator(kind):
    for call in (lambda: kind(depth=3), lambda: kind().fit(X, Y, weight=1), lambda: kind().predict(X, y=1)):
        with pytest.raises(TypeError, match=r"^(Base)?Spectral\w+\.\w+\(\) got an unexpected keyword argument"):
            call()


def test_the_width_of_a_table_is_refused_without_names_of_internal_classes():
    with pytest.raises(ValueError, match="X has 1 features, but lambdak is expecting 2 features as input: give it"):
        SpectralRegressor(**QUICK).fit(X.to_numpy(), Y).predict([[1.0]])


def test_columns_that_training_has_not_seen_are_named_in_a_warning(model):
    more = X.assign(income_2=1.0, region="north")
    with pytest.warns(UserWarning, match="not there in training, and that are ignored: 'income_2', 'region'") as found:
        predicted = model.predict(more)
    assert found[0].filename == __file__
    assert (predicted == model.predict(X[["age", "income"]])).all()
    with pytest.warns(UserWarning, match="'income_2'"):
        make_pipeline(FunctionTransformer(), SpectralRegressor(**QUICK)).fit(X, Y).predict(more)


def test_an_array_after_a_frame_warns_and_a_frame_after_an_array_too(model):
    with pytest.warns(UserWarning, match="X does not have valid feature names, but the model was fitted with feature"):
        predicted = model.predict(X.to_numpy())
    assert (predicted == model.predict(X)).all()
    with pytest.warns(UserWarning, match="X has feature names, but the model was fitted without feature names"):
        SpectralRegressor(**QUICK).fit(X.to_numpy(), Y).predict(X)


def test_what_the_library_itself_does_with_a_model_warns_of_nothing(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predictor()((1.0, 2.0))
        model.inverse(X.iloc[0], "income", 0.0) if model.model_.promises.monotone else model.certify()
        model.explain_local(X[:3])


def test_a_missing_column_is_an_error_that_says_which_one_is_meant(model):
    with pytest.raises(ValueError, match=r"yet now missing:\n- income\nDid you mean 'Incomes'\?"):
        model.predict(X.rename(columns={"income": "Incomes"}))
    with pytest.raises(ValueError, match=r"yet now missing:\n- income\n$"):
        model.predict(X.rename(columns={"income": "outcome"}))


@pytest.mark.parametrize(
    "setting",
    [
        {"monotonic_cst": {"incom": 1}},
        {"max_influence": {"incom": 1.0}},
        {"categorical_features": ["incom"]},
        {"interaction_cst": [["incom"]]},
    ],
)
def test_settings_that_name_no_column_ask_whether_a_close_one_is_meant(setting):
    with pytest.raises(ValueError, match=r"\. Did you mean 'income'\?$"):
        SpectralRegressor(**QUICK, **setting).fit(X, Y)


def test_methods_that_take_columns_ask_the_same(model):
    for call in (lambda: model.certify({"incom": 1.0}), lambda: model.inverse(X.iloc[0], "incom", 1.0)):
        with pytest.raises(ValueError, match=r"Did you mean 'income'\?"):
            call()


def test_only_close_names_are_meant():
    assert meant("Incom", ["income"]) == "Did you mean 'income'? "
    for far in ("outcome", "price", "x"):
        assert meant(far, ["income", "age"]) == ""
