"""The eigenpair functions: shapes, layouts, types, bad matrices and bad arguments."""

from __future__ import annotations

import numpy as np
import pytest
from eigen_cases import DTYPES, packed_rows

import lambdak
from lambdak import eigenpair, eigenvalue, tridiagonal_eigenpair, tridiagonal_eigenvalue

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


@pytest.mark.parametrize("rows", [(), (4,)])
def test_masked_entries_are_refused_and_a_mask_without_any_is_ignored(rows):
    packed = np.random.default_rng(3).standard_normal((*rows, 6))
    hidden = np.ma.masked_array(packed, np.arange(packed.size).reshape(packed.shape) == 2)
    where = "row 2" if not rows else r"packed\[0, 2\]"
    with pytest.raises(ValueError, match=f"packed must not be masked; got a masked entry at {where}: drop such rows"):
        eigenvalue(hidden, 3, 1)
    with pytest.raises(ValueError, match="out must not be masked"):
        eigenvalue(packed, 3, 1, out=np.ma.masked_all(rows))
    with pytest.raises(ValueError, match="offdiagonal must not be masked"):
        tridiagonal_eigenvalue(np.ones(3), np.ma.masked_array(np.ones(2), [True, False]), 1)
    assert np.array_equal(eigenvalue(np.ma.masked_array(packed), 3, 1), eigenvalue(packed, 3, 1))
