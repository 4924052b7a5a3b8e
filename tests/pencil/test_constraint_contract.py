"""One contract that every constraint passes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from constraint_cases import SIZES, draws, every_constraint, every_dim, every_dtype, inner

from lambdak.eigen.packing import packed_size
from lambdak.pencil.constraints import (
    Constraint,
    Free,
    Tridiagonal,
)


@every_constraint
class TestContract:
    @every_dim
    def test_size_counts_the_free_parameters_and_dim_inverts_it(self, constraint, dim):
        assert constraint.size(dim) == SIZES.get(inner(constraint), packed_size)(dim)
        assert constraint.dim(constraint.size(dim)) == dim

    @every_dim
    @every_dtype
    @pytest.mark.parametrize("lead", [(), (0,), (3,), (2, 3)])
    def test_forward_yields_members_of_the_same_shape_and_dtype(self, constraint, dim, lead, dtype):
        packed = constraint.forward(draws(constraint, dim, *lead, dtype=dtype))
        assert packed.shape == (*lead, packed_size(dim))
        assert packed.dtype == dtype
        member = constraint.contains(packed)
        assert member.shape == lead
        assert member.all()

    @every_dim
    @every_dtype
    def test_right_inverse_finds_parameters_of_every_member(self, constraint, dim, dtype):
        packed = constraint.forward(draws(constraint, dim, 20, dtype=dtype))
        params = constraint.right_inverse(packed)
        assert params.shape == (20, constraint.size(dim))
        assert params.dtype == dtype
        np.testing.assert_allclose(constraint.forward(params), packed, atol=200 * np.finfo(dtype).eps)

    def test_right_inverse_takes_the_nearest_member(self, constraint):
        wanted = np.random.default_rng(1).standard_normal((20, 10))
        nearest = constraint.forward(constraint.right_inverse(wanted))
        members = constraint.forward(draws(constraint, 4, 50, seed=2))
        # P is the projection onto a convex set if and only if ⟨A − P, M − P⟩ ≤ 0 for every member M.
        products = np.einsum("ai,abi->ab", wanted - nearest, members - nearest[:, None])
        assert constraint.contains(nearest, tol=1e-7).all()
        assert products.max() < 1e-6

    def test_the_zero_matrix_is_reached_to_rounding(self, constraint):
        zero = constraint.forward(constraint.right_inverse(np.zeros(10)))
        np.testing.assert_allclose(zero, 0, atol=1e-8)
        assert constraint.contains(np.zeros(10))

    @every_dim
    def test_vjp_matches_central_differences(self, constraint, dim):
        params, h = draws(constraint, dim, seed=3), 1e-6
        steps = h * np.eye(constraint.size(dim))
        jacobian = (constraint.forward(params + steps) - constraint.forward(params - steps)) / (2 * h)
        grad = np.random.default_rng(4).standard_normal(packed_size(dim))
        np.testing.assert_allclose(constraint.vjp(params, grad), jacobian @ grad, atol=1e-7)

    @every_dtype
    def test_a_batch_is_its_rows(self, constraint, dtype):
        params = draws(constraint, 4, 2, 3, dtype=dtype)
        grad = np.random.default_rng(5).standard_normal((2, 3, 10)).astype(dtype)
        packed, back = constraint.forward(params), constraint.vjp(params, grad)
        assert back.shape == params.shape
        assert back.dtype == dtype
        for at in np.ndindex(2, 3):
            np.testing.assert_allclose(packed[at], constraint.forward(params[at]), rtol=1e-5)
            np.testing.assert_allclose(back[at], constraint.vjp(params[at], grad[at]), rtol=1e-4, atol=1e-5)

    def test_nan_spoils_only_its_own_matrix(self, constraint):
        params, grad = draws(constraint, 3, 3), np.ones((3, 6))
        clean = constraint.forward(params), constraint.vjp(params, grad)
        params[1, 0] = np.nan
        packed, back = constraint.forward(params), constraint.vjp(params, grad)
        assert np.isnan(packed[1]).any()
        assert np.isnan(back[1]).any() or inner(constraint) in (Free(), Tridiagonal())
        assert constraint.contains(packed).tolist() == [True, False, True]
        for good, bad in zip(clean, (packed, back), strict=True):
            np.testing.assert_array_equal(bad[[0, 2]], good[[0, 2]])

    def test_inputs_are_left_alone_and_outputs_are_fresh(self, constraint):
        params, grad = draws(constraint, 3, 2), np.ones((2, 6))
        packed = constraint.forward(params)
        kept = params.copy(), packed.copy()
        results = packed, constraint.vjp(params, grad), constraint.right_inverse(packed.copy())
        for result in results:
            result += 1
        np.testing.assert_array_equal(params, kept[0])
        np.testing.assert_array_equal(grad, 1)
        np.testing.assert_array_equal(packed - 1, kept[1] + 1 - 1)

    def test_bad_input_is_refused_in_the_one_wording(self, constraint):
        params = draws(constraint, 3, 2)
        with pytest.raises(TypeError, match="params must be float32 or float64; got int64"):
            constraint.forward(np.zeros(constraint.size(3), int))
        with pytest.raises(ValueError, match=r"got 0"):
            constraint.forward(np.float64(1.0))
        with pytest.raises(ValueError, match=r"grad_packed must have shape \(2, 6\); got \(2, 5\)"):
            constraint.vjp(params, np.zeros((2, 5)))
        with pytest.raises(TypeError, match="grad_packed must be float64; got float32"):
            constraint.vjp(params, np.zeros((2, 6), np.float32))
        with pytest.raises(ValueError, match=r"packed width must be d\(d\+1\)/2 .* got 5"):
            constraint.right_inverse(np.zeros((2, 5)))
        with pytest.raises(ValueError, match=r"packed must be finite; got nan at packed\[0\]"):
            constraint.right_inverse(np.full(6, np.nan))

    def test_constraints_are_values(self, constraint):
        assert isinstance(constraint, Constraint)
        duplicate = pickle.loads(pickle.dumps(constraint))
        assert duplicate == constraint
        assert hash(duplicate) == hash(constraint)
