"""The least value of convex scores, against brute force on fine grids.

Tests ``interior``, ``lifted``, ``scores`` and ``solver``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from convex_cases import GAP, clock, convex_score, grid, random_rows
from score_cases import packed_from

from lambdak import SpectralRegressor
from lambdak.model.readout import readouts
from lambdak.optimize.axes import Axis, make_axis
from lambdak.optimize.convex.solver import is_convex, minimize_convex
from lambdak.optimize.frontier import Clock, Status
from lambdak.optimize.linear import LinearRows
from lambdak.optimize.scores import Score, restrict

KINDS = [
    ("number",),
    ("number", "number"),
    ("number", "number", "number"),
    ("whole",),
    ("whole", "number"),
    ("levels", "number"),
    ("levels", "levels"),
    ("whole", "levels", "number"),
]
STEPS = {1: 801, 2: 61, 3: 15}
NONE = LinearRows.none


def rows(matrix, low, high):
    return LinearRows(np.array(matrix, float), np.array(low, float), np.array(high, float), ("row",) * len(matrix))


def check(score, linear, found, steps):
    """The optimum is between bound and value, the value is that of the point, and the point meets the constraints."""
    points = grid(score, steps)
    best = score.values(points)[linear.hold(points)].min(initial=np.inf)
    assert found.status is Status.OPTIMAL
    assert found.bound <= best
    assert found.bound <= found.value <= best + 2 * GAP * max(abs(best), 1e-3)
    assert found.value == score.values(found.x[None])[0]
    assert linear.hold(found.x[None])[0]
    assert all(x == round(x) for x, axis in zip(found.x, score.axes, strict=True) if axis.whole)
    assert all(axis.low <= x <= axis.high for x, axis in zip(found.x, score.axes, strict=True))


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_the_least_value_on_a_grid_is_within_the_bounds(kinds, seed):
    score = convex_score(seed, kinds)
    check(score, NONE(len(kinds)), minimize_convex(score, NONE(len(kinds)), clock()), STEPS[len(kinds)])


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("seed", range(100, 106))
def test_the_least_value_within_constraints_is_within_the_bounds(kinds, seed):
    score = convex_score(seed, kinds)
    linear = random_rows(seed, score)
    check(score, linear, minimize_convex(score, linear, clock()), STEPS[len(kinds)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1500))
def test_five_hundred_more_are_within_the_bounds(seed):
    kinds = KINDS[seed % len(KINDS)]
    score = convex_score(seed, kinds)
    linear = random_rows(seed, score) if seed % 3 else NONE(len(kinds))
    check(score, linear, minimize_convex(score, linear, clock()), STEPS[len(kinds)])


@pytest.mark.parametrize("seed", range(6))
def test_the_gap_closes_to_rounding(seed):
    score = convex_score(seed, ("number", "number"))
    found = minimize_convex(score, NONE(2), clock(0.0))
    assert found.status in (Status.STALLED, Status.OPTIMAL)
    assert 0 <= found.value - found.bound <= 1e-6 * (abs(found.value) + score.weights @ score.size)


@pytest.mark.parametrize("seed", range(5))
def test_a_bound_holds_for_curves_that_are_not_convex(seed):
    score = convex_score(seed, ("number", "number"), dim=3)
    bent = replace(score, curves=tuple(-curve for curve in score.curves))
    found = minimize_convex(bent, NONE(2), clock())
    assert found.bound <= bent.values(grid(bent, 101)).min()


def test_every_iterate_of_the_trace_is_a_proof_and_they_improve():
    score = convex_score(3, ("number", "number"))
    found = minimize_convex(score, NONE(2), clock(1e-6))
    values, bounds = [m.value for m in found.trace], [m.bound for m in found.trace]
    assert values == sorted(values, reverse=True)
    assert bounds == sorted(bounds)
    assert max(bounds) <= min(values)


def test_a_score_is_convex_by_its_last_eigenvalue_and_its_bends():
    score = convex_score(1, ("number", "levels"), dim=3)
    falling = replace(score, curves=(-score.curves[0], score.curves[1]))
    assert is_convex(score)
    assert not is_convex(replace(score, index=1))
    assert is_convex(score.negative().negative())
    assert not is_convex(score.negative())
    assert len(score.axes[0].points) > 2
    assert not is_convex(falling)


def test_another_eigenvalue_is_refused():
    score = replace(convex_score(1, ("number",), dim=3), index=1)
    with pytest.raises(ValueError, match=r"reads the last eigenvalue, 2; this one reads 1"):
        minimize_convex(score, NONE(1), clock())


def test_constraints_that_nothing_meets_are_infeasible():
    score = convex_score(2, ("number", "whole"))
    low, high = score.axes[0].low, score.axes[0].high
    found = minimize_convex(score, rows([[1, 0]], [high + 1], [np.inf]), clock())
    assert (found.status, found.x, found.bound) == (Status.INFEASIBLE, None, np.inf)
    both = rows([[1, 1], [1, 1]], [low + 2, -np.inf], [np.inf, low + 1.9])
    assert minimize_convex(score, both, clock()).status is Status.INFEASIBLE


def test_whole_numbers_that_nothing_meets_are_infeasible():
    score = convex_score(2, ("whole", "whole"))
    found = minimize_convex(score, rows([[2, 2]], [3], [3]), clock(time_limit=60))
    assert found.status is Status.INFEASIBLE


def test_a_constraint_without_columns_is_met_or_not():
    score = convex_score(2, ("number",))
    assert minimize_convex(score, rows([[0]], [-1], [1]), clock()).status is Status.OPTIMAL
    assert minimize_convex(score, rows([[0]], [1], [2]), clock()).status is Status.INFEASIBLE


@pytest.mark.parametrize("twice", [True, False])
def test_equations_are_met(twice):
    score = convex_score(4, ("number", "number", "number"))
    middle = np.array([0.5 * (axis.low + axis.high) for axis in score.axes])
    matrix = np.array([[1.0, -2.0, 0.5]])
    matrix, at = np.repeat(matrix, 1 + twice, axis=0), np.repeat(matrix @ middle, 1 + twice)
    found = minimize_convex(score, rows(matrix, at, at), clock())
    assert found.status is Status.OPTIMAL
    np.testing.assert_allclose(matrix @ found.x, at, atol=1e-8)


def test_a_single_point_is_its_own_solution():
    score = convex_score(5, ("number", "levels"))
    axes = tuple(replace(axis, points=axis.points[:1]) for axis in score.axes)
    score = replace(score, axes=axes, curves=tuple(curve[:, :1] for curve in score.curves))
    found = minimize_convex(score, NONE(2), clock(1e-9))
    assert found.status is Status.OPTIMAL
    assert found.value == score.values(found.x[None])[0]


@pytest.mark.parametrize("dim", [1, 4])
def test_a_constant_model_has_its_constant(dim):
    axis = Axis("x", np.array([0.0, 1.0, 3.0]))
    constant = np.array([packed_from(2.0 * np.eye(dim))])
    score = Score(1.0, np.ones(1), dim - 1, constant, (np.zeros((1, 3, constant.shape[1])),), (axis,))
    found = minimize_convex(score, NONE(1), clock(1e-8))
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(3.0, abs=1e-12)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_repeated_eigenvalues_of_any_size(size):
    # max(x, −x, y, −y) plus a shift: all four meet at the optimum.
    axes = (Axis("x", np.array([-1.0, 2.0])), Axis("y", np.array([-3.0, 1.0])))
    curves = [np.diag([1.0, -1, 0, 0]), np.diag([0.0, 0, 1, -1])]
    own = tuple(
        size * np.array([[packed_from(p * A) for p in axis.points]]) for A, axis in zip(curves, axes, strict=True)
    )
    score = Score(size, np.ones(1), 3, np.zeros((1, 10)), own, axes)
    found = minimize_convex(score, NONE(2), Clock(lambda value, bound: value - bound <= 1e-6 * abs(value)))
    assert found.status is Status.OPTIMAL
    assert found.bound <= size <= found.value <= size * (1 + 2e-6)


def test_a_cost_is_added():
    score = convex_score(6, ("number", "number"))
    target = np.array([0.3 * axis.low + 0.7 * axis.high for axis in score.axes])
    both = list(zip(score.axes, target, strict=True))
    axes = tuple(replace(axis, points=np.unique(np.append(axis.points, at))) for axis, at in both)
    curves = tuple(score.curve_at(i, axis.points) for i, axis in enumerate(axes))
    score = replace(score, axes=axes, curves=curves)
    cost = tuple(1e4 * np.abs(axis.points - at) for axis, at in zip(axes, target, strict=True))
    found = minimize_convex(score, NONE(2), clock(), cost)
    at_target = score.values(target[None])[0]  # a cost so steep that nothing else pays
    assert found.bound <= at_target <= found.value + GAP * abs(at_target)
    np.testing.assert_allclose(found.x, target, atol=1e-3)


def test_a_time_limit_returns_what_is_known():
    score = convex_score(7, ("number", "number"))
    found = minimize_convex(score, NONE(2), clock(0.0, time_limit=0.0))
    assert found.status is Status.TIME_LIMIT
    assert found.bound <= score.values(grid(score, 31)).min()


@pytest.mark.parametrize("kinds", [("number", "number"), ("whole", "levels", "number")])
@pytest.mark.parametrize("after", [1, 4, 9])
def test_an_interrupt_returns_the_best_point_with_its_bound(kinds, after):
    score, seen = convex_score(0, kinds), []

    def report(moment):
        seen.append(moment)
        if len(seen) == after:
            raise KeyboardInterrupt

    found = minimize_convex(score, NONE(len(kinds)), clock(0.0, report=report))
    assert found.status is Status.INTERRUPTED
    assert found.bound <= score.values(grid(score, 15)).min()
    assert found.x is None or found.value == score.values(found.x[None])[0]


@pytest.mark.parametrize("shape", ["convex", "concave"])
def test_fitted_models_are_solved_and_predict_says_the_same(shape):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    y = ((X - 0.2) ** 2).sum(axis=1) * (1 if shape == "convex" else -1)
    model = SpectralRegressor(shape=shape, dim=3, n_estimators=2, max_iter=30, random_state=0).fit(X, y)
    axes = [make_axis([column], (-1.5, 1.5), False) for column in model.model_.encoder.columns]
    score = restrict(model.model_, readouts(model.model_)[0], axes, {})
    sign = 1 if shape == "convex" else -1
    score = score if sign > 0 else score.negative()
    found = minimize_convex(score, NONE(2), clock())
    assert is_convex(score)
    assert found.status is Status.OPTIMAL
    assert sign * model.predict(found.x[None])[0] == pytest.approx(found.value, abs=score.error)
    assert found.bound <= (sign * model.predict(grid(score, 61))).min() + score.error
