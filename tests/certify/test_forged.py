"""Models made to look honest: falls that hide in rounding, in shifts, in caps and in the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from claim_cases import claim
from fitted_models import KINDS, changed, fitted, own_coef
from hostile_cases import CLASSES, MONOTONE, made, of_format, refuse, sealed

import lambdak
from lambdak.pencil.statements import rises
from lambdak.shapes import MaxInfluence
from lambdak.store import ModelFileError
from lambdak.store._header import describe

DIAGONAL = [0, 2, 5, 9, 14]


def shifted(kind, c, fall=0.0):
    """c·I added to all knots of the first column and taken from the constant, and a fall at its last knot."""
    model, coef = own_coef(kind)
    column = model.model_.encoder.columns[0]
    knots = slice(column.start, column.start + len(column.knots))
    coef[:, knots, DIAGONAL] += c
    coef[:, 0, DIAGONAL] -= c
    coef[:, knots.stop - 1, DIAGONAL] -= fall
    return changed(model, coef=coef)


@pytest.mark.parametrize(("c", "fall"), [(1e14, 37.0), (1e18, 386_432.0), (1e6, 1.0), (0.0, 1.0)])
def test_a_fall_hidden_in_a_shift_is_refuted(c, fall):
    model = shifted("regressor", c, fall)
    falls = model.model_.raw(fitted_rows(model, 1)) - model.model_.raw(fitted_rows(model, 0))
    assert falls.min() < -fall / 3  # it is real
    for exact in (False, True):
        certificate = model.certify(exact=exact)
        assert not claim(certificate, "monotone", "income").proven
        assert not certificate.holds


def fitted_rows(model, end):
    column = model.model_.encoder.columns[0]
    return [[column.knots[-2 + end], 40.0, "north", "a"]]


@pytest.mark.parametrize("c", [1e12, 1e14, 1e18])
def test_a_shift_that_makes_computing_inexact_proves_nothing(c):
    model = shifted("regressor", c)
    certificate = model.certify()
    assert not any(each.proven for each in certificate.claims)
    assert "computing a raw score can err by" in claim(certificate, "influence", "age").how
    assert claim(certificate, "monotone", "income").margin > 1e-2


def test_a_small_shift_changes_nothing():
    honest, moved = fitted("regressor"), shifted("regressor", 2.0**10)
    assert [each.proven for each in moved.certify().claims] == [each.proven for each in honest.certify().claims]


@pytest.mark.parametrize("c", [1e14, 1e18])
def test_such_a_file_is_not_loaded(tmp_path, c):
    header, tensors = MONOTONE
    coef = tensors["coef"].copy()
    dim, knots = header["dim"], len(header["columns"][0]["knots"])
    diagonal = [i * (i + 3) // 2 for i in range(dim)]
    coef[:, 1 : 1 + knots, diagonal] += c
    coef[:, 0, diagonal] -= c
    for fall in (0.0, 1e-13 * c):
        coef[:, knots, diagonal] -= fall
        refuse(tmp_path, sealed(header, {**tensors, "coef": coef}), "requested of 'x0'")


@pytest.mark.parametrize("format_", [1, 2])
@pytest.mark.parametrize("steps", [1, 40, 4000])
def test_a_file_whose_steps_fall_in_the_last_places_is_mended_or_refused(tmp_path, format_, steps):
    """Of the first format a few units in the last place are widened away, of the second not one is allowed."""
    header, tensors = MONOTONE
    coef = tensors["coef"].copy()
    coef[:, 2] = coef[:, 1]
    coef[:, 2, 0] -= steps * np.spacing(np.abs(coef[:, 1, 0]))
    data = sealed(of_format(header, format_), {**tensors, "coef": coef})
    if format_ == 2:
        refuse(tmp_path, data, "the prediction never falls as x0 rises")
        return
    (tmp_path / "m").write_bytes(data)
    model = lambdak.load(tmp_path / "m")
    assert model.certify(exact=True).holds
    assert np.abs(model.model_.matrices - coef).max() < 1e-9


def test_a_file_of_the_first_format_is_not_mended_beyond_rounding(tmp_path):
    header, tensors = MONOTONE
    coef = tensors["coef"].copy()
    coef[:, 2] = coef[:, 1]
    coef[:, 2, 0] -= 1e-6
    refuse(tmp_path, sealed(of_format(header, 1), {**tensors, "coef": coef}), "the prediction never falls")


@pytest.mark.parametrize("kind", KINDS)
def test_both_ways_to_prove_agree_on_every_claim(kind):
    fast, exact = fitted(kind).certify(), fitted(kind).certify(exact=True)
    assert [(each.subject, each.proven, each.value) for each in fast.claims] == [
        (each.subject, each.proven, each.value) for each in exact.claims
    ]
    assert "in integers, about the numbers as they are stored" in " ".join(exact.to_text(details=True).split())
    assert (exact.to_dict()["exact"], fast.to_dict()["exact"]) == (True, False)


@pytest.mark.parametrize("kind", ["regressor", "binary", "quantiles", "ordinal", "convex"])
def test_one_unit_in_the_last_place_below_a_step_of_zero_is_refuted(kind):
    model, coef = own_coef(kind)
    column, sign = model.model_.encoder.columns[0], model.model_.loss.sign
    coef[0, column.start] = coef[0, column.start + 1]
    coef[0, column.start, 0] = np.nextafter(coef[0, column.start, 0], sign * np.inf)
    found = changed(model, coef=coef)
    for exact in (False, True):
        assert not claim(found.certify(exact=exact), "monotone", "income").proven


def test_a_cap_that_is_broken_by_one_unit_is_not_loaded_nor_proven(tmp_path):
    model = fitted("capped")
    strength = model.feature_strengths_[0]
    for cap, proven in ((strength, True), (np.nextafter(strength, 0), False)):
        promises = model.model_.promises
        first = (own.kind == "influence" and own.positions == (0,) for own in promises.shapes)
        pairs = zip(promises.shapes, first, strict=True)
        shapes = tuple(MaxInfluence(0, float(cap)) if is_first else own for own, is_first in pairs)
        other = changed(model, promises=replace(promises, shapes=shapes))
        for exact in (False, True):
            assert claim(other.certify(exact=exact), "influence", "income").proven == proven
        other._parameters = {**model._parameters, "max_influence": {"income": float(cap), "region": 1.5}}
        if proven:
            other.save(tmp_path / "m")
        else:
            with pytest.raises(ModelFileError, match="requested of 'income'"):
                other.save(tmp_path / "m")


def test_increments_are_exact_differences():
    assert rises(np.array([[0.0, -1.0, 1.0]]), -1) == [{1: 1, 2: -1}]


def test_a_tolerance_below_the_last_place_still_has_a_bound():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 2))
    model = lambdak.SpectralRegressor(effort="fast", max_iter=2, n_knots=2, random_state=0).fit(X, X[:, 0])
    found = claim(model.certify(within={"x0": 1e-17}), "response")
    assert found.value >= 2 * found.margin > 0
    assert claim(model.certify(within={"x0": 0.0}), "response").value == 0.0


def test_a_line_whose_ends_cancel_is_bounded_by_what_its_weights_are(tmp_path):
    header, tensors = made(lambdak.SpectralRegressor(n_knots=0, effort="fast", dim=3, max_iter=1, random_state=0))
    column = {
        **header["columns"][0],
        "quartiles": [],
        "center": -(2.0**20),
        "scale": 2.0**-13,
        "low": 0.0,
        "high": 2.0**-34,
        "median": 0.0,
    }
    header = {**header, "columns": [column, *header["columns"][1:]]}
    (tmp_path / "m").write_bytes(sealed(header, tensors))
    model = lambdak.load(tmp_path / "m")
    fast, exact = (claim(model.certify(exact=exact), "influence", "x0") for exact in (False, True))
    assert fast.value > 0
    assert fast.proven == exact.proven


def test_a_monotone_column_of_several_classes_is_no_promise(tmp_path):
    header, tensors = CLASSES
    parameters = {**header["parameters"], "monotonic_cst": [1, 0, 0, 0]}
    refuse(tmp_path, sealed({**header, "parameters": parameters}, tensors), "monotonic_cst needs two classes")


def test_quantile_levels_of_the_first_format_are_not_mended_beyond_rounding(tmp_path):
    model = fitted("quantiles")
    header, tensors = describe(model._saved())
    coef = tensors["coef"].copy()
    coef[:, -3:, DIAGONAL] += 1e6
    coef[:, 0, DIAGONAL] -= 1e6
    coef[:, -2, DIAGONAL] -= 5.0
    del tensors["calibration"]
    data = sealed(of_format(header, 1), {**tensors, "coef": coef})
    refuse(tmp_path, data, "a higher quantile is never below a lower one")


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [("quantiles", {"quantiles": {"tuple": [0.01, 0.5, 0.99]}}), ("free", {"loss": "poisson"}), ("free", {"dim": 99})],
)
def test_settings_that_contradict_the_model_are_refused(tmp_path, kind, parameters):
    header, tensors = describe(fitted(kind)._saved())
    header = {**header, "parameters": {**header["parameters"], **parameters}}
    refuse(tmp_path, sealed(header, tensors), "of the parameters must be those of the model")


def test_a_cap_that_its_dtype_rounds_is_refused(tmp_path):
    header, tensors = MONOTONE
    cap = {"array": {"dtype": "f2", "values": [1000.26, 1000.26, 1000.26, 1000.26]}}
    header = {**header, "parameters": {**header["parameters"], "max_influence": cap}}
    refuse(tmp_path, sealed(header, tensors), "do not fit into its dtype 'f2'")


@pytest.mark.parametrize("changes", [{"weights": np.array([-0.5, -0.5])}, {"scale": -1.0}, {"scale": np.nan}])
def test_a_model_whose_weights_or_scale_are_not_positive_is_not_certified(changes):
    for exact in (False, True):
        with pytest.raises(ValueError, match="weights and scale of a model must be positive"):
            changed(fitted("regressor"), **changes).certify(exact=exact)
