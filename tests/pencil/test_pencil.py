"""Pencil: shapes, dtypes, immutability, closed forms and the wording of its errors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from pencil_cases import certificates, dense_values, random_pencil, random_rows

import lambdak.pencil.pencil as pencil_module
from lambdak.pencil import Pencil


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
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                array.flags.writeable = True

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
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            g.packed.flags.writeable = True


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
