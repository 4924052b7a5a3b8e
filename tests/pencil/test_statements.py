"""The value itself: every statement of the paper's section 4 as a property, with NumPy's LAPACK as the oracle."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from pencil_strategies import matrix_at, oracle, orthogonal, pencils, rows, seeds, slack, statement

from lambdak.pencil import Pencil


@statement
@given(pencils(), seeds)
def test_the_value_is_the_kth_smallest_eigenvalue(f, seed):
    (z,) = rows(f, seed, 1)
    assert abs(f(z) - oracle(f, z)) <= slack(f)


@statement
@given(pencils(), seeds)
def test_rayleigh_quotients_lie_between_the_first_and_the_last_eigenvalue(f, seed):
    (z,) = rows(f, seed, 1)
    u = np.random.default_rng(seed).standard_normal(f.dim)
    quotient = u @ matrix_at(f, z) @ u / (u @ u)
    first, last = Pencil(f.packed, 0), Pencil(f.packed, f.dim - 1)
    assert first(z) - slack(f) <= quotient <= last(z) + slack(f)


@statement
@given(pencils(), seeds)
def test_diagonal_matrices_give_an_order_statistic_of_affine_functions(f, seed):
    lines = np.diagonal(f.matrices, axis1=1, axis2=2)  # (n + 1, d)
    q = orthogonal(f.dim, seed)
    trapped = Pencil.from_matrices(np.array([q.T @ np.diag(line) @ q for line in lines]), f.eig_idx)
    Z = rows(f, seed)
    np.testing.assert_allclose(trapped(Z), np.sort(lines[0] + Z @ lines[1:])[:, f.eig_idx], atol=slack(f))
