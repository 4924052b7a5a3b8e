"""Every statement of the paper's sections 4 and 5 as a property, with NumPy's LAPACK as the oracle."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lambdak.eigen.packing import packed_size, sym
from lambdak.pencil import Pencil

statement = settings(max_examples=60, deadline=None)
seeds = st.integers(0, 2**32 - 1)
# Small integers give repeated eigenvalues and zero matrices often, floats give everything else.
entries = st.one_of(st.integers(-2, 2).map(float), st.floats(-8, 8, allow_subnormal=False))


@st.composite
def pencils(draw, min_dim=1, eig_idx=None):
    dim, n = draw(st.integers(min_dim, 5)), draw(st.integers(1, 3))
    packed = draw(hnp.arrays(np.float64, (n + 1, packed_size(dim)), elements=entries))
    chosen = {None: draw(st.integers(0, dim - 1)), "first": 0, "last": dim - 1}[eig_idx]
    return Pencil(packed, chosen)


def rows(f, seed, count=2):
    return np.random.default_rng(seed).uniform(-3, 3, (count, f.n_features))


def matrix_at(f, z):
    return f.matrices[0] + np.tensordot(z, f.matrices[1:], axes=1)


def oracle(f, z):
    return np.linalg.eigvalsh(matrix_at(f, z))[f.eig_idx]


def slack(f):
    return 1e-11 * (1 + np.abs(f.packed).sum())


def orthogonal(dim, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))[0]


@statement
@given(pencils(), seeds)
def test_the_value_is_the_kth_smallest_eigenvalue(f, seed):
    (z,) = rows(f, seed, 1)
    assert abs(f(z) - oracle(f, z)) <= slack(f)


# Section 4.1, continuity


@statement
@given(pencils(), seeds)
def test_weyl_the_value_moves_by_at_most_the_norm_of_the_change(f, seed):
    z, other = rows(f, seed)
    move = abs(oracle(f, other) - oracle(f, z))
    bound = f.change_bound(other - z)
    change = matrix_at(f, other) - matrix_at(f, z)
    np.testing.assert_allclose(bound.tight, np.linalg.norm(change, 2), atol=slack(f))
    assert move <= bound.tight + slack(f)
    assert bound.tight <= bound.loose + slack(f)


@statement
@given(pencils(), seeds)
def test_a_unit_step_in_one_feature_moves_the_value_by_at_most_its_norm(f, seed):
    (z,) = rows(f, seed, 1)
    for i, norm in enumerate(f.norms):
        assert abs(norm - np.linalg.norm(f.matrices[i + 1], 2)) <= slack(f)
        assert abs(f(z + np.eye(f.n_features)[i]) - f(z)) <= norm + slack(f)


# Section 4.2, universality: shapes of the extremal eigenvalues


@statement
@given(pencils(), seeds)
def test_rayleigh_quotients_lie_between_the_first_and_the_last_eigenvalue(f, seed):
    (z,) = rows(f, seed, 1)
    u = np.random.default_rng(seed).standard_normal(f.dim)
    quotient = u @ matrix_at(f, z) @ u / (u @ u)
    first, last = Pencil(f.packed, 0), Pencil(f.packed, f.dim - 1)
    assert first(z) - slack(f) <= quotient <= last(z) + slack(f)


@statement
@given(pencils(eig_idx="first"), seeds, st.floats(0, 1))
def test_the_first_eigenvalue_is_concave(f, seed, t):
    assert f.is_concave
    z, other = rows(f, seed)
    assert f(t * z + (1 - t) * other) >= t * f(z) + (1 - t) * f(other) - slack(f)


@statement
@given(pencils(eig_idx="last"), seeds, st.floats(0, 1))
def test_the_last_eigenvalue_is_convex(f, seed, t):
    assert f.is_convex
    z, other = rows(f, seed)
    assert f(t * z + (1 - t) * other) <= t * f(z) + (1 - t) * f(other) + slack(f)


# Section 4.3, orthogonal invariance


@statement
@given(pencils(), seeds)
def test_a_common_change_of_basis_changes_neither_values_nor_influences(f, seed):
    q = orthogonal(f.dim, seed)
    turned = Pencil.from_matrices(q.T @ f.matrices @ q, f.eig_idx)
    Z = rows(f, seed)
    np.testing.assert_allclose(turned(Z), f(Z), atol=slack(f))
    np.testing.assert_allclose(turned.norms, f.norms, atol=slack(f))
    # The tolerance is far above rounding, which the change of basis adds to repeated eigenvalues.
    np.testing.assert_allclose(turned.gap(Z, tol=1e-6), f.gap(Z, tol=1e-6), atol=slack(f))


@statement
@given(pencils(), seeds, st.data())
def test_any_one_matrix_can_be_made_diagonal_without_changing_the_function(f, seed, data):
    j = data.draw(st.integers(0, f.n_features))
    fixed = f.canonical(j)
    diagonal = np.diag(fixed.matrices[j])
    np.testing.assert_array_equal(fixed.matrices[j], np.diag(diagonal))
    assert (np.diff(diagonal) >= 0).all()
    np.testing.assert_allclose(fixed(rows(f, seed)), f(rows(f, seed)), atol=slack(f))


# Sections 4.4 and 4.5, the game and the recurrence


def least_payment(matrix, C):
    """min {uᵀAu : ‖u‖ = 1, Cu = 0}, with the null space of C from its SVD."""
    _, singular, right = np.linalg.svd(C)
    null = right[int((singular > 1e-9).sum()) :]
    return np.linalg.eigvalsh(null @ matrix @ null.T)[0]


@statement
@given(pencils(), seeds)
def test_the_game_attains_the_value_with_admissible_moves(f, seed):
    (z,) = rows(f, seed, 1)
    game = f.game(z)
    assert game.C.shape == (f.eig_idx, f.dim)
    np.testing.assert_allclose(game.C @ game.C.T, np.eye(f.eig_idx), atol=1e-10)
    np.testing.assert_allclose(game.C @ game.u, 0, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(game.u), 1, atol=1e-12)
    assert abs(game.value - oracle(f, z)) <= slack(f)
    assert abs(game.u @ matrix_at(f, z) @ game.u - game.value) <= slack(f)


@statement
@given(pencils(), seeds)
def test_no_deviation_helps_either_player(f, seed):
    (z,) = rows(f, seed, 1)
    game, matrix, rng = f.game(z), matrix_at(f, z), np.random.default_rng(seed)
    # Inner: the best answer to C, which is the paper's recurrence, pays exactly the value.
    assert abs(least_payment(matrix, game.C) - game.value) <= slack(f)
    # Outer: far away and nearby C alike let the inner player pay no more.
    for size in (1e-3, 1.0):
        other = game.C + size * rng.standard_normal(game.C.shape)
        assert least_payment(matrix, other) <= game.value + slack(f)


# Section 4.6, a difference of convex functions


@statement
@given(pencils(), seeds)
def test_the_value_is_a_difference_of_sums_of_top_eigenvalues(f, seed):
    Z = rows(f, seed)
    parts = f.convex_parts(Z)
    spectrum = np.array([np.linalg.eigvalsh(matrix_at(f, z)) for z in Z])
    np.testing.assert_allclose(parts.plus, spectrum[:, f.eig_idx :].sum(axis=1), atol=slack(f))
    np.testing.assert_allclose(parts.minus, spectrum[:, f.eig_idx + 1 :].sum(axis=1), atol=slack(f))
    np.testing.assert_allclose(parts.plus - parts.minus, f(Z), atol=slack(f))


@statement
@given(pencils(), seeds)
def test_ky_fan_no_other_subspace_has_a_larger_trace(f, seed):
    (z,) = rows(f, seed, 1)
    u = orthogonal(f.dim, seed)[:, f.eig_idx :]
    assert np.trace(u.T @ matrix_at(f, z) @ u) <= f.convex_parts(z).plus + slack(f)


@statement
@given(pencils(), seeds, st.floats(0, 1))
def test_both_parts_are_convex(f, seed, t):
    z, other = rows(f, seed)
    at, away, between = (f.convex_parts(x) for x in (z, other, t * z + (1 - t) * other))
    assert between.plus <= t * at.plus + (1 - t) * away.plus + slack(f)
    assert between.minus <= t * at.minus + (1 - t) * away.minus + slack(f)


@statement
@given(pencils(), seeds)
def test_both_subgradients_support_their_part_from_below(f, seed):
    z, other = rows(f, seed)
    at, away = f.convex_parts(z), f.convex_parts(other)
    assert away.plus >= at.plus + at.plus_subgradient @ (other - z) - slack(f)
    assert away.minus >= at.minus + at.minus_subgradient @ (other - z) - slack(f)


# Section 4.7, monotone functions


@statement
@given(pencils(), seeds, st.sampled_from([1, -1]), st.floats(0, 5))
def test_a_semidefinite_feature_is_monotone(f, seed, sign, step):
    matrices = f.matrices.copy()
    matrices[1] = sign * matrices[1] @ matrices[1]  # a square is positive semidefinite
    assume(np.abs(matrices[1]).max() > 0)
    g = Pencil.from_matrices(matrices, f.eig_idx)
    assert g.is_monotone(0) == sign
    (z,) = rows(g, seed, 1)
    assert sign * (g(z + step * np.eye(g.n_features)[0]) - g(z)) >= -slack(g)


@statement
@given(pencils(min_dim=2))
def test_an_indefinite_feature_is_not_called_monotone(f):
    values = np.linalg.eigvalsh(f.matrices[1])
    assume(values[0] < -1e-6 and values[-1] > 1e-6)
    assert f.is_monotone(0) == 0


# Section 5, differentiation and local influence


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


# Section 7.2, the simultaneous-diagonalisation trap, and section 9, the inverse


@statement
@given(pencils(), seeds)
def test_diagonal_matrices_give_an_order_statistic_of_affine_functions(f, seed):
    lines = np.diagonal(f.matrices, axis1=1, axis2=2)  # (n + 1, d)
    q = orthogonal(f.dim, seed)
    trapped = Pencil.from_matrices(np.array([q.T @ np.diag(line) @ q for line in lines]), f.eig_idx)
    Z = rows(f, seed)
    np.testing.assert_allclose(trapped(Z), np.sort(lines[0] + Z @ lines[1:])[:, f.eig_idx], atol=slack(f))


@statement
@given(pencils(), seeds, st.sampled_from([1, -1]))
def test_the_inverse_of_a_definite_feature_undoes_it(f, seed, sign):
    matrices = f.matrices.copy()
    matrices[-1] = sign * (matrices[-1] @ matrices[-1] + np.eye(f.dim))
    g = Pencil.from_matrices(matrices, f.eig_idx)
    Z = rows(g, seed, 4)
    recovered = g.inverse(g(Z), g.n_features - 1, Z)
    np.testing.assert_allclose(recovered, Z[:, -1], atol=slack(g) * (1 + np.abs(g.packed).sum()))
