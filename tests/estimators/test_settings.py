"""Settings, targets, weights and validation rows that make no sense are named.

Tests ``training/settings``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lambdak import SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.estimators.settings import fit_settings
from lambdak.losses import Pinball


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"effort": "heroic"}, r"effort must be one of \['balanced', 'best', 'fast'\]; got 'heroic'"),
        ({"loss": "mse"}, "squared_error"),
        ({"dim": 0}, r"dim must be in \[1, 129\); got 0"),
        ({"dim": 5, "eig_idx": 5}, r"eig_idx must be in \[0, 5\); got 5"),
        ({"shape": "round"}, "shape must be None, 'convex' or 'concave'; got 'round'"),
        ({"monotonic_cst": {"incme": 1}}, r"monotonic_cst names columns that X does not have: \['incme'\]"),
        ({"monotonic_cst": {"region": 1}}, "column 'region' must be 0, because it is a category"),
        ({"monotonic_cst": {"income": 2}}, "column 'income' must be -1, 0 or 1; got 2"),
        ({"monotonic_cst": [1, 0]}, "monotonic_cst must have 4 entries, one per column; got 2"),
        ({"monotonic_cst": "upwards"}, "monotonic_cst must be 'increasing', 'decreasing', a dict or an array"),
        ({"n_estimators": 0}, r"n_estimators must be in \[1, 65\); got 0"),
    ],
)
def test_bad_settings_are_named(table, settings, message):
    with pytest.raises(ValueError, match=message):
        SpectralRegressor(**settings).fit(*table)


def test_bad_targets_weights_and_offsets_are_named(table):
    X, y = table
    with pytest.raises(ValueError, match="poisson"):
        SpectralRegressor("poisson").fit(X, y - 100)
    with pytest.raises(ValueError, match="y must have 3000 entries"):
        SpectralRegressor().fit(X, y[:10])
    with pytest.raises(ValueError, match=r"offset must have 3000 entries"):
        SpectralRegressor().fit(X, y, offset=np.ones(3))
    with pytest.raises(ValueError, match="sample_weight must be finite; got nan at row 2"):
        SpectralRegressor().fit(X, y, sample_weight=np.where(np.arange(3000) == 2, np.nan, 1.0))
    with pytest.raises(ValueError, match="SpectralOrdinalClassifier"):
        SpectralClassifier(monotonic_cst={"income": 1}).fit(X, np.arange(3000) % 3)
    with pytest.raises(ValueError, match="at least two classes"):
        SpectralClassifier().fit(X, np.zeros(3000))


def test_bad_validation_rows_and_weights_are_named(table):
    X, y = table
    labels = np.where(y > y.mean(), "b", "a")
    with pytest.raises(ValueError, match=r"y_val must hold known classes; got .*'c'.* at row 1: they are \['a', 'b'\]"):
        SpectralClassifier().fit(X, labels, X_val=X[:2], y_val=["a", "c"])
    with pytest.raises(ValueError, match="y_val must have 2 entries, one per row of X_val; got 3"):
        SpectralRegressor().fit(X, y, X_val=X[:2], y_val=y[:3])
    for estimator, target in (
        (SpectralRegressor(), y),
        (SpectralQuantileRegressor(), y),
        (SpectralClassifier(), labels),
    ):
        with pytest.raises(ValueError, match="X_val and y_val must be given together; got X_val without y_val"):
            estimator.fit(X, target, X_val=X[:5])
        with pytest.raises(ValueError, match="X_val and y_val must be given together; got y_val without X_val"):
            estimator.fit(X, target, y_val=target[:5])
    with pytest.raises(ValueError, match="offset must be given with offset_val"):
        SpectralRegressor().fit(X, y, offset=np.zeros(3000), X_val=X[:5], y_val=y[:5])
    with pytest.raises(ValueError, match=r"sample_weight must not be negative; got -1\.0 at row 2"):
        SpectralRegressor().fit(X, y, sample_weight=np.where(np.arange(3000) == 2, -1.0, 1.0))
    with pytest.raises(ValueError, match="sample_weight must have a positive entry"):
        SpectralRegressor().fit(X, y, sample_weight=np.zeros(3000))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_iter": 0}, "max_iter must be in"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be in"),
        ({"alpha": float("nan")}, "alpha must be a finite number"),
        ({"shape": "convex", "eig_idx": 1}, "eig_idx must be None with shape='convex'"),
        ({"max_influence": True}, "max_influence of column 'income' must be a number that is not negative; got True"),
        ({"validation_fraction": None}, "validation_fraction must be in"),
        ({"alpha": 1j}, "alpha must be a finite number"),
        ({"tol": None}, "tol must be at least 0; got None"),
        ({"effort": []}, "effort must be one of"),
        ({"loss": []}, r"loss must be one of .*; got \[\]"),
        ({"shape": np.array([1, 0])}, "shape must be None, 'convex' or 'concave'"),
        ({"random_state": 10**30}, "random_state must be None, an int"),
        ({"early_stopping": np.array([1, 0])}, "early_stopping must be True, False or .auto."),
        ({"warm_start": "auto"}, "warm_start must be True or False; got 'auto'"),
        ({"n_knots": np.array([3, 0])}, 'n_knots must be "auto" or an int'),
        ({"n_knots": 2.0}, 'n_knots must be "auto" or an int; got 2.0'),
        ({"quantile": None}, "quantile must be a number; got None"),
        ({"power": "2"}, "power must be a number; got '2'"),
        ({"random_state": "x"}, "random_state must be None, an int"),
        ({"categorical_features": 0}, "categorical_features must be .* got 0"),
        ({"categorical_features": [[0]]}, "categorical_features must be .* got"),
    ],
)
def test_settings_that_make_no_sense_are_named(table, settings, message):
    X, y = table
    with pytest.raises(ValueError, match=message):
        SpectralRegressor(**settings).fit(X, y)


def test_a_classifier_names_flags_that_are_none(table):
    X, y = table
    with pytest.raises(ValueError, match="warm_start must be True or False"):
        SpectralClassifier(warm_start=np.array([1, 0])).fit(X, y > np.median(y))


@pytest.mark.parametrize("fraction", [1e-320, 1e-9])
def test_a_tiny_validation_fraction_is_one_row(table, fraction):
    X, y = table
    model = SpectralRegressor(effort="fast", max_iter=1, validation_fraction=fraction, random_state=0).fit(X, y)
    assert np.isfinite(model.validation_curve_).all()


@pytest.mark.parametrize("quantiles", ["", [[0.1], [0.9]], [None, object()]])
def test_quantiles_that_are_no_numbers_are_named(table, quantiles):
    with pytest.raises(ValueError, match="quantiles must be "):
        SpectralQuantileRegressor(quantiles).fit(*table)


def test_columns_without_names_are_named_by_position():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    y = X[:, 0] - X[:, 1] ** 2
    settings = {"effort": "fast", "max_iter": 2, "random_state": 0}
    model = SpectralRegressor(monotonic_cst={0: 1}, max_influence={1: 0.5}, **settings).fit(X, y)
    assert model.model_.promises.signs == (1, 0)
    assert model.feature_strengths_[1] <= 0.5 * (1 + 1e-6)
    same = SpectralRegressor(monotonic_cst={0: 1}, max_influence={1: 0.5}, **settings).fit(pd.DataFrame(X), y)
    assert (same.predict(X) == model.predict(X)).all()
    with pytest.raises(ValueError, match="got 0, the label of the column at 1"):
        SpectralRegressor(monotonic_cst={0: 1}).fit(pd.DataFrame(X, columns=[1, 0]), y)


@pytest.mark.parametrize("own", [{"dim": 9}, {"eig_idx": 8}])
def test_a_size_that_is_set_directly_or_by_an_eigenvalue_is_not_changed(own):
    settings, several = fit_settings(SpectralRegressor(**own)), Pinball((0.1, 0.9))
    assert settings.enlarged(1, 1_000) is None
    assert settings.fitted_to(several).recipe.dim == 9
    free = fit_settings(SpectralRegressor())
    assert free.enlarged(1, 1_000).recipe.dim > 9
    assert free.enlarged(1, 20) is None  # rows for each column
    assert free.enlarged(10, 1_000) is None  # pencils of a member
    assert free.fitted_to(several).recipe.dim > 9
