"""The neuron, tridiagonal matrices and sums of eigenvalues in JAX, against finite differences and PyTorch.

Tests ``sums``.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

from lambdak.jax import (  # noqa: E402
    SpectralNeuron,
    eigenvalue,
    eigenvalue_sum,
    ky_fan_sum,
    spectral_norm,
    tridiagonal_eigenpair,
    tridiagonal_eigenvalue,
)

SETTINGS = {
    "free": {},
    "monotone": {"monotonic_cst": (1, 0, -1)},
    "diagonal": {"monotonic_cst": (1, 0, -1), "constraint": "diagonal"},
    "all rise": {"monotonic_cst": 1},
    "capped": {"monotonic_cst": (1, 0, -1), "max_influence": 0.2},
    "tridiagonal": {"structure": "tridiagonal"},
    "monotone tridiagonal": {"structure": "tridiagonal", "monotonic_cst": (0, 1, -1), "max_influence": (0.3, 0.2, 0.1)},
    "diagonal tridiagonal": {"structure": "tridiagonal", "monotonic_cst": (0, 1, -1), "constraint": "diagonal"},
    "convex": {"eig_idx": 4},
}


@pytest.fixture(autouse=True)
def _float64():
    """JAX has float64 only if it is switched on, for the process."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(params=SETTINGS)
def neuron(request):
    return SpectralNeuron(3, 5, **SETTINGS[request.param])


def random_params(neuron, seed=0):
    rng = np.random.default_rng(seed)
    shapes = {name: part.shape for name, part in neuron.init(jax.random.key(0)).items()}
    return {name: jnp.asarray(rng.standard_normal(shape)) for name, shape in shapes.items()}


def rows(count=6):
    return jnp.asarray(np.random.default_rng(1).standard_normal((count, 3)))


def test_the_function_and_its_gradients_are_those_of_the_module_in_pytorch(neuron):
    torch = pytest.importorskip("torch")
    from lambdak.torch import SpectralNeuron as Module

    settings = {
        name: getattr(neuron, name) for name in ("eig_idx", "monotonic_cst", "structure", "constraint", "max_influence")
    }
    module, params, x = Module(3, 5, dtype=torch.float64, **settings), random_params(neuron), rows()
    with torch.no_grad():
        module.constant.copy_(torch.tensor(np.array(params["constant"])))
        names = [name for name in ("free", "bound") if params.get(name, x[:0]).size]  # a module has no empty parameters
        weights = [part for name, part in module.named_parameters() if name != "constant"]
        for part, name in zip(weights, names, strict=True):
            part.copy_(torch.tensor(np.array(params[name])))
    inputs = torch.tensor(np.array(x))
    np.testing.assert_allclose(neuron.apply(params, x), module(inputs).detach(), atol=1e-10)
    np.testing.assert_allclose(neuron.norms(params), module.norms.detach(), atol=1e-10)
    np.testing.assert_allclose(neuron.matrices(params), module.matrices.detach(), atol=1e-10)
    module(inputs).square().sum().backward()
    slopes = jax.jit(jax.grad(lambda p: (neuron.apply(p, x) ** 2).sum()))(params)
    np.testing.assert_allclose(slopes["constant"], module.constant.grad, atol=1e-8)
    for part, name in zip(weights, names, strict=True):
        np.testing.assert_allclose(slopes[name], part.grad, atol=1e-8)


def test_derivatives_are_those_of_finite_differences(neuron):
    check_grads(neuron.apply, (random_params(neuron), rows(2)), order=1, modes=["rev"], atol=1e-4, rtol=1e-4)


def test_maps_over_parameters_and_rows_agree_with_loops(neuron):
    keys = jax.random.split(jax.random.key(0), 3)
    stack, x = jax.jit(jax.vmap(neuron.init))(keys), rows()
    together = jax.vmap(neuron.apply, in_axes=(0, None))(stack, x)
    for i in range(3):
        params = {name: part[i] for name, part in stack.items()}
        np.testing.assert_allclose(together[i], jax.vmap(lambda row, p=params: neuron.apply(p, row))(x), atol=1e-12)


def test_the_start_has_the_gap_and_the_signs_of_the_paper(neuron):
    for seed in range(3):
        matrices = np.asarray(neuron.matrices(neuron.init(jax.random.key(seed))))
        values = np.linalg.eigvalsh(matrices)
        gaps = np.diff(values[0])
        assert abs(values[0, neuron.eig_idx]) < 1e-12
        assert min(gaps[max(neuron.eig_idx - 1, 0) : neuron.eig_idx + 1]) > 0.49
        for sign, row in zip(neuron.monotonic_cst, values[1:], strict=True):
            assert not sign or (sign * row > 0).all()
            assert abs(row).max() <= 1 / np.sqrt(3) + 1 / 60
            assert row.max() - row.min() <= 2 / 60 + 1e-12


def test_a_network_of_it_is_trained_under_jit():
    neuron, x = SpectralNeuron(2, 5, monotonic_cst=(1, 0)), rows(128)[:, :2]
    y = jnp.tanh(2 * x[:, 0]) + x[:, 1] ** 2
    params = neuron.init(jax.random.key(0))

    def loss(p):
        return ((neuron.apply(p, x) - y) ** 2).mean()

    step = jax.jit(lambda p: jax.tree.map(lambda a, g: a - 0.2 * g, p, jax.grad(loss)(p)))
    first = loss(params)
    for _ in range(100):
        params = step(params)
    assert loss(params) < 0.2 * first
    assert (neuron.apply(params, x.at[:, 0].add(0.5)) >= neuron.apply(params, x)).all()


def tridiagonal(seed=0, dim=5, count=4):
    rng = np.random.default_rng(seed)
    return jnp.asarray(rng.standard_normal((count, dim))), jnp.asarray(rng.standard_normal((count, dim - 1)))


def dense(diagonal, offdiagonal):
    full = jnp.zeros((*diagonal.shape, diagonal.shape[-1]))
    i = np.arange(diagonal.shape[-1])
    full = full.at[..., i, i].set(diagonal)
    return full.at[..., i[1:], i[:-1]].set(offdiagonal).at[..., i[:-1], i[1:]].set(offdiagonal)


def test_tridiagonal_pairs_are_those_of_dense_matrices_with_derivatives_of_both_orders():
    parts = tridiagonal()
    value, vector = tridiagonal_eigenpair(*parts, [1, 3])
    np.testing.assert_allclose(value, np.linalg.eigvalsh(dense(*parts))[:, [1, 3]], atol=1e-12)
    np.testing.assert_allclose(vector @ dense(*parts), value[..., None] * vector, atol=1e-12)
    check_grads(lambda *p: tridiagonal_eigenvalue(*p, 2), parts, order=2, atol=1e-4, rtol=1e-4)

    def projection(*p):
        first = tridiagonal_eigenpair(*p, 1).vector
        return first[..., :1] * first

    check_grads(projection, parts, order=1, atol=1e-4, rtol=1e-4)
    mapped = jax.jit(jax.vmap(lambda a, b: tridiagonal_eigenvalue(a, b, 2)))(*parts)
    np.testing.assert_allclose(mapped, np.linalg.eigvalsh(dense(*parts))[:, 2], atol=1e-12)


def test_sums_of_eigenvalues_have_their_derivatives_also_where_eigenvalues_meet():
    packed = jnp.asarray(np.random.default_rng(0).standard_normal((3, 10)))
    weight = jnp.array([0.1, 0.2, 0.3, 0.4])
    check_grads(lambda a: ky_fan_sum(a, 4, 2), (packed,), order=2, atol=1e-4, rtol=1e-4)
    check_grads(lambda a, w: eigenvalue_sum(a, 4, w), (packed, weight), order=2, atol=1e-4, rtol=1e-4)
    identity = jnp.array([1.0, 0, 1, 0, 0, 1])  # all three eigenvalues are one: the sum of all is the trace
    np.testing.assert_allclose(jax.grad(ky_fan_sum)(identity, 3, 3), identity, atol=1e-12)
    assert jnp.isfinite(jax.hessian(lambda a: ky_fan_sum(a, 3, 2))(identity)).all()
    np.testing.assert_allclose(spectral_norm(-identity, 3), 1)


SHARDED = """
import jax, jax.numpy as jnp, numpy as np
from functools import partial
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from lambdak import eigen
from lambdak.jax import SpectralNeuron
from lambdak.jax import eigen as ours

seen, real = [], (eigen.eigenvalue, eigen.eigenpair)
def spy(function):
    def call(rows, *rest):
        seen.append(rows.shape[0])
        return function(rows, *rest)
    return call
ours.eigen.eigenvalue, ours.eigen.eigenpair = map(spy, real)

mesh = Mesh(np.array(jax.devices()), ("rows",))
neuron = SpectralNeuron(3, 5)
params = neuron.init(jax.random.key(0))
x = jax.device_put(jax.random.normal(jax.random.key(1), (32, 3)), NamedSharding(mesh, P("rows")))
apply = jax.jit(jax.shard_map(neuron.apply, mesh=mesh, in_specs=(P(), P("rows")), out_specs=P("rows")))
found = apply(params, x).block_until_ready()
print(sorted(seen), found.sharding.spec == P("rows"))
np.testing.assert_allclose(found, neuron.apply(params, np.asarray(x)), rtol=1e-5, atol=1e-6)
seen.clear()
slopes = jax.jit(jax.grad(lambda p: (apply(p, x) ** 2).sum()))(params)
jax.block_until_ready(slopes)
print(sorted(seen))
wanted = jax.grad(lambda p: (neuron.apply(p, np.asarray(x)) ** 2).sum())(params)
for name in wanted:
    np.testing.assert_allclose(slopes[name], wanted[name], rtol=1e-4, atol=1e-5)
"""


@pytest.mark.slow
def test_under_shard_map_every_device_computes_its_own_rows_only():
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-W", "ignore", "-c", SHARDED]
    ended = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == ["[8, 8, 8, 8] True", "[8, 8, 8, 8]"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: SpectralNeuron(3, 0), ValueError, r"dim must be in \[1, 513\); got 0"),
        (lambda: SpectralNeuron(3, 4, 4), ValueError, r"eig_idx must be in \[0, 4\); got 4"),
        (lambda: SpectralNeuron(3, 4, monotonic_cst=(1, 0)), ValueError, "monotonic_cst must have 3 entries"),
        (lambda: SpectralNeuron(3, 4, max_influence=(1, 2)), ValueError, "max_influence must have 3 entries"),
        (lambda: SpectralNeuron(3, 4, constraint="root"), ValueError, r"constraint must be one of .*; got 'root'"),
        (lambda: SpectralNeuron(3, 4, structure="band"), ValueError, r"structure must be one of .*; got 'band'"),
        (
            lambda: SpectralNeuron(3, 4).apply(SpectralNeuron(3, 4).init(jax.random.key(0)), jnp.zeros((2, 4))),
            ValueError,
            r"x must have 3 entries on its last axis; got shape \(2, 4\)",
        ),
        (lambda: eigenvalue("no", 4, 0), TypeError, "packed must be an array of floats; got str"),
        (lambda: eigenvalue(None, 4, 0), TypeError, "packed must be an array of floats; got"),
        (lambda: tridiagonal_eigenvalue(jnp.zeros(3), jnp.zeros(3), 0), ValueError, "diagonal and offdiagonal must"),
        (lambda: tridiagonal_eigenvalue(jnp.zeros(513), jnp.zeros(512), 0), ValueError, "tridiagonal .*; got 513"),
        (lambda: eigenvalue_sum(jnp.zeros(10), 4, jnp.zeros(3)), ValueError, "weight must have 4 entries"),
        (lambda: ky_fan_sum(jnp.zeros(10), 4, 5), ValueError, r"count must be in \[1, 5\); got 5"),
    ],
)
def test_bad_settings_and_arguments_are_refused_with_what_was_expected(call, error, message):
    with pytest.raises(error, match=message):
        call()
