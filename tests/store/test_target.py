"""What is known of the target goes into the file, and comes back from it.

Tests ``model/known_target``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lambdak
from lambdak import SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor

FEW = {"effort": "fast", "max_iter": 3, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.uniform(20, 140, 200).round(), "floor": rng.integers(0, 9, 200)})
    return frame.assign(rent=(8 * frame["area"] + 10 * frame["floor"] + rng.normal(0, 30, 200)).round(2))


def test_a_loaded_model_says_the_same_words(table, tmp_path):
    model = SpectralRegressor(**FEW).fit(table[["area", "floor"]], table["rent"])
    model.save(tmp_path / "model")
    for again in (lambdak.load(tmp_path / "model"), lambdak.from_json(model.to_json())):
        assert again._target.decimals == 2
        assert again.explain_local(table[:1]).why() == model.explain_local(table[:1]).why()


@pytest.mark.parametrize("kind", [SpectralRegressor, SpectralQuantileRegressor, SpectralClassifier])
@pytest.mark.parametrize("training_state", [False, True])
def test_whatever_is_known_comes_back(table, tmp_path, kind, training_state):
    y = (table["rent"] > 600).to_numpy() if kind is SpectralClassifier else table["rent"]
    model = kind(**FEW).fit(table[["area", "floor"]], y)
    model.save(tmp_path / "model", training_state=training_state)
    again = lambdak.load(tmp_path / "model")
    assert again._target == model._target
    assert again._target.average is not None
    assert (again._state is not None) == training_state


def test_the_average_is_that_of_the_predictions_for_the_training_rows(table):
    X, weight = table[["area", "floor"]], np.linspace(0.0, 2.0, len(table))
    model = SpectralRegressor(**FEW).fit(X, table["rent"], weight)
    assert model._target.average == pytest.approx((np.average(model.predict(X), weights=weight),), rel=1e-6)
    balanced = SpectralRegressor(**FEW, balance=True).fit(X, table["rent"], weight)
    assert balanced._target.average == pytest.approx((np.average(table["rent"], weights=weight),), rel=1e-6)
    quantiles = SpectralQuantileRegressor(**FEW).fit(X, table["rent"])
    assert quantiles._target.average == pytest.approx(tuple(quantiles.model_.predict(X).mean(axis=0)), rel=1e-6)


def test_the_average_of_a_rate_is_per_unit_of_exposure(table):
    X, exposure = table[["area", "floor"]], np.linspace(0.1, 1.0, len(table))
    claims = np.random.default_rng(1).poisson(0.3 * exposure)
    model = SpectralRegressor("poisson", **FEW).fit(X, claims, exposure=exposure)
    rate = model.predict(X, exposure=exposure).sum() / exposure.sum()
    assert model._target.average == pytest.approx((rate,), rel=1e-6)


def test_nothing_is_said_of_an_average_that_is_not_known(table):
    X = table[["area", "floor"]]
    model = SpectralRegressor(**FEW).fit(X, table["rent"])
    assert "On average over the training rows it is " in model.explain_local(X[:1]).why()
    model.partial_fit(X[:50], table["rent"][:50])
    assert "On average" not in model.explain_local(X[:1]).why()
    assert model._target.decimals == 2


def test_the_average_of_the_other_class_is_the_rest(table):
    X = table[["area", "floor"]]
    model = SpectralClassifier(**FEW).fit(X, np.where(table["rent"] > 600, "dear", "cheap"))
    chances = dict(zip(model.classes_, model.predict_proba(X).mean(axis=0), strict=True))
    for label, mean in chances.items():
        assert model.explain_local(X[:1], output=label).average == pytest.approx([mean], rel=1e-6)


def test_the_target_column_of_a_file_is_no_surprise_in_its_table(table, tmp_path, recwarn):
    table.to_parquet(tmp_path / "rents.parquet")
    model = SpectralRegressor(**FEW).fit(tmp_path / "rents.parquet", "rent")
    model.save(tmp_path / "model")
    for own in (model, lambdak.load(tmp_path / "model")):
        own.predict(table)
        assert not recwarn.list
        with pytest.warns(UserWarning, match="not there in training, and that are ignored: 'town'$"):
            own.predict(table.assign(town="a"))
    assert model._target.decimals == 2
