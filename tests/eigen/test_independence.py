"""A row's result depends on the row alone: not on the batch, its place in it, its neighbours, threads or registers."""

from __future__ import annotations

import matrices
import numpy as np
import pytest
import step_cases
from eigen_cases import DTYPES

from lambdak import eigenpair, eigenvalue, tridiagonal_eigenpair, tridiagonal_eigenvalue, unsym
from lambdak.eigen import (
    eigenpair_vjp,
    eigenvalue_vjp,
    tridiagonal_eigenpair_vjp,
    tridiagonal_eigenvalue_vjp,
)
from lambdak.eigen.runtime import native

kernel = native()
if kernel is None:
    pytest.skip("this install has no compiled kernel", allow_module_level=True)

DIMS = [1, 2, 3, 5, 9, 16, 40, 70]  # up to 40 two groups of lanes are searched together, at 70 one


def rows_of(dim, dtype, per_factory=3):
    """Easy and hard matrices, some of them huge, denormal, infinite or NaN."""
    rng = np.random.default_rng(dim)
    full = np.concatenate([factory(rng, per_factory, dim) for factory in matrices.FACTORIES.values()])
    packed = unsym(full).astype(dtype)
    for place, scale in enumerate(matrices.SCALES[dtype]):
        packed[place::11] *= dtype(scale)
    packed[3::13, 0], packed[5::17, -1] = np.nan, np.inf
    return packed


def everything(packed, dim, n_jobs=1):
    """All public functions, each an array whose first axis is the row."""
    index = sorted({dim // 2, dim - 1})
    diagonal, off = packed[:, :dim].copy(), packed[:, 1:dim].copy()
    value, vector = eigenpair(packed, dim, index, n_jobs=n_jobs)
    one, direction = eigenpair(packed, dim, dim // 2, n_jobs=n_jobs)
    tri_value, tri_vector = tridiagonal_eigenpair(diagonal, off, index, n_jobs=n_jobs)
    factor = np.ones_like(value)
    with np.errstate(all="ignore"):
        return {
            "value": value,
            "vector": vector,
            "one value": one,
            "one vector": direction,
            "values without vectors": eigenvalue(packed, dim, index, n_jobs=n_jobs),
            "value without vector": eigenvalue(packed, dim, dim // 2, n_jobs=n_jobs),
            "tridiagonal value": tri_value,
            "tridiagonal vector": tri_vector,
            "tridiagonal value without vector": tridiagonal_eigenvalue(diagonal, off, dim // 2, n_jobs=n_jobs),
            "outer": eigenvalue_vjp(vector, factor, sum_index=True, n_jobs=n_jobs),
            "tridiagonal outer": tridiagonal_eigenvalue_vjp(tri_vector, factor, sum_index=True, n_jobs=n_jobs)[0],
            "vjp": eigenpair_vjp(packed, dim, value, vector, factor, np.ones_like(vector)),
            "tridiagonal vjp": tridiagonal_eigenpair_vjp(
                diagonal, off, tri_value, tri_vector, factor, np.ones_like(tri_vector)
            )[0],
        }


def assert_same_bits(got, wanted):
    for name, array in got.items():
        finite = np.isfinite(wanted[name])
        np.testing.assert_array_equal(np.isfinite(array), finite, err_msg=name)
        assert array[finite].tobytes() == wanted[name][finite].tobytes(), name


def at(results, rows):
    return {name: array[rows] for name, array in results.items()}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", DIMS)
def test_a_row_alone_gives_the_bits_it_gives_in_any_batch(dim, dtype, isa):
    packed = rows_of(dim, dtype, 1 if dim > 20 else 3)
    together = everything(packed, dim)
    for row in range(len(packed)):
        assert_same_bits(everything(packed[row : row + 1], dim), at(together, slice(row, row + 1)))
    rng = np.random.default_rng(0)
    for size in (2, 7, len(packed)):
        rows = rng.choice(len(packed), size)
        assert_same_bits(everything(packed[rows], dim), at(together, rows))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [2, 5, 9])
def test_threads_and_many_rows_change_no_bit(dim, dtype, isa, threads):
    packed = np.tile(rows_of(dim, dtype), (40, 1))
    threads(1)
    alone = everything(packed[: len(packed) // 40], dim)
    for count in (1, 2):
        threads(count)  # also of the functions that take no n_jobs
        assert_same_bits(everything(packed, dim, count), {name: np.concatenate([a] * 40) for name, a in alone.items()})


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_matrix_among_hostile_neighbours_keeps_its_bits(dtype, isa):
    rng, limits = np.random.default_rng(1), np.finfo(dtype)
    hostile = [np.nan, np.inf, -np.inf, limits.max, limits.smallest_subnormal, 0.0, limits.smallest_normal]
    for dim in (2, 5, 9):
        row = rng.standard_normal((1, dim * (dim + 1) // 2)).astype(dtype)
        alone = everything(row, dim)
        for number in hostile:
            batch = np.full((33, row.shape[1]), number, dtype)
            for place in (0, 7, 32):
                batch[place] = row
                assert_same_bits(at(everything(batch, dim), slice(place, place + 1)), alone)
                batch[place] = number


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["columns first", "every second row", "every second column"])
def test_the_layout_in_memory_changes_no_bit(layout, dtype, isa):
    packed = rows_of(5, dtype)
    wide = np.zeros((2 * len(packed), 2 * packed.shape[1]), dtype)
    moved = {
        "columns first": np.asfortranarray(packed),
        "every second row": wide[::2, : packed.shape[1]],
        "every second column": wide[: len(packed), ::2],
    }[layout]
    moved[...] = packed
    assert_same_bits(everything(moved, 5), everything(packed, 5))


@pytest.mark.parametrize("dtype", DTYPES)
def test_registers_of_32_and_64_bytes_give_the_same_bits(dtype):
    if not {"avx2", "avx512"} <= set(kernel.available_isas()):
        pytest.skip("this machine has one of them only")
    before, results = kernel.isa(), []
    for name in ("avx2", "avx512"):
        kernel.use_isa(name)
        results.append([everything(rows_of(dim, dtype), dim) for dim in DIMS])
    kernel.use_isa(before)
    for got, wanted in zip(*results, strict=True):
        assert_same_bits(got, wanted)


# ---- the steps of training, which prediction shares -------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [1, 2, 5, 15])
def test_a_design_row_gives_the_same_bits_in_every_batch_and_stack(dim, dtype, isa):
    rng = np.random.default_rng(2)
    ids, weights = step_cases.design(rng, dtype)
    coef = step_cases.coefficients(rng, 3, dim, dtype)
    rows = np.tile(np.arange(step_cases.N_ROWS, dtype=np.int32), (3, 4))
    for want_vector in (False, True):
        value, vector = step_cases.forward(kernel, ids, weights, rows, coef, dim, [dim // 2], want_vector, threads=2)
        for model, row in ((0, 0), (1, 7), (2, step_cases.N_ROWS - 1)):
            one = np.array([[row]], np.int32)
            got = step_cases.forward(kernel, ids, weights, one, coef[model : model + 1], dim, [dim // 2], want_vector)
            places = model * rows.shape[1] + np.flatnonzero(rows[model] == row)
            assert all(value[place].tobytes() == got[0].tobytes() for place in places)
            assert not want_vector or all(vector[place].tobytes() == got[1].tobytes() for place in places)


def test_a_point_of_a_curve_gives_the_same_bits_in_every_batch():
    knots, x = np.arange(17.0) ** 2, np.random.default_rng(3).uniform(-3, 260, 5000)
    ids, weights = np.zeros((len(x), 2), np.int32), np.zeros((len(x), 2))
    kernel.curve(x, knots, 3, False, (ids, weights), 2)
    for row in range(0, len(x), 97):
        one = np.zeros((1, 2), np.int32), np.zeros((1, 2))
        kernel.curve(x[row : row + 1], knots, 3, False, one, 1)
        assert one[0].tobytes() == ids[row].tobytes()
        assert one[1].tobytes() == weights[row].tobytes()
