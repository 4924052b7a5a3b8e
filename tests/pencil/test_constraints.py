"""What is special about each constraint, and the registry.

Tests ``factors`` and ``tolerances``.
"""

from __future__ import annotations

import numpy as np
import pytest
from constraint_cases import draws, every_dtype

from lambdak.eigen.packing import packed_size, sym, unsym
from lambdak.pencil.constraints import (
    DIAGONAL_NSD,
    DIAGONAL_PSD,
    FREE,
    NSD,
    PSD,
    SEMIDEFINITE,
    DiagonalPSD,
    Factor,
    Negative,
    RootFactor,
    SpectralSquareplus,
    Tridiagonal,
)

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


@pytest.mark.parametrize("name", SEMIDEFINITE)
class TestRegistry:
    def test_members_are_positive_semidefinite(self, name):
        constraint = SEMIDEFINITE[name].constraint
        packed = constraint.forward(draws(constraint, 4, 20))
        assert (np.linalg.eigvalsh(sym(packed)) >= -1e-12).all()

    def test_zero_is_reached_exactly_by_those_that_say_so(self, name):
        family, zero = SEMIDEFINITE[name], np.zeros(packed_size(4))
        reached = family.constraint.forward(family.constraint.right_inverse(zero))
        assert bool((reached == 0).all()) == family.reaches_zero

    def test_those_that_keep_the_scale_are_homogeneous_of_degree_one(self, name):
        family = SEMIDEFINITE[name]
        theta = draws(family.constraint, 4)
        scaled, expected = family.constraint.forward(3 * theta), 3 * family.constraint.forward(theta)
        assert np.allclose(scaled, expected) == family.keeps_scale
