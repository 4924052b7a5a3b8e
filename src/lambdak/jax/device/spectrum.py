"""All eigenvalues and vectors of tridiagonal matrices by Jacobi's rotations: for lanes that defeat the fast path."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

import jax
from jax import Array
from lambdak.jax.device.lanes import epsilon, nothing
from lambdak.jax.device.sturm import Tridiagonal

_MOST_SWEEPS = 20


def _turned(at: Array, p: Array, q: Array, c: Array, s: Array) -> Array:
    """Columns p and q of (n, n, lanes), rotated."""
    x, y = (jax.lax.dynamic_index_in_dim(at, i, 1, keepdims=False) for i in (p, q))
    at = jax.lax.dynamic_update_index_in_dim(at, c * x - s * y, p, 1)
    turned: Array = jax.lax.dynamic_update_index_in_dim(at, s * x + c * y, q, 1)
    return turned


def _rotated(full: Array, turn: Array, p: Array, q: Array) -> tuple[Array, Array]:
    """The entry (p, q) rotated away where it is not negligible."""
    here, there, across = full[p, p], full[q, q], full[p, q]
    active = jnp.abs(across) > epsilon(full) / 64
    slope = (there - here) / jnp.where(active, 2 * across, 1)
    t = 1 / (jnp.abs(slope) + jnp.sqrt(slope * slope + 1))
    t = jnp.where(active, jnp.where(slope < 0, -t, t), 0)
    c = 1 / jnp.sqrt(t * t + 1)
    full = _turned(full, p, q, c, t * c)
    full = _turned(full.swapaxes(0, 1), p, q, c, t * c).swapaxes(0, 1)
    left = jnp.where(active, 0, full[p, q])
    return full.at[p, q].set(left).at[q, p].set(left), _turned(turn, p, q, c, t * c)


def whole_spectrum(t: Tridiagonal, needed: Array) -> tuple[Array, Array]:
    """Eigenvalues (n, lanes), ascending, and vectors in columns (n, n, lanes), right in the lanes ``needed``."""
    n = len(t.d)
    i = np.arange(n)
    full = jnp.zeros((n, n, t.d.shape[-1]), t.d.dtype) + nothing(t.d)
    full = full.at[i, i].set(t.d).at[i[1:], i[:-1]].set(t.e).at[i[:-1], i[1:]].set(t.e)
    turn = jnp.eye(n, dtype=t.d.dtype)[:, :, None] + nothing(full)
    first, second = (jnp.asarray(part) for part in np.triu_indices(n, 1))
    apart = jnp.asarray(~np.eye(n, dtype=bool))[:, :, None]

    def rotate(pair: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        return _rotated(*state, first[pair], second[pair])

    def sweep(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        step, *pair = state
        full, turn = jax.lax.fori_loop(0, len(first), rotate, tuple(pair))
        return step + 1, full, turn

    def wanted(state: tuple[Array, Array, Array]) -> Array:
        rest = jnp.where(apart & needed, jnp.abs(state[1]), 0)
        return (rest > epsilon(full) / 64).any() & (state[0] < _MOST_SWEEPS)

    _, full, turn = jax.lax.while_loop(wanted, sweep, (jnp.int32(0), full, turn))
    values = full[i, i]
    order = jnp.argsort(values, 0)
    return jnp.take_along_axis(values, order, 0), jnp.take_along_axis(turn, order[None], 1)


def solve_apart(values: Array, vectors: Array, value: Array, near: Array, y: Array) -> Array:
    """(T - λ)⁺ y, where eigenvalues within ``near`` of λ count as equal to it."""
    gap = values - value
    apart = jnp.abs(gap) > near
    share = jnp.where(apart, (vectors * y[:, None]).sum(0) / jnp.where(apart, gap, 1), 0)
    return (vectors * share).sum(1)
