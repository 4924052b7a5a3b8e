"""A file holds what the fit promised, whatever was set later, and nothing that the matrices break."""

from __future__ import annotations

import pickle
from copy import copy, deepcopy

import numpy as np
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
    with pytest.raises(ModelFileError, match=r"cannot be saved.* 'x0' is not proven: the prediction never falls"):
        model.save(tmp_path / "m")


CHANGES = [
    {"monotonic_cst": None},
    {"monotonic_cst": [1, 1]},
    {"max_influence": None},
    {"max_influence": 1e-9},
    {"shape": "convex"},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_loaded_certificate_calls_requested_what_the_fit_was_given(tmp_path, change):
    model = SpectralRegressor(**QUICK, monotonic_cst=[0, 1], max_influence=[1.5, np.inf]).fit(NUMBERS, -LAW)
    wanted = model.certify()
    assert [claim.kind for claim in wanted.claims if claim.requested] == ["monotone", "influence"]
    model.set_params(**change)
    model.save(tmp_path / "m")
    loaded = lambdak.load(tmp_path / "m").set_params(**change)
    loaded.save(tmp_path / "m")  # what is set in a loaded model counts no more than in a fitted one
    copies = [model, loaded, lambdak.load(tmp_path / "m"), lambdak.from_json(model.to_json())]
    copies += [pickle.loads(pickle.dumps(model)), deepcopy(model), copy(model)]
    assert all(each.certify() == wanted for each in copies)


def test_parameters_that_promise_less_or_more_than_the_fit_are_not_saved(tmp_path):
    model = SpectralRegressor(**QUICK, monotonic_cst=[0, 1]).fit(NUMBERS, -LAW)
    for name, value in {"monotonic_cst": None, "max_influence": 9.0}.items():
        changed = deepcopy(model)
        changed._parameters[name] = value
        with pytest.raises(ModelFileError, match="its parameters promise something else than it was fitted with"):
            changed.save(tmp_path / "m")
