"""Repeated eigenvalues, gaps, and how much a feature matters near them; LAPACK is the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pencil_cases import cone, dense_values, random_pencil, random_rows
from pencil_strategies import entries, matrix_at, oracle, orthogonal, pencils, rows, seeds, slack, statement

from lambdak.eigen.packing import packed_size, sym, unsym
from lambdak.pencil import Pencil


@statement
@given(pencils(), seeds)
def test_the_gradient_is_the_derivative_where_the_eigenvalue_is_simple(f, seed):
    (z,) = rows(f, seed, 1)
    h, step = 1e-5, np.eye(f.n_features)
    assume(f.gap(z) > 1e-2 * (1 + np.abs(f.packed).sum()))
    central = [(oracle(f, z + h * e) - oracle(f, z - h * e)) / (2 * h) for e in step]
    np.testing.assert_allclose(f.gradient(z), central, atol=1e-5 * (1 + np.abs(f.packed).sum()))


@statement
@given(pencils(), seeds)
def test_the_local_bound_lies_between_the_gradient_and_the_global_bound(f, seed):
    Z = rows(f, seed)
    local = f.influence_bound(Z)
    assert (np.abs(f.gradient(Z)) <= local + slack(f)).all()
    assert (local <= f.norms + slack(f)).all()


@st.composite
def crossings(draw):
    """A pencil whose eigenvalue λ_k is repeated m times at z = 0, in a random basis."""
    dim = draw(st.integers(2, 5))
    m = draw(st.integers(2, dim))
    first = draw(st.integers(0, dim - m))
    values = np.concatenate([np.arange(first) - float(first), np.zeros(m), np.arange(dim - m - first) + 1.0])
    q = orthogonal(dim, draw(seeds))
    packed = draw(hnp.arrays(np.float64, (2, packed_size(dim)), elements=entries))
    matrices = np.concatenate([[q.T @ np.diag(values + draw(st.integers(-3, 3))) @ q], sym(packed)])
    return Pencil.from_matrices(matrices, first + draw(st.integers(0, m - 1))), q[first : first + m]


@statement
@given(crossings(), seeds)
def test_lemma_the_local_bound_holds_for_every_subgradient_at_a_repeated_eigenvalue(crossing, seed):
    f, basis = crossing
    local = f.influence_bound(np.zeros(2))
    weights = np.random.default_rng(seed).standard_normal((len(basis), 3))
    mix = weights @ weights.T
    mix /= np.trace(mix)  # Z ⪰ 0 with trace one: the Clarke subdifferential of λ_k
    for i, bound in enumerate(local):
        compressed = basis @ f.matrices[i + 1] @ basis.T
        np.testing.assert_allclose(bound, np.linalg.norm(compressed, 2), atol=slack(f))
        assert abs(np.sum(compressed * mix)) <= bound + slack(f)


@statement
@given(crossings(), st.sampled_from([1e-3, -1e-3, 1e-4, -1e-4]))
def test_lemma_the_local_bound_holds_for_small_steps_at_a_repeated_eigenvalue(crossing, t):
    f, _ = crossing
    local, gap = f.influence_bound(np.zeros(2)), min(f.gap(np.zeros(2)), 1e6)
    for i in range(2):
        reach = abs(t) * f.norms[i]
        assume(reach < gap / 4)
        move = abs(f(t * np.eye(2)[i]) - f(np.zeros(2)))
        assert move <= abs(t) * local[i] + 2 * reach**2 / gap + slack(f)  # second-order perturbation


@statement
@given(crossings())
def test_the_gap_at_a_crossing_is_the_distance_to_the_next_different_eigenvalue(crossing):
    f, basis = crossing
    expected = np.inf if len(basis) == f.dim else 1.0
    np.testing.assert_allclose(f.gap(np.zeros(2)), expected, atol=1e-10)


@statement
@given(pencils(min_dim=2), seeds)
def test_davis_kahan_the_gap_controls_how_fast_the_gradient_turns(f, seed):
    z, other = rows(f, seed)
    delta = 1e-2 * (other - z)
    gap, spectrum = f.gap(z), np.linalg.eigvalsh(matrix_at(f, z))
    assume(gap > 1e-6 and (np.abs(spectrum - spectrum[f.eig_idx]) < gap / 2).sum() == 1)  # simple
    v, w = (np.linalg.eigh(matrix_at(f, x))[1][:, f.eig_idx] for x in (z, z + delta))
    turned = np.linalg.norm(np.outer(v, v) - np.outer(w, w), 2)
    assert turned <= 2 * f.change_bound(delta).tight / gap + 1e-9


class TestLocalInfluence:
    @pytest.mark.parametrize("eig_idx", range(5))
    def test_gradient_matches_central_differences(self, eig_idx):
        f, Z, h = random_pencil(eig_idx=eig_idx), random_rows(6, 3), 1e-6
        shift = h * np.eye(3)
        above, below = dense_values(f, Z[:, None] + shift), dense_values(f, Z[:, None] - shift)
        np.testing.assert_allclose(f.gradient(Z), (above - below)[..., eig_idx] / (2 * h), atol=1e-7)

    def test_the_tip_of_a_cone_has_influence_that_one_eigenvector_hides(self):
        f = cone(1)
        np.testing.assert_allclose(f.influence_bound(np.zeros(2)), [1, 1], atol=1e-14)
        assert np.abs(f.gradient(np.zeros(2))).min() < 1 - 1e-3
        np.testing.assert_allclose(f.influence_bound([3.0, 4.0]), [0.6, 0.8], atol=1e-14)

    def test_the_tolerance_for_repeated_is_relative_to_the_matrix(self):
        for scale in (1e-100, 1.0, 1e100):
            f = Pencil(scale * unsym(np.array([np.diag([1.0, 1 + 1e-5, 3.0]), np.ones((3, 3))])), 0)
            np.testing.assert_allclose(f.influence_bound([0.0], tol=1e-6), scale, rtol=1e-12)
            np.testing.assert_allclose(f.influence_bound([0.0], tol=1e-4), 2 * scale, rtol=1e-12)
            np.testing.assert_allclose(f.gap([0.0], tol=1e-6), 1e-5 * scale, rtol=1e-9)
            np.testing.assert_allclose(f.gap([0.0], tol=1e-4), 2 * scale, rtol=1e-12)

    def test_a_multiple_of_the_identity_has_no_gap(self):
        for multiple in (0.0, 1.0):
            constant = Pencil(unsym(np.array([multiple * np.eye(4), np.zeros((4, 4))])))
            assert np.isinf(constant.gap([1.0]))
