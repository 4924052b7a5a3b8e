"""The short way of a call on a contiguous array with one index: the bits of the long way, and the same refusals."""

from __future__ import annotations

import numpy as np
import pytest
from eigen_cases import DTYPES

from lambdak import eigenpair, eigenvalue
from lambdak.eigen import batch
from lambdak.eigen.runtime import native

kernel = native()
if kernel is None:
    pytest.skip("this install has no compiled kernel", allow_module_level=True)

SHAPES = [(), (1,), (0,), (17,), (2, 3), (4, 0, 2)]


def packed_rows(shape, dim, dtype):
    return np.random.default_rng(dim).standard_normal((*shape, dim * (dim + 1) // 2)).astype(dtype)


def assert_same(got, wanted):
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dim", [1, 2, 5, 16])
def test_the_short_way_gives_the_bits_of_the_long_way(dim, shape, dtype, monkeypatch):
    packed, k = packed_rows(shape, dim, dtype), dim // 2
    assert batch.plain(packed, dim, k, True, 0) is not None
    short = eigenvalue(packed, dim, k), *eigenpair(packed, dim, k)
    monkeypatch.setattr(batch, "plain", lambda *_: None)
    for got, wanted in zip(short, (eigenvalue(packed, dim, k), *eigenpair(packed, dim, k)), strict=True):
        assert_same(got, wanted)


def unaligned(array):
    space = np.empty(array.nbytes + 1, np.uint8)[1:]
    copy = space.view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class Subclass(np.ndarray):
    pass


@pytest.mark.parametrize("change", [
    lambda p: np.asfortranarray(p),
    lambda p: p[::2],
    lambda p: p[:, ::-1],
    lambda p: p.astype(p.dtype.newbyteorder()),
    lambda p: p.astype(np.float16),
    lambda p: p.tolist(),
    lambda p: p.view(Subclass),
    lambda p: p[:, :-1].copy(),
    lambda p: p[0, 0],
    lambda p: unaligned(p),
])  # fmt: skip
def test_what_is_not_an_ordinary_array_is_left_to_the_long_way(change):
    packed = packed_rows((6,), 3, np.float64)
    assert batch.plain(change(packed), 3, 1, True, 0) is None


@pytest.mark.parametrize(("dim", "index"), [
    (3, True), (3, [1]), (3, np.int64(1)), (3, 3), (3, -1), (3.0, 1), (np.int64(3), 1), (129, 1)
])  # fmt: skip
def test_indices_and_dims_that_need_a_check_are_left_to_the_long_way(dim, index):
    assert batch.plain(packed_rows((2,), int(dim), np.float64), dim, index, False, 0) is None


def test_the_short_way_reads_a_read_only_array_where_it_is():
    packed = packed_rows((5,), 4, np.float32)
    packed.flags.writeable = False
    np.testing.assert_array_equal(eigenvalue(packed, 4, 1), eigenvalue(packed.copy(), 4, 1))


def test_the_kernel_fills_nothing_that_does_not_fit():
    packed, value, vector = packed_rows((4,), 5, np.float32), np.full(4, 7.0, np.float32), np.empty((4, 5), np.float32)
    cases = [
        (packed, 5, 5, value, vector),
        (packed, 4, 2, value, vector),
        (packed, 5, 2, value[:3], vector),
        (packed, 5, 2, value.astype(np.float64), vector),
        (packed, 5, 2, value, vector[:, :4].copy()),
        (packed, 5, 2, value, np.asfortranarray(vector)),
        (packed, 600, 2, value, vector),
    ]
    for case in cases:
        assert not kernel.solve_plain(*case, 0)
    assert (value == 7).all()
    value.flags.writeable = False
    with pytest.raises(TypeError):
        kernel.solve_plain(packed, 5, 2, value, vector, 0)
