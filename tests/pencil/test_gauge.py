"""One function, many bases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pencil_cases import random_pencil, random_rows
from pencil_strategies import orthogonal, pencils, rows, seeds, slack, statement

from lambdak.pencil import Pencil


@statement
@given(pencils(), seeds)
def test_a_common_change_of_basis_changes_neither_values_nor_influences(f, seed):
    q = orthogonal(f.dim, seed)
    turned = Pencil.from_matrices(q.T @ f.matrices @ q, f.eig_idx)
    Z = rows(f, seed)
    np.testing.assert_allclose(turned(Z), f(Z), atol=slack(f))
    np.testing.assert_allclose(turned.norms, f.norms, atol=slack(f))
    # The tolerance is far above rounding, which the change of basis adds to repeated eigenvalues.
    np.testing.assert_allclose(turned.gap(Z, tol=1e-6), f.gap(Z, tol=1e-6), atol=slack(f))


@statement
@given(pencils(), seeds, st.data())
def test_any_one_matrix_can_be_made_diagonal_without_changing_the_function(f, seed, data):
    j = data.draw(st.integers(0, f.n_features))
    fixed = f.canonical(j)
    diagonal = np.diag(fixed.matrices[j])
    np.testing.assert_array_equal(fixed.matrices[j], np.diag(diagonal))
    assert (np.diff(diagonal) >= 0).all()
    np.testing.assert_allclose(fixed(rows(f, seed)), f(rows(f, seed)), atol=slack(f))


class TestCanonical:
    def turned(self, f, seed):
        q = np.linalg.qr(random_rows(f.dim, f.dim, seed=seed))[0]
        return Pencil.from_matrices(q.T @ f.matrices @ q, f.eig_idx)

    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 2))
    def test_gauge_equivalent_pencils_have_one_canonical_form(self, seed, basis_seed, dim, matrix):
        f = random_pencil(dim, 2, seed=seed)
        g = self.turned(f, basis_seed)
        gaps = np.diff(np.linalg.eigvalsh(f.matrices[matrix])).min(initial=1.0)
        np.testing.assert_allclose(g.canonical(matrix).packed, f.canonical(matrix).packed, atol=1e-11 / gaps)

    def test_signs_are_fixed_when_couplings_are_sparse(self):
        # Each matrix ties two basis vectors; the last one closes a cycle, and so its sign is not free.
        full = np.zeros((5, 4, 4))
        full[0] = np.diag([1.0, 2.0, 3.0, 4.0])
        for j, (a, b) in enumerate([(0, 1), (3, 2), (1, 3), (0, 2)], start=1):
            full[j, a, b] = full[j, b, a] = -j if j < 4 else j
        expected = np.abs(full)
        expected[4] *= -1
        for seed in range(8):
            form = self.turned(Pencil.from_matrices(full), seed).canonical(0)
            np.testing.assert_allclose(form.matrices, expected, atol=1e-12)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("matrix", [0, 1, 3])
    def test_canonical_is_idempotent(self, matrix, dtype):
        once = random_pencil(dtype=dtype).canonical(matrix)
        assert once.packed.dtype == dtype
        np.testing.assert_allclose(once.canonical(matrix).packed, once.packed, rtol=4 * np.finfo(dtype).eps)

    def test_canonical_is_idempotent_for_repeated_eigenvalues(self):
        full = random_pencil(dim=40, n_features=1).matrices.copy()
        full[0] = np.diag(np.arange(40) % 3.0)
        once = Pencil.from_matrices(full).canonical()
        np.testing.assert_allclose(once.canonical().packed, once.packed, rtol=1e-15)

    def test_the_matrix_must_exist(self):
        with pytest.raises(ValueError, match=r"matrix must be in \[0, 4\); got 4"):
            random_pencil().canonical(4)
