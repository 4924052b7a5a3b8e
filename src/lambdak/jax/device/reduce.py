"""Householder reduction of matrices (n, n, lanes) to tridiagonal form, and the way to and fro for vectors (n, lanes).

Reflector s is H = I - h u uᵀ with zeros in u down to s. The whole matrix is updated in every step, masked: XLA has no
triangles.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

import jax
from jax import Array
from lambdak.jax.device.lanes import with_sign


class Reflectors(NamedTuple):
    """Vectors u, (n - 2, n, lanes), and factors h, (n - 2, lanes)."""

    vectors: Array
    factors: Array


def tridiagonalise(matrix: Array, tiny: Array) -> tuple[Array, Array, Reflectors]:
    """Diagonal (n, lanes) and off-diagonal (n - 1, lanes) of Qᵀ A Q, and Q; ``tiny`` is the square of a zero."""
    n = len(matrix)
    rows = jnp.arange(n)[:, None]

    def step(matrix: Array, s: Array) -> tuple[Array, tuple[Array, ...]]:
        column = jax.lax.dynamic_index_in_dim(matrix, s, 1, keepdims=False)
        alpha = jax.lax.dynamic_index_in_dim(column, s + 1, 0, keepdims=False)
        tail = jnp.where(rows > s + 1, column, 0)
        rest = (tail * tail).sum(0)
        active = rest > tiny
        norm = with_sign(jnp.sqrt(alpha * alpha + rest), alpha)
        u = jnp.where(rows == s + 1, alpha + norm, tail)
        h = jnp.where(active, 1 / jnp.where(active, norm * (alpha + norm), 1), 0)
        p = jnp.where(rows > s, h * (matrix * u).sum(1), 0)
        w = p - 0.5 * h * (u * p).sum(0) * u
        here = jax.lax.dynamic_index_in_dim(column, s, 0, keepdims=False)
        return matrix - u[:, None] * w - w[:, None] * u, (here, jnp.where(active, -norm, alpha), u, h)

    matrix, (diagonal, off, vectors, factors) = jax.lax.scan(step, matrix, jnp.arange(n - 2))
    last = matrix[n - 2 :, n - 2 :]
    d = jnp.concatenate([diagonal, last[:1, 0], last[1:, 1]])
    return d, jnp.concatenate([off, last[1:, 0]]), Reflectors(vectors, factors)


def _reflected(z: Array, reflector: tuple[Array, ...]) -> tuple[Array, None]:
    u, h = reflector
    return z - h * (u * z).sum(0) * u, None


def transform_back(reflectors: Reflectors, z: Array) -> Array:
    """From tridiagonal to original coordinates: H_0 H_1 … z."""
    return jax.lax.scan(_reflected, z, tuple(reflectors), reverse=True)[0]


def transform_forth(reflectors: Reflectors, z: Array) -> Array:
    """From original to tridiagonal coordinates."""
    return jax.lax.scan(_reflected, z, tuple(reflectors))[0]
