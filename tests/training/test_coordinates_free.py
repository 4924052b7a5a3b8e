"""Free coordinates: the ramps of every kind of column, and their whitening, against dense NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from coordinate_cases import (
    CATEGORY,
    CONSTANT,
    CURVE,
    GAPPY_CATEGORY,
    GAPPY_CURVE,
    GAPPY_LINEAR,
    LINEAR,
    ROWS,
    curves,
    dense,
    encoded,
    mixed,
    mixed_table,
    random_theta,
)
from spread_cases import constrained as of_columns

from lambdak.eigen.packing import padded_width
from lambdak.table.encoder import TableEncoder
from lambdak.training.coordinates import design_moments, free_blocks
from lambdak.training.whitening import MOST_JOINT, ColumnWhitening, FreeCoordinates

DAMPING = (0.1, 1.0, 100.0)


def ramps_of(encoder, constrained=(), linear=()):
    """T (P, ramps) of all columns together, and the column that each ramp belongs to."""
    blocks = free_blocks(encoder.columns, of_columns(encoder.columns, constrained, linear))
    size = blocks[-1].cols.stop - 1
    T, owners = np.zeros((encoder.n_design, size)), np.full(size, -1)
    for block in blocks:
        cols = slice(block.cols.start - 1, block.cols.stop - 1)
        T[block.rows, cols], owners[cols] = block.ramps, block.owner
    return T, owners


def free_coordinates(encoder, design, damping=DAMPING, weight=None, constrained=(), apart=False):
    moments = design_moments(design, encoder.n_design, weight)
    return FreeCoordinates(
        ColumnWhitening(free_blocks(encoder.columns, of_columns(encoder.columns, constrained)), moments, apart), damping
    )


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
def test_of_a_column_that_must_be_linear_the_slope_and_the_missing_entry_are_free(position):
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
    blocks = free_blocks(encoder.columns, of_columns(encoder.columns, [CURVE, GAPPY_CURVE]))
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


@pytest.mark.parametrize("joint", [MOST_JOINT, 0])
def test_pull_back_is_the_transpose_of_write(joint, monkeypatch):
    monkeypatch.setattr("lambdak.training.whitening.MOST_JOINT", joint)
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


@pytest.fixture
def every_direction(monkeypatch):
    """All correlations between columns are whitened, not only those worth their cost."""
    monkeypatch.setattr("lambdak.training.whitening.MOST_JOINT", 1000)
    monkeypatch.setattr("lambdak.training.whitening._WORTH_IT", 0.0)


@pytest.mark.usefixtures("every_direction")
def test_the_basis_is_a_root_of_the_inverse_of_the_damped_covariance():
    encoder, design = mixed()
    T, _ = ramps_of(encoder)
    covariance = np.cov(dense(design, encoder.n_design) @ T, rowvar=False, bias=True)
    mean_eigenvalue = np.linalg.eigvalsh(covariance).mean()
    for B, epsilon in zip(basis(free_coordinates(encoder, design), len(DAMPING)), DAMPING, strict=True):
        inverse = np.linalg.inv(covariance + epsilon * mean_eigenvalue * np.eye(T.shape[1]))
        wanted = T @ inverse @ T.T  # B Bᵀ without any square root
        np.testing.assert_allclose((B @ B.T)[1:, 1:], wanted[1:, 1:], atol=1e-5 * np.abs(wanted).max())


def test_the_basis_of_a_column_by_itself_is_its_ramps_times_a_symmetric_root():
    encoder, design = mixed()
    T, owners = ramps_of(encoder)
    for B in basis(free_coordinates(encoder, design, apart=True), len(DAMPING)):
        root = np.linalg.lstsq(T, np.where(np.arange(len(B))[:, None] > 0, B, 0))[0]
        np.testing.assert_allclose(root, root.T, atol=1e-5 * np.abs(root).max())
        assert np.linalg.eigvalsh(root).min() > 0
        assert (np.abs(root[owners[:, None] != owners]) < 1e-6 * np.abs(root).max()).all()


@pytest.mark.parametrize("damping", DAMPING)
def test_a_few_directions_whiten_columns_that_are_nearly_the_same(damping):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 1))
    encoder = TableEncoder(12).fit(table := np.hstack([x, x + 0.1 * rng.standard_normal((2000, 2))]))
    design = encoder.transform(table)
    B, T = basis(free_coordinates(encoder, design, [damping]), 1)[0], ramps_of(encoder)[0]
    covariance = np.cov(dense(design, encoder.n_design) @ T, rowvar=False, bias=True)
    root = np.linalg.lstsq(T[1:], B[1:])[0]
    damped = covariance + damping * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    share = np.linalg.eigvalsh(root.T @ damped @ root)  # all 1 where the whitening is exact
    assert 0.7 < share.min() <= share.max() < 1.4


@pytest.mark.usefixtures("every_direction")
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
def test_without_joint_directions_or_apart_every_column_is_whitened_on_its_own(apart, monkeypatch):
    encoder, design = curves(columns=3)
    Z, (_, owners) = dense(design, encoder.n_design), ramps_of(encoder)
    joint = basis(free_coordinates(encoder, design, [1e-6]), 1)[0]
    if not apart:
        monkeypatch.setattr("lambdak.training.whitening.MOST_JOINT", 0)
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
    assert np.abs(basis(free_coordinates(encoder, design), len(DAMPING))).max(initial=0.0) < 1e4


# ---- cones -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_knots", [2, 5])
def test_without_clamp_a_curve_of_coefficients_continues_along_its_end_pieces(n_knots):
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
