"""The eigenpair functions against LAPACK: accuracy on hard matrices of every scale."""

from __future__ import annotations

import itertools

import matrices
import numpy as np
import pytest
from eigen_cases import DTYPES, lapack_ratios, orthogonality_ratio, packed_rows, reference

from lambdak import eigenpair, eigenvalue, tridiagonal_eigenpair, tridiagonal_eigenvalue, unsym
from lambdak.eigen.runtime import DENSE_CROSSOVER

LIMIT = 10  # LAPACK's own tests accept 30


# 64 dims x 20 factories x this many: more than 100,000 matrices per dtype.
PER_DIM = 80


# ---- accuracy --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factory", matrices.FACTORIES)
def test_lapack_test_ratios_hold_for_every_index_of_hard_matrices(factory, dtype):
    rng = np.random.default_rng(0)
    for dim in range(1, 65):
        packed = unsym(matrices.FACTORIES[factory](rng, PER_DIM, dim)).astype(dtype)
        value, vector = eigenpair(packed, dim, range(dim))
        ratios = lapack_ratios(packed, dim, list(range(dim)), value, vector)
        assert (ratios < LIMIT).all(), (dim, ratios)
        assert orthogonality_ratio(vector) < LIMIT, dim


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factory", matrices.FACTORIES)
def test_a_single_index_is_as_accurate_as_all_of_them(factory, dtype):
    rng = np.random.default_rng(1)
    for dim in (2, 3, 7, 16, 33):
        packed = unsym(matrices.FACTORIES[factory](rng, 40, dim)).astype(dtype)
        oracle = reference(packed)
        for k in range(dim):
            value, vector = eigenpair(packed, dim, k)
            ratios = lapack_ratios(packed, dim, [k], value[:, None], vector[:, None], oracle)
            assert (ratios < LIMIT).all(), (dim, k, ratios)
            alone = eigenvalue(packed, dim, k) / oracle[3]
            error = np.abs(alone - oracle[1][:, k]) / (oracle[2] * dim * np.finfo(dtype).eps)
            assert error.max() < LIMIT, (dim, k)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factory", matrices.FACTORIES)
def test_huge_and_tiny_scales_keep_their_accuracy(factory, dtype):
    rng = np.random.default_rng(2)
    huge, tiny, _ = matrices.SCALES[dtype]
    for dim, scale in itertools.product((2, 5, 9, 24), (huge, tiny)):
        full = matrices.FACTORIES[factory](rng, 40, dim) * scale
        packed = unsym(full).astype(dtype)
        value, vector = eigenpair(packed, dim, range(dim))
        assert (lapack_ratios(packed, dim, list(range(dim)), value, vector) < LIMIT).all(), (dim, scale)


@pytest.mark.parametrize("dtype", DTYPES)
def test_denormal_matrices_are_solved_to_the_last_representable_step(dtype):
    rng = np.random.default_rng(3)
    step = np.finfo(dtype).smallest_subnormal
    for dim in (1, 2, 5, 12):
        packed = (rng.integers(-900, 900, (64, dim * (dim + 1) // 2)) * float(step)).astype(dtype)
        full, values, _, scale = reference(packed)
        got = eigenvalue(packed, dim, range(dim)).astype(np.float64)
        assert np.abs(got - values * scale[:, None]).max() <= 2 * float(step)
        value, vector = eigenpair(packed, dim, range(dim))
        assert np.abs(np.linalg.norm(vector.astype(np.float64), axis=-1) - 1).max() < 1e-5
        residual = vector.astype(np.float64) @ full * scale[:, None, None] - value[..., None] * vector.astype(float)
        assert np.abs(residual).max() <= 4 * float(step)


def test_every_instruction_set_passes_the_ratios(isa):
    rng = np.random.default_rng(4)
    for dtype, factory in itertools.product(DTYPES, matrices.FACTORIES.values()):
        for dim in (1, 2, 5, 8, 15, 17, 32):
            packed = unsym(factory(rng, 37, dim)).astype(dtype)
            value, vector = eigenpair(packed, dim, range(dim))
            assert (lapack_ratios(packed, dim, list(range(dim)), value, vector) < LIMIT).all(), (factory, dim)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [65, 100, DENSE_CROSSOVER, DENSE_CROSSOVER + 1, 200, 512])
def test_large_matrices_work_on_either_side_of_the_crossover(dim, dtype):
    packed = packed_rows(np.random.default_rng(5), 3, dim, dtype)
    index = [0, dim // 2, dim - 1]
    for backend in ("auto", "native", "lapack"):
        value, vector = eigenpair(packed, dim, index, backend=backend)
        assert (lapack_ratios(packed, dim, index, value, vector) < LIMIT).all(), backend


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [65, 96, 128])
def test_clusters_of_large_matrices_keep_an_orthonormal_set(dim, dtype):
    rng = np.random.default_rng(22)
    for name in ("repeated", "nearly_repeated", "autoregressive", "brownian", "geometric", "wide_cluster", "wilkinson"):
        packed = unsym(matrices.FACTORIES[name](rng, 4, dim)).astype(dtype)
        value, vector = eigenpair(packed, dim, range(dim), backend="native")
        assert (lapack_ratios(packed, dim, list(range(dim)), value, vector) < LIMIT).all(), name
        assert orthogonality_ratio(vector) < LIMIT, name


def test_values_of_several_indices_never_change_order():
    rng = np.random.default_rng(6)
    for factory in matrices.FACTORIES.values():
        packed = unsym(factory(rng, 100, 12)).astype(np.float32)
        assert (np.diff(eigenvalue(packed, 12, range(12))) >= 0).all()
        assert (np.diff(eigenpair(packed, 12, range(12)).value) >= 0).all()


def test_known_eigenvalues_of_the_second_difference_matrix():
    dim = 20
    k = np.arange(1, dim + 1)
    exact = 2 - 2 * np.cos(np.pi * k / (dim + 1))
    full = 2 * np.eye(dim) - np.eye(dim, k=1) - np.eye(dim, k=-1)
    np.testing.assert_allclose(eigenvalue(unsym(full), dim, range(dim)), exact, atol=1e-14)
    got = tridiagonal_eigenvalue(np.full(dim, 2.0), np.full(dim - 1, -1.0), range(dim))
    np.testing.assert_allclose(got, exact, atol=1e-14)


# ---- tridiagonal matrices --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "factory", ["tridiagonal", "split_tridiagonal", "wilkinson", "diagonal", "zero", "corner_entry"]
)
def test_tridiagonal_functions_pass_the_same_ratios(factory, dtype):
    rng = np.random.default_rng(7)
    near = matrices.FACTORIES[factory]
    for dim, scale in itertools.product((1, 2, 3, 8, 15, 40, 64, 200), (1, *matrices.SCALES[dtype][:2])):
        full = (
            near(rng, 50 if dim < 100 else 5, dim)
            * (np.abs(np.subtract.outer(np.arange(dim), np.arange(dim))) <= 1)
            * scale
        )
        diagonal = np.diagonal(full, axis1=1, axis2=2).astype(dtype)
        off = np.diagonal(full, 1, axis1=1, axis2=2).astype(dtype)
        full = diagonal[:, :, None] * np.eye(dim, dtype=dtype)
        rows = np.arange(dim - 1)
        full[:, rows, rows + 1] = full[:, rows + 1, rows] = off
        value, vector = tridiagonal_eigenpair(diagonal, off, range(dim))
        # the packed form of float32 entries rounds them once more, so the oracle is the float64 matrix
        oracle = reference(unsym(full.astype(np.float64)))
        ratios = lapack_ratios(diagonal, dim, list(range(dim)), value, vector, oracle)
        assert (ratios < LIMIT).all(), (dim, scale, ratios)
        assert orthogonality_ratio(vector) < LIMIT
        alone = tridiagonal_eigenvalue(diagonal, off, dim // 2).astype(np.float64) / oracle[3]
        error = np.abs(alone - oracle[1][:, dim // 2]) / (oracle[2] * dim * np.finfo(dtype).eps)
        assert error.max() < LIMIT, (dim, scale)


def test_tridiagonal_backends_agree():
    rng = np.random.default_rng(8)
    diagonal, off = rng.standard_normal((3, 4, 9)), rng.standard_normal((3, 4, 8))
    ours = tridiagonal_eigenpair(diagonal, off, [2, 5])
    oracle = tridiagonal_eigenpair(diagonal, off, [2, 5], backend="lapack")
    assert ours.vector.shape == (3, 4, 2, 9)
    np.testing.assert_allclose(ours.value, oracle.value, atol=1e-13)
    np.testing.assert_allclose(np.abs(ours.vector), np.abs(oracle.vector), atol=1e-10)
