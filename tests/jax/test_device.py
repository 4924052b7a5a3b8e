"""Eigenpairs in pure XLA, on the CPU: accuracy on hard matrices, derivatives, shards and exported programs.

Tests ``lanes``, ``reduce``, ``sturm``, ``vectors``, ``spectrum``, ``solve``, ``choice``.
"""

from __future__ import annotations

import sys
from subprocess import run

import numpy as np
import pytest
from eigen_cases import lapack_ratios, orthogonality_ratio
from matrices import FACTORIES

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402

import lambdak  # noqa: E402
from lambdak.eigen.rounding import eigenvalue_error  # noqa: E402
from lambdak.jax import eigen, eigenpair, eigenvalue, host_kernel, tridiagonal_eigenpair  # noqa: E402

LIMIT = 10  # that of the CPU kernel


@pytest.fixture(autouse=True)
def _in_xla(monkeypatch):
    """No callbacks, and float64, which JAX has only if it is switched on."""

    def refuse(*_, **__):
        raise AssertionError("a callback to the host")

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    monkeypatch.setattr(jax, "pure_callback", refuse)
    host_kernel(False)
    yield
    host_kernel(None)
    jax.config.update("jax_enable_x64", before)


def hard_rows(dim, dtype, each=3):
    rng = np.random.default_rng(dim)
    rows = [lambdak.unsym(factory(rng, each, dim)) for factory in FACTORIES.values()]
    return np.ascontiguousarray(np.concatenate(rows).astype(dtype))


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "dim", "index"), [
    (np.float64, 1, [0]), (np.float32, 5, [2]), (np.float32, 9, [8]), (np.float64, 7, [2, 3, 4])
])  # fmt: skip
def test_hard_matrices_meet_the_test_ratios_of_the_cpu_kernel(dtype, dim, index):
    rows = hard_rows(dim, dtype)
    value, vector = map(np.asarray, eigenpair(jnp.asarray(rows), dim, index))
    assert value.dtype == vector.dtype == dtype
    assert (lapack_ratios(rows, dim, index, value, vector) < LIMIT).all()
    assert orthogonality_ratio(vector) < LIMIT
    norm = np.maximum(np.linalg.norm(rows.astype(np.float64), axis=1), np.finfo(dtype).tiny)[:, None]
    apart = np.abs(value - lambdak.eigenvalue(rows, dim, index))
    assert (apart <= 2 * eigenvalue_error(dim, dtype) * norm).all()


def packed_rows(rows=5, dim=4):
    return jnp.asarray(np.random.default_rng(0).standard_normal((rows, dim * (dim + 1) // 2)))


@pytest.mark.slow
def test_gradients_are_those_of_the_callback(monkeypatch):
    packed = packed_rows(6)

    def loss(packed):
        pair = eigenpair(packed, 4, 2)
        return pair.value.sum() + (pair.vector[:, 0] ** 2).sum()

    found = jax.grad(loss)(packed)
    monkeypatch.undo()
    host_kernel(True)
    np.testing.assert_allclose(found, jax.grad(loss)(packed), atol=1e-12)


@pytest.mark.slow
def test_a_matrix_that_is_not_finite_yields_nan_for_itself_alone_and_huge_and_tiny_ones_keep_their_accuracy():
    rows = np.array(packed_rows(6))
    rows[1, 3], rows[4, 0] = np.nan, np.inf
    rows[2] *= 1e150
    rows[3] *= 1e-300
    value, vector = map(np.asarray, eigenpair(jnp.asarray(rows), 4, 2))
    bad = np.isin(np.arange(6), [1, 4])
    assert np.isnan(value[bad]).all()
    assert np.isnan(vector[bad]).all()
    np.testing.assert_allclose(value[~bad], lambdak.eigenvalue(rows[~bad], 4, 2), rtol=1e-13)


@pytest.mark.slow
def test_tridiagonal_matrices_are_solved_in_their_own_coordinates():
    rng = np.random.default_rng(0)
    diagonal, off = rng.standard_normal((3, 6)), rng.standard_normal((3, 5))
    pair = tridiagonal_eigenpair(diagonal, off, 4)
    wanted = lambdak.tridiagonal_eigenpair(diagonal, off, 4)
    np.testing.assert_allclose(pair.value, wanted[0], atol=1e-14)
    np.testing.assert_allclose(np.abs((np.asarray(pair.vector) * wanted[1]).sum(-1)), 1, atol=1e-14)


@pytest.mark.slow
def test_the_pseudo_inverse_leaves_out_what_equals_the_eigenvalue():
    matrix = np.diag([1.0, 1.0, 3.0, 5.0])
    packed = jnp.asarray(lambdak.unsym(matrix))[None]
    vector, right = jnp.eye(4)[None, :1], jnp.asarray([[[1.0, 1.0, 2.0, 4.0]]])
    found = eigen.device.pseudo_inverse(packed, jnp.ones((1, 1)), vector, right, 4)
    np.testing.assert_allclose(found[0, 0], [0, 0, -1, -1], atol=1e-14)


@pytest.mark.slow
def test_an_exported_program_runs_for_devices_that_are_not_here():
    program = jax.export.export(jax.jit(lambda packed: eigenvalue(packed, 4, 2)), platforms=("cpu", "cuda", "rocm"))
    stored = program(jax.ShapeDtypeStruct((5, 10), jnp.float64)).serialize()
    np.testing.assert_array_equal(jax.export.deserialize(stored).call(packed_rows()), eigenvalue(packed_rows(), 4, 2))


SHARDS = """
import jax, numpy as np, jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from lambdak.jax import eigenpair
mesh = Mesh(np.array(jax.devices()), ("rows",))
rows = jnp.asarray(np.random.default_rng(0).standard_normal((8, 10)), jnp.float32)
wanted = eigenpair(rows, 4, 2).vector
pair = jax.jit(jax.shard_map(lambda x: eigenpair(x, 4, 2).vector, mesh=mesh, in_specs=P("rows"), out_specs=P("rows")))
found = pair(jax.device_put(rows, NamedSharding(mesh, P("rows"))))
print(found.sharding.spec == P("rows"), bool((found == wanted).all()))
"""


@pytest.mark.slow
def test_shards_are_solved_where_they_are(monkeypatch):
    for name, value in {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        "JAX_PLATFORMS": "cpu",
        "LAMBDAK_JAX_HOST_KERNEL": "0",
    }.items():
        monkeypatch.setenv(name, value)
    done = run([sys.executable, "-c", SHARDS], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_the_choice_is_that_of_the_backend_unless_it_is_made(monkeypatch):
    from lambdak.jax import choice

    host_kernel(None)
    assert choice.is_host()
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert not choice.is_host()
    host_kernel(True)
    assert choice.is_host()
    with pytest.raises(TypeError, match="enabled must be True, False or None; got 1"):
        host_kernel(1)
