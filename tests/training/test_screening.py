"""Columns without effect: a test of each by itself, and what pilot models decide."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import r2_score

from lambdak import SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.training import pilots
from lambdak.training.pilots import columns_without_effect


def table(rows, noise, seed=0):
    """Five columns with effects, one of them only together with another, and columns of noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 5 + noise))
    y = 2 * np.sin(2 * X[:, 0]) + 2 * np.abs(X[:, 1]) + X[:, 2] + 3 * X[:, 3] * X[:, 4]
    return X, y + 0.5 * rng.standard_normal(rows)


@pytest.fixture
def suspected(monkeypatch):
    """The columns that the last fit suspected."""
    found = []

    def watched(*arguments):
        found.append(columns_without_effect(*arguments))
        return found[-1]

    monkeypatch.setattr(pilots, "columns_without_effect", watched)
    return found


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
def test_columns_of_noise_are_suspected_and_those_with_effects_are_not(suspected, loss):
    X, y = table(3000, 40)
    target = np.random.default_rng(1).poisson(np.exp(y / 2)) if loss == "poisson" else y
    SpectralRegressor(loss, effort="fast", random_state=0, max_iter=3).fit(X, target)
    # 3 and 4 act through their product alone: squares of gradients show them, unless all gradients are signs.
    assert not suspected[0] & set(range(3 if loss == "absolute_error" else 5))
    assert len(suspected[0]) > 35


def test_classes_and_quantiles_are_screened_too(suspected):
    X, y = table(3000, 40)
    settings = {"effort": "fast", "random_state": 0, "max_iter": 3}
    SpectralClassifier(**settings).fit(X, np.digitize(y, [0, 2]))
    SpectralQuantileRegressor((0.1, 0.9), **settings).fit(X, y)
    assert all(len(found) > 35 and not found & {0, 1, 2} for found in suspected)


def test_columns_of_noise_do_not_hurt_and_are_exactly_zero():
    X, y = table(2000, 60)
    other, unseen = table(2000, 60, seed=1)
    alone = SpectralRegressor(effort="fast", random_state=0).fit(X[:, :5], y)
    model = SpectralRegressor(effort="fast", random_state=0).fit(X, y)
    assert model.score(other, unseen) > r2_score(unseen, alone.predict(other[:, :5])) - 0.03
    assert (model.feature_strengths_[5:] == 0).mean() > 0.9
    assert (model.feature_strengths_[:5] > 0).all()


def test_columns_that_act_only_together_stay_even_if_no_test_finds_them(monkeypatch):
    monkeypatch.setattr(pilots, "columns_without_effect", lambda *_: frozenset(range(1, 10)))
    X, _ = table(2000, 5)
    y = X[:, 0] + 3 * X[:, 1] * X[:, 2]
    model = SpectralRegressor(effort="fast", random_state=0).fit(X, y)
    assert (model.feature_strengths_[1:3] > 0).all()


def test_where_every_column_helps_nothing_is_dropped(suspected):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 12))
    model = SpectralRegressor(effort="fast", random_state=0, max_iter=3).fit(X, X.sum(axis=1))
    assert suspected[0] == frozenset()
    assert (model.feature_strengths_ > 0).all()


def test_a_table_without_any_effect_is_not_emptied(suspected):
    rng = np.random.default_rng(0)
    SpectralRegressor(effort="fast", random_state=0, max_iter=3).fit(
        rng.standard_normal((500, 12)), rng.standard_normal(500)
    )
    assert len(suspected[0]) < 12
