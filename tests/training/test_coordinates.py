"""The coordinates of training: moments, ramps and whitening against dense NumPy, cones against eigvalsh."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from lambdak.eigen.packing import PAD, padded_width, sym
from lambdak.table.columns import Curve
from lambdak.table.encoder import TableEncoder
from lambdak.training.coordinates import (
    JOINT_RAMPS,
    ConeCoordinates,
    FreeCoordinates,
    Whitening,
    design_moments,
    free_blocks,
)

ROWS = 150
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


def ramps_of(encoder, constrained=(), linear=()):
    """T (P, ramps) of all columns together, and the column that each ramp belongs to."""
    blocks = free_blocks(encoder.columns, constrained, linear)
    size = blocks[-1].cols.stop - 1
    T, owners = np.zeros((encoder.n_design, size)), np.full(size, -1)
    for block in blocks:
        cols = slice(block.cols.start - 1, block.cols.stop - 1)
        T[block.rows, cols], owners[cols] = block.ramps, block.owner
    return T, owners


def free_coordinates(encoder, design, damping=DAMPING, weight=None, constrained=(), apart=False):
    moments = design_moments(design, encoder.n_design, weight)
    return FreeCoordinates(Whitening(free_blocks(encoder.columns, constrained), moments, apart), damping)


def random_theta(rng, models, size, width=PAD):
    return rng.standard_normal((models, size, width)).astype(np.float32)


def written(free, theta):
    coef = np.full((len(theta), free.n_design, theta.shape[-1]), np.nan, np.float32)
    free.write_(theta, coef)
    return coef


def basis(free, models):
    """B, (models, P, size − 1), read off from what write_ makes of the unit vectors; row 0 is the constant's shift."""
    width = padded_width(free.size)
    theta = np.zeros((models, free.size, width), np.float32)
    theta[:, np.arange(free.size), np.arange(free.size)] = 1
    return written(free, theta)[:, :, 1 : free.size].astype(np.float64)


# ---- moments ---------------------------------------------------------------------------------------------------


def wide_design():
    """Rows of a sparse table are padded with further slots of the constant."""
    X = sparse.random_array((ROWS, 9), density=0.3, rng=np.random.default_rng(0), format="csr")
    encoder = TableEncoder().fit(X)
    return encoder, encoder.transform(X)


# The three ways to moments: dense products of small designs, sparse products, and variances alone.
LIMITS = {"dense": (JOINT_RAMPS, 2500), "sparse": (0, 2500), "diagonal": (0, 0)}


@pytest.fixture(params=LIMITS)
def way(request, monkeypatch):
    for name, limit in zip(("JOINT_RAMPS", "MOST_COVARIANCES"), LIMITS[request.param], strict=True):
        monkeypatch.setattr(f"lambdak.training.coordinates.{name}", limit)
    return request.param


def assert_moments(moments, mean, covariance, way, atol=1e-12):
    """Dense products are taken in float32: a design has entries of about one."""
    wanted = np.diag(covariance) if way == "diagonal" else covariance
    np.testing.assert_allclose(moments.mean, mean, atol=atol)
    np.testing.assert_allclose(moments.covariance, wanted, atol=max(atol, 1e-6 if way == "dense" else 0))


@pytest.mark.parametrize("make", [mixed, wide_design])
def test_moments_are_the_mean_and_covariance_of_the_dense_design(make, way):
    encoder, design = make()
    Z = dense(design, encoder.n_design)
    moments = design_moments(design, encoder.n_design)
    assert_moments(moments, Z.mean(axis=0), np.cov(Z, rowvar=False, bias=True), way)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [mixed, wide_design])
def test_weighted_moments_are_those_of_the_weighted_dense_design(make, dtype, way):
    encoder, design = make()
    weight = np.random.default_rng(1).exponential(size=len(design)).astype(dtype)
    weight[:10] = 0
    moments = design_moments(design, encoder.n_design, weight)
    Z, atol = dense(design, encoder.n_design), 10 * np.finfo(dtype).eps
    covariance = np.cov(Z, rowvar=False, ddof=0, aweights=weight)
    assert_moments(moments, np.average(Z, axis=0, weights=weight), covariance, way, atol)


def test_a_row_of_weight_two_counts_as_two_rows(way):
    encoder, design = mixed()
    weight = np.where(np.arange(ROWS) < 40, 2.0, 1.0)
    twice = design.take(np.concatenate([np.arange(40), np.arange(ROWS)]))
    weighted, repeated = design_moments(design, encoder.n_design, weight), design_moments(twice, encoder.n_design)
    atol = 1e-6 if way == "dense" else 1e-12
    np.testing.assert_allclose(weighted.mean, repeated.mean, atol=1e-12)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, atol=atol)


def test_the_block_of_a_column_is_its_part_of_the_covariance_or_a_diagonal(way):
    encoder, design = mixed()
    covariance = np.cov(dense(design, encoder.n_design), rowvar=False, bias=True)
    own = slice(encoder.columns[GAPPY_CURVE].start, encoder.columns[GAPPY_CURVE].stop)
    wanted = np.diag(np.diag(covariance)[own]) if way == "diagonal" else covariance[own, own]
    block = design_moments(design, encoder.n_design).block(own)
    np.testing.assert_allclose(block, wanted, atol=1e-6 if way == "dense" else 1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("stride", [2, 3])
def test_of_a_long_table_only_every_nth_row_counts(stride, weighted, monkeypatch):
    monkeypatch.setattr("lambdak.training.coordinates._SAMPLE", ROWS // stride)
    encoder, design = mixed()
    weight = np.random.default_rng(1).exponential(size=ROWS) if weighted else None
    Z, mass = dense(design, encoder.n_design)[::stride], None if weight is None else weight[::stride]
    covariance = np.cov(Z, rowvar=False, ddof=0, aweights=mass)
    moments = design_moments(design, encoder.n_design, weight)
    assert_moments(moments, np.average(Z, axis=0, weights=mass), covariance, "dense")


def test_the_sample_of_a_long_table_tells_nearly_the_same_as_the_table(monkeypatch):
    encoder, design = curves(rows=20_000)
    whole = design_moments(design, encoder.n_design)
    monkeypatch.setattr("lambdak.training.coordinates._SAMPLE", 4_000)
    sample = design_moments(design, encoder.n_design)
    np.testing.assert_allclose(sample.mean, whole.mean, atol=0.02)
    np.testing.assert_allclose(sample.covariance, whole.covariance, atol=0.02)


def test_a_sample_without_any_weight_counts_its_rows_alike(monkeypatch):
    encoder, design = mixed()
    monkeypatch.setattr("lambdak.training.coordinates._SAMPLE", ROWS // 2)
    moments = design_moments(design, encoder.n_design, np.arange(ROWS) % 2.0)
    np.testing.assert_allclose(moments.mean, dense(design, encoder.n_design)[::2].mean(axis=0), atol=1e-12)


# ---- ramps -----------------------------------------------------------------------------------------------------


def test_ramps_reproduce_the_entries_of_every_kind_of_column_relative_to_the_first_knot():
    encoder, _ = mixed()
    T, owners = ramps_of(encoder)
    weights = np.random.default_rng(0).standard_normal(T.shape[1])
    entries = T @ weights
    assert entries[0] == 0
    kinds = set()
    for position, column in enumerate(encoder.columns):
        own = weights[owners == position]
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
    matrix, _ = ramps_of(encoder)
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
    T, owners = ramps_of(encoder, constrained)
    for position in constrained:
        column = encoder.columns[position]
        touched = np.flatnonzero(T[:, owners == position].any(axis=1))
        assert touched.tolist() == ([column.missing] if column.missing >= 0 else [])
        assert T[touched].sum() == len(touched)
    free, whose = ramps_of(encoder)
    for position in (CONSTANT, CATEGORY, GAPPY_CATEGORY):
        np.testing.assert_array_equal(T[:, owners == position], free[:, whose == position])


@pytest.mark.parametrize("position", [CURVE, GAPPY_CURVE])
def test_of_a_column_that_is_asked_to_be_linear_the_slope_and_the_missing_entry_are_free(position):
    encoder, _ = mixed()
    column = encoder.columns[position]
    T, owners = ramps_of(encoder, (), [position])
    ramps = T[column.start : column.stop, owners == position]
    slopes = np.diff(ramps[: len(column.knots), 0]) / np.diff(column.knots)
    np.testing.assert_allclose(slopes, 1 / np.ptp(column.knots), rtol=1e-12)
    rest = np.zeros((column.stop - column.start, int(column.missing >= 0)))
    rest[len(column.knots) :] = 1
    np.testing.assert_array_equal(ramps[:, 1:], rest)


def test_blocks_follow_one_another_after_the_constant():
    encoder, _ = mixed()
    blocks = free_blocks(encoder.columns, [CURVE, GAPPY_CURVE], [])
    ends = [1, *(block.cols.stop for block in blocks)]
    assert [block.cols.start for block in blocks] == ends[:-1]
    assert [block.owner for block in blocks] == [GAPPY_CURVE, LINEAR, GAPPY_LINEAR, CATEGORY, GAPPY_CATEGORY]
    for block in blocks:
        assert block.ramps.shape == (block.rows.stop - block.rows.start, block.cols.stop - block.cols.start)


def test_a_column_with_a_single_knot_has_no_ramp():
    encoder, _ = mixed()
    assert len(encoder.columns[CONSTANT].knots) == 1
    assert CONSTANT not in ramps_of(encoder)[1]


# ---- free coordinates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", [JOINT_RAMPS, 3])
def test_pull_back_is_the_transpose_of_write(joint, monkeypatch):
    monkeypatch.setattr("lambdak.training.coordinates.JOINT_RAMPS", joint)
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
    T, _ = ramps_of(encoder)
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
    T, _ = ramps_of(encoder)
    covariance = np.cov(dense(design, encoder.n_design) @ T, rowvar=False, bias=True)
    limit = T / np.sqrt(epsilon * np.trace(covariance) / len(covariance))
    B = basis(free_coordinates(encoder, design, [epsilon]), 1)[0]
    np.testing.assert_allclose(B[1:], limit[1:], atol=1e-6 * np.abs(limit).max())


@pytest.mark.parametrize("apart", [False, True])
def test_beyond_the_joint_limit_or_apart_every_column_is_whitened_on_its_own(apart, monkeypatch):
    encoder, design = curves(columns=3)
    Z, (_, owners) = dense(design, encoder.n_design), ramps_of(encoder)
    joint = basis(free_coordinates(encoder, design, [1e-6]), 1)[0]
    if not apart:
        monkeypatch.setattr("lambdak.training.coordinates.JOINT_RAMPS", 5)
    B = basis(free_coordinates(encoder, design, [1e-6], apart=apart), 1)[0]
    for position, column in enumerate(encoder.columns):
        own = owners == position
        np.testing.assert_array_equal(B[column.start : column.stop, ~own], 0)
        np.testing.assert_allclose(np.cov(Z @ B[:, own], rowvar=False, bias=True), np.eye(own.sum()), atol=1e-3)
    assert np.abs(joint[1:] - B[1:]).max() > 0.1  # the columns are correlated: the two are not the same


def test_beyond_the_covariance_limit_slopes_and_levels_are_scaled_by_their_own_deviation(monkeypatch):
    monkeypatch.setattr("lambdak.training.coordinates.MOST_COVARIANCES", 3)
    encoder, design = encoded(mixed_table()[:, [LINEAR, CATEGORY]], 0, (1,), ())
    B = basis(free_coordinates(encoder, design, [1e-9]), 1)[0]
    deviation = dense(design, encoder.n_design)[:, 1:].std(axis=0)
    np.testing.assert_allclose(B[1:], np.diag(1 / deviation), rtol=1e-5)


@pytest.mark.parametrize("damping", [DAMPING, (10.0, 0.1, 10.0, 10.0, 0.1)])
def test_every_model_has_its_own_damping(damping):
    encoder, design = mixed()
    together = basis(free_coordinates(encoder, design, damping), len(damping))
    for model, epsilon in enumerate(damping):
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


def cone_of(position, sign, dim, encoder=None, design=None, spread=None):
    if encoder is None:
        encoder, design = mixed()
    moments, column = design_moments(design, encoder.n_design), encoder.columns[position]
    return (
        ConeCoordinates(column, sign, moments, dim, column.rising() if spread is None else spread(column)),
        column,
        encoder,
        design,
    )


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


@pytest.mark.parametrize("n_knots", [2, 5])
def test_without_clamp_a_curve_of_coefficients_goes_on_along_its_end_pieces(n_knots):
    X = np.random.default_rng(0).standard_normal((200, 1))
    encoder = TableEncoder(n_knots=n_knots, clamp=False).fit(X)
    (column,) = encoder.columns
    free = free_coordinates(encoder, encoder.transform(X), [1.0])
    coef = written(free, random_theta(np.random.default_rng(1), 1, free.size))[0].astype(np.float64)
    for end, piece in ((column.low, 0), (column.high, n_knots - 2)):
        at = np.array([[end - 3.0], [end - 1.0], [end], [end + 1.0], [end + 3.0]])
        outside = at[:, 0] <= end if piece == 0 else at[:, 0] >= end
        values = dense(encoder.transform(at), encoder.n_design)[outside] @ coef
        first, second = coef[column.start + piece : column.start + piece + 2]
        slope = (second - first) / np.diff(column.knots)[piece]
        np.testing.assert_allclose(np.diff(values, axis=0), np.diff(at[outside], axis=0) * slope, atol=1e-4)
