"""Caps: the moves of a column against its encoded cells, bounds against dense norms, gradients against differences."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdak.eigen.packing import PAD, padded_width, sym
from lambdak.table.category_column import Category
from lambdak.table.curve_column import Curve
from lambdak.table.encoder import TableEncoder
from lambdak.table.linear_column import Linear
from lambdak.training import caps
from lambdak.training.caps import Cap, steepest

LEVELS = (0.0, 1.0, 2.0, 3.0)

SWAPS = {
    "a curve": (Curve("x", 1, knots=[0.0, 1, 3]), [[-1, 1, 0], [-1, 0, 1], [0, -1, 1]]),
    "a curve with missing cells": (
        Curve("x", 1, knots=[0.0, 1], has_missing=True), [[-1, 1, 0], [-1, 0, 1], [0, -1, 1]]),
    "a curve with one knot": (Curve("x", 1, knots=np.zeros(1)), np.empty((0, 1))),
    "a linear column": (Linear("x", 3, center=1, scale=2, low=0, high=5), [[2.5]]),
    "a linear column with missing cells": (
        Linear("x", 3, center=1, scale=2, low=0, high=5, has_missing=True), [[2.5, 0], [0.5, 1], [-2, 1]]),
    "a category": (Category("x", 2, levels=("a", "b", None)), [[-1, 1, 0], [-1, 0, 1], [0, -1, 1]]),
    "a category of one level": (Category("x", 2, levels=("a",)), np.empty((0, 1))),
}  # fmt: skip


@pytest.mark.parametrize("case", SWAPS)
def test_swaps_are_the_differences_between_the_extreme_cells_of(case):
    column, expected = SWAPS[case]
    np.testing.assert_array_equal(column.swaps(), expected)


def encoder_of(kind, gaps, seed=0):
    """The encoder of a table with a column of this kind after another one, which has nothing to do with it."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 2))
    if kind == "category":
        X[:, 1] = rng.choice(LEVELS, 80)
    if gaps:
        X[::7, 1] = np.nan
    categories, linear = ([1] if kind == "category" else []), (["x1"] if kind == "linear" else [])
    encoder = TableEncoder(n_knots=5, categorical_features=categories, linear=linear, min_level_count=1).fit(X)
    assert (encoder.columns[1].kind, encoder.columns[1].missing >= 0) == (kind, gaps)
    return encoder


COLUMNS = [(kind, gaps) for kind in ("curve", "linear", "category") for gaps in (False, True)]


def moves(encoder, cells, coef):
    """‖A(a) − A(b)‖₂ between any two cells of the second column, from coefficients (P, D)."""
    X = np.column_stack([np.zeros(len(cells)), cells])
    matrices = encoder.transform(X, np.float64).to_sparse(encoder.n_design) @ coef.astype(np.float64)
    return np.linalg.norm(sym(matrices[:, None] - matrices), 2, axis=(-2, -1))


@pytest.mark.parametrize(("kind", "gaps"), COLUMNS)
def test_no_two_cells_of_a_column_are_further_apart_than_the_bound_and_some_are_as_far(kind, gaps):
    encoder = encoder_of(kind, gaps)
    column, rng = encoder.columns[1], np.random.default_rng(1)
    numbers = np.concatenate([column.nodes(), rng.uniform(-9, 9, 40)]) if column.is_number else LEVELS
    cells = np.concatenate([numbers, [np.nan] if gaps or kind != "category" else []])
    for _ in range(5):
        coef = rng.standard_normal((encoder.n_design, 10))
        bound, _ = steepest(column.swaps(), coef[None, column.start : column.stop])
        assert moves(encoder, cells, coef).max() == pytest.approx(bound[0], rel=1e-12)


# ---- the steepest move -----------------------------------------------------------------------------------------


def random_swaps(rng, p):
    return Curve("x", 1, knots=np.arange(float(p))).swaps() if p > 1 else rng.standard_normal((2, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 2, 6])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_the_steepest_move_has_the_largest_dense_norm(dim, p, dtype):
    rng = np.random.default_rng(dim)
    some = random_swaps(rng, p)
    rows = rng.standard_normal((7, p, dim * (dim + 1) // 2)).astype(dtype)
    expected = np.linalg.norm(sym(some @ rows.astype(np.float64)), 2, axis=(-2, -1)).max(axis=1)
    bound, slope = steepest(some.astype(dtype), rows)
    assert (bound.dtype, slope.dtype, slope.shape) == (dtype, dtype, rows.shape)
    np.testing.assert_allclose(bound, expected, rtol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("p", [1, 2, 6])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_the_slope_of_the_steepest_move_is_its_derivative_by_central_differences(dim, p):
    rng, h = np.random.default_rng(dim), 1e-6
    some = random_swaps(rng, p)
    rows = rng.standard_normal((20, p, dim * (dim + 1) // 2))
    direction = rng.standard_normal(rows.shape)
    _, slope = steepest(some, rows)
    ends = [steepest(some, rows + sign * h * direction)[0] for sign in (1, -1)]
    np.testing.assert_allclose((slope * direction).sum(axis=(1, 2)), (ends[0] - ends[1]) / (2 * h), atol=1e-6)


def test_a_column_that_cannot_move_has_bound_and_slope_zero():
    bound, slope = steepest(np.empty((0, 1)), np.ones((3, 1, 6)))
    np.testing.assert_array_equal(bound, np.zeros(3))
    np.testing.assert_array_equal(slope, np.zeros((3, 1, 6)))


# ---- caps ------------------------------------------------------------------------------------------------------


def padded(coef):
    width = coef.shape[-1]
    return np.pad(coef, [(0, 0), (0, 0), (0, padded_width(width) - width)])


def bounds(column, coef, width):
    """The largest move of every model by dense norms in float64."""
    some = column.swaps() @ coef[:, column.start : column.stop, :width].astype(np.float64)
    return np.linalg.norm(sym(some), 2, axis=(-2, -1)).max(axis=1)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(COLUMNS),
    st.sampled_from([1, 2, 5, 9]),
    st.floats(1e-6, 1e6),
    st.floats(1e-3, 1e3),
    st.integers(0, 99),
)
def test_the_bound_is_never_above_the_cap_and_columns_below_it_are_untouched(which, dim, size, limit, seed):
    encoder, width, rng = encoder_of(*which), dim * (dim + 1) // 2, np.random.default_rng(seed)
    column = encoder.columns[1]
    models = 10.0 ** rng.uniform(-2, 2, (6, 1, 1))  # some above the cap, some below
    before = padded((size * models * rng.standard_normal((6, encoder.n_design, width))).astype(np.float32))
    after = before.copy()
    Cap(column, limit, dim).apply_(after)
    high = bounds(column, before, width) > limit
    assert (bounds(column, after, width) <= limit).all()
    np.testing.assert_allclose(bounds(column, after, width)[high], limit, rtol=1e-4)  # and as much as it may
    low = bounds(column, before, width) < limit * (1 - 1e-4)
    np.testing.assert_array_equal(after[low], before[low])
    others = np.delete(np.arange(encoder.n_design), np.arange(column.start, column.stop))
    np.testing.assert_array_equal(after[:, others], before[:, others])


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize(("kind", "gaps"), COLUMNS)
def test_pull_back_of_a_cap_is_the_transpose_of_its_derivative_by_central_differences(kind, gaps, dim):
    encoder, rng, h = encoder_of(kind, gaps), np.random.default_rng(0), 1e-6
    column, width = encoder.columns[1], dim * (dim + 1) // 2
    coef = padded(rng.standard_normal((4, encoder.n_design, width)))
    limit = float(np.median(bounds(column, coef, width)))
    cap, direction = Cap(column, limit, dim), padded(rng.standard_normal((4, encoder.n_design, width)))

    def capped(at):
        result = at.copy()
        cap.apply_(result)
        return result

    ends = [capped(coef + sign * h * direction) for sign in (1, -1)]
    derivative = (ends[0] - ends[1]) / (2 * h)
    grad = rng.standard_normal(coef.shape)
    grad[..., width:] = 0
    pulled = grad.copy()
    capped(coef)
    cap.pull_back_(pulled)
    touched = (pulled != grad).any(axis=(1, 2))
    assert touched.any()
    assert not touched.all(), "the test needs models on both sides of the cap"
    got, wanted = (pulled * direction).sum(axis=(1, 2)), (grad * derivative).sum(axis=(1, 2))
    np.testing.assert_allclose(got, wanted, atol=1e-6 * np.abs(wanted).max())


def test_a_column_of_zeros_stays_zero_and_passes_its_gradient_on():
    encoder = encoder_of("curve", gaps=True)
    coef = np.zeros((2, encoder.n_design, PAD), np.float32)
    cap, grad = Cap(encoder.columns[1], 0.5, 5), np.ones_like(coef)
    cap.apply_(coef)
    np.testing.assert_array_equal(coef, 0)
    cap.pull_back_(grad)
    np.testing.assert_array_equal(grad, 1)


@pytest.mark.parametrize(("threads", "n_jobs"), [(0, None), (3, 3)])
def test_a_cap_measures_with_the_threads_it_is_given(threads, n_jobs, monkeypatch):
    seen = []
    for name in ("eigenvalue", "eigenpair", "eigenvalue_vjp"):
        real = getattr(caps, name)
        spy = functools.partial(lambda real, *given, n_jobs: seen.append(n_jobs) or real(*given, n_jobs=n_jobs), real)
        monkeypatch.setattr(caps, name, spy)
    encoder = TableEncoder(n_knots=3).fit([[0.0], [1.0], [4.0]])
    coef = np.ones((2, encoder.n_design, PAD), np.float32)
    Cap(encoder.columns[0], 1.0, 3).apply_(coef, threads)
    assert seen == [n_jobs] * 4
