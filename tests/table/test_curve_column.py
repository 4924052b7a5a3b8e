"""Curves: piecewise linear between their knots, clamped or straight beyond."""

from fractions import Fraction

import numpy as np
import pytest
from encoder_cases import evaluate, quick, weird_columns
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lambdak.table.cells import LARGEST
from lambdak.table.encoder import TableEncoder


def exact_interpolation(x, knots, heights, clamp=True):
    """Rational arithmetic, because np.interp overflows between knots that are very close or very far apart."""
    x, knots = Fraction(x), [Fraction(knot) for knot in knots]
    x = min(max(x, knots[0]), knots[-1]) if clamp else x
    for j in range(len(knots) - 1):
        if x <= knots[j + 1] or j == len(knots) - 2:
            t = (x - knots[j]) / (knots[j + 1] - knots[j])
            return float((1 - t) * Fraction(heights[j]) + t * Fraction(heights[j + 1]))
    return heights[0]


@quick
@given(weird_columns(), weird_columns(), st.integers(2, 12))
@example(np.array([[0.0], [5e-324], [LARGEST]]), np.array([[5e-324], [LARGEST], [-LARGEST]]), 3)
def test_a_curve_is_linear_interpolation_between_its_knots(train, X, n_knots):
    encoder = TableEncoder(n_knots=n_knots).fit(train)
    (column,) = encoder.columns
    entries = np.random.default_rng(0).normal(size=encoder.n_design)
    got = evaluate(encoder.transform(X, dtype=np.float64), entries)
    x = np.where(np.isnan(X[:, 0]), column.median, X[:, 0])
    for row, value in enumerate(x):
        if np.isnan(X[row, 0]) and column.missing >= 0:
            assert got[row] == entries[column.missing]
            continue
        expected = exact_interpolation(value, column.knots, entries[column.start :])
        assert got[row] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@quick
@given(
    hnp.arrays(np.int64, st.tuples(st.integers(1, 40), st.just(1)), elements=st.integers(-20, 20)),
    hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.just(1)), elements=st.floats(-100, 100)),
    st.integers(2, 12),
)
def test_without_clamp_a_curve_continues_with_the_slope_of_its_end_pieces(train, X, n_knots):
    encoder = TableEncoder(n_knots=n_knots, clamp=False).fit(train)
    (column,) = encoder.columns
    entries = np.random.default_rng(0).normal(size=encoder.n_design)
    got = evaluate(encoder.transform(X, dtype=np.float64), entries)
    expected = [exact_interpolation(x, column.knots, entries[column.start :], clamp=False) for x in X[:, 0]]
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-11)


def test_outside_of_the_knots_the_end_pieces_stay_active_or_the_end_knots_alone():
    X, new = [[0.0], [1.0], [3.0]], [[-1.0], [2.0], [7.0], [np.nan]]
    beyond = TableEncoder(clamp=False).fit(X).transform(new)
    assert beyond.ids.tolist() == [[0, 1, 2], [0, 2, 3], [0, 2, 3], [0, 2, 3]]
    assert beyond.weights[:, 1:].tolist() == [[2.0, -1.0], [0.5, 0.5], [-2.0, 3.0], [1.0, 0.0]]
    assert TableEncoder().fit(X).transform(new).weights[[0, 2], 1:].tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("n_knots", [2, 5, 32, "auto"])
def test_every_hat_is_one_at_its_knot_and_zero_at_the_others(n_knots):
    X = np.random.default_rng(0).normal(size=(500, 1))
    encoder = TableEncoder(n_knots=n_knots).fit(X)
    (column,) = encoder.columns
    grid = np.linspace(-4, 4, 1001)[:, None]
    Z = encoder.transform(grid, dtype=np.float64).to_sparse(encoder.n_design).toarray()
    for j, hat in enumerate(np.eye(len(column.knots))):
        np.testing.assert_allclose(Z[:, column.start + j], np.interp(grid[:, 0], column.knots, hat), atol=1e-14)
    at_knots = encoder.transform(column.knots[:, None]).to_sparse(encoder.n_design).toarray()
    np.testing.assert_array_equal(at_knots[:, 1:], np.eye(len(column.knots)))


@quick
@given(weird_columns(), st.sampled_from([0, 3, "auto"]))
def test_a_larger_value_never_moves_back_along_the_curve(train, n_knots):
    encoder = TableEncoder(n_knots=n_knots).fit(train)
    x = np.sort(train[~np.isnan(train[:, 0])], axis=0)
    if len(x):
        along = evaluate(encoder.transform(x, dtype=np.float64), np.arange(float(encoder.n_design)))
        assert (np.diff(along) >= 0).all()


def test_few_distinct_values_get_one_knot_each():
    X = np.array([[3.0], [1.0], [1.0], [8.0]])
    assert TableEncoder().fit(X).columns[0].knots.tolist() == [1.0, 3.0, 8.0]


def test_a_value_that_holds_most_rows_has_its_own_knot_and_the_rest_share_the_others():
    rng = np.random.default_rng(0)
    gain = np.where(rng.random(5000) < 0.92, 0.0, rng.choice([2_000.0, 5_000.0, 7_000.0, 15_000.0], 5000))
    gain[:200] = rng.uniform(-100, 20_000, 200)
    knots = TableEncoder(n_knots=12).fit(gain[:, None]).columns[0].knots
    assert {0.0, 2_000.0, 5_000.0, 7_000.0, 15_000.0, gain.min(), gain.max()} <= set(knots)
    assert len(knots) == 12
