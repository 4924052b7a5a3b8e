"""Packed coordinates are an isometry between vectors and symmetric matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lambdak.eigen.packing import diagonal_indices, packed_dim, packed_size, sym, unsym

DIMS = range(1, 9)
quick = settings(max_examples=50, deadline=None)
# Multiples of 1e-6: squares of smaller numbers underflow, which is no matter of packing.
fixed_point = st.integers(-(10**12), 10**12).map(lambda i: i / 10**6)


@st.composite
def packed_pairs(draw):
    shape = (2, packed_size(draw(st.integers(1, 7))))
    return draw(hnp.arrays(np.float64, shape, elements=fixed_point))


def test_a_known_matrix_packs_by_rows_of_its_lower_triangle_with_root_two():
    matrix = np.array([[1.0, 2.0, 4.0], [2.0, 3.0, 5.0], [4.0, 5.0, 6.0]])
    root = np.sqrt(2.0)
    np.testing.assert_allclose(unsym(matrix), [1, 2 * root, 3, 4 * root, 5 * root, 6], rtol=1e-15)


@quick
@given(packed_pairs())
def test_packing_is_an_isometry(pair):
    v, w = pair
    scale = np.linalg.norm(v) * np.linalg.norm(w)
    assert abs(np.trace(sym(v) @ sym(w)) - v @ w) <= 1e-13 * scale
    np.testing.assert_allclose(np.linalg.norm(sym(v)), np.linalg.norm(v), rtol=1e-13, atol=1e-300)


@quick
@given(packed_pairs())
def test_unsym_inverts_sym(pair):
    np.testing.assert_allclose(unsym(sym(pair)), pair, rtol=1e-15)
    np.testing.assert_array_equal(sym(pair), np.swapaxes(sym(pair), -1, -2))


@quick
@given(packed_pairs())
def test_unsym_is_the_adjoint_of_sym(pair):
    v, w = pair
    rough = sym(w) + np.triu(np.ones_like(sym(w)), 1)  # unsym symmetrises, and so it pairs with any matrix
    assert abs(np.sum(sym(v) * rough) - v @ unsym(rough)) <= 1e-13 * np.linalg.norm(v) * np.linalg.norm(rough)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lead", [(), (0,), (3,), (2, 3)])
def test_leading_shape_and_dtype_survive(lead, dtype):
    packed = np.ones((*lead, 10), dtype)
    assert sym(packed).shape == (*lead, 4, 4)
    assert unsym(sym(packed)).shape == (*lead, 10)
    assert sym(packed).dtype == unsym(sym(packed)).dtype == dtype


@pytest.mark.parametrize("dim", DIMS)
def test_diagonal_indices_pick_the_diagonal(dim):
    packed = np.arange(packed_size(dim), dtype=np.float64)
    np.testing.assert_array_equal(packed[diagonal_indices(dim)], np.diag(sym(packed)))


@pytest.mark.parametrize("dim", DIMS)
def test_packed_dim_inverts_packed_size(dim):
    assert packed_dim(packed_size(dim)) == dim


@pytest.mark.parametrize("size", [0, 2, 4, 5, 14, 16])
def test_a_width_that_is_no_triangle_names_its_neighbours(size):
    with pytest.raises(ValueError, match=rf"packed width must be d\(d\+1\)/2 .*; got {size}"):
        packed_dim(size)


def test_integers_are_refused_not_rounded():
    with pytest.raises(TypeError, match="packed must be float32 or float64; got int64"):
        sym([1, 2, 3])


def test_shapes_that_are_no_matrix_are_named():
    with pytest.raises(ValueError, match=r"matrix must have shape \(..., d, d\); got \(3,\)"):
        unsym(np.zeros(3))
    with pytest.raises(ValueError, match=r"matrix must have shape \(..., d, d\); got \(2, 3\)"):
        unsym(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"packed width must be at most 131328 \(d=512\); got 131841"):
        sym(np.zeros(131841))
