"""Monotone, convex and concave pencils, with NumPy's LAPACK as the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pencil_cases import PAULI_X, PAULI_Z, random_pencil
from pencil_strategies import pencils, rows, seeds, slack, statement

from lambdak.pencil import Pencil


@statement
@given(pencils(eig_idx="first"), seeds, st.floats(0, 1))
def test_the_first_eigenvalue_is_concave(f, seed, t):
    assert f.is_concave
    z, other = rows(f, seed)
    assert f(t * z + (1 - t) * other) >= t * f(z) + (1 - t) * f(other) - slack(f)


@statement
@given(pencils(eig_idx="last"), seeds, st.floats(0, 1))
def test_the_last_eigenvalue_is_convex(f, seed, t):
    assert f.is_convex
    z, other = rows(f, seed)
    assert f(t * z + (1 - t) * other) <= t * f(z) + (1 - t) * f(other) + slack(f)


@statement
@given(pencils(), seeds, st.sampled_from([1, -1]), st.floats(0, 5))
def test_a_semidefinite_feature_is_monotone(f, seed, sign, step):
    matrices = f.matrices.copy()
    matrices[1] = sign * matrices[1] @ matrices[1]  # a square is positive semidefinite
    assume(np.abs(matrices[1]).max() > 0)
    g = Pencil.from_matrices(matrices, f.eig_idx)
    assert g.is_monotone(0) == sign
    (z,) = rows(g, seed, 1)
    assert sign * (g(z + step * np.eye(g.n_features)[0]) - g(z)) >= -slack(g)


@statement
@given(pencils(min_dim=2))
def test_an_indefinite_feature_is_not_called_monotone(f):
    values = np.linalg.eigvalsh(f.matrices[1])
    assume(values[0] < -1e-6 and values[-1] > 1e-6)
    assert f.is_monotone(0) == 0


class TestShapes:
    @pytest.mark.parametrize(
        ("matrix", "expected"),
        [(np.eye(2), 1), (-np.eye(2), -1), (PAULI_Z, 0), (np.ones((2, 2)), 1), (np.zeros((2, 2)), 1)],
    )
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_monotone_means_semidefinite(self, matrix, expected, dtype):
        f = Pencil.from_matrices(np.stack([PAULI_X, 0.1 * matrix]).astype(dtype))
        assert f.is_monotone(0) == expected

    def test_the_tolerance_of_monotone_is_relative_to_the_norm(self):
        f = Pencil.from_matrices(np.stack([PAULI_X, 1e6 * np.diag([1.0, -1e-9])]))
        assert f.is_monotone(0) == 0
        assert f.is_monotone(0, tol=1e-8) == 1

    def test_only_the_extreme_eigenvalues_are_called_convex_or_concave(self):
        shapes = [(f.is_concave, f.is_convex) for f in (random_pencil(eig_idx=k) for k in range(5))]
        assert shapes == [(True, False), (False, False), (False, False), (False, False), (False, True)]
