"""Copies of fitted estimators, settings that are compared, and what is saved of a loaded one."""

from __future__ import annotations

from copy import copy, deepcopy

import numpy as np
import pandas as pd
import pytest

import lambdak
from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.uniform(-1, 1, (120, 2)), columns=["a", "b"])
Y = (X["a"] + X["b"] ** 2).to_numpy()
SMALL = {"effort": "fast", "max_iter": 1, "random_state": 0}


@pytest.mark.parametrize("copied", [copy, deepcopy])
def test_the_training_of_a_copy_continues_and_leaves_the_original(copied):
    model = SpectralRegressor(**SMALL).fit(X, Y)
    before, other = model.predict(X), copied(model)
    other.partial_fit(X, -Y)
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_array_equal(other.predict(X), model.partial_fit(X, -Y).predict(X))


@pytest.mark.parametrize("settings", [
    {"monotonic_cst": pd.Series([1, 0])}, {"monotonic_cst": np.array([1, 0])}, {"max_influence": pd.Series([1.0, 2.0])},
    {"categorical_features": pd.Series(["a"])}, {"quantile": float("nan")}, {"monotonic_cst": {"a": 1}},
])  # fmt: skip
def test_training_continues_with_settings_of_any_kind(settings):
    SpectralRegressor(**SMALL | settings).fit(X, Y).partial_fit(X, Y)


def test_settings_of_a_loaded_model_that_are_changed_in_place_change_nothing_that_is_saved(tmp_path):
    SpectralRegressor(monotonic_cst={"a": 1}, max_influence={"b": 30.0}, **SMALL).fit(X, Y).save(tmp_path / "one")
    loaded = lambdak.load(tmp_path / "one")
    loaded.monotonic_cst.clear()
    loaded.max_influence["a"] = 1e-6
    loaded.save(tmp_path / "two")
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


def test_importances_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        SpectralRegressor(**SMALL).fit(X, Y).feature_importances_[0] = 1.0


def test_settings_that_cannot_be_copied_leave_the_fitted_model_as_it_was():
    class Stubborn(dict):
        def __deepcopy__(self, memo):
            raise RuntimeError

    model = SpectralRegressor(**SMALL).fit(X, Y)
    before = dict(vars(model))
    model.set_params(monotonic_cst=Stubborn(a=1))
    with pytest.raises(RuntimeError):
        model.fit(X, -Y)
    assert {name: vars(model)[name] for name in before if name != "monotonic_cst"} == {
        name: value for name, value in before.items() if name != "monotonic_cst"
    }
