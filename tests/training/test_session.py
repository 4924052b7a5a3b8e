"""What the models of one fit share: folds that have all classes, and teams that have the same validation rows."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.training.session import Session

QUICK = {"effort": "balanced", "max_iter": 1, "random_state": 0}
X = np.random.default_rng(0).uniform(-1, 1, (600, 3))


@pytest.fixture
def folds(monkeypatch):
    """Targets and folds of pilot models, then those of members, as they are made."""
    seen, original = [], Session.folds

    def watched(self, *arguments, **settings):
        seen.append((self.problem.y, original(self, *arguments, **settings)))
        return seen[-1][1]

    monkeypatch.setattr(Session, "folds", watched)
    return seen


@pytest.mark.parametrize(
    ("model", "positives"), [(SpectralClassifier, 4), (SpectralRegressor, 4), (SpectralOrdinalClassifier, 30)]
)
def test_rare_targets_are_in_the_first_folds_and_spread_evenly(folds, model, positives):
    y = np.where(np.arange(600) < positives, 2, np.arange(600) % 2 if model is SpectralOrdinalClassifier else 0)
    model(**QUICK).fit(X, y)
    for target, own in folds:
        fold, values = own.fold.reshape(600, -1)[:, 0], target.reshape(600, -1).sum(axis=1)
        number, rare = fold.max() + 1, min(np.unique(values), key=lambda each: np.sum(values == each))
        for value in np.unique(values):
            counts = np.bincount(fold[values == value], minlength=number)
            assert counts.max() - counts.min() <= 1
        assert np.bincount(fold[values == rare], minlength=number)[: min(positives, number)].min() >= 1
        assert np.ptp(np.bincount(fold)) <= 1


def test_folds_of_numbers_are_random_and_even(folds):
    SpectralRegressor(**QUICK).fit(X, X[:, 0])
    assert all(np.ptp(np.bincount(own.fold)) <= 1 for _, own in folds)
    assert folds[-1][1].left_out == (0, 1, 2, 3, 4, 5)


def test_members_that_predict_quantiles_leave_out_the_same_rows_in_pairs(folds):
    SpectralQuantileRegressor((0.1, 0.9), **QUICK).fit(X, X[:, 0])
    assert folds[-1][1].left_out == (0, 0, 1, 1, 2, 2)
