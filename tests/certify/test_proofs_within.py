"""Claims about small changes of several columns: worst corners, relaxations, and tolerances that are refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from claim_cases import claim
from fitted_models import SMALL, fitted
from hand_made_models import by_hand, symmetric
from score_cases import n_outputs, random_cells, score_by_hand

from lambdak import SpectralRegressor


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
