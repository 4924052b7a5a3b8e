"""Eigenvalues as optimisation problems: convex parts and the game."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pencil_cases import random_pencil, random_rows
from pencil_strategies import matrix_at, oracle, orthogonal, pencils, rows, seeds, slack, statement


def least_payment(matrix, C):
    """min {uᵀAu : ‖u‖ = 1, Cu = 0}, with the null space of C from its SVD."""
    _, singular, right = np.linalg.svd(C)
    null = right[int((singular > 1e-9).sum()) :]
    return np.linalg.eigvalsh(null @ matrix @ null.T)[0]


@statement
@given(pencils(), seeds)
def test_the_game_attains_the_value_with_admissible_moves(f, seed):
    (z,) = rows(f, seed, 1)
    game = f.game(z)
    assert game.C.shape == (f.eig_idx, f.dim)
    np.testing.assert_allclose(game.C @ game.C.T, np.eye(f.eig_idx), atol=1e-10)
    np.testing.assert_allclose(game.C @ game.u, 0, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(game.u), 1, atol=1e-12)
    assert abs(game.value - oracle(f, z)) <= slack(f)
    assert abs(game.u @ matrix_at(f, z) @ game.u - game.value) <= slack(f)


@statement
@given(pencils(), seeds)
def test_no_deviation_helps_either_player(f, seed):
    (z,) = rows(f, seed, 1)
    game, matrix, rng = f.game(z), matrix_at(f, z), np.random.default_rng(seed)
    # Inner: the best answer to C, which is the paper's recurrence, pays exactly the value.
    assert abs(least_payment(matrix, game.C) - game.value) <= slack(f)
    # Outer: far away and nearby C alike let the inner player pay no more.
    for size in (1e-3, 1.0):
        other = game.C + size * rng.standard_normal(game.C.shape)
        assert least_payment(matrix, other) <= game.value + slack(f)


@statement
@given(pencils(), seeds)
def test_the_value_is_a_difference_of_sums_of_top_eigenvalues(f, seed):
    Z = rows(f, seed)
    parts = f.convex_parts(Z)
    spectrum = np.array([np.linalg.eigvalsh(matrix_at(f, z)) for z in Z])
    np.testing.assert_allclose(parts.plus, spectrum[:, f.eig_idx :].sum(axis=1), atol=slack(f))
    np.testing.assert_allclose(parts.minus, spectrum[:, f.eig_idx + 1 :].sum(axis=1), atol=slack(f))
    np.testing.assert_allclose(parts.plus - parts.minus, f(Z), atol=slack(f))


@statement
@given(pencils(), seeds)
def test_ky_fan_no_other_subspace_has_a_larger_trace(f, seed):
    (z,) = rows(f, seed, 1)
    u = orthogonal(f.dim, seed)[:, f.eig_idx :]
    assert np.trace(u.T @ matrix_at(f, z) @ u) <= f.convex_parts(z).plus + slack(f)


@statement
@given(pencils(), seeds, st.floats(0, 1))
def test_both_parts_are_convex(f, seed, t):
    z, other = rows(f, seed)
    at, away, between = (f.convex_parts(x) for x in (z, other, t * z + (1 - t) * other))
    assert between.plus <= t * at.plus + (1 - t) * away.plus + slack(f)
    assert between.minus <= t * at.minus + (1 - t) * away.minus + slack(f)


@statement
@given(pencils(), seeds)
def test_both_subgradients_support_their_part_from_below(f, seed):
    z, other = rows(f, seed)
    at, away = f.convex_parts(z), f.convex_parts(other)
    assert away.plus >= at.plus + at.plus_subgradient @ (other - z) - slack(f)
    assert away.minus >= at.minus + at.minus_subgradient @ (other - z) - slack(f)


class TestVariational:
    def test_the_first_eigenvalue_has_a_game_without_constraints(self):
        assert random_pencil(eig_idx=0).game(np.zeros(3)).C.shape == (0, 5)

    def test_a_game_is_about_one_row(self):
        with pytest.raises(ValueError, match=r"z must have shape \(3,\); got \(2, 3\)"):
            random_pencil().game(np.zeros((2, 3)))
        with pytest.raises(ValueError, match=r"z must be finite; got nan at z\[1\]"):
            random_pencil().game(np.array([0.0, np.nan, 0.0]))

    def test_convex_parts_of_the_last_eigenvalue_are_itself_and_zero(self):
        f, Z = random_pencil(eig_idx=4), random_rows(5, 3)
        parts = f.convex_parts(Z)
        np.testing.assert_allclose(parts.plus, f(Z), atol=1e-12)
        np.testing.assert_allclose(parts.plus_subgradient, f.gradient(Z), atol=1e-10)
        assert (parts.minus == 0).all()
        assert (parts.minus_subgradient == 0).all()

    def test_the_sum_of_all_eigenvalues_is_the_trace(self):
        f, Z = random_pencil(eig_idx=0), random_rows(5, 3)
        traces = np.trace(f.matrices, axis1=1, axis2=2)
        parts = f.convex_parts(Z)
        np.testing.assert_allclose(parts.plus, traces[0] + Z @ traces[1:], atol=1e-12)
        np.testing.assert_allclose(parts.plus_subgradient, np.broadcast_to(traces[1:], (5, 3)), atol=1e-12)
