"""Claims about influence: proven bounds against brute force over cells.

Tests ``bound_claims``.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from claim_cases import claim
from fitted_models import CAP, KINDS, changed, fitted, own_coef
from hand_made_models import by_hand
from score_cases import matrices, n_outputs, random_cells, score_by_hand

from lambdak.eigen.packing import sym
from lambdak.model import influence
from lambdak.model.influence import any_change
from lambdak.model.outward import upwards
from lambdak.model.readout import readouts
from lambdak.pencil.diameter import diameter


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
def test_bounds_include_what_computing_can_do_to_two_scores(kind):
    model = fitted(kind)
    outputs = readouts(model.model_)
    for i, column in enumerate(model.model_.encoder.columns):
        found = claim(model.certify(), "influence", column.name)
        assert found.margin == max(output.error for output in outputs)
        assert 0 < found.margin < 1e-10
        real = max(any_change(output, i).bound for output in outputs)
        assert found.value >= real + 2 * min(output.error for output in outputs)
        assert found.value == model.feature_strengths_[i]


def test_a_bound_that_missing_cells_make_is_distinguished_from_that_of_numbers():
    model, coef = own_coef("free")
    column = model.model_.encoder.columns[1]
    coef[:, column.missing] += 10.0
    model = changed(model, coef=coef)
    found = claim(model.certify(), "influence", "age")
    across = found.details["across the range"]
    assert across < found.value / 2
    assert f"; across the range {upwards(across)}, if no cell is missing; per unit" in found.statement
    assert "across the range" not in claim(model.certify(), "influence", "income").statement


def test_many_levels_are_compared_all_with_all():
    found = claim(fitted("wide").certify(), "influence", "code")
    assert "over its 140 levels" in found.how
    (output,) = readouts(fitted("wide").model_)
    packed, names = sym(output.column(0)), output.columns[0].cell_names()
    far = np.linalg.norm(packed[:, :, None] - packed[:, None], 2, axis=(-2, -1))
    first, second = np.unravel_index(output.over_members(far).argmax(), far.shape[1:])
    assert found.details["largest between"] == f"{names[first]} and {names[second]}"


def test_a_relaxation_says_so(monkeypatch):
    monkeypatch.setattr(influence, "diameter", partial(diameter, most=0))
    found = claim(fitted("wide").certify(), "influence", "code")
    assert "a relaxation, as too many pairs of its cells come close to it" in found.how
    assert "largest between" not in found.details


def test_columns_that_continue_straight_are_bounded_within_the_training_range():
    limited, free = fitted("convex").certify(), fitted("free").certify()
    words = claim(limited, "influence", "income").statement
    assert re.match(r"no change of income moves .* by more than \S+; per unit .*; within the training range", words)
    assert "within the training range" in claim(limited, "influence", "region").statement
    assert "training range" not in claim(free, "influence", "income").statement
    text = " ".join(limited.to_text(details=True).split())
    assert 'seen or unseen; where a claim says "within the training range", for rows and changes in that' in text
    assert "every row, seen or unseen. " in " ".join(free.to_text(details=True).split())
