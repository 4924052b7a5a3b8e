"""Derivatives of eigenvalues and eigenvectors against central differences and against LAPACK.

Tests ``batch`` and ``lapack``.
"""

from __future__ import annotations

import matrices
import numpy as np
import pytest

from lambdak import (
    eigenpair,
    eigenpair_vjp,
    eigenvalue,
    eigenvalue_vjp,
    sym,
    tridiagonal_eigenpair,
    tridiagonal_eigenpair_vjp,
    tridiagonal_eigenvalue_vjp,
    unsym,
)

BACKENDS = ["native", "lapack"]
STEP = 1e-6


def central_differences(function, point):
    """Derivative of a scalar function of a 1-d array."""
    grad = np.empty_like(point)
    for i in range(len(point)):
        shift = np.zeros_like(point)
        shift[i] = STEP
        grad[i] = (function(point + shift) - function(point - shift)) / (2 * STEP)
    return grad


def oriented(vector, like):
    """Eigenvectors with the sign that matches `like`: differences must not see an arbitrary flip."""
    return vector * np.sign((vector * like).sum(-1, keepdims=True))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dim", [1, 2, 5, 9])
def test_value_derivative_matches_central_differences(dim, backend):
    rng = np.random.default_rng(0)
    for k in {0, dim // 2, dim - 1}:
        packed = rng.standard_normal(dim * (dim + 1) // 2)
        vector = eigenpair(packed, dim, k).vector
        expected = central_differences(lambda p, k=k: eigenvalue(p, dim, k), packed)
        np.testing.assert_allclose(eigenvalue_vjp(vector, 1.0, backend=backend), expected, atol=1e-8)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dim", [2, 3, 6, 10])
def test_derivative_through_value_and_vector_matches_central_differences(dim, backend):
    rng = np.random.default_rng(1)
    for k in {0, dim // 2, dim - 1}:
        packed = unsym(matrices.with_spectrum(rng, np.arange(dim)[None] * 0.7 + rng.uniform(0, 0.3, (1, dim))))[0]
        value, vector = eigenpair(packed, dim, k)
        g, gv = rng.standard_normal(), rng.standard_normal(dim)

        def objective(p, k=k, g=g, gv=gv, vector=vector):
            val, vec = eigenpair(p, dim, k)
            return g * val + gv @ oriented(vec, vector)

        got = eigenpair_vjp(packed, dim, value, vector, g, gv, backend=backend)
        np.testing.assert_allclose(got, central_differences(objective, packed), atol=2e-7)


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_indices_add_their_derivatives_up(backend):
    rng = np.random.default_rng(2)
    dim, index = 7, [1, 3, 6]
    packed = rng.standard_normal(28)
    value, vector = eigenpair(packed, dim, index)
    g, gv = rng.standard_normal(3), rng.standard_normal((3, dim))

    def objective(p):
        val, vec = eigenpair(p, dim, index)
        return g @ val + (gv * oriented(vec, vector)).sum()

    got = eigenpair_vjp(packed, dim, value, vector, g, gv, backend=backend)
    np.testing.assert_allclose(got, central_differences(objective, packed), atol=1e-6)
    np.testing.assert_allclose(
        eigenvalue_vjp(vector, g, sum_index=True, backend=backend),
        sum(eigenvalue_vjp(v, float(f)) for v, f in zip(vector, g, strict=True)),
        atol=1e-14,
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dim", [2, 3, 8])
def test_tridiagonal_derivatives_match_central_differences(dim, backend):
    rng = np.random.default_rng(3)
    entries = np.concatenate([np.arange(dim) + rng.uniform(0, 0.3, dim), rng.uniform(0.2, 1, dim - 1)])
    for k in {0, dim // 2, dim - 1}:
        value, vector = tridiagonal_eigenpair(entries[:dim], entries[dim:], k)
        g, gv = rng.standard_normal(), rng.standard_normal(dim)

        def objective(p, k=k, g=g, gv=gv, vector=vector):
            val, vec = tridiagonal_eigenpair(p[:dim], p[dim:], k)
            return g * val + gv @ oriented(vec, vector)

        got = tridiagonal_eigenpair_vjp(entries[:dim], entries[dim:], value, vector, g, gv, backend=backend)
        np.testing.assert_allclose(np.concatenate(got), central_differences(objective, entries), atol=1e-6)
        only_value = tridiagonal_eigenvalue_vjp(vector, g, backend=backend)
        expected = tridiagonal_eigenpair_vjp(entries[:dim], entries[dim:], value, vector, g, 0.0)
        np.testing.assert_allclose(only_value.diagonal, expected.diagonal, atol=1e-14)
        np.testing.assert_allclose(only_value.offdiagonal, expected.offdiagonal, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [1, 2, 5, 17, 40])
def test_batches_of_derivatives_agree_with_lapack(dim, dtype):
    rng = np.random.default_rng(4)
    spectrum = np.arange(dim) + rng.uniform(0, 0.5, (60, dim))
    packed = unsym(matrices.with_spectrum(rng, spectrum)).astype(dtype).reshape(3, 20, -1)
    value, vector = eigenpair(packed, dim, dim // 2)
    g, gv = rng.standard_normal((3, 20)).astype(dtype), rng.standard_normal((3, 20, dim)).astype(dtype)
    ours = eigenpair_vjp(packed, dim, value, vector, g, gv)
    oracle = eigenpair_vjp(
        packed.astype(np.float64), dim, value.astype(float), vector.astype(float), g.astype(float), gv.astype(float),
        backend="lapack",
    )  # fmt: skip
    assert ours.dtype == dtype
    np.testing.assert_allclose(ours, oracle, atol=2000 * dim * np.finfo(dtype).eps)


def test_scaling_the_matrix_scales_the_vectors_derivative_inversely():
    rng = np.random.default_rng(5)
    packed = rng.standard_normal((20, 21))
    gv = rng.standard_normal((20, 6))
    value, vector = eigenpair(packed, 6, 2)
    plain = eigenpair_vjp(packed, 6, value, vector, 0.0, gv)
    for scale in (2.0**400, 2.0**-400):
        scaled = eigenpair_vjp(packed * scale, 6, value * scale, vector, 0.0, gv)
        np.testing.assert_allclose(scaled * scale, plain, rtol=1e-9, atol=1e-12 * np.abs(plain).max())


def test_gradient_is_the_packed_outer_product():
    rng = np.random.default_rng(6)
    vector, factor = rng.standard_normal((4, 9, 5)), rng.standard_normal((4, 9))
    expected = factor[..., None, None] * vector[..., :, None] * vector[..., None, :]
    out = np.empty((4, 9, 15))
    got = eigenvalue_vjp(vector, factor, out=out)
    assert got is out
    np.testing.assert_allclose(sym(got), expected, atol=1e-14)
    columns = np.empty((15, 36)).T
    eigenvalue_vjp(vector.reshape(36, 5), factor.reshape(36), out=columns)
    assert np.array_equal(columns, got.reshape(36, 15))


@pytest.mark.parametrize("backend", BACKENDS)
def test_zero_matrices_have_a_finite_derivative(backend):
    for dim in (1, 2, 5):
        packed = np.zeros((3, dim * (dim + 1) // 2))
        value, vector = eigenpair(packed, dim, dim // 2)
        got = eigenpair_vjp(packed, dim, value, vector, 2.0, 0.0, backend=backend)
        np.testing.assert_allclose(got, eigenvalue_vjp(vector, 2.0), atol=1e-14)
        pair = tridiagonal_eigenpair(np.zeros((3, dim)), np.zeros((3, dim - 1)), 0)
        grads = tridiagonal_eigenpair_vjp(np.zeros((3, dim)), np.zeros((3, dim - 1)), *pair, 1.0, 0.0, backend=backend)
        np.testing.assert_allclose(grads.diagonal.sum(-1), 1, atol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_repeated_eigenvalues_give_a_finite_result_and_a_clarke_subgradient(backend):
    dim = 6
    packed = unsym(np.broadcast_to(np.diag([1.0, 2.0, 2.0, 2.0, 3.0, 4.0]), (5, dim, dim)))
    value, vector = eigenpair(packed, dim, 2)
    grad = sym(eigenpair_vjp(packed, dim, value, vector, 1.0, 0.0, backend=backend))
    # conv{x xᵀ : x a unit vector of the eigenspace} is: PSD, trace one, supported on the eigenspace
    assert np.linalg.eigvalsh(grad).min() > -1e-12
    np.testing.assert_allclose(np.trace(grad, axis1=1, axis2=2), 1, atol=1e-12)
    np.testing.assert_allclose(grad[:, [0, 4, 5]], 0, atol=1e-12)
    wild = eigenpair_vjp(packed, dim, value, vector, 1.0, np.ones(dim), backend=backend)
    assert np.isfinite(wild).all()


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda p, v, w: eigenpair_vjp(p, 3, v[:2], w, 1.0, 0.0), ValueError, r"value must have shape \(4,\)"),
        (lambda p, v, w: eigenpair_vjp(p, 3, v, w[:, :2], 1.0, 0.0), ValueError, r"vector must have shape \(4, 3\)"),
        (lambda p, v, w: eigenpair_vjp(p, 3, v, w, np.ones(3), 0.0), ValueError, r"grad_value must have shape \(4,\)"),
        (lambda p, v, w: eigenpair_vjp(p, 3, v.astype("f4"), w, 1.0, 0.0), TypeError, "value must be float64"),
        (
            lambda p, v, w: eigenpair_vjp(p, 3, v[:, None][:, :0], w[:, None][:, :0], 1.0, 0.0),
            ValueError,
            "value must hold at least one",
        ),
        (lambda p, v, w: eigenvalue_vjp(w, np.ones(5)), ValueError, r"grad_value must have shape \(4,\); got \(5,\)"),
        (lambda p, v, w: eigenvalue_vjp(1.0, 1.0), ValueError, r"vector must end in \(d,\)"),
        (lambda p, v, w: eigenvalue_vjp(w[0], 1.0, sum_index=True), ValueError, r"vector must end in \(m, d\)"),
        (lambda p, v, w: eigenvalue_vjp(w, 1.0, out=np.empty((4, 5))), ValueError, r"out must have shape \(4, 6\)"),
    ],
)
def test_bad_arguments_are_named(call, kind, message):
    packed = np.random.default_rng(7).standard_normal((4, 6))
    with pytest.raises(kind, match=message):
        call(packed, *eigenpair(packed, 3, 1))
