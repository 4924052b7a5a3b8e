"""The certificate itself: frozen, strict JSON, and a table that says what was requested, proven and how."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import FrozenInstanceError, replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from claim_cases import claim, strict
from fitted_models import CAP, KINDS, SMALL, X, Y, fitted, rows_of
from sklearn.exceptions import NotFittedError

import lambdak
from lambdak import SpectralRegressor
from lambdak.certify import bound_claims, certify
from lambdak.certify.allowance import Allowance
from lambdak.model.outward import upwards
from lambdak.model.readout import readouts


@pytest.mark.parametrize("kind", KINDS)
def test_json_is_strict_and_says_the_same(kind):
    certificate = fitted(kind).certify()
    found = strict(certificate.to_json())
    assert found == certificate.to_dict()
    assert found["holds"] is True
    assert [each["statement"] for each in found["claims"]] == [each.statement for each in certificate.claims]


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_is_certified_the_same(kind, tmp_path):
    fitted(kind).save(tmp_path / "model")
    assert lambdak.load(tmp_path / "model").certify() == fitted(kind).certify()


def test_certificates_and_claims_are_frozen():
    certificate = fitted("free").certify()
    with pytest.raises(FrozenInstanceError):
        certificate.claims = ()
    with pytest.raises(FrozenInstanceError):
        certificate.claims[0].proven = True


def test_it_prints_what_was_requested_in_plain_words_and_the_rest_on_request():
    lines = str(fitted("regressor").certify(within={"income": 1.0})).splitlines()
    assert lines[0] == "SpectralRegressor: 2 of 2 requested guarantees are proven, for every row, seen or unseen."
    assert lines[1] == "  proven      the prediction never falls as income rises"
    assert lines[2] == "  proven      the prediction never rises as age rises"
    assert lines[3].startswith("  proven      the prediction never moves by more than ")
    assert lines[4].startswith("Also proven: how far 4 columns can move the prediction at most. The strongest:")
    assert "to_text(details=True)" in lines[-1]
    for word in ("matrices", "eigenvalue", "semidefinite", "rounding", "raw score", "e-"):
        assert word not in "\n".join(lines)


def test_a_cap_is_printed_beside_its_bound_and_one_that_is_not_proven_is_said_to_be_none():
    certificate = fitted("capped").certify()
    line = next(line for line in str(certificate).splitlines() if "income" in line)
    bound = upwards(claim(certificate, "influence", "income").value)
    assert line == f"  proven      no change of income moves the prediction by more than {bound} (limit: {CAP})"
    broken = replace(certificate, claims=tuple(replace(own, proven=False) for own in certificate.claims))
    assert "0 of 2 requested guarantees are proven" in str(broken)
    assert "  not proven  no change of income" in str(broken)
    assert "verify(X) searches for one" in str(broken)


def test_where_nothing_was_requested_it_says_how_to():
    text = str(fitted("binary").certify().__class__("Model", "log-odds", fitted("free").certify().claims))
    assert text.startswith(
        "Model: no guarantee was requested (constraints, monotonic_cst, max_influence, shape and interaction_cst"
    )
    assert "can move the log-odds at most" in text


def test_with_details_it_is_a_table_with_what_was_requested_first():
    text = fitted("regressor").certify().to_text(details=True)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 110
    assert "SpectralRegressor: what is guaranteed" in lines[0]
    body = [line for line in lines if line.startswith("│")]
    assert body[0].split("│")[1].strip() == "proven, requested"
    assert "the prediction never falls as income" in body[0]
    assert "units of the target" in text
    assert "monotone: all increment matrices, from knot to knot, must be positive semidefinite" in text


def test_rounding_is_printed_beside_every_value_that_has_one():
    certificate = fitted("regressor").certify(within={"income": 1.0})
    body = [line.split("│")[1:-1] for line in certificate.to_text(details=True).splitlines() if line.startswith("│")]
    rows = [[cell.strip() for cell in row] for row in body if row[0].strip()]
    ordered = sorted(certificate.claims, key=lambda each: (not each.requested, not each.proven))
    assert [row[4] for row in rows] == [upwards(each.margin, 2) for each in ordered]
    for row, each in zip(rows, ordered, strict=True):
        assert float(row[3]) == pytest.approx(each.value, rel=1e-3)
        assert each.kind not in ("influence", "response") or float(row[3]) >= each.value  # bounds are rounded upwards
    assert "rounding" in certificate.to_text(details=True).splitlines()[2]
    assert all(each.margin for each in ordered)


@pytest.mark.parametrize("kind", KINDS)
def test_notes_say_how_shapes_and_responses_were_checked(kind):
    certificate = fitted(kind).certify(
        within={fitted(kind).model_.encoder.columns[-1].name: "any"} if kind == "free" else None
    )
    text = certificate.to_text(details=True)
    assert max(map(len, text.splitlines())) <= 110
    words = " ".join(text.split())
    for each in certificate.claims:
        if each.kind in ("convex", "concave", "response"):
            assert f" Here: {each.how}." in words
    assert ("Not proven means that the matrices do not prove it, not that a counterexample exists." in words) == (
        any(not each.proven for each in certificate.claims)
    )


def test_the_unit_of_a_change_of_slope_is_that_of_a_slope():
    words = " ".join(fitted("convex").certify().to_text(details=True).split())
    assert 'so are values, but that of "convex" is a change of slope: raw score per unit of the column.' in words
    assert "all changes of slope must be positive semidefinite; value is the smallest of their eigenvalues." in words
    concave = " ".join(fitted("concave").certify().to_text(details=True).split())
    assert 'that of "concave" is a change of slope' in concave
    assert "must be negative semidefinite; value is minus the largest of their eigenvalues." in concave


UNITS = {"poisson": "logarithm of the prediction", "binary": "log-odds", "multiclass": "before it is normalised"}


@pytest.mark.parametrize("kind", UNITS)
def test_units_are_those_of_the_score(kind):
    assert UNITS[kind] in fitted(kind).certify().score


def test_names_are_printed_as_they_are_wherever_it_runs(monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    name = "[bold]x[/] :id: é"
    model = SpectralRegressor(**SMALL | {"max_iter": 1}).fit(X[["income"]].rename(columns={"income": name}), Y)
    for text in (str(model.certify()), model.certify().to_text(details=True)):
        assert name in text
        assert "\x1b" not in text


def test_settings_changed_after_the_fit_are_not_what_was_requested():
    model = deepcopy(fitted("regressor")).set_params(monotonic_cst=None)
    assert claim(model.certify(), "monotone", "income").requested


def test_nothing_is_certified_before_a_fit():
    with pytest.raises(NotFittedError):
        SpectralRegressor().certify()


def test_float32_models_are_read_in_float64():
    model = fitted("free")
    assert model.model_.stored_dtype == np.float32
    found = claim(model.certify(), "influence", "income")
    assert found.value == pytest.approx(model.feature_strengths_[0], rel=1e-15)
    assert rows_of("free") is X
    assert certify(model.model_) == model.certify()


def test_a_cap_of_zero_reads_as_a_sentence():
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    caps = {"a": 0, ("b", "c"): 0}
    model = SpectralRegressor(max_influence=caps, dim=2, max_iter=2, random_state=0).fit(rows, rows["a"])
    text = str(model.certify())
    assert "proven      no change of a moves the prediction at all\n" in text
    assert "proven      no change of b, c together moves the prediction at all\n" in text
    assert "how far" not in text


def test_columns_without_effect_are_named_as_such_and_large_bounds_have_separators():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(200, 2)), columns=["a", "b"]).assign(same=1.0)
    model = SpectralRegressor(max_influence={"b": 25_000}, **SMALL).fit(table, 1e5 * (table["a"] + table["b"]))
    certificate = model.certify()
    text = str(certificate)
    assert "Also proven: 1 column has no effect at all: same." in text
    assert "as same rises" not in text
    bound = float(upwards(claim(certificate, "influence", "a").value))
    assert f"  a: {bound:,.0f}" in text
    assert "(limit: 25,000)" in text
    assert "e+" not in text


def test_a_column_in_many_groups_is_looked_at_once(monkeypatch):
    rows = np.random.default_rng(0).random((60, 4))
    groups = dict.fromkeys(combinations(range(4), 2), 100.0)
    model = SpectralRegressor(max_influence=groups, effort="fast", max_iter=1, dim=2, random_state=0)
    model.fit(rows, rows[:, 0])
    looked, changes = [], bound_claims.changes
    monkeypatch.setattr(bound_claims, "changes", lambda outputs, i: looked.append(i) or changes(outputs, i))
    outputs = readouts(model.model_)
    claims = list(bound_claims.joint_claims(outputs, model.model_.promises.groups, Allowance.of()))
    assert len(claims) == len(groups)
    assert sorted(looked) == [0, 1, 2, 3]
