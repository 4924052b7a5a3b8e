"""The points that attacks compare: within tolerances, on a line, in order, and where the guided search moves them.

Tests ``changes``, ``monotone`` and ``shapes``.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from claim_cases import claim
from fitted_models import X, changed, fitted, own_coef

from lambdak.certify import attack
from lambdak.certify.changes import Influence, Response, _within
from lambdak.certify.monotone import Monotone
from lambdak.certify.search import Search
from lambdak.certify.shapes import Shape, _with_exact_middle

RNG = np.random.default_rng(0)
OFFSETS = [0.0, 1.0, 1e9, -1e15]


def attack_of(kind, model="regressor", subject=None, within=None):
    estimator = fitted(model)
    claims = estimator.certify(within)
    search = Search.around(estimator.model_, X, strengths={"kind": 2.0, "age": 3.0})
    makers = {"monotone": Monotone, "influence": Influence, "convex": Shape}
    own = claim(claims, kind, subject)
    return Response(search, own, within) if kind == "response" else makers[kind](search, own)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("size", [1e-9, 0.3, 1e4])
def test_no_number_changes_by_more_than_its_tolerance(offset, size):
    numbers = offset + RNG.normal(size=1000)
    changed = _within(numbers, size * RNG.choice([-1.0, 0.5, 1.0], 1000), size)
    off = [abs(Fraction(new) - Fraction(old)) for new, old in zip(changed.tolist(), numbers.tolist(), strict=True)]
    assert max(off) <= Fraction(size) * (1 + Fraction(1, 2**50))
    assert np.isnan(_within(np.array([np.nan]), np.array([1.0]), 1.0)).all()


@pytest.mark.parametrize("offset", OFFSETS)
def test_the_middle_of_a_line_is_on_it(offset):
    ends = _with_exact_middle(offset + RNG.normal(size=(2, 1000)) * 10.0 ** RNG.integers(-3, 3, 1000))
    for first, last in ends.T.tolist():
        assert Fraction(0.5 * first + 0.5 * last) == (Fraction(first) + Fraction(last)) / 2


def test_rising_pairs_are_in_order_and_some_differ_in_the_last_bit_only():
    low, high = (rows.columns for rows in attack_of("monotone", subject="income").begin(400))
    assert (low[0] <= high[0]).all()
    assert (high[0, 3::4] == np.nextafter(low[0, 3::4], np.inf)).all()
    np.testing.assert_array_equal(low[1:], high[1:])


def test_lines_run_through_several_columns_at_once_but_not_through_categories():
    first, last = (rows.columns for rows in attack_of("convex", "convex").begin(400))
    moved = (first != last) & ~np.isnan(first)
    assert (moved[0] & moved[1]).any()
    assert (moved[0] & ~moved[1]).any()
    assert not moved[2:].any()
    np.testing.assert_array_equal(np.isnan(first), np.isnan(last))


def test_responses_change_what_has_a_tolerance_and_nothing_else():
    own = attack_of("response", within={"income": 1.0, "region": "any"})
    before, after = (rows.columns for rows in own.begin(400))
    assert np.nanmax(np.abs(after[0] - before[0])) == pytest.approx(1.0)
    assert (before[2] != after[2]).any()
    np.testing.assert_array_equal(before[[1, 3]], after[[1, 3]])
    np.testing.assert_array_equal(np.isnan(before[0]), np.isnan(after[0]))


def test_the_strongest_columns_are_changed_in_every_sweep(monkeypatch):
    own = attack_of("influence", subject="region")
    assert own.search.strongest[:2] == (1, 3)
    assert sorted(attack._order(own)) == [0, 1, 2, 3]
    assert attack._order(own)[0] == 2
    monkeypatch.setattr(attack, "_STRONGEST", 1)
    monkeypatch.setattr(attack, "_OTHERS", 0)
    assert attack._order(own) == [2, 1]


@pytest.mark.parametrize("kind", ["monotone", "influence"])
def test_a_step_of_the_guided_search_never_moves_away(kind):
    own = attack_of(kind, subject="income")
    points, least = attack._starts(own)
    for j in range(4):
        points, lower = attack._step(own, points, least, j)
        assert (lower <= least).all()
        np.testing.assert_allclose(own.near(points), lower, rtol=1e-4, atol=1e-5)
        least = lower


def test_the_guided_search_stays_where_an_output_is_not_a_number():
    model, coef = own_coef("regressor")
    coef[0, model.model_.encoder.columns[2].start] = np.nan
    search = Search.around(changed(model, coef=coef).model_, X)
    own = Influence(search, claim(model.certify(), "influence", "income"))
    points, least = attack._starts(own)
    points, least = attack._step(own, points, least, 2)
    assert (least == -np.inf).all()
    assert np.isnan(own.margins(points).values).all()


def test_a_predicted_class_that_falls_within_rounding_is_no_violation():
    own = attack_of("monotone", "ordinal", "income")
    low, high = own.begin(500)
    rounding = own.rounding((low, high))[:, 0]
    assert (own._of_labels((low, high)) >= -rounding).all()
    assert (own._of_labels((high, low)) < -rounding).any()
