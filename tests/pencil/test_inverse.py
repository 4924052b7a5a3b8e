"""The inverse of a definite feature."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pencil_cases import PAULI_X, PAULI_Z, random_pencil, random_rows
from pencil_strategies import pencils, rows, seeds, slack, statement

from lambdak.pencil import Pencil


@statement
@given(pencils(), seeds, st.sampled_from([1, -1]))
def test_the_inverse_of_a_definite_feature_undoes_it(f, seed, sign):
    matrices = f.matrices.copy()
    matrices[-1] = sign * (matrices[-1] @ matrices[-1] + np.eye(f.dim))
    g = Pencil.from_matrices(matrices, f.eig_idx)
    Z = rows(g, seed, 4)
    recovered = g.inverse(g(Z), g.n_features - 1, Z)
    np.testing.assert_allclose(recovered, Z[:, -1], atol=slack(g) * (1 + np.abs(g.packed).sum()))


class TestInverse:
    def test_one_feature_needs_no_rows(self):
        f = Pencil.from_matrices(np.stack([PAULI_X, np.diag([1.0, 2.0])]), 0)
        values = np.linspace(-3, 3, 7)
        np.testing.assert_allclose(f(f.inverse(values, 0)[:, None]), values, atol=1e-13)

    @pytest.mark.parametrize("sign", [1, -1])
    @pytest.mark.parametrize("feature", [0, 1, 2])
    def test_values_broadcast_against_rows_and_the_solved_column_is_ignored(self, feature, sign):
        full = random_pencil(eig_idx=3).matrices.copy()
        full[feature + 1] = sign * (full[feature + 1] @ full[feature + 1] + 0.1 * np.eye(5))
        f, Z = Pencil.from_matrices(full, 3), random_rows(4, 1, 3)
        Z[..., feature] = np.nan
        values = np.array([-2.0, 0.5])
        solved = np.broadcast_to(Z, (4, 2, 3)).copy()
        solved[..., feature] = f.inverse(values, feature, Z)
        np.testing.assert_allclose(f(solved), np.broadcast_to(values, (4, 2)), atol=1e-11)

    @pytest.mark.parametrize("matrix", [PAULI_Z, np.ones((2, 2)), np.zeros((2, 2))])
    def test_a_matrix_that_is_not_definite_is_refused_with_its_eigenvalues_and_the_way_out(self, matrix):
        message = r"matrices\[1\] must be positive or negative definite .* smallest eigenvalue .*brentq"
        with pytest.raises(ValueError, match=message):
            Pencil.from_matrices(np.stack([PAULI_X, matrix])).inverse(0.0, 0)

    def test_missing_rows_and_unknown_features_are_refused(self):
        with pytest.raises(ValueError, match="Z must hold the other 2 features; got None"):
            random_pencil().inverse(0.0, 0)
        with pytest.raises(ValueError, match=r"feature must be in \[0, 3\); got 3"):
            random_pencil().inverse(0.0, 3, np.zeros(3))
