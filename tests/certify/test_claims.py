"""Certificates: every number against NumPy and brute force, and claims that do not hold are listed as such."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import FrozenInstanceError, replace
from itertools import pairwise

import numpy as np
import pytest
from fitted_models import (
    BROKEN,
    CAP,
    KINDS,
    SMALL,
    X,
    Y,
    broken,
    by_hand,
    changed,
    fitted,
    matrices,
    n_outputs,
    own_coef,
    random_cells,
    rows_of,
    score_by_hand,
    symmetric,
    with_columns,
)
from sklearn.exceptions import NotFittedError

import lambdak
from lambdak import SpectralRegressor
from lambdak.certify import certify


def claim(certificate, kind, subject=None):
    (found,) = [each for each in certificate.claims if each.kind == kind and subject in (None, each.subject)]
    return found


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


# ---- monotone


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


def test_what_was_requested_is_marked_and_the_rounding_margin_is_stated():
    certificate = fitted("regressor").certify()
    income, age = claim(certificate, "monotone", "income"), claim(certificate, "monotone", "age")
    assert (income.requested, income.proven, income.details["sign"]) == (True, True, 1)
    assert (age.requested, age.proven, age.details["sign"]) == (True, True, -1)
    assert "never rises as age rises" in age.statement
    assert "missing cells are ignored" in age.how
    for each in (income, age):
        assert 0 < each.margin < 1e-11
        assert f"rounding margin {each.margin:.1e}" in each.how
        assert "increment matrices of 2 members" in each.how
    assert not claim(fitted("free").certify(), "monotone", "income").requested


def test_higher_classes_are_what_an_ordinal_claim_is_about():
    found = claim(fitted("ordinal").certify(), "monotone", "income")
    assert found.proven
    assert found.requested
    assert found.value == pytest.approx(steps_of(fitted("ordinal"), 0, -1), abs=1e-12)
    assert "a higher class never becomes less likely" in found.statement


def test_a_claim_about_two_classes_names_the_one_whose_probability_it_is():
    certificate = fitted("binary").certify()
    statement = claim(certificate, "monotone", "income").statement
    assert statement == "the probability of 'yes' never falls as income rises"
    assert claim(certificate, "monotone", "age").statement.startswith("the probability of 'yes' never ")


def test_several_classes_have_no_monotone_claim():
    assert "monotone" not in kinds_of(fitted("multiclass").certify())


# ---- claims that break


@pytest.mark.parametrize("fault", BROKEN)
def test_a_claim_that_does_not_hold_is_listed_as_not_proven(fault):
    model, kind, subject = broken(fault)
    certificate = model.certify()
    found = claim(certificate, kind, subject)
    assert found.requested
    assert not found.proven
    assert not certificate.holds
    assert "not proven, requested" in str(certificate)
    assert not next(each for each in strict(certificate.to_json())["claims"] if each["kind"] == kind and (
        subject in (None, each["subject"])))["proven"]  # fmt: skip
    if found.value is not None and kind not in ("influence", "concave"):
        assert found.value < -found.margin


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_requested_of_a_model_is_proven(kind):
    certificate = fitted(kind).certify()
    assert certificate.holds
    assert all(each.proven for each in certificate.claims if each.requested)


# ---- convex and concave


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
    assert "must be the last of 7 eigenvalues, but it is number 3, 4, 6" in ordered.how


# ---- influence


@pytest.mark.parametrize("kind", KINDS)
def test_influence_is_never_exceeded_by_scores_of_random_rows(kind):
    model = fitted(kind)
    certificate = model.certify()
    cells = random_cells(model, 30, seed=7)
    for i, column in enumerate(model.model_.encoder.columns):
        found = claim(certificate, "influence", column.name)
        for row, other in pairwise(cells):
            if not column.bounded:
                row, other = (
                    [*each[:i], np.clip(each[i], column.low, column.high), *each[i + 1 :]] for each in (row, other)
                )
            changed = [*row[:i], other[i], *row[i + 1 :]]
            for output in range(n_outputs(model)):
                moved = abs(score_by_hand(model, changed, output) - score_by_hand(model, row, output))
                assert moved <= found.value * (1 + 1e-9) + 1e-9
                if column.is_number and np.isfinite([row[i], other[i]]).all():
                    assert moved <= found.details["across the range"] * (1 + 1e-9) + 1e-9
                    assert moved <= found.details["per unit"] * abs(other[i] - row[i]) * (1 + 1e-9) + 1e-9


def test_bounds_are_attained_by_hand_made_matrices():
    model = by_hand(np.zeros((2, 2)), [np.diag([2.0, 2.0]), np.diag([1.0, -3.0])])
    found = claim(model.certify(), "influence", "x0")
    assert (found.value, found.details["per unit"], found.details["across the range"]) == pytest.approx((4, 2, 4))
    assert found.details["largest between"] == "-1 and 1"
    assert claim(model.certify(), "influence", "x1").value == pytest.approx(6)


def test_a_category_is_bounded_per_swap_and_names_its_two_levels():
    model = fitted("free")
    found = claim(model.certify(), "influence", "kind")
    column = model.model_.encoder.columns[3]
    expected = model.model_.scale * sum(
        weight * np.linalg.norm(matrices(model, m)[column.start] - matrices(model, m)[column.start + 1], 2)
        for m, weight in enumerate(model.model_.weights)
    )
    assert found.value == pytest.approx(expected)
    assert found.details == {"largest between": "a and b"}
    assert "no swap of levels" in found.statement


def test_a_cap_that_was_requested_is_part_of_the_claim():
    certificate = fitted("capped").certify()
    income, age = claim(certificate, "influence", "income"), claim(certificate, "influence", "age")
    assert income.requested
    assert income.value <= CAP
    assert "cap 1.5" in income.statement
    assert not age.requested


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_state_what_rounding_can_do_to_them(kind):
    model = fitted(kind)
    certificate = model.certify()
    for column in model.model_.encoder.columns:
        found = claim(certificate, "influence", column.name)
        assert f"rounding margin {found.margin:.1e}" in found.how
        weights = np.eye(column.stop - column.start)
        if column.kind == "linear":
            ends = [[(x - column.center) / column.scale, *weights[0, 1:]] for x in (column.low, column.high)]
            weights = np.vstack([*ends, weights[1:]])
        sizes = [
            np.linalg.norm(np.tensordot(weight, matrices(model, member)[column.start : column.stop], 1), 2)
            for member in range(len(model.model_.coef))
            for weight in weights
        ]
        expected = model.model_.scale * 10 * model.model_.dim * np.finfo(float).eps * max(sizes)
        assert found.margin == pytest.approx(expected, rel=1e-6)
        assert found.margin <= 1e-10


def test_a_bound_that_missing_cells_make_is_told_from_that_of_numbers():
    model, coef = own_coef("free")
    column = model.model_.encoder.columns[1]
    coef[:, column.missing] += 10.0
    model = changed(model, coef=coef)
    found = claim(model.certify(), "influence", "age")
    across = found.details["across the range"]
    assert across < found.value / 2
    assert f"by more; across the range {across:.4g}, if no cell is missing; per unit" in found.statement
    assert "across the range" not in claim(model.certify(), "influence", "income").statement


def test_many_levels_are_a_relaxation_that_says_so():
    found = claim(fitted("wide").certify(), "influence", "code")
    assert "a relaxation, as its levels are many" in found.how
    assert "largest between" not in found.details


def test_columns_that_continue_straight_are_bounded_within_the_training_range():
    limited, free = fitted("convex").certify(), fitted("free").certify()
    words = claim(limited, "influence", "income").statement
    assert words.startswith("no change moves a raw score by more within the training range; per unit ")
    assert "training range" not in claim(limited, "influence", "region").statement
    assert "training range" not in claim(free, "influence", "income").statement
    told = " ".join(str(limited).split())
    assert (
        'every row, seen or unseen; where a claim says "within the training range", for changes in that range.' in told
    )
    assert "every row, seen or unseen. " in " ".join(str(free).split())


# ---- within


@pytest.mark.parametrize("kind", ["free", "linear", "convex", "multiclass", "quantiles", "ordinal", "wide"])
def test_no_change_within_tolerances_exceeds_the_response(kind):
    model = fitted(kind)
    within = {"income": 0.8, "age": 6.0, "kind": "any"} if kind != "wide" else {"income": 0.8, "code": "any"}
    found = claim(model.certify(within=within), "response")
    assert found.proven
    rng = np.random.default_rng(0)
    names = model.model_.encoder.feature_names
    for row, other in pairwise(random_cells(model, 60, seed=2)):
        changed = row.copy()
        for name, size in within.items():
            i = names.index(name)
            changed[i] = other[i] if size == "any" else row[i] + rng.choice([-1, 1, rng.uniform(-1, 1)]) * size
        for output in range(n_outputs(model)):
            moved = score_by_hand(model, changed, output) - score_by_hand(model, row, output)
            assert abs(moved) <= found.value * (1 + 1e-9) + 1e-9


def test_the_response_of_linear_columns_is_the_worst_corner():
    rng = np.random.default_rng(0)
    slopes = [symmetric(rng, 3), symmetric(rng, 3), symmetric(rng, 3)]
    model = by_hand(symmetric(rng, 3), slopes)
    found = claim(model.certify(within={"x2": 0.25, "x0": 0.5}), "response")
    expected = max(np.linalg.norm(0.5 * slopes[0] + sign * 0.25 * slopes[2], 2) for sign in (-1, 1))
    assert found.value == pytest.approx(expected)
    assert "over all 2 corners" in found.how
    assert found.statement.endswith("x2 by 0.25, x0 by 0.5; numbers that are missing stay missing")


def test_the_response_to_one_category_is_its_influence():
    certificate = fitted("free").certify(within={"region": "any"})
    assert claim(certificate, "response").value == pytest.approx(claim(certificate, "influence", "region").value)
    assert claim(certificate, "response").statement.endswith("region by any swap")


def test_a_tolerance_of_nothing_moves_nothing():
    assert claim(fitted("free").certify(within={"income": 0}), "response").value == pytest.approx(0.0, abs=1e-12)


def test_many_columns_are_a_relaxation_that_says_so():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 16))
    model = SpectralRegressor(n_knots=0, **SMALL | {"max_iter": 1}).fit(rows, rows[:, 0])
    found = claim(model.certify(within={f"x{i}": 0.1 for i in range(16)}), "response")
    assert "a relaxation" in found.how
    assert "corners" in claim(model.certify(within={f"x{i}": 0.1 for i in range(10)}), "response").how


FAULTS = {
    "an unknown column": ({"incom": 1}, "within names a column that the model does not have: 'incom'"),
    "a negative size": ({"income": -1}, r"within\['income'\] must be a number that is not negative; got -1"),
    "a size of NaN": ({"income": np.nan}, r"within\['income'\] must be a number that is not negative; got nan"),
    "an infinite size": ({"income": np.inf}, "must be a number that is not negative; got inf"),
    "a truth value": ({"income": True}, "must be a number that is not negative; got True"),
    "a word for a number": ({"income": "any"}, "must be a number that is not negative; got 'any'"),
    "a number for a category": ({"kind": 1}, r"within\['kind'\] must be 'any', because the column is a category"),
    "nothing": ({}, "within must name at least one column, such as {'income': 1.0}"),
    "None for a number": (
        {"income": None},
        r"within\['income'\] must be a number that is not negative; got None: give",
    ),
    "a list of sizes": ({"income": [1.0, 2.0]}, r"not negative; got \[1.0, 2.0\]: give the largest change of income"),
    "a size as text": (
        {"income": "1.5"},
        "not negative; got '1.5': give the largest change of income, or omit it",
    ),
    "an array": ({"income": np.ones(2)}, r"within\['income'\] must be a number that is not negative"),
    "None for a category": ({"kind": None}, r"within\['kind'\] must be 'any', .*; got None"),
    "an array for a category": ({"kind": np.ones(2)}, r"within\['kind'\] must be 'any'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_tolerances_refuse(fault):
    within, message = FAULTS[fault]
    with pytest.raises(ValueError, match=message):
        fitted("free").certify(within=within)


@pytest.mark.parametrize("within", [["income"], "income", ("income", 1.0), 1.0])
def test_tolerances_must_be_a_mapping(within):
    named = f"within must map columns to their largest change, such as .*'income': 1.0.*; got a {type(within).__name__}"
    with pytest.raises(TypeError, match=named):
        fitted("free").certify(within=within)


def test_the_example_of_tolerances_fits_to_the_first_column():
    with pytest.raises(ValueError, match=r"such as {'code': 'any'}; got an empty mapping"):
        fitted("wide").certify(within={})


def test_tolerances_may_be_numbers_of_numpy():
    given, plain = (fitted("free").certify(within={"income": size}) for size in (np.float32(0.5), 0.5))
    assert given == plain


# ---- order of outputs


def test_quantiles_rise_by_semidefinite_steps():
    model = fitted("quantiles")
    found = claim(model.certify(), "quantiles")
    steps = [np.diff(matrices(model, member)[-3:], axis=0) for member in range(2)]
    assert found.value == pytest.approx(model.model_.scale * np.linalg.eigvalsh(steps).min(), abs=found.margin)
    assert found.requested


def test_cut_points_are_eigenvalues_of_one_matrix():
    found = claim(fitted("ordinal").certify(), "cut-points")
    assert found.proven
    assert "eigenvalues number 3, 4, 6 of one matrix" in found.how


def test_a_single_quantile_has_no_order():
    assert "quantiles" not in kinds_of(fitted("one quantile").certify())


# ---- the certificate itself


def strict(text):
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))


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


def test_it_prints_as_a_table_with_what_was_requested_first():
    text = str(fitted("regressor").certify())
    lines = text.splitlines()
    assert max(map(len, lines)) <= 110
    assert "SpectralRegressor: what is guaranteed" in lines[0]
    body = [line for line in lines if line.startswith("│")]
    assert body[0].split("│")[1].strip() == "proven, requested"
    assert "the prediction never falls as income" in body[0]
    assert "units of the target" in text
    assert "monotone: value is the smallest eigenvalue of all increment matrices" in text


def test_rounding_is_printed_beside_every_value_that_has_one():
    certificate = fitted("regressor").certify(within={"income": 1.0})
    body = [line.split("│")[1:-1] for line in str(certificate).splitlines() if line.startswith("│")]
    rows = [[cell.strip() for cell in row] for row in body if row[0].strip()]
    ordered = sorted(certificate.claims, key=lambda each: (not each.requested, not each.proven))
    assert [row[3:] for row in rows] == [[f"{each.value:.4g}", f"{each.margin:.1e}"] for each in ordered]
    assert "rounding" in str(certificate).splitlines()[2]
    assert all(each.margin for each in ordered)


@pytest.mark.parametrize("kind", KINDS)
def test_notes_tell_how_shapes_and_responses_were_checked(kind):
    certificate = fitted(kind).certify(
        within={fitted(kind).model_.encoder.columns[-1].name: "any"} if kind == "free" else None
    )
    text = str(certificate)
    assert max(map(len, text.splitlines())) <= 110
    told = " ".join(text.split())
    for each in certificate.claims:
        if each.kind in ("convex", "concave", "response"):
            assert f" Here: {each.how}." in told
    assert ("Not proven means that the matrices do not prove it, not that a counterexample exists." in told) == (
        any(not each.proven for each in certificate.claims)
    )


def test_the_unit_of_a_change_of_slope_is_that_of_a_slope():
    told = " ".join(str(fitted("convex").certify()).split())
    assert 'so are values, but that of "convex" is a change of slope: raw score per unit of the column.' in told
    assert "value, the smallest eigenvalue of all changes of slope, must not be negative by more than rounding." in told
    concave = " ".join(str(fitted("concave").certify()).split())
    assert 'that of "concave" is a change of slope' in concave
    assert (
        "minus the largest eigenvalue of all changes of slope, must not be negative by more than rounding." in concave
    )


UNITS = {"poisson": "logarithm of the prediction", "binary": "log-odds", "multiclass": "before it is normalised"}


@pytest.mark.parametrize("kind", UNITS)
def test_units_are_those_of_the_score(kind):
    assert UNITS[kind] in fitted(kind).certify().score


def test_names_are_printed_as_they_are_wherever_it_runs(monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    name = "[bold]x[/] :id: é"
    model = SpectralRegressor(**SMALL | {"max_iter": 1}).fit(X[["income"]].rename(columns={"income": name}), Y)
    text = str(model.certify())
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
    assert model.model_.coef.dtype == np.float32
    found = claim(model.certify(), "influence", "income")
    assert found.value == pytest.approx(model.feature_strengths_[0], rel=1e-15)
    assert rows_of("free") is X
    assert certify(model.model_) == model.certify()
