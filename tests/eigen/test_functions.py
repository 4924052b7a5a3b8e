"""The eigenpair functions against LAPACK: accuracy on hard matrices, shapes, layouts, errors."""

from __future__ import annotations

import itertools

import matrices
import numpy as np
import pytest

import lambdak
from lambdak import (
    eigenpair,
    eigenvalue,
    sym,
    tridiagonal_eigenpair,
    tridiagonal_eigenvalue,
    unsym,
)
from lambdak.eigen.runtime import DENSE_CROSSOVER

DTYPES = [np.float32, np.float64]
LIMIT = 10  # LAPACK's own tests accept 30

# 64 dims x 20 factories x this many: more than 100,000 matrices per dtype.
PER_DIM = 80


def packed_rows(rng, n, dim, dtype=np.float64):
    return rng.standard_normal((n, dim * (dim + 1) // 2)).astype(dtype)


def reference(packed):
    """The matrices in float64, scaled to entries of at most 1, with their eigenvalues, norm and scale."""
    full = sym(packed.astype(np.float64))
    scale = np.abs(full).max(axis=(-2, -1), initial=0)
    scale[scale == 0] = 1
    full = full / scale[:, None, None]
    values = np.linalg.eigvalsh(full)
    norm = np.abs(values).max(-1)
    return full, values, np.where(norm == 0, 1, norm), scale


def lapack_ratios(packed, dim, index, value, vector, oracle=None):
    """‖Av - λv‖/(‖A‖dε), |λ - λ_ref|/(‖A‖dε) and |‖v‖ - 1|/(dε): the largest of each over the batch."""
    full, values, norm, scale = oracle or reference(packed)
    unit = dim * np.finfo(packed.dtype).eps
    v = vector.astype(np.float64)
    lam = value.astype(np.float64) / scale[:, None]
    residual = np.linalg.norm(v @ full - lam[..., None] * v, axis=-1).max(-1) / norm
    error = np.abs(lam - values[:, index]).max(-1) / norm
    length = np.abs(np.linalg.norm(v, axis=-1) - 1)
    return np.array([residual.max() / unit, error.max() / unit, length.max() / unit])


def orthogonality_ratio(vector):
    dim = vector.shape[-1]
    v = vector.astype(np.float64)
    gram = v @ v.transpose(0, 2, 1) - np.eye(v.shape[1])
    return np.abs(gram).max() / (dim * np.finfo(vector.dtype).eps)


# ---- accuracy --------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [65, 100, DENSE_CROSSOVER, DENSE_CROSSOVER + 1, 200, 512])
def test_large_matrices_work_on_either_side_of_the_crossover(dim, dtype):
    packed = packed_rows(np.random.default_rng(5), 3, dim, dtype)
    index = [0, dim // 2, dim - 1]
    for backend in ("auto", "native", "lapack"):
        value, vector = eigenpair(packed, dim, index, backend=backend)
        assert (lapack_ratios(packed, dim, index, value, vector) < LIMIT).all(), backend


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


# ---- shapes, layouts, types ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("leading", [(), (0,), (1,), (7,), (3, 0, 2), (2, 3, 5), (1000,)])
def test_any_leading_shape_gives_results_of_that_shape_and_type(leading, dtype):
    packed = np.random.default_rng(9).standard_normal((*leading, 15)).astype(dtype)
    for backend in ("native", "lapack"):
        value, vector = eigenpair(packed, 5, 2, backend=backend)
        assert (value.shape, value.dtype) == (leading, dtype)
        assert (vector.shape, vector.dtype) == ((*leading, 5), dtype)
        value, vector = eigenpair(packed, 5, [1, 4], backend=backend)
        assert (value.shape, vector.shape) == ((*leading, 2), (*leading, 2, 5))


def layouts(packed):
    """The same numbers, laid out in other ways."""
    n, width = packed.shape
    wide = np.zeros((n, 3 * width), packed.dtype)
    wide[:, ::3] = packed
    spread = np.zeros((2 * n, width), packed.dtype)
    spread[::2] = packed
    unaligned = np.zeros(packed.nbytes + 1, np.uint8)[1:].view(packed.dtype).reshape(packed.shape)
    unaligned[...] = packed
    frozen = packed.copy()
    frozen.flags.writeable = False
    return {
        "columns contiguous": np.asfortranarray(packed),
        "every third column": wide[:, ::3],
        "every second row": spread[::2],
        "reversed": packed[::-1].copy()[::-1],
        "unaligned": unaligned,
        "read-only": frozen,
        "no single row stride": np.stack([packed, packed]).transpose(1, 0, 2)[:, :1][:, 0],
    }


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [1, 3, 5, 9, 20])
def test_layout_does_not_change_a_bit_of_the_result(dim, dtype, isa):
    packed = packed_rows(np.random.default_rng(10), 77, dim, dtype)
    expected = eigenpair(packed, dim, dim // 2)
    for name, same in layouts(packed).items():
        got = eigenpair(same, dim, dim // 2)
        assert np.array_equal(got.value, expected.value), name
        assert np.array_equal(got.vector, expected.vector), name


def test_leading_axes_that_cannot_be_merged_are_handled_in_blocks():
    base = np.random.default_rng(11).standard_normal((300, 15, 4, 2)).astype(np.float32)
    packed = base.transpose(3, 0, 2, 1)[:, ::2, 1:]
    expected = eigenpair(packed.copy(), 5, [0, 3])
    out = (np.empty((2, 150, 4, 2), np.float32)[:, :, 1:], np.empty((2, 150, 4, 2, 5), np.float32)[:, :, 1:])
    got = eigenpair(packed, 5, [0, 3], out=out)
    assert got.value is out[0]
    assert got.vector is out[1]
    assert np.array_equal(got.value, expected.value)
    assert np.array_equal(got.vector, expected.vector)


def test_a_broadcast_matrix_counts_as_many():
    one = np.random.default_rng(12).standard_normal(21)
    many = np.broadcast_to(one, (50, 21))
    assert np.array_equal(eigenvalue(many, 6, 2), np.full(50, eigenvalue(one, 6, 2)))


def test_out_is_filled_in_any_layout():
    packed = packed_rows(np.random.default_rng(13), 40, 4)
    expected = eigenpair(packed, 4, 1)
    value, vector = np.empty(80)[::2], np.asfortranarray(np.empty((40, 4)))
    assert eigenpair(packed, 4, 1, out=(value, vector)).value is value
    assert np.array_equal(value, expected.value)
    assert np.array_equal(vector, expected.vector)


# ---- bad matrices and bad arguments ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("backend", ["native", "lapack"])
@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_a_bad_matrix_yields_nan_for_itself_only(poison, backend, dtype):
    rng = np.random.default_rng(14)
    for dim in (1, 2, 5, 9):
        packed = packed_rows(rng, 50, dim, dtype)
        clean = eigenpair(packed, dim, range(dim), backend=backend)
        spoiled = packed.copy()
        bad = [3, 17, 49]
        spoiled[bad, rng.integers(0, packed.shape[1], 3)] = poison
        value, vector = eigenpair(spoiled, dim, range(dim), backend=backend)
        assert np.isnan(value[bad]).all()
        assert np.isnan(vector[bad]).all()
        good = np.setdiff1d(np.arange(50), bad)
        assert np.array_equal(value[good], clean.value[good])
        assert np.array_equal(vector[good], clean.vector[good])
        assert np.isnan(eigenvalue(spoiled, dim, 0, backend=backend)[bad]).all()


def test_a_bad_tridiagonal_matrix_yields_nan_for_itself_only():
    diagonal, off = np.ones((4, 5)), np.ones((4, 4))
    off[1, 2], diagonal[2, 0] = np.nan, np.inf
    for backend in ("native", "lapack"):
        value, vector = tridiagonal_eigenpair(diagonal, off, 2, backend=backend)
        assert np.isnan(value).tolist() == [False, True, True, False]
        assert np.isnan(vector).all(-1).tolist() == [False, True, True, False]


ERRORS = [
    (lambda x: eigenvalue(x[:, :14], 5, 2), ValueError, "packed must have 15 entries on its last axis"),
    (lambda x: eigenvalue(x, 5, 7), ValueError, r"index must be in \[0, 5\); got 7"),
    (lambda x: eigenvalue(x, 5, -1), ValueError, r"index must be in \[0, 5\); got -1"),
    (lambda x: eigenvalue(x, 5, [3, 1]), ValueError, r"index must be increasing; got \[3, 1\]"),
    (lambda x: eigenvalue(x, 5, [2, 2]), ValueError, "index must be increasing"),
    (lambda x: eigenvalue(x, 5, []), ValueError, "index must hold at least one"),
    (lambda x: eigenvalue(x, 5, 1.5), TypeError, "index must be an int; got 1.5"),
    (lambda x: eigenvalue(x, 5, "two"), TypeError, "index must be an int"),
    (lambda x: eigenvalue(x, 5, [False, True]), TypeError, "index must be an int; got False"),
    (lambda x: eigenvalue(x, 0, 0), ValueError, r"dim must be in \[1, 513\); got 0"),
    (lambda x: eigenvalue(x, 513, 0), ValueError, "dim must be in"),
    (lambda x: eigenvalue(x, 5.0, 0), TypeError, "dim must be an int; got 5.0"),
    (lambda x: eigenvalue(x.astype(int), 5, 2), TypeError, "packed must be float32 or float64; got int64"),
    (lambda x: eigenvalue(x.astype(np.float16), 5, 2), TypeError, "got float16: convert it with"),
    (lambda x: eigenvalue(x.astype(">f8"), 5, 2), TypeError, "packed must be float32 or float64; got >f8"),
    (lambda x: eigenvalue(x.astype(complex), 5, 2), TypeError, "got complex128"),
    (lambda x: eigenvalue(3.0, 5, 2), ValueError, r"got shape \(\)"),
    (lambda x: eigenvalue(x, 5, 2, backend="cuda"), ValueError, "backend must be 'auto', 'native' or 'lapack'"),
    (lambda x: eigenvalue(x, 5, 2, out=np.empty(3)), ValueError, r"out must have shape \(8,\); got \(3,\)"),
    (lambda x: eigenvalue(x, 5, 2, out=np.empty(8, np.float32)), TypeError, "out must be float64; got float32"),
    (lambda x: eigenvalue(x, 5, 2, out=[0.0] * 8), TypeError, "out must be a NumPy array; got list"),
    (lambda x: eigenvalue(x, 5, 2, out=np.broadcast_to(0.0, 8)), ValueError, "out must be writable; got a read-only"),
    (lambda x: eigenvalue(x, 5, 2, out=x[:, 0]), ValueError, "out must not overlap"),
    (lambda x: eigenpair(x, 5, 2, out=np.empty(8)), TypeError, "out must be a tuple of two arrays; got ndarray"),
    (lambda x: tridiagonal_eigenvalue(x, x, 2), ValueError, r"offdiagonal must have shape \(8, 14\); got \(8, 15\)"),
    (lambda x: tridiagonal_eigenvalue(x, x[:, 1:].astype(np.float32), 2), TypeError, "offdiagonal must be float64"),
    (lambda x: lambdak.set_num_threads(0), ValueError, r"threads must be in \[1, 1025\); got 0"),
]


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS)
def test_bad_arguments_are_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call(np.random.default_rng(15).standard_normal((8, 15)))


def test_outputs_may_share_a_buffer_but_not_an_entry():
    packed = packed_rows(np.random.default_rng(20), 30, 5)
    expected = eigenpair(packed, 5, 2)
    buffer = np.empty((30, 6))
    eigenpair(packed, 5, 2, out=(buffer[:, 5], buffer[:, :5]))
    assert np.array_equal(buffer[:, 5], expected.value)
    assert np.array_equal(buffer[:, :5], expected.vector)
    with pytest.raises(ValueError, match="out must not overlap"):
        eigenpair(packed, 5, 2, out=(buffer[:, 0], buffer[:, :5]))
