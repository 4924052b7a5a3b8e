"""The derivative of a vector whose eigenvalue is repeated or nearly so: one width, and directions that are left out."""

from __future__ import annotations

import gap_cases
import numpy as np
import pytest
from scipy.linalg import hessenberg

from lambdak import (
    eigenpair,
    eigenpair_vjp,
    sym,
    tridiagonal_eigenpair,
    tridiagonal_eigenpair_vjp,
    unsym,
)

DTYPES = [np.float32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [2, 3, 9, 20])
def test_kernel_and_lapack_agree_for_every_gap_of_tridiagonal_matrices(dim, dtype):
    rng = np.random.default_rng(dim)
    for gap in gap_cases.gaps(dim, dtype):
        full = np.stack([hessenberg(each) for each in gap_cases.neighbours(rng, 5, dim, gap)])
        bands = [np.diagonal(full, offset, 1, 2).astype(dtype) for offset in (0, 1)]
        pair = tridiagonal_eigenpair(*bands, dim // 2)
        grads = np.zeros(5, dtype), rng.standard_normal((5, dim)).astype(dtype)
        ours, theirs = (tridiagonal_eigenpair_vjp(*bands, *pair, *grads, backend=b) for b in ("native", "lapack"))
        for one, other in zip(ours, theirs, strict=True):
            assert (np.abs(one - other).max(-1, initial=0) <= gap_cases.tolerance(full, dim, gap, dtype)).all(), gap


@pytest.mark.parametrize("backend", ["native", "lapack"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [4, 9, 31, 64])
def test_a_repeated_eigenvalue_leaves_out_its_whole_eigenspace(dim, dtype, backend):
    rng, k = np.random.default_rng(dim), dim // 2
    spectrum = np.arange(dim) / dim - 0.5
    spectrum[k - 1 : k + 2] = spectrum[k]  # three times, split by rounding only
    basis = np.linalg.qr(rng.standard_normal((10, dim, dim)))[0]
    packed = unsym(basis * spectrum @ basis.swapaxes(1, 2)).astype(dtype)
    value, vector = eigenpair(packed, dim, k)
    right = rng.standard_normal((10, dim)).astype(dtype)
    weight = np.array([0 if each == spectrum[k] else 1 / (spectrum[k] - each) for each in spectrum])
    solved = np.einsum("nij,j,nkj,nk->ni", basis, weight, basis, right)
    expected = solved[:, :, None] * vector[:, None]
    got = sym(eigenpair_vjp(packed, dim, value, vector, np.zeros(10, dtype), right, backend=backend))
    bound = 40 * np.finfo(dtype).eps * np.linalg.norm(spectrum) * dim**2  # neighbours are 1 / dim apart
    np.testing.assert_allclose(got, (expected + expected.swapaxes(1, 2)) / 2, atol=bound)


def test_the_derivative_in_a_cluster_does_not_depend_on_the_neighbours_in_the_batch():
    rng, dim = np.random.default_rng(0), 7
    rows = np.concatenate([unsym(gap_cases.neighbours(rng, 9, dim, gap)) for gap in (0.0, 1e-15, 1e-3, 1.0)])
    value, vector = eigenpair(rows, dim, 3)
    right = rng.standard_normal(vector.shape)
    together = eigenpair_vjp(rows, dim, value, vector, np.zeros(len(rows)), right)
    for row in range(len(rows)):
        alone = eigenpair_vjp(rows[row], dim, value[row], vector[row], 0.0, right[row])
        assert np.array_equal(alone, together[row])
