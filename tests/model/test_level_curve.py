"""The distribution between and beyond quantiles, against its definition, integrals and steps of single floats."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from lambdak.model.level_curve import LevelCurve

LEVELS = (0.05, 0.15, 0.5, 0.9)
CURVE = LevelCurve(LEVELS, 0.7, 1.3)
RNG = np.random.default_rng(0)
QUANTILES = np.sort(RNG.normal(size=(40, len(LEVELS))) * 10.0 ** RNG.integers(-3, 4, (40, 1)), axis=1)
QUANTILES[:8, 1:3] = QUANTILES[:8, [1]]  # equal neighbours


def test_fitted_levels_come_back_bit_for_bit():
    np.testing.assert_array_equal(CURVE.at(QUANTILES, LEVELS), QUANTILES)


def test_between_levels_a_quantile_is_their_weighted_mean():
    np.testing.assert_allclose(CURVE.at(QUANTILES, [0.4])[:, 0], QUANTILES[:, 1:3] @ [2 / 7, 5 / 7], rtol=1e-12)


def test_every_halving_of_a_tail_moves_as_far():
    low = CURVE.at(QUANTILES, 0.05 / 2.0 ** np.arange(6))
    high = CURVE.at(QUANTILES, 1 - 0.1 / 2.0 ** np.arange(6))
    np.testing.assert_allclose(np.diff(low, axis=1), -0.7, rtol=1e-9)
    np.testing.assert_allclose(np.diff(high, axis=1), 1.3, rtol=1e-9)
    assert (CURVE.at(QUANTILES, [0.0, 1.0]) == [-np.inf, np.inf]).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(0, 2**32 - 1))
def test_no_step_of_a_float_brings_levels_out_of_order(levels, seed):
    rng = np.random.default_rng(seed)
    own = np.array([*levels, *LEVELS, *rng.random(5) ** 8])
    near = [np.nextafter(own, 0), own, np.nextafter(own, 1)]
    t = np.sort(np.clip(np.concatenate(near), 0, 1))
    quantiles = np.sort(rng.normal(size=(5, 4)) * 2.0 ** rng.integers(-40, 40), axis=1)
    curve = LevelCurve(LEVELS, float(rng.exponential()), float(rng.exponential()))
    alone = np.hstack([curve.at(quantiles, [level]) for level in t])  # each in a call of its own
    assert (np.diff(np.nan_to_num(alone, posinf=1e300, neginf=-1e300), axis=1) >= 0).all()


@pytest.mark.parametrize("first", [False, True])
def test_the_level_of_a_quantile_is_the_level(first):
    levels = np.array([0.001, 0.05, 0.07, 0.3, 0.7, 0.95, 0.9999])
    rising = QUANTILES[8:]
    for level, numbers in zip(levels, CURVE.at(rising, levels).T, strict=True):
        np.testing.assert_allclose(CURVE.level_of(rising, numbers, first=first), level, rtol=1e-7)


def test_where_quantiles_are_equal_the_first_and_the_last_level_differ():
    there = QUANTILES[:8, 1]
    np.testing.assert_array_equal(CURVE.level_of(QUANTILES[:8], there, first=True), 0.15)
    np.testing.assert_array_equal(CURVE.level_of(QUANTILES[:8], there), 0.5)


def test_levels_never_fall_as_numbers_rise():
    y = np.sort(RNG.normal(size=500) * 30)
    found = np.stack([CURVE.level_of(QUANTILES, np.full(40, number)) for number in y], axis=1)
    assert (np.diff(found, axis=1) >= 0).all()
    assert (found >= 0).all()
    assert (found <= 1).all()


def test_a_range_ends_all_levels():
    curve = LevelCurve(LEVELS, 0.7, 1.3, -1.0, 2.0)
    found = curve.at(np.clip(QUANTILES, -1, 2), [0.0, 0.5, 1.0])
    assert (found[:, 0] == -1).all()
    assert (found[:, 2] == 2).all()
    one = np.full((1, 4), 0.5)
    assert curve.level_of(one, [2.0])[0] == 1
    assert curve.level_of(one, [-1.5])[0] == 0


@pytest.mark.parametrize("y", [-9.0, -0.3, 0.4, 1.1, 30.0])
def test_crps_is_the_integral_of_its_definition(y):
    quantiles = np.array([[-1.0, 0.0, 0.5, 2.0]])
    curve = LevelCurve(LEVELS, 0.3, 0.4)

    def squared(z):
        return (curve.level_of(quantiles, [z])[0] - (z >= y)) ** 2

    ends = sorted({-60.0, *quantiles[0], y, 60.0, *(2 + 0.4 * np.arange(1, 9)), *(-1 - 0.3 * np.arange(1, 9))})
    whole = sum(quad(squared, a, b, epsabs=1e-12)[0] for a, b in pairwise(ends))
    assert curve.crps(quantiles, np.array([y]))[0] == pytest.approx(whole, rel=1e-6)


def test_crps_of_a_single_number_is_the_absolute_error():
    point = LevelCurve((0.1, 0.9))
    np.testing.assert_allclose(point.crps(np.array([[2.0, 2.0], [1.0, 1.0]]), np.array([5.0, 0.0])), [3, 1], rtol=1e-12)
