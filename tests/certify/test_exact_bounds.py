"""Bounds on influence in integers: proven where they are true, whatever floating-point numbers propose."""

from __future__ import annotations

import numpy as np
import pytest
from claim_cases import claim
from fitted_models import KINDS, changed, fitted, own_coef

from lambdak.certify.certificate import IN_FLOAT
from lambdak.certify.exact_bounds import any_change_is_below, box_is_below
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.model.influence import any_change, box, box_moves
from lambdak.model.readout import readouts


@pytest.mark.parametrize("kind", ["regressor", "linear", "straight", "single", "ordinal"])
def test_a_bound_below_what_floats_propose_is_proven_if_it_is_true(kind):
    """Rounding put the proposal of a fitted model above its own bound, so that both ways to prove disagreed."""
    readout = readouts(fitted(kind).model_)[0]
    for i in range(len(readout.columns)):
        bound = any_change(readout, i).bound
        assert any_change_is_below(readout, i, bound)
        if bound:
            assert any_change_is_below(readout, i, bound * (1 - 0.3 * eigenvalue_error(readout.dim)))
            assert not any_change_is_below(readout, i, bound * (1 - 1e-8))


def test_a_column_without_influence_is_bounded_by_zero():
    model = fitted("regressor").model_
    still = model.replace(coef=np.zeros_like(model.coef))
    assert any_change_is_below(readouts(still)[0], 0, 0.0)


@pytest.mark.parametrize("kind", ["regressor", "linear", "wide"])
def test_no_bound_underflows(kind):
    """A bound of zero was certified of a column whose only number was 5e-324."""
    model, coef = own_coef(kind)
    column = model.model_.encoder.columns[0]
    coef[:, column.start : column.stop] = 0.0
    coef[0, column.start, 0] = 5e-324
    tiny = changed(model, coef=coef, scale=0.1)
    readout = readouts(tiny.model_)[0]
    assert any_change(readout, 0).bound > 0
    assert any_change_is_below(readout, 0, any_change(readout, 0).bound)
    assert box(readout, {0: 1.0 if column.is_number else None})[0] > 0


def test_equal_matrices_may_still_be_summed_in_different_ways():
    model, coef = own_coef("regressor")
    column = model.model_.encoder.columns[0]
    coef[:, column.start : column.start + len(column.knots)] = coef[:, [column.start + 1]]
    readout = readouts(changed(model, coef=coef).model_)[0]
    assert box(readout, {0: 0.5})[0] > 0


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("sparse", "wide", "straight")])
def test_responses_are_decided_in_integers_too(kind):
    within = {"income": 0.3, "kind": "any"}
    fast, exact = (claim(fitted(kind).certify(within, exact=each), "response") for each in (False, True))
    assert exact.proven
    assert exact.value == fast.value
    assert IN_FLOAT not in exact.how


def test_a_box_is_below_its_bound_and_no_less():
    readout = readouts(fitted("free").model_)[0]
    tolerances = {0: 0.5, 3: None}
    moves = box_moves(readout, tolerances)
    bound = box(readout, tolerances)[0]
    assert box_is_below(readout, moves, bound)
    assert not box_is_below(readout, moves, 0.999999 * bound)
    assert not box_is_below(readout, moves, 0.0)
    assert box_is_below(readout, box_moves(readout, {0: 0.0}), 0.0)


def test_too_many_corners_for_integers_are_said_to_be_so():
    within = {"income": 0.3, "age": 2.0, "region": "any", "kind": "any"}
    found = claim(fitted("free").certify(within, exact=True), "response")
    assert IN_FLOAT in found.how
    assert found.proven
