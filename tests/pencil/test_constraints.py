"""One contract that every constraint passes, and what is special about each."""

import pickle
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdak.eigen.packing import packed_size, sym, unsym
from lambdak.pencil.constraints import (
    DIAGONAL_NSD,
    DIAGONAL_PSD,
    FREE,
    NSD,
    PSD,
    Constraint,
    DiagonalPSD,
    Factor,
    Free,
    Negative,
    RootFactor,
    SpectralSquareplus,
    Tridiagonal,
)
from lambdak.pencil.squareplus import squareplus, squareplus_inverse, squareplus_slope

POSITIVE = [Factor(), RootFactor(), SpectralSquareplus(), DiagonalPSD()]
CONSTRAINTS = [Free(), Tridiagonal(), *POSITIVE, *(Negative(c) for c in POSITIVE)]
SIZES = {Tridiagonal(): lambda d: 2 * d - 1, DiagonalPSD(): lambda d: d}
every_constraint = pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
every_dim = pytest.mark.parametrize("dim", [1, 2, 5])
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def draws(constraint, dim, *lead, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal((*lead, constraint.size(dim))).astype(dtype)


def inner(constraint):
    return constraint.constraint if isinstance(constraint, Negative) else constraint


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


OUTSIDE = {
    Factor(): np.diag([1.0, -0.1, 2.0]),
    RootFactor(): np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 5.0]]),
    SpectralSquareplus(): -np.eye(3),
    DiagonalPSD(): np.eye(3) + 1e-3 * (np.eye(3, k=1) + np.eye(3, k=-1)),
    Tridiagonal(): np.eye(3) + 1e-3 * (np.eye(3, k=2) + np.eye(3, k=-2)),
}


class TestMembership:
    @pytest.mark.parametrize("constraint", OUTSIDE, ids=repr)
    def test_matrices_outside_are_refused_until_the_tolerance_allows_them(self, constraint):
        outside = unsym(OUTSIDE[constraint])
        assert not constraint.contains(outside)
        assert not Negative(constraint).contains(-outside)
        assert constraint.contains(outside, tol=2.0)

    def test_a_diagonal_matrix_with_a_negative_entry_is_outside(self):
        assert not DIAGONAL_PSD.contains(unsym(np.diag([1.0, -1.0])))
        assert DIAGONAL_NSD.contains(unsym(np.diag([-1.0, 0.0])))

    def test_the_tolerance_is_relative(self):
        nearly = unsym(np.diag([1.0, -1e-9]))
        for scale in (1e-100, 1.0, 1e100):
            assert not PSD.contains(scale * nearly)
            assert PSD.contains(scale * nearly, tol=1e-8)

    def test_the_short_names_are_what_they_say(self):
        packed = FREE.forward(unsym(np.diag([1.0, 2.0])))
        assert PSD.contains(packed)
        assert NSD.contains(-packed)
        assert not NSD.contains(packed)


def jacobian(constraint, params, h=1e-6):
    steps = h * np.eye(len(params))
    return (constraint.forward(params + steps) - constraint.forward(params - steps)) / (2 * h)


class TestFamilies:
    def test_factor_and_root_factor_agree_with_their_definitions(self):
        entries = np.array([2.0, 1.0, 3.0, -1.0, 0.5, 0.25])
        lower = np.array([[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 0.5, 0.25]])
        np.testing.assert_allclose(sym(Factor().forward(entries)), lower @ lower.T, atol=1e-14)
        root = sym(RootFactor().forward(entries))
        np.testing.assert_allclose(root @ root, lower @ lower.T, atol=1e-13)

    @pytest.mark.parametrize("constraint", [Factor(), RootFactor()], ids=repr)
    def test_singular_members_have_parameters(self, constraint):
        u = np.array([1.0, -2.0, 0.5])
        packed = unsym(np.outer(u, u))
        np.testing.assert_allclose(constraint.forward(constraint.right_inverse(packed)), packed, atol=1e-14)

    def test_root_factor_keeps_small_eigenvalues_that_squaring_would_lose(self):
        small = np.array([1.0, 1e-12])
        recovered = RootFactor().forward(RootFactor().right_inverse(unsym(np.diag(small))))
        np.testing.assert_allclose(np.linalg.eigvalsh(sym(recovered)), small[::-1], rtol=1e-3)

    def test_root_factor_at_a_singular_factor_has_the_one_sided_derivative(self):
        # L = diag(2, 0): along t ≥ 0 in its last entry, A = diag(2, t).
        grad = RootFactor().vjp(np.array([2.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]))
        assert abs(grad[2]) == pytest.approx(1)
        assert np.isfinite(RootFactor().vjp(np.zeros(6), np.ones(6))).all()

    def test_spectral_squareplus_acts_on_the_eigenvalues(self):
        theta = draws(PSD, 5, seed=6)
        values = np.linalg.eigvalsh(sym(theta))
        expected = (values + np.sqrt(1 + values**2)) / 2
        np.testing.assert_allclose(np.linalg.eigvalsh(sym(PSD.forward(theta))), expected, atol=1e-13)

    @pytest.mark.parametrize("gap", [0.0, 1e-14, 1e-9, 1e-5])
    @pytest.mark.parametrize("constraint", [RootFactor(), SpectralSquareplus()], ids=repr)
    def test_vjp_survives_equal_and_nearly_equal_eigenvalues(self, constraint, gap):
        basis = np.linalg.qr(np.random.default_rng(7).standard_normal((4, 4)))[0]
        wanted = unsym(basis @ np.diag([1.0, 1.0 + gap, 1.0 + 2 * gap, 3.0]) @ basis.T)
        params, grad = constraint.right_inverse(wanted), np.random.default_rng(8).standard_normal(10)
        np.testing.assert_allclose(constraint.vjp(params, grad), jacobian(constraint, params) @ grad, atol=1e-7)

    def test_spectral_squareplus_stays_definite_far_on_the_negative_side(self):
        packed = PSD.forward(unsym(np.diag([-1e6, -1e3])))
        np.testing.assert_allclose(np.diag(sym(packed)), [2.5e-7, 2.5e-4], rtol=1e-5)
        slope = np.diag(sym(PSD.vjp(unsym(np.diag([-1e6, -1e3])), unsym(np.eye(2)))))
        np.testing.assert_allclose(slope, [2.5e-13, 2.5e-7], rtol=1e-5)

    @every_dtype
    def test_zero_eigenvalues_are_raised_to_the_documented_floor(self, dtype):
        eps, tiny = np.finfo(dtype).eps, np.finfo(dtype).tiny
        singular = unsym(np.diag([0.0, 1.0]).astype(dtype))
        spectral = np.diag(sym(PSD.forward(PSD.right_inverse(singular))))
        np.testing.assert_allclose(spectral, [np.sqrt(eps) / 2, 1], rtol=1e-2)
        diagonal = np.diag(sym(DIAGONAL_PSD.forward(DIAGONAL_PSD.right_inverse(singular))))
        np.testing.assert_allclose(diagonal, [tiny, 1], rtol=1e-5)

    def test_tridiagonal_parameters_are_the_diagonal_then_the_subdiagonal(self):
        root = np.sqrt(2.0)
        matrix = sym(Tridiagonal().forward([1.0, 2.0, 3.0, 4 * root, 5 * root]))
        np.testing.assert_allclose(matrix, [[1, 4, 0], [4, 2, 5], [0, 5, 3]], atol=1e-15)
        with pytest.raises(ValueError, match=r"2d - 1 entries .* got 4"):
            Tridiagonal().forward(np.zeros(4))


# Two floats may agree in all but their 300th decimal place, and so do their squareplus.
DIGITS = 700


def exact_squareplus(x):
    with localcontext() as context:
        context.prec = DIGITS
        return (Decimal(x) + (1 + Decimal(x) ** 2).sqrt()) / 2


reals = st.floats(-1e12, 1e12, allow_subnormal=False)


class TestSquareplus:
    @settings(max_examples=100, deadline=None)
    @given(reals)
    def test_squareplus_is_accurate_to_rounding_everywhere(self, x):
        assert float(squareplus(x)) == pytest.approx(float(exact_squareplus(x)), rel=1e-15, abs=0)

    @settings(max_examples=100, deadline=None)
    @given(reals, reals)
    def test_the_slope_is_the_divided_difference_to_rounding(self, a, b):
        with localcontext() as context:
            context.prec = DIGITS
            root = (1 + Decimal(a) ** 2).sqrt()
            exact = exact_squareplus(a) / root
            if a != b:
                exact = (exact_squareplus(a) - exact_squareplus(b)) / (Decimal(a) - Decimal(b))
        slope = float(squareplus_slope(np.float64(a), np.float64(b)))
        assert slope == pytest.approx(float(exact), rel=1e-14, abs=0)

    @settings(max_examples=100, deadline=None)
    @given(st.floats(1e-12, 1e12))
    def test_the_inverse_undoes_it(self, y):
        assert float(squareplus(squareplus_inverse(y))) == pytest.approx(y, rel=1e-15, abs=0)

    @every_dtype
    def test_the_ends_of_the_range_neither_overflow_nor_vanish(self, dtype):
        ends = np.array([-np.finfo(dtype).max, np.finfo(dtype).max])
        low, high = squareplus(ends)
        assert low > 0
        assert high == ends[1]
        tiny = np.finfo(dtype).tiny
        np.testing.assert_allclose(squareplus(squareplus_inverse(tiny.reshape(1))), tiny, rtol=1e-5)
        assert squareplus(ends).dtype == squareplus_inverse(ends[1:]).dtype == dtype

    @pytest.mark.parametrize("y", [0.0, -1.0, np.nan])
    def test_values_that_squareplus_never_takes_are_refused(self, y):
        with pytest.raises(ValueError, match=rf"y must be at least 2.23e-308; got {y}"):
            squareplus_inverse(np.array([1.0, y]))
