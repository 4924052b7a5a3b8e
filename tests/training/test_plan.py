"""Plans: for any parameters the written coefficients have the properties that were requested of the columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spread_cases import stepping

from lambdak.eigen.packing import packed_size, sym
from lambdak.model.model import evaluate
from lambdak.table.encoder import TableEncoder
from lambdak.table.linear_column import Linear
from lambdak.training.coordinates import design_moments, free_blocks
from lambdak.training.plan import Plan

CURVE, GAPPY_CURVE, PAIR, CONSTANT, LINEAR, GAPPY_LINEAR, CATEGORY = range(7)
CURVES, NUMBERS = (CURVE, GAPPY_CURVE, PAIR), (CURVE, GAPPY_CURVE, PAIR, LINEAR, GAPPY_LINEAR)
DIM, WIDTH = 4, 10
REGULARISATIONS = [(0.1, 0.0), (10.0, 2.0)]
BENDS = {"convex": 1, "concave": -1}


def table(rows=300):
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(rows, 7))  # knots at uneven distances
    X[:, PAIR], X[:, CONSTANT] = rng.integers(0, 2, rows), 7.0
    X[:, CATEGORY] = rng.integers(0, 3, rows)
    X[::6, [GAPPY_CURVE, GAPPY_LINEAR]] = np.nan
    return X


ENCODER = TableEncoder(n_knots=6, categorical_features=[CATEGORY], linear=["x4", "x5"], clamp=False).fit(table())
MOMENTS = design_moments(ENCODER.transform(table()), ENCODER.n_design)
FREE_PLAN = Plan(ENCODER.columns, MOMENTS)


def plan_of(signs, shape, caps=None, alpha=0.0):
    return replace(FREE_PLAN, spreads=stepping(ENCODER.columns, signs, shape), caps=caps or {}, alpha=alpha)


def with_random_theta(plan, seed=0, size=1.0, dim=DIM, pencils=1):
    """Parameters that came from nowhere."""
    parameters, rng = plan.parameters(REGULARISATIONS, dim, pencils), np.random.default_rng(seed)
    theta = [size * rng.standard_normal(part.shape) for part in parameters.theta]
    for part in theta:
        part[..., packed_size(dim) :] = 0
    parameters.continue_(theta)
    return parameters


def matrices(coef, position, dim=DIM):
    """The matrices (models, knots, d, d) at the knots of a curve; of a linear column its slope, as if at one knot."""
    column = ENCODER.columns[position]
    own = slice(column.start, column.start + column.n_entries)
    return sym(coef[:, own, : packed_size(dim)].astype(np.float64))


def steps(coef, position, dim=DIM):
    knots = matrices(coef, position, dim)
    return knots if isinstance(ENCODER.columns[position], Linear) else np.diff(knots, axis=1)


def bends(coef, position, dim=DIM):
    slopes = steps(coef, position, dim) / np.diff(ENCODER.columns[position].knots)[:, None, None]
    return np.diff(slopes, axis=1)


def semidefinite(stack, sign, tol=1e-5):
    """Whether sign times every matrix of the stack is positive semidefinite, up to rounding."""
    return not stack.size or np.linalg.eigvalsh(sign * stack).min() >= -tol * max(np.abs(stack).max(), 1)


def influence(coef, position, dim=DIM):
    """max ‖A(a) − A(b)‖₂ of each model over the cells of a column, by dense norms."""
    column = ENCODER.columns[position]
    packed = coef[:, column.start : column.stop, : packed_size(dim)].astype(np.float64)
    if isinstance(column, Linear):
        ends = (np.array([[column.low], [column.high]]) - column.center) / column.scale
        packed = np.concatenate([ends * packed[:, :1], packed[:, 1:]], axis=1)
    return np.linalg.norm(sym(packed[:, :, None] - packed[:, None]), 2, axis=(-2, -1)).max(axis=(1, 2))


requests = st.tuples(
    st.dictionaries(st.sampled_from([*NUMBERS, CONSTANT]), st.sampled_from([-1, 1])),
    st.sampled_from([None, "convex", "concave"]),
    st.dictionaries(st.integers(0, 6), st.floats(0.01, 10)),
    st.sampled_from([0.0, 0.5]),
)


@settings(deadline=None, max_examples=80)
@given(requests, st.floats(0.01, 10), st.integers(0, 999), st.sampled_from([1, 2, 5]))
def test_all_that_was_requested_holds_at_once_for_any_parameters(requested, size, seed, dim):
    signs, shape, caps, _ = requested
    parameters = with_random_theta(plan_of(*requested), seed, size, dim)
    for coef, tol in ((parameters.coef, 1e-5), (parameters.exact(parameters.theta), 1e-12)):
        for position, sign in signs.items():
            if position != CONSTANT:
                assert semidefinite(steps(coef, position, dim), sign, tol)
        for position in CURVES if shape else ():
            slack = tol if position in signs else 1e-5  # the free slope of the others is rounded to float32
            assert semidefinite(bends(coef, position, dim), BENDS[shape], slack)
        for position, cap in caps.items():
            assert (influence(coef, position, dim) <= cap).all()


def test_in_exact_coefficients_a_bent_column_without_hinges_is_a_straight_line():
    parameters = with_random_theta(plan_of({}, "convex"))
    exact = parameters.exact([parameters.theta[0], *(0 * part for part in parameters.theta[1:])])
    for position in CURVES:
        np.testing.assert_allclose(bends(exact, position), 0, atol=1e-12)


@pytest.mark.parametrize("shape", [None, *BENDS])
@pytest.mark.parametrize("sign", [-1, 0, 1])
@pytest.mark.parametrize("position", CURVES)
def test_nothing_more_than_was_requested_is_imposed_on_a_curve(position, sign, shape):
    plan = plan_of({position: sign} if sign else {}, shape)
    coef = np.concatenate([with_random_theta(plan, seed).coef for seed in range(20)])
    climbs, curves = steps(coef, position), bends(coef, position)
    assert not any(semidefinite(climbs, way) for way in (-1, 1) if way != sign)
    assert not curves.size or not any(semidefinite(curves, way) for way in (-1, 1) if way != BENDS.get(shape))
    for linear in (LINEAR, GAPPY_LINEAR):  # convex and concave already
        assert not any(semidefinite(steps(coef, linear), way) for way in (-1, 1))


@pytest.mark.parametrize("shape", [None, "convex"])
def test_missing_entries_and_levels_stay_free_whatever_is_requested_of_numbers(shape):
    plan = plan_of(dict.fromkeys(NUMBERS, 1), shape)
    coef = np.concatenate([with_random_theta(plan, seed).coef for seed in range(20)])
    category = ENCODER.columns[CATEGORY]
    free = [ENCODER.columns[GAPPY_CURVE].missing, ENCODER.columns[GAPPY_LINEAR].missing]
    for row in (*free, *range(category.start, category.stop)):
        assert not any(semidefinite(sym(coef[:, row, :WIDTH].astype(np.float64)), sign) for sign in (-1, 1))


def test_a_table_of_monotone_columns_has_no_free_parameter_but_the_constant():
    X = np.random.default_rng(0).standard_normal((50, 2))
    encoder = TableEncoder(n_knots=4).fit(X)
    moments = design_moments(encoder.transform(X), encoder.n_design)
    for alpha in (0.0, 1.0):
        parameters = Plan(encoder.columns, moments, stepping(encoder.columns, {0: 1, 1: -1}), alpha=alpha).parameters(
            REGULARISATIONS, DIM, 1
        )
        assert [part.shape[1] for part in parameters.theta] == [1, 3 + 3]


# ---- what follows for predictions ------------------------------------------------------------------------------


def along(position, coef, index, grid):
    """Eigenvalues (models, other rows, grid) as one column moves along the grid."""
    rows = np.repeat(table(8), len(grid), axis=0)
    rows[:, position] = np.tile(grid, 8)
    return evaluate(coef, DIM, (index,), ENCODER.transform(rows)).reshape(len(coef), 8, len(grid)).astype(np.float64)


@pytest.mark.parametrize("index", range(DIM))
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("position", NUMBERS)
def test_every_eigenvalue_of_a_monotone_column_goes_one_way_even_beyond_the_training_range(position, sign, index):
    coef = with_random_theta(plan_of({position: sign}, None)).coef
    values = along(position, coef, index, np.linspace(-3, 12, 60))
    assert (sign * np.diff(values)).min() > -1e-5 * np.abs(values).max()
    assert np.abs(np.diff(values)).max() > 1e-3


@pytest.mark.parametrize("shape", BENDS)
@pytest.mark.parametrize("position", NUMBERS)
def test_the_last_eigenvalue_is_convex_and_the_first_concave_even_beyond_the_training_range(position, shape):
    bend = BENDS[shape]
    coef = with_random_theta(plan_of({}, shape)).coef
    values = along(position, coef, DIM - 1 if bend > 0 else 0, np.linspace(-3, 12, 61))
    middle = values[..., 1:-1] - (values[..., :-2] + values[..., 2:]) / 2
    assert (bend * middle).max() < 1e-5 * np.abs(values).max()
    assert (bend * middle).min() < -1e-3


# ---- stacks ----------------------------------------------------------------------------------------------------


def test_every_regularisation_gives_its_damping_and_decay_to_its_pencils():
    parameters = FREE_PLAN.parameters(REGULARISATIONS, DIM, 3)
    assert len(parameters.coef) == 6
    theta = [np.broadcast_to(part[:1], (6, *part.shape[1:])) for part in with_random_theta(FREE_PLAN).theta]
    parameters.continue_(theta)
    for place in range(2):
        alone = FREE_PLAN.parameters([REGULARISATIONS[place]], DIM, 1)
        alone.continue_([part[:1] for part in theta])
        for neuron in range(3):
            np.testing.assert_allclose(parameters.coef[3 * place + neuron], alone.coef[0], rtol=1e-5, atol=1e-6)
    parameters.step_(np.zeros_like(parameters.coef), 0.1)  # without a gradient only the decay of a place acts
    np.testing.assert_array_equal(parameters.theta[0][:3], theta[0][:3])
    np.testing.assert_allclose(parameters.theta[0][3:, 1:], 0.8 * theta[0][3:, 1:], rtol=1e-5)


# ---- alpha -----------------------------------------------------------------------------------------------------


def rows_of(*positions):
    return np.concatenate([np.arange(ENCODER.columns[i].start, ENCODER.columns[i].stop) for i in positions])


def test_with_a_large_alpha_all_free_columns_vanish_in_one_step_and_constrained_ones_stay():
    plan = plan_of({CURVE: 1, GAPPY_LINEAR: -1}, None, alpha=1e4)
    parameters = with_random_theta(plan)
    before = parameters.theta[0][:, 0].copy()
    parameters.step_(np.zeros_like(parameters.coef), 0.1)
    parameters.shrink_()
    np.testing.assert_array_equal(parameters.coef[:, rows_of(GAPPY_CURVE, PAIR, CONSTANT, LINEAR, CATEGORY)], 0)
    np.testing.assert_array_equal(parameters.coef[:, ENCODER.columns[GAPPY_LINEAR].missing], 0)
    assert (steps(parameters.coef, CURVE) != 0).any(axis=(1, 2, 3)).all()
    np.testing.assert_array_equal(parameters.theta[0][:, 0], before)


@pytest.mark.parametrize(("alpha", "idle"), [(0.0, [CONSTANT]), (1.0, [CONSTANT, LINEAR, CATEGORY])])
def test_with_alpha_weak_columns_vanish_and_strong_ones_stay(alpha, idle):
    parameters = with_random_theta(replace(FREE_PLAN, alpha=alpha))
    for block in free_blocks(ENCODER.columns, []):
        if block.owner in (LINEAR, CATEGORY):
            parameters.theta[0][:, block.cols] *= 1e-3
    parameters.step_(np.zeros_like(parameters.coef), 0.1)
    parameters.shrink_()
    assert [i for i in range(7) if not parameters.coef[:, rows_of(i)].any()] == idle
