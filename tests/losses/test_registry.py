"""The registry: a new loss is one class and one line, and everything else follows from what the class says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import pytest

import lambdak
from lambdak import SpectralRegressor
from lambdak.losses import REGISTRY, Loss, Predicts, losses_of, make_loss, registry
from lambdak.losses.identity_link import _Robust
from lambdak.store._losses import ESTIMATORS


@final
@dataclass(frozen=True)
class LogCosh(_Robust):
    """log cosh(r − y): a smooth absolute error, with a setting of its own."""

    name: ClassVar[str] = "log_cosh"
    power: float = 1.0

    def _loss(self, raw, y):
        return np.logaddexp(raw - y, y - raw) - np.log(2.0)

    def _slope(self, raw, y):
        return np.tanh(raw - y)

    def _start(self, y, weight, offset):
        return np.average(y - offset, weights=weight)


def test_a_new_loss_is_one_class_and_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "REGISTRY", (*REGISTRY, LogCosh))
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    model = SpectralRegressor("log_cosh", power=1.5, effort="fast", monotonic_cst=[1, 0], random_state=0)
    with pytest.warns(UserWarning, match="loss='log_cosh' is not compiled"):
        model.fit(X, X[:, 0] + 0.1 * rng.standard_normal(300))
    assert model.score(X, X[:, 0]) > 0.8
    assert model.model_.loss == LogCosh(1.5)
    assert model.certify().holds
    model.report(tmp_path / "report.html", X)
    model.save(tmp_path / "model")
    other = lambdak.load(tmp_path / "model")
    assert other.model_.loss == LogCosh(1.5)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_every_loss_says_what_it_predicts_and_has_a_name():
    assert {loss.predicts for loss in REGISTRY} == set(Predicts) == set(ESTIMATORS.values())
    assert [loss for kind in Predicts for loss in losses_of(kind)] == list(REGISTRY)
    for kind in Predicts:
        names = [loss.name for loss in losses_of(kind)]
        assert len(set(names)) == len(names) or kind is Predicts.CLASSES  # two and several classes share a name
    assert all(issubclass(loss, Loss) for loss in REGISTRY)


def test_the_estimators_of_files_are_those_that_are_public():
    of_several = {"SpectralCompetingRisks"}  # a model for each cause, which has a file of its own
    assert set(ESTIMATORS) == {name for name in lambdak.__all__ if name.startswith("Spectral")} - of_several


def test_settings_reach_the_loss_they_belong_to_only():
    assert make_loss("quantile", quantile=0.9, power=9.0).quantile_levels == (0.9,)
    with pytest.raises(ValueError, match="loss must be one of 'squared_error', 'absolute_error', 'huber'"):
        make_loss("pinball")
