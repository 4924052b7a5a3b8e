"""scikit-learn wants explicit signatures: what is written four times has the same defaults four times."""

from __future__ import annotations

import inspect

import pytest

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.estimators.base import SpectralEstimator

ALL = [SpectralRegressor, SpectralClassifier, SpectralQuantileRegressor, SpectralOrdinalClassifier]
OWN = {
    SpectralRegressor: ["loss", "quantile", "power"],
    SpectralQuantileRegressor: ["quantiles", "calibrate_by"],
    SpectralClassifier: ["class_weight"],
    SpectralOrdinalClassifier: ["class_weight"],
}


def parameters(kind):
    return {name: (each.default, each.annotation) for name, each in inspect.signature(kind).parameters.items()}


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_the_shared_settings_are_the_same_everywhere(kind):
    shared = parameters(SpectralEstimator)
    own = parameters(kind)
    assert list(own) == OWN[kind] + list(shared)
    assert {name: own[name] for name in shared} == shared


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_settings_are_kept_as_they_are_given(kind):
    given = {name: object() for name in parameters(kind)}
    assert kind(**given).get_params() == given
