"""The gapped start: the paper's lemma, its distribution and its definite variant."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdak.eigen.packing import diagonal_indices, sym
from lambdak.pencil import Pencil
from lambdak.pencil.constraints import DIAGONAL_NSD, DIAGONAL_PSD, NSD, PSD
from lambdak.pencil.initial import _gapped_constant, gapped

seeds = st.integers(0, 2**32 - 1)
csts = st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=8)
bounds = st.sampled_from([0.01, 0.3, 1.0, 5.0, 1e3])


def start(n_features=4, dim=5, eig_idx=None, **options):
    return gapped(n_features, dim, eig_idx, **{"random_state": 0, "dtype": np.float64} | options)


@settings(max_examples=60, deadline=None)
@given(seeds, csts, st.integers(1, 7), bounds, st.data())
def test_lemma_the_gap_is_at_least_one_half_within_the_bound(seed, cst, dim, bound, data):
    fan_in = data.draw(st.integers(1, len(cst)))
    eig_idx = data.draw(st.integers(0, dim - 1))
    packed = start(len(cst), dim, eig_idx, random_state=seed, bound=bound, fan_in=fan_in, monotonic_cst=cst)
    rng = np.random.default_rng(seed)
    Z = bound * np.concatenate([rng.choice([-1.0, 1.0], (30, len(cst))), rng.uniform(-1, 1, (10, len(cst)))])
    # A sparse row has at most fan_in entries that are not zero.
    Z[np.argsort(rng.random(Z.shape), axis=1) >= fan_in] = 0
    assert ((Z != 0).sum(axis=1) <= fan_in).all()
    assert Pencil(packed, eig_idx).gap(Z).min() >= 0.5 - 1e-9


def test_the_gap_lemma_is_not_vacuous():
    f = Pencil(start())
    assert f.gap(5e3 * np.random.default_rng(0).standard_normal((200, 4))).min() < 0.5


@pytest.mark.parametrize("eig_idx", range(5))
def test_the_constant_has_eigenvalues_below_at_and_above_zero(eig_idx):
    values = np.linalg.eigvalsh(sym(start(eig_idx=eig_idx)[0]))
    np.testing.assert_allclose(values, np.sign(np.arange(5) - eig_idx), atol=1e-14)


class _FixedNormal:
    """A generator that returns a given matrix, to compare with a closed form."""

    def __init__(self, matrix):
        self.matrix = matrix

    def standard_normal(self, shape):
        assert shape == self.matrix.shape
        return self.matrix


def test_the_basis_is_uniform_because_its_triangle_has_a_positive_diagonal():
    rng = np.random.default_rng(3)
    for _ in range(10):
        gaussian = rng.standard_normal((4, 4))
        upper = np.linalg.cholesky(gaussian.T @ gaussian).T  # the only R with a positive diagonal
        q = gaussian @ np.linalg.inv(upper)
        expected = q.T @ np.diag([-1.0, -1.0, 0.0, 1.0]) @ q
        np.testing.assert_allclose(_gapped_constant(4, 2, _FixedNormal(gaussian)), expected, atol=1e-9)


@pytest.mark.parametrize("fan_in", [1, 3, 50])
def test_feature_matrices_are_diagonal_in_the_ranges_of_the_paper(fan_in):
    matrices = sym(start(50, 6, fan_in=fan_in)[1:])
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    np.testing.assert_array_equal(matrices, np.array([np.diag(line) for line in diagonal]))
    centre = diagonal.mean(axis=1, keepdims=True)
    limit = 1 / np.sqrt(fan_in)
    assert np.abs(diagonal).max() <= limit + 1 / (20 * fan_in)
    assert centre.min() < -limit / 2
    assert centre.max() > limit / 2
    spread = np.ptp(diagonal, axis=1).max()
    assert 0.5 / (10 * fan_in) < spread <= 1 / (10 * fan_in)


def test_the_default_fan_in_is_the_number_of_features():
    np.testing.assert_array_equal(start(7), start(7, fan_in=7))


def test_a_larger_bound_shrinks_the_jitter_in_proportion():
    wide, narrow = (np.ptp(start(bound=bound)[:, diagonal_indices(5)], axis=1)[1:] for bound in (5.0, 50.0))
    np.testing.assert_allclose(wide, 10 * narrow, rtol=1e-10)


def test_the_matrices_do_not_commute():
    matrices = sym(start())
    for matrix in matrices[1:]:
        assert np.linalg.norm(matrices[0] @ matrix - matrix @ matrices[0]) > 1e-4


@settings(max_examples=60, deadline=None)
@given(seeds, csts, bounds, st.booleans())
def test_constrained_features_start_definite_whatever_the_bound(seed, cst, bound, sparse):
    fan_in = 1 if sparse else len(cst)
    packed = start(len(cst), 4, random_state=seed, bound=bound, fan_in=fan_in, monotonic_cst=cst)
    for sign, row in zip(cst, packed[1:], strict=True):
        values = sign * np.linalg.eigvalsh(sym(row))
        if sign:
            assert values.min() >= 0.25 / np.sqrt(fan_in) - 1e-12
            assert values.max() <= 1.25 / np.sqrt(fan_in) + 1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [1, 400])
def test_the_constraints_have_parameters_for_the_start(n_features, dtype):
    up = start(n_features, 5, monotonic_cst=[1] * n_features, dtype=dtype)[1:]
    down = start(n_features, 5, monotonic_cst=[-1] * n_features, dtype=dtype)[1:]
    for constraint, packed in [(PSD, up), (DIAGONAL_PSD, up), (NSD, down), (DIAGONAL_NSD, down)]:
        assert constraint.contains(packed).all()
        recovered = constraint.forward(constraint.right_inverse(packed))
        np.testing.assert_allclose(recovered, packed, atol=100 * np.finfo(dtype).eps)


def test_randomness_is_local_and_repeatable():
    before = np.random.get_state(legacy=True)[1].copy()  # noqa: NPY002 - the global state is what is checked
    np.testing.assert_array_equal(start(random_state=1), start(random_state=1))
    np.testing.assert_array_equal(start(random_state=1), start(random_state=np.random.default_rng(1)))
    assert (start(random_state=1) != start(random_state=2)).any()
    np.testing.assert_array_equal(before, np.random.get_state(legacy=True)[1])  # noqa: NPY002


def test_dtype_and_shape_follow_the_arguments():
    assert gapped(3, 4, random_state=0).dtype == np.float32
    assert gapped(3, 4, random_state=0).shape == (4, 10)
    assert gapped(0, 1, random_state=0).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"eig_idx": 5}, ValueError, r"eig_idx must be in \[0, 5\); got 5"),
        ({"fan_in": 0}, ValueError, r"fan_in must be in \[1, 5\); got 0"),
        ({"fan_in": 5}, ValueError, r"fan_in must be in \[1, 5\); got 5"),
        ({"bound": 0.0}, ValueError, "bound must be positive and finite; got 0.0"),
        ({"bound": np.inf}, ValueError, "bound must be positive and finite; got inf"),
        ({"monotonic_cst": [0, 1]}, ValueError, "monotonic_cst must have 4 entries; got 2"),
        ({"monotonic_cst": [0, 1, 2, 0]}, ValueError, r"monotonic_cst\[2\] must be -1, 0 or 1; got 2"),
        ({"dtype": np.int64}, TypeError, "dtype must be float32 or float64; got int64"),
        ({"dim": 0}, ValueError, r"dim must be in \[1, 513\); got 0"),
    ],
)
def test_bad_input_is_refused_in_the_one_wording(options, error, message):
    with pytest.raises(error, match=message):
        start(**options)
