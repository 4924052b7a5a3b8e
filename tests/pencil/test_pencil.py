"""Pencil: shapes, dtypes, immutability, closed forms, memory and the wording of its errors."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lambdak.pencil.pencil as pencil_module
from lambdak.eigen.packing import packed_size, unsym
from lambdak.pencil import Pencil

PAULI_X = np.array([[0.0, 1.0], [1.0, 0.0]])
PAULI_Z = np.array([[1.0, 0.0], [0.0, -1.0]])


def random_pencil(dim=5, n_features=3, eig_idx=None, seed=0, dtype=np.float64):
    packed = np.random.default_rng(seed).standard_normal((n_features + 1, packed_size(dim)))
    return Pencil(packed.astype(dtype), eig_idx)


def random_rows(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape)


def dense_values(f, Z):
    matrices = f.matrices.astype(np.float64)
    return np.linalg.eigvalsh(matrices[0] + np.tensordot(Z, matrices[1:], axes=1))


def certificates(f, Z):
    return f.influence_bound(Z), f.gap(Z), *f.change_bound(Z), *f.convex_parts(Z)


def cone(eig_idx):
    """λ(z) = ±√(z_0² + z_1²): a cone with its tip, a repeated eigenvalue, at zero."""
    return Pencil.from_matrices(np.array([np.zeros((2, 2)), PAULI_X, PAULI_Z]), eig_idx)


class TestConstruction:
    def test_the_default_eigenvalue_is_the_middle_one(self):
        assert [random_pencil(dim).eig_idx for dim in (1, 2, 5, 6)] == [0, 1, 2, 3]

    def test_full_and_packed_matrices_make_the_same_pencil(self):
        f = random_pencil()
        np.testing.assert_allclose(Pencil.from_matrices(f.matrices, 2).packed, f.packed, rtol=1e-15)
        assert (f.dim, f.n_features, f.packed.shape) == (5, 3, (4, 15))

    def test_repr_tells_shape_index_and_dtype(self):
        f = random_pencil(dtype=np.float32)
        assert repr(f) == "Pencil(dim=5, eig_idx=2, n_features=3, dtype=float32)"

    @pytest.mark.parametrize(
        ("packed", "eig_idx", "error", "message"),
        [
            (np.zeros((2, 15)), 5, ValueError, r"eig_idx must be in \[0, 5\); got 5"),
            (np.zeros((2, 15)), -1, ValueError, r"eig_idx must be in \[0, 5\); got -1"),
            (np.zeros((2, 15)), 1.5, TypeError, "eig_idx must be an int; got 1.5"),
            (np.zeros((2, 14)), None, ValueError, r"packed width must be .* or 15 \(d=5\); got 14"),
            (np.zeros(15), None, ValueError, r"packed must have shape \(n_features \+ 1, D\); got \(15,\)"),
            (np.zeros((0, 15)), None, ValueError, r"packed must have shape .*; got \(0, 15\)"),
            (np.zeros((2, 15), int), None, TypeError, "packed must be float32 or float64; got int64"),
        ],
    )
    def test_bad_input_is_refused_in_the_one_wording(self, packed, eig_idx, error, message):
        with pytest.raises(error, match=message):
            Pencil(packed, eig_idx)

    def test_a_matrix_that_is_not_finite_is_named(self):
        packed, full = np.zeros((3, 3)), np.zeros((3, 2, 2))
        packed[2, 1], full[1, 0, 1] = np.nan, np.inf
        with pytest.raises(ValueError, match=r"packed must be finite; got nan at packed\[2, 1\]"):
            Pencil(packed)
        with pytest.raises(ValueError, match=r"matrices must be finite; got inf at matrices\[1, 0, 1\]"):
            Pencil.from_matrices(full)

    def test_a_matrix_that_is_not_symmetric_is_named_with_the_way_out(self):
        full = np.stack([np.eye(2), np.array([[1.0, 0.5], [0.0, 1.0]])])
        with pytest.raises(ValueError, match=r"matrices\[1\] must be symmetric; .* by 0.5: symmetrise with"):
            Pencil.from_matrices(full)

    def test_rounding_is_not_called_asymmetry(self):
        q = np.linalg.qr(random_rows(5, 5))[0]
        Pencil.from_matrices(q.T @ random_pencil().matrices @ q)


class TestImmutability:
    def test_nothing_can_be_assigned_or_written(self):
        f = random_pencil()
        with pytest.raises(AttributeError):
            f.eig_idx = 1
        for array in (f.packed, f.matrices, f.norms):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0

    def test_the_caller_keeps_a_separate_array(self):
        packed = np.ones((2, 3))
        f = Pencil(packed)
        packed[:] = 7
        assert (f.packed == 1).all()
        assert packed.flags.writeable

    def test_equal_pencils_are_equal_and_hash_alike(self):
        f, g = Pencil(np.array([[0.0], [1.0]])), Pencil(np.array([[-0.0], [1.0]]))
        assert f == g
        assert hash(f) == hash(g)
        assert random_pencil(eig_idx=1) != random_pencil(eig_idx=2)
        assert random_pencil(seed=0) != random_pencil(seed=1)
        assert f != Pencil(f.packed.astype(np.float32))
        assert f != "a pencil"

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
    def test_copies_and_pickles_stay_immutable(self, duplicate):
        f = random_pencil(eig_idx=1)
        g = duplicate(f)
        assert g == f
        assert not g.packed.flags.writeable


class TestValues:
    @pytest.mark.parametrize("lead", [(), (0,), (1,), (7,), (2, 3), (2, 0)])
    def test_every_leading_shape_works_everywhere(self, lead):
        f, Z = random_pencil(), random_rows(*lead, 3)
        assert f(Z).shape == f.gap(Z).shape == f.change_bound(Z).tight.shape == lead
        assert f.gradient(Z).shape == f.influence_bound(Z).shape == (*lead, 3)
        parts = f.convex_parts(Z)
        assert parts.plus.shape == parts.minus.shape == lead
        assert parts.plus_subgradient.shape == parts.minus_subgradient.shape == (*lead, 3)
        np.testing.assert_allclose(f(Z), dense_values(f, Z)[..., 2], atol=1e-12)

    def test_the_dtype_is_the_wider_of_pencil_and_rows_and_bounds_are_float64(self):
        Z = random_rows(4, 3)
        for pencil_dtype, row_dtype, expected in [("f4", "f4", "f4"), ("f4", "f8", "f8"), ("f8", "f4", "f8")]:
            f, rows = random_pencil(dtype=pencil_dtype), Z.astype(row_dtype)
            assert f(rows).dtype == f.gradient(rows).dtype == expected
            assert {bound.dtype for bound in (f.norms, *certificates(f, rows))} == {np.dtype("f8")}

    def test_a_row_that_is_not_finite_spoils_only_itself(self):
        f, Z = random_pencil(), random_rows(4, 3)
        clean = [f(Z), f.gradient(Z), *certificates(f, Z)]
        Z[1, 0], Z[2, 2] = np.nan, np.inf
        dirty = [f(Z), f.gradient(Z), *certificates(f, Z)]
        for good, bad in zip(clean, dirty, strict=True):
            assert not np.isfinite(bad[1:3]).any()
            np.testing.assert_allclose(bad[[0, 3]], good[[0, 3]], rtol=1e-12)

    def test_rows_are_processed_in_blocks_that_do_not_show(self, monkeypatch):
        f, Z = random_pencil(), random_rows(200, 3)
        whole = f(Z), f.gradient(Z), *certificates(f, Z)
        monkeypatch.setattr(pencil_module, "_BLOCK_FLOATS", 1)
        monkeypatch.setattr(pencil_module, "_MIN_BLOCK_ROWS", 7)
        blocks = f(Z), f.gradient(Z), *certificates(f, Z)
        for one, many in zip(whole, blocks, strict=True):
            np.testing.assert_allclose(many, one, atol=1e-12)

    def test_memory_stays_bounded_for_many_rows(self):
        f, Z = random_pencil(dim=15, n_features=2), random_rows(60_000, 2)
        unblocked = len(Z) * f.packed.shape[1] * 8  # 58 MB of packed rows
        tracemalloc.start()
        try:
            f(Z)
            assert tracemalloc.get_traced_memory()[1] < unblocked / 2
        finally:
            tracemalloc.stop()

    def test_values_are_read_without_eigenvectors(self, monkeypatch):
        monkeypatch.setattr(pencil_module, "eigenpair", None)
        assert random_pencil()(random_rows(4, 3)).shape == (4,)

    def test_no_features_is_a_constant(self):
        f = random_pencil(n_features=0)
        np.testing.assert_allclose(f(np.zeros((2, 0))), np.linalg.eigvalsh(f.matrices[0])[[2, 2]], atol=1e-12)
        assert f.gradient(np.zeros((2, 0))).shape == (2, 0)
        assert f.influence_bound(np.zeros((2, 0))).shape == (2, 0)

    @pytest.mark.parametrize("method", ["__call__", "gradient", "influence_bound", "gap", "convex_parts"])
    def test_wrong_width_and_dtype_are_refused(self, method):
        call = getattr(random_pencil(), method)
        with pytest.raises(ValueError, match=r"Z must have 3 entries .*; got shape \(2, 4\)"):
            call(np.zeros((2, 4)))
        with pytest.raises(TypeError, match="Z must be float32 or float64; got int64"):
            call(np.zeros((2, 3), int))

    def test_dimension_one_is_a_linear_model(self):
        f = Pencil(np.array([[1.0], [2.0], [-3.0]]))
        Z = random_rows(5, 2)
        np.testing.assert_allclose(f(Z), 1 + Z @ [2.0, -3.0], atol=1e-14)
        np.testing.assert_array_equal(f.gradient(Z), np.broadcast_to([2.0, -3.0], (5, 2)))
        np.testing.assert_array_equal(f.influence_bound(Z), np.broadcast_to([2.0, 3.0], (5, 2)))
        assert np.isinf(f.gap(Z)).all()
        assert f.is_convex
        assert f.is_concave


class TestLocalInfluence:
    @pytest.mark.parametrize("eig_idx", range(5))
    def test_gradient_matches_central_differences(self, eig_idx):
        f, Z, h = random_pencil(eig_idx=eig_idx), random_rows(6, 3), 1e-6
        shift = h * np.eye(3)
        above, below = dense_values(f, Z[:, None] + shift), dense_values(f, Z[:, None] - shift)
        np.testing.assert_allclose(f.gradient(Z), (above - below)[..., eig_idx] / (2 * h), atol=1e-7)

    def test_the_tip_of_a_cone_has_influence_that_one_eigenvector_hides(self):
        f = cone(1)
        np.testing.assert_allclose(f.influence_bound(np.zeros(2)), [1, 1], atol=1e-14)
        assert np.abs(f.gradient(np.zeros(2))).min() < 1 - 1e-3
        np.testing.assert_allclose(f.influence_bound([3.0, 4.0]), [0.6, 0.8], atol=1e-14)

    def test_the_tolerance_for_repeated_is_relative_to_the_matrix(self):
        for scale in (1e-100, 1.0, 1e100):
            f = Pencil(scale * unsym(np.array([np.diag([1.0, 1 + 1e-5, 3.0]), np.ones((3, 3))])), 0)
            np.testing.assert_allclose(f.influence_bound([0.0], tol=1e-6), scale, rtol=1e-12)
            np.testing.assert_allclose(f.influence_bound([0.0], tol=1e-4), 2 * scale, rtol=1e-12)
            np.testing.assert_allclose(f.gap([0.0], tol=1e-6), 1e-5 * scale, rtol=1e-9)
            np.testing.assert_allclose(f.gap([0.0], tol=1e-4), 2 * scale, rtol=1e-12)

    def test_a_multiple_of_the_identity_has_no_gap(self):
        for multiple in (0.0, 1.0):
            constant = Pencil(unsym(np.array([multiple * np.eye(4), np.zeros((4, 4))])))
            assert np.isinf(constant.gap([1.0]))


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


class TestCertificates:
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

    def test_opposite_changes_cancel_in_the_tight_bound_only(self):
        bound = Pencil(np.array([[0.0], [2.0], [2.0]])).change_bound([1.0, -1.0])
        assert (bound.tight, bound.loose) == (0, 4)

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
