"""The coordinates of training: moments, ramps and whitening against dense NumPy, cones against eigvalsh."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from lambdak.coordinates import (
    JOINT_RAMPS,
    ConeCoordinates,
    FreeCoordinates,
    design_moments,
    free_ramps,
)
from lambdak.encode import TableEncoder
from lambdak.packing import sym

ROWS, PAD = 150, 16
DAMPING = (0.1, 1.0, 100.0)


def mixed_table(seed=0, rows=ROWS):
    """A curve, a curve with missing cells, a constant, a linear column, one with missing cells, and two categories."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 7))
    X[:, 1] = X[:, 0] + 0.3 * X[:, 1]
    X[:, 2] = 7.0
    X[:, 5:] = rng.integers(0, 3, (rows, 2))
    X[rng.random(rows) < 0.2, 1] = np.nan
    X[rng.random(rows) < 0.2, 4] = np.nan
    X[rng.random(rows) < 0.2, 6] = np.nan
    return X


CURVE, GAPPY_CURVE, CONSTANT, LINEAR, GAPPY_LINEAR, CATEGORY, GAPPY_CATEGORY = range(7)


def encoded(X, n_knots=5, categorical_features=(5, 6), linear=("x3", "x4")):
    encoder = TableEncoder(n_knots=n_knots, categorical_features=list(categorical_features), linear=linear).fit(X)
    return encoder, encoder.transform(X)


def mixed():
    return encoded(mixed_table())


def curves(rows=400, columns=2, n_knots=4, seed=0):
    X = np.random.default_rng(seed).standard_normal((rows, columns))
    X[:, -1] += 0.5 * X[:, 0]
    return encoded(X, n_knots, (), ())


def dense(design, n_design):
    Z = np.zeros((len(design), n_design))
    np.add.at(Z, (np.arange(len(design))[:, None], design.ids), design.weights.astype(np.float64))
    return Z


def free_coordinates(encoder, design, damping=DAMPING, weight=None, constrained=()):
    moments = design_moments(design, encoder.n_design, weight)
    return FreeCoordinates(free_ramps(encoder.columns, encoder.n_design, constrained), moments, damping)


def random_theta(rng, models, size, width=PAD):
    return rng.standard_normal((models, size, width)).astype(np.float32)


def written(free, theta):
    coef = np.full((len(theta), free.n_design, theta.shape[-1]), np.nan, np.float32)
    free.write_(theta, coef)
    return coef


def basis(free, models):
    """B, (models, P, size − 1), read off from what write_ makes of the unit vectors; row 0 is the constant's shift."""
    width = -(-free.size // PAD) * PAD
    theta = np.zeros((models, free.size, width), np.float32)
    theta[:, np.arange(free.size), np.arange(free.size)] = 1
    return written(free, theta)[:, :, 1 : free.size].astype(np.float64)


# ---- moments ---------------------------------------------------------------------------------------------------


def wide_design():
    """Rows of a sparse table are padded with further slots of the constant."""
    X = sparse.random_array((ROWS, 9), density=0.3, rng=np.random.default_rng(0), format="csr")
    encoder = TableEncoder().fit(X)
    return encoder, encoder.transform(X)


@pytest.mark.parametrize("make", [mixed, wide_design])
def test_moments_are_the_mean_and_covariance_of_the_dense_design(make):
    encoder, design = make()
    moments = design_moments(design, encoder.n_design)
    Z = dense(design, encoder.n_design)
    np.testing.assert_allclose(moments.mean, Z.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(moments.covariance, np.cov(Z, rowvar=False, bias=True), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [mixed, wide_design])
def test_weighted_moments_are_those_of_the_weighted_dense_design(make, dtype):
    encoder, design = make()
    weight = np.random.default_rng(1).exponential(size=len(design)).astype(dtype)
    weight[:10] = 0
    moments = design_moments(design, encoder.n_design, weight)
    Z, atol = dense(design, encoder.n_design), 10 * np.finfo(dtype).eps
    np.testing.assert_allclose(moments.mean, np.average(Z, axis=0, weights=weight), atol=atol)
    np.testing.assert_allclose(moments.covariance, np.cov(Z, rowvar=False, ddof=0, aweights=weight), atol=atol)


def test_a_row_of_weight_two_counts_as_two_rows():
    encoder, design = mixed()
    weight = np.where(np.arange(ROWS) < 40, 2.0, 1.0)
    twice = design.take(np.concatenate([np.arange(40), np.arange(ROWS)]))
    weighted, repeated = design_moments(design, encoder.n_design, weight), design_moments(twice, encoder.n_design)
    np.testing.assert_allclose(weighted.mean, repeated.mean, atol=1e-12)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, atol=1e-12)


# ---- ramps -----------------------------------------------------------------------------------------------------


def test_ramps_reproduce_the_entries_of_every_kind_of_column_relative_to_the_first_knot():
    encoder, _ = mixed()
    ramps = free_ramps(encoder.columns, encoder.n_design, [])
    weights = np.random.default_rng(0).standard_normal(ramps.matrix.shape[1])
    entries = ramps.matrix @ weights
    assert entries[0] == 0
    kinds = set()
    for position, column in enumerate(encoder.columns):
        own = weights[ramps.owners == position]
        kinds.add((column.kind, column.missing >= 0))
        if column.kind == "curve":
            climbs = own[: len(column.knots) - 1]
            expected = [sum(climbs[:j]) for j in range(len(column.knots))]
            expected += list(own[len(climbs) :])
            assert len(own) == len(climbs) + (column.missing >= 0)
        else:
            expected = list(own)
        np.testing.assert_allclose(entries[column.start : column.stop], expected, atol=1e-14)
    assert len(kinds) == 6


def test_any_curve_that_starts_at_zero_any_level_and_any_missing_entry_has_ramps():
    encoder, _ = mixed()
    matrix = free_ramps(encoder.columns, encoder.n_design, []).matrix
    wanted = np.random.default_rng(0).standard_normal(encoder.n_design)
    wanted[0] = 0
    for column in encoder.columns:
        if column.kind == "curve":
            wanted[column.start] = 0
    solution, *_ = np.linalg.lstsq(matrix, wanted)
    np.testing.assert_allclose(matrix @ solution, wanted, atol=1e-12)
    assert np.linalg.matrix_rank(matrix) == matrix.shape[1]


def test_of_a_constrained_column_only_the_missing_entry_is_free():
    encoder, _ = mixed()
    constrained = [CURVE, GAPPY_CURVE, LINEAR, GAPPY_LINEAR]
    ramps = free_ramps(encoder.columns, encoder.n_design, constrained)
    for position in constrained:
        column = encoder.columns[position]
        touched = np.flatnonzero(ramps.matrix[:, ramps.owners == position].any(axis=1))
        assert touched.tolist() == ([column.missing] if column.missing >= 0 else [])
        assert ramps.matrix[touched].sum() == len(touched)
    free = free_ramps(encoder.columns, encoder.n_design, [])
    for position in (CONSTANT, CATEGORY, GAPPY_CATEGORY):
        np.testing.assert_array_equal(
            ramps.matrix[:, ramps.owners == position], free.matrix[:, free.owners == position]
        )


def test_a_column_with_a_single_knot_has_no_ramp():
    encoder, _ = mixed()
    assert len(encoder.columns[CONSTANT].knots) == 1
    assert CONSTANT not in free_ramps(encoder.columns, encoder.n_design, []).owners


# ---- free coordinates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", [JOINT_RAMPS, 3])
def test_pull_back_is_the_transpose_of_write(joint, monkeypatch):
    monkeypatch.setattr("lambdak.coordinates.JOINT_RAMPS", joint)
    encoder, design = mixed()
    free = free_coordinates(encoder, design)
    rng = np.random.default_rng(0)
    theta = random_theta(rng, len(DAMPING), free.size)
    grad_coef = random_theta(rng, len(DAMPING), encoder.n_design)
    grad = np.full_like(theta, np.nan)
    free.pull_back_(grad_coef, grad)
    coef = written(free, theta)
    for model in range(len(DAMPING)):
        left = np.vdot(coef[model].astype(np.float64), grad_coef[model])
        right = np.vdot(theta[model].astype(np.float64), grad[model])
        size = float(np.linalg.norm(coef[model]) * np.linalg.norm(grad_coef[model]))
        assert left == pytest.approx(right, abs=1e-6 * size)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_matrix_over_the_training_rows_is_the_constant_for_any_parameters(weighted):
    encoder, design = mixed()
    rng = np.random.default_rng(0)
    weight = rng.exponential(size=ROWS) if weighted else None
    free = free_coordinates(encoder, design, weight=weight)
    theta = random_theta(rng, len(DAMPING), free.size)
    matrices = np.einsum("rp,mpd->mrd", dense(design, encoder.n_design), written(free, theta))
    mean = np.average(matrices, axis=1, weights=weight)
    np.testing.assert_allclose(mean, theta[:, 0], atol=1e-5 * np.abs(matrices).max())


def test_the_basis_is_the_ramps_times_the_inverse_root_of_the_damped_covariance():
    encoder, design = mixed()
    T = free_ramps(encoder.columns, encoder.n_design, []).matrix
    covariance = np.cov(dense(design, encoder.n_design) @ T, rowvar=False, bias=True)
    mean_eigenvalue = np.linalg.eigvalsh(covariance).mean()
    for B, epsilon in zip(basis(free_coordinates(encoder, design), len(DAMPING)), DAMPING, strict=True):
        inverse = np.linalg.inv(covariance + epsilon * mean_eigenvalue * np.eye(T.shape[1]))
        wanted = T @ inverse @ T.T  # B Bᵀ without any square root
        np.testing.assert_allclose((B @ B.T)[1:, 1:], wanted[1:, 1:], atol=1e-5 * np.abs(wanted).max())
        root = np.linalg.lstsq(T, np.where(np.arange(len(B))[:, None] > 0, B, 0))[0]
        np.testing.assert_allclose(root, root.T, atol=1e-5 * np.abs(root).max())
        assert np.linalg.eigvalsh(root).min() > 0


def test_with_tiny_damping_the_parameters_of_the_design_are_white():
    encoder, design = curves()
    B = basis(free_coordinates(encoder, design, [1e-6]), 1)[0]
    whitened = dense(design, encoder.n_design) @ B
    np.testing.assert_allclose(np.cov(whitened, rowvar=False, bias=True), np.eye(B.shape[1]), atol=1e-3)
    np.testing.assert_allclose(whitened.mean(axis=0), 0, atol=1e-5)


def test_with_huge_damping_the_basis_tends_to_the_ramps_over_the_root_of_the_damping():
    encoder, design = mixed()
    epsilon = 1e8
    T = free_ramps(encoder.columns, encoder.n_design, []).matrix
    covariance = np.cov(dense(design, encoder.n_design) @ T, rowvar=False, bias=True)
    limit = T / np.sqrt(epsilon * np.trace(covariance) / len(covariance))
    B = basis(free_coordinates(encoder, design, [epsilon]), 1)[0]
    np.testing.assert_allclose(B[1:], limit[1:], atol=1e-6 * np.abs(limit).max())


def test_beyond_the_joint_limit_every_column_is_whitened_on_its_own(monkeypatch):
    encoder, design = curves(columns=3)
    Z, T = dense(design, encoder.n_design), free_ramps(encoder.columns, encoder.n_design, [])
    joint = basis(free_coordinates(encoder, design, [1e-6]), 1)[0]
    monkeypatch.setattr("lambdak.coordinates.JOINT_RAMPS", 5)
    B = basis(free_coordinates(encoder, design, [1e-6]), 1)[0]
    for position, column in enumerate(encoder.columns):
        own = T.owners == position
        np.testing.assert_array_equal(B[column.start : column.stop, ~own], 0)
        np.testing.assert_allclose(np.cov(Z @ B[:, own], rowvar=False, bias=True), np.eye(own.sum()), atol=1e-3)
    assert np.abs(joint[1:] - B[1:]).max() > 0.1  # the columns are correlated: the two are not the same


def test_every_model_has_its_own_damping():
    encoder, design = mixed()
    together = basis(free_coordinates(encoder, design), len(DAMPING))
    for model, epsilon in enumerate(DAMPING):
        alone = basis(free_coordinates(encoder, design, [epsilon]), 1)[0]
        np.testing.assert_allclose(together[model], alone, rtol=0, atol=1e-6 * np.abs(alone).max())


def test_a_table_of_constants_has_the_constant_as_its_only_parameter():
    encoder, design = encoded(np.full((20, 2), 3.0), 5, (), ())
    free = free_coordinates(encoder, design)
    theta = random_theta(np.random.default_rng(0), len(DAMPING), free.size)
    assert free.size == 1
    coef = written(free, theta)
    np.testing.assert_array_equal(coef[:, 0], theta[:, 0])
    np.testing.assert_array_equal(coef[:, 1:], 0)


@pytest.mark.parametrize("categories", [(), (0, 1)])
@pytest.mark.parametrize("rows", [1, 7, 30])
def test_slopes_and_levels_that_never_vary_leave_the_basis_at_a_moderate_size(rows, categories):
    encoder, design = encoded(np.full((rows, 2), 3.0), 0, categories, ())
    assert np.abs(basis(free_coordinates(encoder, design), len(DAMPING))).max() < 1e4


# ---- cones -----------------------------------------------------------------------------------------------------


def cone_of(position, sign, dim, encoder=None, design=None):
    if encoder is None:
        encoder, design = mixed()
    moments = design_moments(design, encoder.n_design)
    return ConeCoordinates(encoder.columns[position], sign, moments, dim), encoder.columns[position], encoder, design


def cone_coef(cone, theta, n_design, dtype=np.float32):
    """Coefficients that were zero before the cone wrote into them, in rows padded as the trainer's are."""
    width = -(-theta.shape[-1] // PAD) * PAD
    coef = np.zeros((len(theta), n_design, width), dtype)
    cone.write_(theta, coef)
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
def test_a_cone_writes_into_its_own_entries_and_the_constant_only(position):
    cone, column, encoder, _ = cone_of(position, 1, 3)
    coef = np.full((2, encoder.n_design, PAD), 5.0, np.float32)
    cone.write_(random_theta(np.random.default_rng(0), 2, cone.size, 6), coef)
    first = column.start + (column.kind == "curve")
    own = [0, *range(first, first + cone.size)]
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
@pytest.mark.parametrize("position", [CURVE, GAPPY_CURVE, LINEAR])
def test_pull_back_of_a_cone_is_the_transpose_of_its_derivative_by_central_differences(position, sign, dim):
    cone, _, encoder, _ = cone_of(position, sign, dim)
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
