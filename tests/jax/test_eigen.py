"""Eigenvalues and eigenvectors as JAX functions: values, derivatives of any order, jit, vmap and their nesting.

Tests ``packing``.
"""

from __future__ import annotations

import numpy as np
import pytest
from matrices import FACTORIES, rotation

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

from lambdak.jax import eigenpair, eigenvalue, sym, unsym  # noqa: E402


@pytest.fixture(autouse=True)
def _float64():
    """JAX has float64 only if it is switched on, for the process."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def packed_rows(rows=5, dim=4):
    return jnp.asarray(np.random.default_rng(0).standard_normal((rows, dim * (dim + 1) // 2)))


def ours(packed):
    return eigenvalue(packed, 4, 2)


def theirs(packed):
    return jnp.linalg.eigvalsh(sym(packed, 4))[..., 2]


def projection(packed):
    """A function of the vector that does not depend on its sign."""
    vector = eigenpair(packed, 4, 1).vector
    return vector[..., :1] * vector


@pytest.mark.parametrize("name", FACTORIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_and_vectors_are_those_of_jax_on_easy_and_hard_matrices(name, dtype):
    matrix = jnp.asarray(FACTORIES[name](np.random.default_rng(0), 20, 7).astype(dtype))
    value, vector = eigenpair(unsym(matrix), 7, [2, 3])
    assert value.dtype == vector.dtype == dtype
    wide = np.asarray(matrix, np.float64)
    norm = np.maximum(np.linalg.norm(wide, 2, (-2, -1)), np.finfo(dtype).tiny)
    slack = 200 * np.finfo(dtype).eps
    expected = jnp.linalg.eigvalsh(jnp.asarray(wide))[:, 2:4]
    assert (abs(value - expected) <= slack * norm[:, None]).all()
    residual = np.asarray(vector, np.float64) @ wide - np.asarray(value)[..., None] * np.asarray(vector)
    assert (np.linalg.norm(residual, axis=-1) <= slack * norm[:, None]).all()
    np.testing.assert_array_equal(eigenvalue(unsym(matrix), 7, 3), eigenvalue(unsym(matrix), 7, [3])[:, 0])


def test_packing_is_that_of_the_core_and_comes_back():
    import lambdak

    packed = packed_rows()
    np.testing.assert_allclose(sym(packed, 4), lambdak.sym(np.asarray(packed)), rtol=1e-15)
    np.testing.assert_allclose(unsym(sym(packed, 4)), packed, rtol=1e-15)


def test_derivatives_up_to_the_third_order_are_those_of_finite_differences_in_both_modes():
    check_grads(ours, (packed_rows(2),), order=3, atol=1e-4, rtol=1e-4)
    check_grads(projection, (packed_rows(2),), order=2, atol=1e-4, rtol=1e-4)


def test_gradients_and_hessians_are_those_of_eigvalsh_however_they_are_nested():
    packed = packed_rows()
    np.testing.assert_allclose(jax.vmap(jax.grad(ours))(packed), jax.vmap(jax.grad(theirs))(packed), atol=1e-13)
    expected = jax.hessian(theirs)(packed[0])
    for outer in (jax.jacfwd, jax.jacrev):
        for inner in (jax.jacfwd, jax.jacrev):
            np.testing.assert_allclose(jax.jit(outer(inner(ours)))(packed[0]), expected, atol=1e-12)
    np.testing.assert_allclose(jax.vmap(jax.hessian(ours))(packed), jax.vmap(jax.hessian(theirs))(packed), atol=1e-12)


def test_jit_vmap_and_grad_of_vmap_agree_with_batches():
    packed = packed_rows(6)
    expected = ours(packed)
    np.testing.assert_array_equal(jax.jit(ours)(packed), expected)
    np.testing.assert_array_equal(jax.vmap(ours)(packed), expected)
    np.testing.assert_array_equal(jax.vmap(ours, in_axes=1)(packed.T), expected)
    np.testing.assert_array_equal(jax.jit(jax.vmap(jax.vmap(ours)))(packed.reshape(2, 3, -1)), expected.reshape(2, 3))
    total = jax.grad(lambda a: jax.vmap(ours)(a).sum())(packed)
    np.testing.assert_allclose(total, jax.vmap(jax.grad(ours))(packed), atol=1e-15)


def test_a_mapped_axis_is_one_call_of_the_kernel(monkeypatch):
    from lambdak.jax import eigen

    real, seen = eigen.eigen.eigenvalue, []

    def spy(rows, *rest):
        seen.append(rows.shape)
        return real(rows, *rest)

    monkeypatch.setattr(eigen.eigen, "eigenvalue", spy)
    jax.vmap(ours)(packed_rows(64)).block_until_ready()
    assert seen == [(64, 10)]


@pytest.mark.parametrize("spectrum", [[0.0, 1.0, 1.0, 1.0, 2.0], [1.0] * 5])
def test_at_repeated_eigenvalues_the_gradient_is_a_clarke_subgradient_and_all_is_finite(spectrum):
    q = rotation(np.random.default_rng(0), 1, 5)[0]
    packed = unsym(jnp.asarray(q * spectrum @ q.T))
    subgradient = sym(jax.grad(eigenvalue)(packed, 5, 2), 5)
    np.testing.assert_allclose(np.linalg.eigvalsh(subgradient), [0, 0, 0, 0, 1], atol=1e-10)  # v vᵀ
    np.testing.assert_allclose(sym(packed, 5) @ subgradient, spectrum[2] * subgradient, atol=1e-10)
    assert jnp.isfinite(jax.hessian(lambda a: eigenvalue(a, 5, 2))(packed)).all()


def test_a_neuron_is_trained_under_jit():
    x = jnp.asarray(np.random.default_rng(0).standard_normal((256, 2)), jnp.float32)
    y = jnp.tanh(x[:, 0]) + x[:, 1]

    def loss(coef):
        return ((eigenvalue(coef[0] + x @ coef[1:], 4, 2) - y) ** 2).mean()

    coef = jnp.asarray(np.random.default_rng(1).standard_normal((3, 10)), jnp.float32)
    first, step = loss(coef), jax.jit(lambda c: c - 0.05 * jax.grad(loss)(c))
    for _ in range(200):
        coef = step(coef)
    assert loss(coef) < 0.1 * first


def test_half_precision_is_computed_in_float32():
    packed = packed_rows().astype(jnp.bfloat16)
    exact = eigenvalue(packed.astype(jnp.float32), 4, 2)
    np.testing.assert_array_equal(ours(packed), exact.astype(jnp.bfloat16))


def test_a_matrix_with_nan_yields_nan_for_itself_alone_and_no_rows_yield_none():
    packed = packed_rows(3).at[1, 0].set(jnp.nan)
    assert jnp.isnan(ours(packed)).tolist() == [False, True, False]
    assert ours(packed[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: eigenvalue(jnp.zeros((2, 9)), 4, 0), ValueError, r"packed must have 10 entries .* got shape \(2, 9\)"),
        (lambda: eigenvalue(jnp.zeros(10, int), 4, 0), TypeError, "packed must be an array of floats; got int64"),
        (lambda: eigenpair(jnp.zeros(10), 4, 4), ValueError, r"index must be in \[0, 4\); got 4"),
        (lambda: eigenvalue(jnp.zeros(10), 4, [2, 1]), ValueError, "increasing"),
        (lambda: jax.jit(eigenvalue)(jnp.zeros(10), 4, 1), TypeError, "dim must be known .* jit's static_argnames"),
        (
            lambda: jax.jit(eigenvalue, static_argnames="dim")(jnp.zeros(10), dim=4, index=1),
            TypeError,
            "index must be known .* jit's static_argnames",
        ),
        (lambda: unsym(jnp.eye(3, dtype=int)), TypeError, r"matrix must be an array of floats; got int64: use .astype"),
        (lambda: unsym(jnp.eye(3) * 1j), TypeError, "matrix must be an array of floats; got complex128"),
        (lambda: unsym(jnp.zeros((2, 3))), ValueError, r"matrix must have shape \(..., d, d\); got \(2, 3\)"),
    ],
)
def test_bad_arguments_are_refused_with_what_was_expected(call, error, message):
    with pytest.raises(error, match=message):
        call()
