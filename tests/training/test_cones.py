"""Cones: what they write is semidefinite by eigvalsh, and their gradients are central differences."""

from __future__ import annotations

import numpy as np
import pytest
from coordinate_cases import CURVE, GAPPY_CURVE, GAPPY_LINEAR, LINEAR, curves, dense, encoded, mixed, random_theta
from spread_cases import one_cone

from lambdak.eigen.packing import PAD, padded_width, sym
from lambdak.table.curve_column import Curve
from lambdak.training.cones import ConeCoordinates
from lambdak.training.coordinates import design_moments


def cone_of(position, sign, dim, encoder=None, design=None, spread=None):
    if encoder is None:
        encoder, design = mixed()
    moments, column = design_moments(design, encoder.n_design), encoder.columns[position]
    own = one_cone(column, sign, column.rising() if spread is None else spread(column))
    return ConeCoordinates([own], moments, dim), column, encoder, design


def cone_coef(cone, theta, n_design, dtype=np.float32):
    """Coefficients that were zero before the cone added to them, in rows padded as the trainer's are."""
    width = padded_width(theta.shape[-1])
    coef = np.zeros((len(theta), n_design, width), dtype)
    cone.add_(theta, coef)
    return coef


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("position", [CURVE, GAPPY_CURVE])
def test_knots_of_a_cone_climb_by_semidefinite_steps_for_any_parameters(position, sign, dim):
    cone, column, encoder, _ = cone_of(position, sign, dim)
    width = dim * (dim + 1) // 2
    theta = random_theta(np.random.default_rng(0), 3, cone.size, width)
    coef = cone_coef(cone, theta, encoder.n_design)
    knots = sym(coef[:, column.start : column.start + len(column.knots), :width].astype(np.float64))
    steps = np.linalg.eigvalsh(sign * np.diff(knots, axis=1))
    assert steps.shape[1] == len(column.knots) - 1
    assert steps.min() > -1e-5 * np.abs(knots).max()
    assert steps.max(axis=(0, 2)).min() > 0.1  # none of the steps is idle
    np.testing.assert_array_equal(knots[:, 0], 0)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("position", [LINEAR, GAPPY_LINEAR])
def test_the_slope_of_a_linear_cone_is_semidefinite_for_any_parameters(position, sign):
    cone, column, encoder, _ = cone_of(position, sign, 3)
    theta = random_theta(np.random.default_rng(0), 4, cone.size, 6)
    assert cone.size == 1
    slope = sym(cone_coef(cone, theta, encoder.n_design)[:, column.start, :6].astype(np.float64))
    values = np.linalg.eigvalsh(sign * slope)
    assert values.min() > -1e-6
    assert values.max() > 0.1


@pytest.mark.parametrize("position", [CURVE, GAPPY_CURVE, LINEAR, GAPPY_LINEAR])
def test_a_cone_adds_to_its_own_entries_and_the_constant_only(position):
    cone, column, encoder, _ = cone_of(position, 1, 3)
    coef = np.full((2, encoder.n_design, PAD), 5.0, np.float32)
    theta = random_theta(np.random.default_rng(0), 2, cone.size, 6)
    cone.add_(theta, coef)
    first = column.start + (column.kind == "curve")
    own = [0, *range(first, first + cone.size)]
    np.testing.assert_allclose(coef[:, own] - 5.0, cone_coef(cone, theta, encoder.n_design)[:, own], atol=1e-5)
    assert column.missing not in own
    np.testing.assert_array_equal(np.delete(coef, own, axis=1), 5.0)
    np.testing.assert_array_equal(coef[..., 6:], 5.0)


@pytest.mark.parametrize("position", [CURVE, GAPPY_CURVE, LINEAR, GAPPY_LINEAR])
def test_a_cone_leaves_the_mean_matrix_over_the_training_rows_where_it_was(position):
    cone, _, encoder, design = cone_of(position, -1, 3)
    theta = random_theta(np.random.default_rng(0), 2, cone.size, 6)
    matrices = np.einsum("rp,mpd->mrd", dense(design, encoder.n_design), cone_coef(cone, theta, encoder.n_design))
    np.testing.assert_allclose(matrices.mean(axis=1), 0, atol=1e-5 * np.abs(matrices).max())


@pytest.mark.parametrize("dim", [1, 2, 4])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("position", "bent"), [(CURVE, False), (GAPPY_CURVE, False), (LINEAR, False), (CURVE, True)])
def test_pull_back_of_a_cone_is_the_transpose_of_its_derivative_by_central_differences(position, bent, sign, dim):
    cone, _, encoder, _ = cone_of(position, sign, dim, spread=(lambda column: column.hinged(sign)) if bent else None)
    rng, h = np.random.default_rng(0), 1e-5
    theta = rng.standard_normal((2, cone.size, dim * (dim + 1) // 2))
    direction = rng.standard_normal(theta.shape)
    ends = [cone_coef(cone, theta + s * h * direction, encoder.n_design, np.float64) for s in (1, -1)]
    derivative = (ends[0] - ends[1]) / (2 * h)
    grad_coef = rng.standard_normal(derivative.shape)
    grad_coef[..., theta.shape[-1] :] = 0
    pulled = cone.pull_back(theta, grad_coef)
    assert pulled.shape == theta.shape
    for model in range(2):
        wanted = np.vdot(derivative[model], grad_coef[model])
        assert np.vdot(pulled[model], direction[model]) == pytest.approx(wanted, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("n_knots", [2, 5, 20])
def test_at_the_start_a_cone_rises_by_the_same_amount_whatever_the_number_of_knots(n_knots):
    encoder, design = curves(n_knots=n_knots)
    cone, column, *_ = cone_of(0, 1, 5, encoder, design)
    theta = cone.start(40, np.random.default_rng(0))
    knots = sym(cone_coef(cone, theta, encoder.n_design)[:, column.start : column.stop, :15].astype(np.float64))
    rise = np.linalg.eigvalsh(knots[:, -1] - knots[:, 0])
    assert theta.dtype == np.float32
    assert rise.mean() == pytest.approx(0.3, rel=0.1)
    assert rise.min() > 0.05
    assert len(np.unique(theta[:, 0, 0])) == 40


@pytest.mark.parametrize("n_knots", [2, 5, 20, 40])
def test_parameters_that_jitter_by_a_step_of_adam_hardly_lift_a_column_whatever_the_number_of_knots(n_knots):
    encoder, design = curves(n_knots=n_knots)
    cone, column, *_ = cone_of(0, 1, 5, encoder, design)
    rng = np.random.default_rng(0)
    start = cone.start(40, rng)
    jitter = 0.06 * rng.choice([-1, 1], start.shape).astype(np.float32)  # the usual rate
    before, after = (
        sym(cone_coef(cone, theta, encoder.n_design)[:, column.stop - 1, :15]).trace(axis1=1, axis2=2).mean()
        for theta in (start, start + jitter)
    )
    assert after == pytest.approx(before, rel=0.1)


def test_steps_whose_first_rise_is_known_start_there_and_are_not_shared_out():
    encoder, design = curves(n_knots=4)
    column, rises = encoder.columns[0], np.array([0.1, 2.0, 0.5])
    cone = ConeCoordinates([one_cone(column, 1, column.rising(), rises)], design_moments(design, encoder.n_design), 3)
    coef = cone_coef(cone, cone.start(200, np.random.default_rng(0)), encoder.n_design)
    steps = np.diff(sym(coef[:, column.start : column.stop, :6]), axis=1)
    np.testing.assert_allclose(steps.trace(axis1=2, axis2=3).mean(axis=0) / 3, rises, rtol=0.1)


def test_cones_of_several_columns_are_those_of_each_column_by_itself():
    encoder, design = mixed()
    moments, rng = design_moments(design, encoder.n_design), np.random.default_rng(0)
    cones = [
        one_cone(encoder.columns[i], sign, encoder.columns[i].rising()) for i, sign in ((CURVE, 1), (GAPPY_LINEAR, -1))
    ]
    apart, together = [ConeCoordinates([cone], moments, 3) for cone in cones], ConeCoordinates(cones, moments, 3)
    parts = [random_theta(rng, 2, cone.size, 6) for cone in apart]
    coef = cone_coef(together, np.concatenate(parts, axis=1), encoder.n_design)
    wanted = sum(cone_coef(cone, part, encoder.n_design) for cone, part in zip(apart, parts, strict=True))
    np.testing.assert_allclose(coef, wanted, atol=1e-5)
    grad = rng.standard_normal(coef.shape).astype(np.float32)
    pulled = [cone.pull_back(part, grad) for cone, part in zip(apart, parts, strict=True)]
    got = together.pull_back(np.concatenate(parts, axis=1), grad)
    np.testing.assert_allclose(got, np.concatenate(pulled, axis=1), atol=1e-5)


def curvatures(knots, x):
    """Changes of slope at the inner knots, (..., inner knots, d, d), from matrices at knots x."""
    return np.diff(np.diff(knots, axis=-3) / np.diff(x)[:, None, None], axis=-3)


@pytest.mark.parametrize("sign", [-1, 0, 1])
@pytest.mark.parametrize("bend", [1, -1])
@pytest.mark.parametrize("n_knots", [2, 3, 9])
def test_knots_of_a_hinged_cone_bend_one_way_and_with_a_sign_go_one_way(n_knots, bend, sign):
    X = np.random.default_rng(0).exponential(size=(300, 1))  # knots at uneven distances
    encoder, design = encoded(X, n_knots, (), ())
    cone, column, *_ = cone_of(0, bend, 3, encoder, design, lambda column: column.hinged(sign))
    theta = random_theta(np.random.default_rng(0), 4, cone.size, 6)
    assert cone.size == n_knots - (1 if sign else 2)
    knots = sym(cone_coef(cone, theta, encoder.n_design)[:, column.start : column.stop, :6].astype(np.float64))
    size = max(np.abs(knots).max(), 1)
    bends = np.linalg.eigvalsh(bend * curvatures(knots, column.knots))
    assert bends.min(initial=0) > -1e-5 * size / np.diff(column.knots).min()
    assert (bends.max(axis=(0, 2), initial=0) > 0.01).all()  # none of the inner knots is idle
    if sign:
        steps = np.linalg.eigvalsh(bend * sign * np.diff(knots, axis=1))
        assert steps.min() > -1e-5 * size
        assert steps.max() > 0.1


def test_hinges_and_a_slope_describe_every_convex_curve():
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.exponential(size=8))
    column = Curve("x", 1, knots=x)
    heights = np.cumsum(np.concatenate([[0], np.cumsum(rng.uniform(-1, 1, 1).tolist() + [0.5] * 6) * np.diff(x)]))
    lines = np.column_stack([np.ones(8), x])
    weights = np.linalg.lstsq(np.column_stack([lines, column.hinged(0)]), heights)[0]
    np.testing.assert_allclose(np.column_stack([lines, column.hinged(0)]) @ weights, heights, atol=1e-10)
    assert (weights[2:] > 0).all()
