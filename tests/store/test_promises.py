"""A file holds what the fit promised, whatever was set later, and nothing that the matrices break."""

from __future__ import annotations

import pytest
from saved_cases import LAW, NUMBERS, QUICK

import lambdak
from lambdak import SpectralRegressor
from lambdak.store import ModelFileError


def test_what_is_set_after_the_fit_changes_nothing_that_is_saved(tmp_path):
    model = SpectralRegressor(**QUICK, monotonic_cst=[0, 1]).fit(NUMBERS, -LAW)
    before = model.to_json()
    model.set_params(monotonic_cst=[1, 0], max_influence=1e-9, shape="convex")
    assert model.to_json() == before
    model.save(tmp_path / "m")
    other = lambdak.load(tmp_path / "m")
    assert other.get_params()["monotonic_cst"] == [0, 1]
    assert other.certify() == model.certify()
    assert other.model_.promises == model.model_.promises


def test_parameters_changed_in_place_after_the_fit_change_nothing_that_is_saved():
    signs = [0, 1]
    model = SpectralRegressor(**QUICK, monotonic_cst=signs).fit(NUMBERS, -LAW)
    before = model.to_json()
    signs[0] = 1
    assert model.to_json() == before


def test_a_promise_that_the_matrices_break_is_not_saved(tmp_path):
    model = SpectralRegressor(**QUICK).fit(NUMBERS, -LAW)
    model._parameters["monotonic_cst"] = [1, 0]
    with pytest.raises(ModelFileError, match=r"cannot be saved.* requested of 'x0': the prediction never falls"):
        model.save(tmp_path / "m")
