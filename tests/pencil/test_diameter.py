"""The farthest pair of cells: against all pairs with norms by NumPy, and against closed forms."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdak.eigen.packing import packed_size, sym, unsym
from lambdak.pencil import diameter as module
from lambdak.pencil.diameter import diameter, far_pairs, norms_and_slopes

_GOLDEN = (1 + 5**0.5) / 2  # of e_i e_iᵀ − (e_i e_jᵀ + e_j e_iᵀ): the root of x² = x + 1


def distance(matrices, weights, a, b):
    return weights @ np.linalg.norm(sym(matrices[:, b] - matrices[:, a]), 2, axis=(-2, -1))


def all_distances(matrices, weights):
    first, second = np.triu_indices(matrices.shape[1], 1)
    return distance(matrices, weights, first, second)


def heavy(rng, members, cells, dim):
    """Cells some of which are far out."""
    return rng.standard_normal((members, cells, packed_size(dim))) * rng.gamma(0.5, 1, (cells, 1))


def simplex(cells):
    """Cells every two of which are equally far apart: each differs from all others in a member of its own."""
    return np.eye(cells)[:, :, None]


def spied(monkeypatch):
    """How many matrices are solved to try pairs and to measure cells."""
    solved, real = [], module.spectral_norm
    monkeypatch.setattr(module, "spectral_norm", lambda A, jobs: solved.append(A[..., 0].size) or real(A, jobs))
    return solved


@settings(deadline=None, max_examples=80)
@given(
    st.integers(2, 60), st.integers(1, 4), st.sampled_from([1, 2, 3, 7]), st.booleans(),
    st.sampled_from([0, 1e14]), st.sampled_from([1e-290, 1e-30, 1.0, 1e290]), st.integers(0, 999),
)  # fmt: skip
def test_it_is_the_largest_distance_of_all_pairs(cells, members, dim, isotropic, constant, size, seed):
    rng = np.random.default_rng(seed)
    matrices = rng.standard_normal((members, cells, packed_size(dim))) if isotropic else heavy(rng, members, cells, dim)
    matrices = size * (matrices + constant * unsym(np.eye(dim)))
    weights = rng.dirichlet(np.ones(members))
    found = diameter(matrices, weights)
    assert found.bound == pytest.approx(all_distances(matrices, weights).max(), rel=1e-12)
    assert distance(matrices, weights, *found.pair) == pytest.approx(found.bound, rel=1e-12)
    assert found.pair[0] < found.pair[1]


def test_it_is_exact_where_all_cells_are_equally_far_apart():
    assert diameter(simplex(300), np.full(300, 0.5)).bound == 1.0


def test_it_is_exact_between_the_300_matrices_of_a_basis():
    first, second = np.triu_indices(24)
    basis = np.zeros((300, 24, 24))
    basis[np.arange(300), first, second] = basis[np.arange(300), second, first] = 1.0
    assert diameter(unsym(basis)[None], np.ones(1)).bound == pytest.approx(_GOLDEN, rel=1e-13)


@pytest.mark.parametrize("shift", [0.0, 1e-13])
def test_a_pair_that_is_further_apart_by_next_to_nothing_is_found(shift):
    matrices = simplex(300)
    matrices[17, 17] += shift
    matrices[41, 41] += shift
    found = diameter(matrices, np.ones(300))
    assert found.bound == 2 * (1 + shift)
    assert found.pair == (17, 41) or not shift


def test_few_pairs_of_ten_thousand_cells_are_tried_in_little_memory(monkeypatch):
    rng, solved = np.random.default_rng(0), spied(monkeypatch)
    heights = rng.standard_normal((1, 10_000, 1))
    matrices = heights * unsym(np.diag([1.0, -3.0, 2.0])) + 1e-3 * rng.standard_normal((2, 10_000, 6))
    matrices[:, 77] = 40 * unsym(np.diag([0.0, 0.0, 1.0]))
    matrices[:, 7777] = -50 * unsym(np.diag([0.0, 0.0, 1.0]))
    tracemalloc.start()
    found = diameter(matrices, np.array([0.5, 0.5]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == (pytest.approx(90, rel=1e-13), (77, 7777))
    assert sum(solved) < 200_000
    assert peak < 100 * matrices.nbytes / 2


def test_isotropic_cells_of_one_member_need_few_pairs(monkeypatch):
    matrices, solved = np.random.default_rng(0).standard_normal((1, 1500, 45)), spied(monkeypatch)
    bound = diameter(matrices, np.ones(1)).bound
    tried = sum(solved)
    first, second = np.triu_indices(1500, 1)
    blocks = np.array_split(np.arange(len(first)), 40)
    every = max(module.spectral_norm(matrices[0, second[b]] - matrices[0, first[b]], None).max() for b in blocks)
    assert bound == every
    assert tried < len(first) / 10


@pytest.mark.parametrize("most", [1, 10, 1000])
def test_if_too_many_pairs_would_have_to_be_tried_it_is_a_relaxation(most, monkeypatch):
    rng = np.random.default_rng(0)
    matrices, weights = rng.standard_normal((5, 200, 15)), np.full(5, 0.2)
    exact, solved = all_distances(matrices, weights).max(), spied(monkeypatch)
    found = diameter(matrices, weights, most)
    assert found.pair is None
    assert exact <= found.bound <= 1.5 * exact
    assert sum(solved) <= 5 * (200 + most + 32)


def test_a_relaxation_grows_with_the_matrices():
    matrices = np.random.default_rng(0).standard_normal((1, 200, 15))
    first, second = (diameter(size * matrices, np.ones(1), 1).bound for size in (1.0, 3e-7))
    assert second == pytest.approx(3e-7 * first, rel=1e-11)


def test_one_cell_equal_cells_and_cells_that_are_no_numbers():
    assert diameter(np.ones((2, 1, 3)), np.ones(2)) == (0.0, None)
    assert diameter(np.ones((2, 5, 3)), np.ones(2)) == (0.0, (0, 1))
    for bad in (np.nan, np.inf):
        matrices = np.zeros((1, 200, 3))
        matrices[0, 3, 1] = bad
        assert not diameter(matrices, np.ones(1)).bound < np.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_pairs_of_a_set_do_not_depend_on_the_other_sets_and_are_far_apart(dtype):
    moves = np.stack([heavy(np.random.default_rng(s), 1, 200, 4) for s in range(5)]).astype(dtype)
    pairs = far_pairs(moves)
    for own, some in zip(moves, pairs, strict=True):
        np.testing.assert_array_equal(far_pairs(own[None])[0], some)
        best = max(distance(own.astype(float), np.ones(1), *pair) for pair in some)
        assert best >= 0.8 * all_distances(own.astype(float), np.ones(1)).max()


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_norms_and_their_slopes_by_central_differences(dim):
    rng, h = np.random.default_rng(dim), 1e-6
    packed, direction = rng.standard_normal((2, 50, packed_size(dim)))
    norms, slopes = norms_and_slopes(packed)
    np.testing.assert_allclose(norms, np.linalg.norm(sym(packed), 2, axis=(-2, -1)), rtol=1e-13)
    ends = [norms_and_slopes(packed + sign * h * direction)[0] for sign in (1, -1)]
    np.testing.assert_allclose((slopes * direction).sum(axis=-1), (ends[0] - ends[1]) / (2 * h), atol=1e-6)
