"""Integrated gradients of a pencil: closed forms, sums of many gradients, and completeness through crossings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdak import Pencil


def random_pencil(dim, n, index, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return Pencil(scale * rng.standard_normal((n + 1, dim * (dim + 1) // 2)), index), rng


def riemann(f, z, baseline, points=200_000):
    """δ_i times the mean gradient on a fine grid of the line."""
    times = (np.arange(points) + 0.5) / points
    return (z - baseline) * f.gradient(baseline + times[:, None] * (z - baseline)).mean(axis=0)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 8), st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 1.0, 1e6]), st.data())
def test_attributions_add_up_to_the_change_of_the_value_at_every_scale(dim, n, seed, scale, data):
    f, rng = random_pencil(dim, n, data.draw(st.integers(0, dim - 1)), seed, scale)
    z, baseline = 3 * rng.standard_normal((2, 4, n))
    found = f.integrated_gradients(z, baseline)
    largest = (np.abs(z - baseline) * np.linalg.norm(f.packed[1:], axis=1)).max(axis=1)
    missed = np.abs(found.parts.sum(axis=1) - (f(z) - f(baseline)))
    assert (missed <= 1e-6 * largest).all()
    assert (missed <= found.error + 1e-12 * scale * (1 + np.abs(z).sum(axis=1))).all()


@pytest.mark.parametrize(("dim", "index"), [(2, 1), (5, 2), (6, 0)])
def test_each_part_is_the_mean_gradient_along_the_line(dim, index):
    f, rng = random_pencil(dim, 3, index)
    z, baseline = rng.standard_normal((2, 3))
    found = f.integrated_gradients(z, baseline)
    np.testing.assert_allclose(found.parts, riemann(f, z, baseline), atol=1e-5)


def test_a_maxout_unit_shares_out_its_change_by_the_piece_that_is_active():
    f = Pencil.from_matrices([np.zeros((2, 2)), np.diag([1.0, 0.0]), np.diag([0.0, 1.0])], eig_idx=1)  # max(z_1, z_2)
    # From (0, 1) to (2, 0) the pieces cross after a third of the way: z_2 falls by 1/3 first, then z_1 rises by 4/3.
    np.testing.assert_allclose(f.integrated_gradients([2.0, 0.0], [0.0, 1.0]).parts, [4 / 3, -1 / 3], atol=1e-6)


def test_where_the_eigenvalue_stays_repeated_its_whole_eigenspace_shares_evenly():
    f = Pencil.from_matrices([np.zeros((3, 3)), np.diag([1.0, 1.0, 5.0]), np.diag([1.0, 1.0, 5.0])], eig_idx=1)
    np.testing.assert_allclose(f.integrated_gradients([2.0, 3.0]).parts, [2.0, 3.0], atol=1e-9)


def test_an_eigenvalue_that_is_met_on_the_way_is_not_missed():
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    spectra = np.array([[0.0, 0.31, 1.0, 2.0, 3.0], [4.0, 0.0, -1.0, 0.5, -3.0], [0.0, 1.5, 0.0, -2.0, 0.0]])
    f = Pencil.from_matrices((basis * spectra[:, None]) @ basis.T, eig_idx=2)  # all cross, none avoids another
    found = f.integrated_gradients([1.0, 1.0])
    assert found.parts.sum() == pytest.approx(f([1.0, 1.0]) - f([0.0, 0.0]), abs=1e-6)
    np.testing.assert_allclose(found.parts, riemann(f, np.ones(2), np.zeros(2)), atol=1e-4)


def test_of_one_eigenvalue_attributions_are_those_of_a_linear_model():
    f, rng = random_pencil(1, 4, 0)
    z = rng.standard_normal((6, 4))
    np.testing.assert_allclose(f.integrated_gradients(z).parts, z * f.packed[1:, 0], atol=1e-12)


def test_the_baseline_broadcasts_and_shapes_stay():
    f, rng = random_pencil(4, 3, 1)
    z, baseline = rng.standard_normal((2, 5, 3)), rng.standard_normal(3)
    found = f.integrated_gradients(z, baseline)
    assert found.parts.shape == (2, 5, 3)
    assert found.error.shape == (2, 5)
    assert f.integrated_gradients(z[0, 0], np.zeros((7, 3))).parts.shape == (7, 3)
    assert f.integrated_gradients(np.zeros((0, 3))).parts.shape == (0, 3)
    np.testing.assert_allclose(found.parts[1, 2], f.integrated_gradients(z[1, 2], baseline).parts, atol=1e-6)


def test_a_row_that_is_not_finite_yields_nan_for_itself_only():
    f, _ = random_pencil(4, 2, 1)
    found = f.integrated_gradients([[np.nan, 1.0], [1.0, 1.0], [np.inf, 0.0]])
    assert np.isnan(found.parts).all(axis=1).tolist() == np.isnan(found.error).tolist() == [True, False, True]


def test_a_baseline_of_another_number_of_rows_is_refused_in_words():
    f, _ = random_pencil(4, 2, 1)
    with pytest.raises(ValueError, match=r"baseline must have one row, or one for each of Z \(4, 2\); got \(3, 2\)"):
        f.integrated_gradients(np.zeros((4, 2)), np.zeros((3, 2)))


def test_a_rotated_pencil_has_the_same_attributions():
    f, rng = random_pencil(5, 3, 2)
    z = rng.standard_normal((4, 3))
    np.testing.assert_allclose(f.canonical().integrated_gradients(z).parts, f.integrated_gradients(z).parts, atol=1e-5)
