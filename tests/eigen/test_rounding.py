"""The bound on the kernel's rounding errors, against integer arithmetic: one counterexample would refute it."""

from __future__ import annotations

from fractions import Fraction

import matrices
import numpy as np
import pytest
from eigen_cases import DTYPES
from exact_spectrum import certainly_within, exact_matrix, norm_above

from lambdak import eigenvalue, tridiagonal_eigenvalue, unsym
from lambdak.eigen.packing import ROOT_HALF
from lambdak.eigen.rounding import eigenvalue_error


def bound_of(full, dtype):
    """The theorem's distance for one exact matrix."""
    norm = max(norm_above(full), Fraction(float(np.finfo(dtype).smallest_normal)))
    return Fraction(eigenvalue_error(len(full), dtype)) * norm


def assert_proven(packed, dim, index, **options):
    """Every computed eigenvalue is proven to be within the bound."""
    values = eigenvalue(packed, dim, index, **options)
    for row, value in zip(packed, values, strict=True):
        full = exact_matrix(row)
        bound = bound_of(full, packed.dtype)
        for k, number in zip(index, value, strict=True):
            assert certainly_within(full, k, float(number), bound), (dim, k, row.tolist())


def test_the_oracle_counts_what_lapack_finds():
    packed = np.random.default_rng(0).standard_normal(21)
    full = exact_matrix(packed)
    values = np.linalg.eigvalsh(np.array(full, float))
    for k, value in enumerate(values):
        assert certainly_within(full, k, float(value), Fraction(1, 2**40))
        assert not certainly_within(full, k, float(value) + 1e-9, Fraction(1, 2**40))


def test_the_constant_that_unpacks_is_the_dyadic_one():
    for dtype, allowed in ((np.float64, 0), (np.float32, 0.3)):
        scale = eigenvalue(np.array([[0, 1, 0]], dtype), 2, 1)[0]
        assert abs(float(scale) / ROOT_HALF - 1) <= (allowed + 4) * np.finfo(dtype).eps / 2
    assert Fraction(ROOT_HALF) == Fraction(6369051672525773, 2**53)
    assert abs(float(np.float32(ROOT_HALF)) / ROOT_HALF - 1) < 0.3 * np.finfo(np.float32).eps / 2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factory", matrices.FACTORIES)
def test_every_eigenvalue_of_hard_matrices_is_proven_to_be_within_the_bound(factory, dtype, isa):
    rng = np.random.default_rng(0)
    for dim in (2, 3, 5, 9):
        for scale in (1, *matrices.SCALES[dtype]):
            packed = unsym(matrices.FACTORIES[factory](rng, 2, dim) * scale).astype(dtype)
            assert_proven(packed, dim, range(dim))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factory", matrices.FACTORIES)
def test_larger_matrices_are_proven_to_be_within_the_bound(factory, dtype):
    rng = np.random.default_rng(1)
    for dim in (12, 17, 24, 31):
        packed = unsym(matrices.FACTORIES[factory](rng, 1, dim)).astype(dtype)
        assert_proven(packed, dim, [0, dim // 2, dim - 1])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factory", ["repeated", "wilkinson"])
def test_matrices_of_dim_64_are_proven_to_be_within_the_bound(factory, dtype):
    packed = unsym(matrices.FACTORIES[factory](np.random.default_rng(2), 1, 64)).astype(dtype)
    assert_proven(packed, 64, [31])


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_by_one_matrices_are_exact(dtype):
    limits = np.finfo(dtype)
    packed = np.array([0, -0.1, limits.max, limits.smallest_normal, limits.smallest_subnormal], dtype)[:, None]
    assert eigenvalue_error(1, dtype) == 0
    np.testing.assert_array_equal(eigenvalue(packed, 1, 0), packed[:, 0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_largest_and_the_smallest_numbers_are_within_the_bound(dtype, isa):
    rng, limits = np.random.default_rng(3), np.finfo(dtype)
    for dim in (2, 4, 7):
        unit = rng.standard_normal((6, dim * (dim + 1) // 2))
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        for norm in (limits.max / 2.001, limits.smallest_normal, limits.smallest_subnormal * 20):
            assert_proven((unit * float(norm)).astype(dtype), dim, range(dim))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_bound_holds_where_the_first_guess_is_an_eigenvalue(dtype, isa):
    # The middle one of -1, t, 1 is found alone beside the guess itself: there a sign does not decide.
    packed = np.zeros((41, 6), dtype)
    packed[:, 0], packed[:, 2], packed[:, 5] = -1, np.linspace(-4e-9, 4e-9, 41), 1
    assert_proven(packed, 3, [1])


@pytest.mark.parametrize("scale", [1.0, 1024.0])
def test_a_recurrence_that_falls_out_of_float32_range_keeps_its_counts(scale, isa):
    # At the first trial point two neighbouring polynomials underflowed to zero, and λ_9 came out as 0 instead of -1/8.
    tiny = float.fromhex("-0x1.56743cp-31")
    diagonal = np.array([tiny, 0.5, -0.5] * 3 + [-0.125] * 8 + [0.5] * 2, np.float32)
    got = tridiagonal_eigenvalue(diagonal * np.float32(scale), np.zeros(18, np.float32), range(19))
    np.testing.assert_allclose(got / np.float32(scale), np.sort(diagonal), rtol=0, atol=16 * 6e-8)
    packed = unsym(np.diag(diagonal * np.float32(scale)))
    np.testing.assert_array_equal(eigenvalue(packed, 19, range(19)), got)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factory", matrices.FACTORIES)
def test_lapack_keeps_the_bound_that_is_assumed_of_it(factory, dtype):
    rng = np.random.default_rng(4)
    for dim in (2, 3, 5, 9):
        assert_proven(unsym(matrices.FACTORIES[factory](rng, 2, dim)).astype(dtype), dim, range(dim), backend="lapack")
