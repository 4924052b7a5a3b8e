"""Claims: monotone, convex and ordered, every number against NumPy, and what does not hold is not proven.

Tests ``shape_claims``.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from claim_cases import claim, strict
from fitted_models import KINDS, fitted, with_columns
from hand_made_models import BROKEN, broken, several_eigenvalues
from score_cases import matrices


def kinds_of(certificate):
    return [each.kind for each in certificate.claims]


def steps_of(model, i, sign):
    """Smallest eigenvalue of all increments of a curve, or of the slope of a linear column."""
    column, least = model.model_.encoder.columns[i], np.inf
    for member in range(len(model.model_.coef)):
        own = matrices(model, member)[column.start : column.stop]
        steps = [own[0]] if column.kind == "linear" else [b - a for a, b in pairwise(own[: len(column.knots)])]
        least = min(least, *(np.linalg.eigvalsh(sign * step)[0] for step in steps))
    return model.model_.scale * least


# ---- monotone --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["regressor", "free", "linear", "convex", "binary", "quantiles", "single", "sparse"])
def test_the_value_of_a_monotone_claim_is_the_smallest_eigenvalue_of_all_increments(kind):
    model = fitted(kind)
    for i, column in enumerate(model.model_.encoder.columns):
        if column.kind != "category":
            found = claim(model.certify(), "monotone", column.name)
            rising, falling = steps_of(model, i, 1), steps_of(model, i, -1)
            expected = {1: rising, -1: falling}[int(found.details["sign"])]
            assert found.value == pytest.approx(expected, abs=found.margin + 1e-13)
            assert found.proven == (expected >= -found.margin)
            if not found.requested:
                assert found.value == pytest.approx(max(rising, falling))


def test_what_was_requested_is_marked_and_rounding_is_stated():
    certificate = fitted("regressor").certify()
    income, age = claim(certificate, "monotone", "income"), claim(certificate, "monotone", "age")
    assert (income.requested, income.proven, income.details["sign"]) == (True, True, 1)
    assert (age.requested, age.proven, age.details["sign"]) == (True, True, -1)
    assert "never rises as age rises" in age.statement
    assert "missing cells are ignored" in age.how
    for each in (income, age):
        assert 0 < each.margin < 1e-11
        assert "increment matrices of 2 members" in each.how
    assert not claim(fitted("free").certify(), "monotone", "income").requested


def test_higher_classes_are_what_an_ordinal_claim_is_about():
    found = claim(fitted("ordinal").certify(), "monotone", "income")
    assert found.proven
    assert found.requested
    assert found.value == pytest.approx(steps_of(fitted("ordinal"), 0, -1), abs=1e-12)
    assert found.statement == ("P(y > j) never falls as income rises, for every class j, nor does the predicted class")
    falling = claim(fitted("ordinal").certify(), "monotone", "age")
    assert falling.details["sign"] == -1
    assert falling.statement.startswith("P(y > j) never rises as age rises, for every class j")


def test_a_claim_about_two_classes_names_the_one_whose_probability_it_is():
    certificate = fitted("binary").certify()
    statement = claim(certificate, "monotone", "income").statement
    assert statement == "the probability of 'yes' never falls as income rises"
    assert claim(certificate, "monotone", "age").statement.startswith("the probability of 'yes' never ")


def test_several_classes_have_no_monotone_claim():
    assert "monotone" not in kinds_of(fitted("multiclass").certify())


# ---- claims that break -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", BROKEN)
def test_a_claim_that_does_not_hold_is_listed_as_not_proven(fault):
    model, kind, subject = broken(fault)
    certificate = model.certify()
    found = claim(certificate, kind, subject)
    assert found.requested
    assert not found.proven
    assert not certificate.holds
    assert "not proven, requested" in certificate.to_text(details=True)
    assert "\n  not proven  " in str(certificate)
    assert not next(each for each in strict(certificate.to_json())["claims"] if each["kind"] == kind and (
        subject in (None, each["subject"])))["proven"]  # fmt: skip
    if found.value is not None and kind not in ("influence", "concave"):
        assert found.value < -found.margin


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_requested_of_a_model_is_proven(kind):
    certificate = fitted(kind).certify()
    assert certificate.holds
    assert all(each.proven for each in certificate.claims if each.requested)


# ---- convex and concave ----------------------------------------------------------------------------------------


def smallest_bend(model, sign):
    least = np.inf
    for member in range(len(model.model_.coef)):
        for column in model.model_.encoder.columns:
            if column.kind == "curve":
                own = matrices(model, member)[column.start : column.start + len(column.knots)]
                slopes = np.diff(own, axis=0) / np.diff(column.knots)[:, None, None]
                least = min(least, *np.linalg.eigvalsh(sign * np.diff(slopes, axis=0))[:, 0])
    return model.model_.scale * least


@pytest.mark.parametrize(("kind", "sign"), [("convex", 1), ("concave", -1)])
def test_shapes_are_proven_by_the_end_of_the_spectrum_and_changes_of_slope(kind, sign):
    certificate = fitted(kind).certify()
    found = claim(certificate, kind)
    assert found.requested
    assert found.value == pytest.approx(smallest_bend(fitted(kind), sign), abs=found.margin + 1e-13)
    assert found.value >= -found.margin
    assert {"convex": "concave", "concave": "convex"}[kind] not in kinds_of(certificate)


def test_a_model_that_is_flat_beyond_its_range_is_not_convex():
    model = fitted("convex")
    columns = [replace(own, clamp=True) if own.is_number else own for own in model.model_.encoder.columns]
    model = with_columns(model, columns)
    found = claim(model.certify(), "convex")
    assert not found.proven
    assert "clamped at the ends of the training range" in found.how


def test_a_straight_model_is_convex_and_concave():
    certificate = fitted("straight").certify()
    assert claim(certificate, "convex").proven
    assert claim(certificate, "concave").proven
    assert not claim(certificate, "concave").requested
    assert "columns are linear" in claim(certificate, "concave").how
    assert claim(certificate, "concave").value is None
    assert claim(certificate, "concave").how.startswith("it is the only eigenvalue; ")


def test_a_model_without_a_shape_says_why():
    free = claim(fitted("free").certify(), "convex")
    assert not free.proven
    assert not free.requested
    assert "must be the last of 5 eigenvalues, but it is number 3" in free.how
    assert "clamped at the ends of the training range" in free.how
    ordered = claim(fitted("ordinal").certify(), "convex")
    assert "must be the last of 7 eigenvalues, but it is number 4" in ordered.how
    before = claim(several_eigenvalues(2, 3, 5).certify(), "convex")
    assert "must be the last of 7 eigenvalues, but it is number 3, 4, 6" in before.how


# ---- order of outputs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "kind"), [("quantiles", "quantiles"), ("ordinal", "cut-points")])
def test_quantiles_and_cut_points_rise_by_semidefinite_steps(model, kind):
    model = fitted(model)
    found = claim(model.certify(), kind)
    steps = [np.diff(matrices(model, member)[-3:], axis=0) for member in range(2)]
    assert found.value == pytest.approx(model.model_.scale * np.linalg.eigvalsh(steps).min(), abs=found.margin)
    assert found.requested


def test_cut_points_that_are_eigenvalues_of_one_matrix_are_in_order():
    found = claim(several_eigenvalues(2, 3, 5).certify(), "cut-points")
    assert found.proven
    assert "eigenvalues number 3, 4, 6 of one matrix" in found.how


def test_a_single_quantile_has_no_order():
    assert "quantiles" not in kinds_of(fitted("one quantile").certify())
