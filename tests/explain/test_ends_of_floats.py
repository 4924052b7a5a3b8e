"""Columns at the ends of what a float can hold are explained in finite numbers; fuzzing found some that were not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from lambdak import SpectralRegressor

SMALL = {"effort": "fast", "dim": 2, "max_iter": 1, "n_estimators": 1, "random_state": 0}


@pytest.mark.parametrize("n_knots", ["auto", 0])
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-281, 1e-279, 4.4e307])
def test_a_column_of_tiny_or_huge_numbers_is_explained_in_finite_numbers(size, n_knots):
    X = np.zeros((30, 1))
    X[::11] = size
    model = SpectralRegressor(n_knots=n_knots, **SMALL).fit(X, np.random.default_rng(0).normal(size=30))
    local, whole = model.explain_local(X[:3]), model.explain_global()
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(local.influence_bound).all()
    assert np.isfinite(whole.effects[0].effect).all()
    assert np.isfinite(whole.effects[0].per_unit)
    interval = local.what_if("x0")
    assert (interval.lower <= interval.upper).all()
    json.loads(model.certify().to_json(), parse_constant=lambda name: pytest.fail(f"{name} in the certificate"))
