"""Knots go where the rows are, one of them to every value that holds many rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdak.table.cells import LARGEST
from lambdak.table.knots import auto_knots, center_and_scale, choose_knots, distinct, median

quick = settings(max_examples=200, deadline=None)
numbers = st.floats(-LARGEST, LARGEST)
masses = st.one_of(st.integers(1, 10_000).map(float), st.floats(1e-6, 1e6))
distributions = st.dictionaries(numbers.map(lambda x: x + 0.0), masses, min_size=1, max_size=60)


def arrays(distribution):
    values = np.array(sorted(distribution))
    return values, np.array([distribution[value] for value in values])


@quick
@given(distributions, st.integers(2, 40))
def test_knots_are_increasing_values_with_both_ends_and_as_many_as_requested(distribution, n_knots):
    values, mass = arrays(distribution)
    knots = choose_knots(values, mass, n_knots)
    assert len(knots) == min(n_knots, len(values))
    assert (np.diff(knots) > 0).all()
    assert set(knots) <= set(values)
    assert knots[0] == values[0]
    assert knots[-1] == values[-1]


@quick
@given(distributions, st.integers(4, 40))
def test_a_value_with_more_than_two_shares_of_the_rows_is_a_knot(distribution, n_knots):
    values, mass = arrays(distribution)
    spikes = values[mass > 2 * mass.sum() / n_knots]
    assert set(spikes) <= set(choose_knots(values, mass, n_knots))


def test_knots_of_a_smooth_column_are_its_quantiles():
    x = np.random.default_rng(0).normal(size=20_001)
    knots = choose_knots(*distinct(x), 11)
    expected = np.quantile(x, (np.arange(9) + 0.5) / 9)
    np.testing.assert_allclose(knots[1:-1], expected, atol=1e-3)


def test_a_spike_leaves_the_other_knots_to_the_other_rows():
    rng = np.random.default_rng(0)
    tail = rng.lognormal(8, 1, 800)
    knots = choose_knots(*distinct(np.concatenate([np.zeros(9_200), tail])), 12)
    assert knots[0] == 0.0
    shares = np.diff(np.searchsorted(np.sort(tail), knots[1:]))
    assert shares.max() <= 2 * 800 / 10


def test_repeating_a_row_and_weighing_it_give_the_same_knots():
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=300).round(1), rng.integers(1, 5, 300)
    repeated, weighted = distinct(np.repeat(x, weight)), distinct(x, weight.astype(float))
    np.testing.assert_array_equal(choose_knots(*repeated, 9), choose_knots(*weighted, 9))
    assert median(*repeated) == median(*weighted)
    assert center_and_scale(*repeated) == center_and_scale(*weighted)


@quick
@given(st.lists(st.sampled_from([-0.0, 0.0, 1.0]), min_size=1, max_size=40), st.booleans())
def test_zeros_of_both_signs_are_one_value_whose_sign_does_not_depend_on_the_order(sample, weighted):
    values, mass = distinct(np.array(sample), np.ones(len(sample)) if weighted else None)
    assert not np.signbit(values).any()
    assert mass.tolist() == [count for count in (sample.count(0.0), sample.count(1.0)) if count]


def test_auto_shrinks_with_the_columns_between_its_limits():
    assert [auto_knots(10**6, columns) for columns in (0, 1, 14, 15, 112, 10**6)] == [32, 32, 32, 30, 4, 4]
    assert [auto_knots(rows, 45, 5, 36) for rows in (1, 300, 10**6)] == [5, 7, 10]
    assert auto_knots(10**6, 1, most=36) == 36


def test_auto_grows_with_the_rows_between_its_limits():
    assert [auto_knots(rows) for rows in (1, 159, 160, 1000, 1280, 10**6)] == [4, 4, 4, 25, 32, 32]
    assert [auto_knots(mass) for mass in (0.5, 399.9, 400.0, 1e300)] == [4, 9, 10, 32]


@quick
@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=50))
def test_center_and_scale_are_mean_and_standard_deviation(sample):
    x = np.array(sample)
    center, scale = center_and_scale(*distinct(x))
    size = np.abs(x).max()
    assert center == pytest.approx(x.mean(), rel=1e-12, abs=1e-12 * size)
    if x.std() > 1e-6 * size and x.std() > 1e-300:
        assert scale == pytest.approx(x.std(), rel=1e-6)


@quick
@given(distributions)
def test_scale_is_positive_and_finite_for_any_finite_column(distribution):
    values, mass = arrays(distribution)
    center, scale = center_and_scale(values, mass)
    assert np.isfinite(center)
    assert 0 < scale < np.inf
    assert np.isfinite((values - center) / scale).all()


@quick
@given(st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=40))
def test_the_median_is_the_lower_median_of_the_rows(sample):
    assert median(*distinct(np.array(sample))) == np.quantile(sample, 0.5, method="lower")
