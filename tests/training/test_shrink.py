"""The proximal step of the spectral-norm group penalty: optimality by Moreau's identity, exact zeros, scales."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdak.eigen import steps as _steps
from lambdak.eigen.packing import sym
from lambdak.training.shrink import Shrinkage, prox

quick = settings(deadline=None, max_examples=60)
seeds, dims, shares = st.integers(0, 999), st.integers(1, 6), st.floats(0.01, 2.0)


def random_groups(seed, r, dim, models=4, dtype=np.float64):
    """Groups (models, r, D), every model of another size."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-2, 2, (models, 1, 1))
    return (size * rng.standard_normal((models, r, dim * (dim + 1) // 2))).astype(dtype)


def singular(rows):
    """Singular values (models, d) of the stacked groups (models, r d, d)."""
    matrices = sym(rows.astype(np.float64))
    models, r, d, _ = matrices.shape
    return np.linalg.svd(matrices.reshape(models, r * d, d), compute_uv=False)


def penalised(at, rows, threshold):
    """½ ‖at − rows‖² + threshold ‖at‖₂, of each model."""
    return ((at - rows) ** 2).sum(axis=(1, 2)) / 2 + threshold * singular(at).max(axis=1)


@quick
@given(seeds, dims, shares)
def test_of_a_single_matrix_the_step_is_the_minimiser_by_moreaus_identity(seed, dim, share):
    """What is taken away lies in the nuclear ball, and where it supports the spectral norm of what is left."""
    for rows in random_groups(seed, 1, dim)[:, None]:
        threshold = share * singular(rows).sum()
        left = prox(rows, threshold)
        taken = rows - left
        scale = np.abs(rows).max()
        assert singular(taken).sum() <= threshold + 1e-12 * scale
        assert np.vdot(taken, left) == pytest.approx(threshold * singular(left).max(), abs=1e-12 * scale**2)


@quick
@given(seeds, dims, shares)
def test_of_a_single_matrix_nothing_nearby_and_nothing_random_is_better(seed, dim, share):
    rows, rng = random_groups(seed, 1, dim), np.random.default_rng(seed)
    threshold = share * float(np.median(singular(rows).sum(axis=1)))
    left = prox(rows, threshold)
    best = penalised(left, rows, threshold)
    for size in (1e-3, 1e-1, 1.0, 10.0):
        other = penalised(left + size * rng.standard_normal(rows.shape), rows, threshold)
        assert (other >= best * (1 - 1e-12)).all()


@quick
@given(seeds, st.integers(1, 5), dims, shares)
def test_a_step_on_any_group_lowers_what_it_minimises(seed, r, dim, share):
    rows = random_groups(seed, r, dim)
    threshold = share * float(np.median(singular(rows).sum(axis=1)))
    before = penalised(rows, rows, threshold)
    assert (penalised(prox(rows, threshold), rows, threshold) <= before * (1 + 1e-12)).all()


@quick
@given(seeds, st.integers(1, 5), dims, st.sampled_from([np.float32, np.float64]))
def test_a_group_becomes_zero_exactly_if_its_nuclear_norm_is_at_most_the_threshold(seed, r, dim, dtype):
    rows = random_groups(seed, r, dim, models=1, dtype=dtype)
    nuclear = float(singular(rows).sum())
    for share in (0.0, 0.5, 0.999, 1.001, 2.0):
        left = prox(rows, share * nuclear)
        assert left.dtype == dtype
        assert (left == 0).all() == (share > 1)
        assert np.isfinite(left).all()


@quick
@given(seeds, st.integers(1, 5), dims)
def test_the_larger_the_threshold_the_smaller_every_matrix_that_is_left(seed, r, dim):
    rows = random_groups(seed, r, dim)
    top = 1.1 * singular(rows).sum(axis=1).max()
    norms = np.array([np.linalg.norm(prox(rows, share * top), axis=2) for share in np.linspace(0, 1, 25)])
    np.testing.assert_allclose(norms[0], np.linalg.norm(rows, axis=2), rtol=1e-10)
    assert (np.diff(norms, axis=0) <= 1e-12 * norms[0]).all()
    np.testing.assert_array_equal(norms[-1], 0)


def test_models_are_shrunk_each_by_itself():
    rows = random_groups(0, 3, 4, models=5)
    together = prox(rows, 2.0)
    np.testing.assert_allclose(together, np.concatenate([prox(rows[[m]], 2.0) for m in range(5)]), rtol=1e-12)


def test_groups_of_zeros_stay_zero_at_any_threshold():
    zeros = np.zeros((2, 3, 6), np.float32)
    for threshold in (0.0, 1.0):
        np.testing.assert_array_equal(prox(zeros, threshold), zeros)


# ---- groups of parameters --------------------------------------------------------------------------------------

DIM, WIDTH, PADDED = 3, 6, 16
GROUPS = [slice(1, 2), slice(2, 6), slice(8, 10)]


def parameters(seed=0):
    theta = np.random.default_rng(seed).standard_normal((4, 11, PADDED)).astype(np.float32)
    theta[:, :, WIDTH:] = 7.0  # recognisable, to see that nobody touches it
    return theta


def shrunk(alpha, rate, groups=GROUPS):
    theta = parameters()
    Shrinkage(groups, DIM, alpha).apply_(theta, rate)
    return theta


def test_only_the_rows_of_groups_are_shrunk():
    before, after = parameters(), shrunk(1.0, 0.1)
    others = [0, 6, 7, 10]
    np.testing.assert_array_equal(after[:, others], before[:, others])
    np.testing.assert_array_equal(after[..., WIDTH:], 7.0)
    for group in GROUPS:
        norms = [np.linalg.norm(theta[:, group, :WIDTH], axis=(1, 2)) for theta in (after, before)]
        assert (norms[0] < norms[1]).all()


def test_a_step_shrinks_in_proportion_to_alpha_times_the_rate():
    np.testing.assert_array_equal(shrunk(2.0, 0.05), shrunk(0.5, 0.2))
    np.testing.assert_allclose(shrunk(1.0, 0.0), parameters(), atol=1e-6)
    np.testing.assert_array_equal(shrunk(1e6, 1.0)[:, GROUPS[1], :WIDTH], 0)


@pytest.mark.parametrize("group", GROUPS)
def test_the_threshold_grows_with_the_root_of_the_numbers_of_a_group_and_of_the_dimension(group):
    """The nuclear norm of noise does: √(numbers) is its Frobenius norm, √d at most what the nuclear norm adds."""
    rows = parameters()[:, group, :WIDTH]
    threshold = 0.75 * np.sqrt((group.stop - group.start) * WIDTH * DIM)
    np.testing.assert_allclose(shrunk(1.0, 0.3)[:, group, :WIDTH], prox(rows, 0.3 * threshold), atol=1e-6)


@pytest.mark.parametrize(("dim", "r"), [(1, 4), (3, 1), (3, 8), (9, 2)])
def test_groups_that_follow_pure_noise_vanish_at_alpha_two_and_not_at_a_tenth(dim, r):
    width, models, rate, epoch = dim * (dim + 1) // 2, 30, 0.02, 20
    idle = {}
    for alpha in (0.1, 2.0):
        rng = np.random.default_rng(0)
        theta, first, second = (np.zeros((models, r * width), np.float32) for _ in range(3))
        shrinkage = Shrinkage([slice(0, r)], dim, alpha)
        for step in range(1, 10 * epoch + 1):
            noise = rng.standard_normal(theta.shape).astype(np.float32)
            rates, rule = [rate / (1 - 0.9**step)] * models, (0.9, 0.99, 1 / (1 - 0.99**step), 1e-8)
            _steps.adam((theta, noise, first, second), rates, [1.0] * models, rule, 0, 0)
            if step % epoch == 0:
                shrinkage.apply_(theta.reshape(models, r, width), rate * epoch**0.5)
        idle[alpha] = (theta == 0).all(axis=1).mean()
    assert idle[0.1] < 0.1
    assert idle[2.0] > 0.9
