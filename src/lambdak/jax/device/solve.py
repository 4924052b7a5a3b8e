"""Eigenpairs and pseudo-inverse solves of coordinates (..., width), in pure XLA."""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import NamedTuple

import jax.numpy as jnp

import jax
from jax import Array
from lambdak.eigen.guess import semicircle_guess
from lambdak.eigen.rounding import equal_within
from lambdak.jax.device.lanes import bias, epsilon, exponent_field, power_of_two
from lambdak.jax.device.reduce import Reflectors, transform_back, transform_forth, tridiagonalise
from lambdak.jax.device.spectrum import solve_apart, whole_spectrum
from lambdak.jax.device.sturm import Tridiagonal, evaluate, find_eigenvalue
from lambdak.jax.device.vectors import corrected, orthogonalised, repaired, residual, solve_shifted, twisted_vector
from lambdak.jax.packing import sym


class _Prepared(NamedTuple):
    """Scaled tridiagonal matrices, the way back to their own coordinates and scale, and which are not finite."""

    t: Tridiagonal
    reflectors: Reflectors | None
    unit: Array  # 0 for a zero matrix
    inner: Array
    outer: Array
    bad: Array

    def back(self, z: Array) -> Array:
        """Vectors in the coordinates of the matrices."""
        return z if self.reflectors is None else transform_back(self.reflectors, z)

    def forth(self, z: Array) -> Array:
        """Vectors in tridiagonal coordinates."""
        return z if self.reflectors is None else transform_forth(self.reflectors, z)


@partial(jax.jit, static_argnums=(1, 2, 3, 4))
def solve(coords: Array, dim: int, index: tuple[int, ...], tridiagonal: bool, vectors: bool) -> tuple[Array, ...]:
    """λ_k, (..., m), and unit vectors, (..., m, d), if they are wanted; NaN for a matrix that is not finite."""
    shape, lanes = coords.shape[:-1], coords.reshape(-1, coords.shape[-1]).T
    if dim == 1:
        value = jnp.where(jnp.isfinite(coords), coords, jnp.nan)
        return (value, jnp.where(jnp.isfinite(value), 1, value)[..., None])[: 1 + vectors]
    ready = _prepared(lanes, dim, tridiagonal)
    guess = jnp.asarray([semicircle_guess(k, dim) for k in index], coords.dtype)
    value = find_eigenvalue(ready.t, jnp.asarray(index, jnp.int32)[:, None], guess[:, :1], guess[:, 1:])
    if vectors:
        value, vector = _vectors(ready.t, index, value)
        vector = jax.vmap(ready.back)(vector)
    value = jax.lax.cummax(value, 0) * ready.unit * ready.inner * ready.outer  # eigenvalues never change order
    value = jnp.where(ready.bad, jnp.nan, value).T.reshape(*shape, len(index))
    if not vectors:
        return (value,)
    vector = jnp.where(ready.bad, jnp.nan, vector + 0.0)
    return value, vector.transpose(2, 0, 1).reshape(*shape, len(index), dim)


def _vectors(t: Tridiagonal, index: tuple[int, ...], value: Array) -> tuple[Array, Array]:
    """Eigenvalues (m, lanes), corrected, and unit vectors (m, n, lanes)."""
    vector = jax.vmap(twisted_vector, (None, 0))(t, value)
    vector, stale = orthogonalised(value, vector)
    shift, square = jax.vmap(residual, (None, 0, 0))(t, value, vector)
    failed = ~(square <= 4 * epsilon(value) ** 2 * len(t.d))
    value = corrected(value, shift)
    if len(index) == 1:
        value, vector = repaired(t, value[0], failed[0], vector[0])
        return value[None], vector[None]
    hard = stale | failed.any(0)
    values, columns = whole_spectrum(t, hard)
    chosen = jnp.asarray(index)
    vector = jnp.where(hard, columns[:, chosen].swapaxes(0, 1), vector)
    return jnp.where(hard, values[chosen], value), vector


@partial(jax.jit, static_argnums=(4,))
def pseudo_inverse(packed: Array, value: Array, vector: Array, right: Array, dim: int) -> Array:
    """R h = (λ − A)⁺ h for right-hand sides (..., m, d); equal eigenvalues count as the null space."""
    if dim == 1:
        return jnp.zeros_like(right)
    shape = jnp.broadcast_shapes(packed.shape[:-1], value.shape[:-1])
    count = value.shape[-1]
    ready = _prepared(jnp.broadcast_to(packed, (*shape, packed.shape[-1])).reshape(-1, packed.shape[-1]).T, dim, False)
    unit = jnp.where(ready.unit == 0, 1, ready.unit)
    norm = jnp.sqrt((ready.t.mean**2 + ready.t.spread**2) * dim)
    near = jnp.maximum(equal_within(dim, epsilon(norm)) * norm, 2 * epsilon(norm))
    x, y = (part.reshape(-1, count, dim).transpose(1, 2, 0) for part in (vector, right))
    value = value.reshape(-1, count).T / ready.outer / ready.inner / unit
    x, y = jax.vmap(ready.forth)(x), jax.vmap(ready.forth)(y)
    y = y - (x * y).sum(1, keepdims=True) * x
    below, above = (jax.vmap(evaluate, (None, 0))(ready.t, value + side)[2] for side in (-near, near))
    several = above - below > 1
    values, columns = whole_spectrum(ready.t, several.any(0))

    def resolve(value: Array, x: Array, y: Array, several: Array) -> Array:
        cut = jnp.argmax(jnp.abs(x), 0)
        alone = solve_shifted(ready.t, value, cut, jnp.where(jnp.arange(dim)[:, None] == cut, 0, y))
        found = jnp.where(several, solve_apart(values, columns, value, near, y), alone)
        return -ready.back(found - (x * found).sum(0) * x)

    solved = jax.vmap(resolve)(value, x, y, several) / unit / ready.inner / ready.outer
    return jnp.where(ready.bad, jnp.nan, solved).transpose(2, 0, 1).reshape(right.shape)


def _prepared(coords: Array, dim: int, tridiagonal: bool) -> _Prepared:
    """From coordinates (width, lanes) to scaled tridiagonal matrices."""
    bad = ~jnp.isfinite(coords).all(0)
    largest = jnp.where(bad, 0, jnp.abs(coords).max(0))
    odd = ((largest > 0) & (largest < 2.0**-8)) | (largest > 2.0**24)
    lift = 2.0**900 if coords.dtype == jnp.float64 else 2.0**100
    safe = jnp.where(odd, largest, 1)
    outer = jnp.where(safe < 1 / lift, lift, 1).astype(coords.dtype)
    inner = power_of_two(jnp.maximum(2 * bias(safe) - exponent_field(safe * outer), 1), safe)
    inner = jnp.where(odd, inner, 1)
    coords = jnp.where(bad, 0, coords) * outer * inner
    if tridiagonal:
        d, e, reflectors = coords[:dim], coords[dim:] * sqrt(0.5), None
    else:
        least = epsilon(largest) ** 2 * (largest * outer * inner)
        d, e, reflectors = tridiagonalise(jnp.moveaxis(sym(coords.T, dim), 0, -1), least * least)
    t, unit = _scaled(d, e)
    return _Prepared(t, reflectors, unit, 1 / inner, 1 / outer, bad)


def _scaled(d: Array, e: Array) -> tuple[Tridiagonal, Array]:
    """T with row sums of at most 1, its bounds and moments, and what undoes the scaling: 0 for a zero matrix."""
    radius = jnp.zeros_like(d).at[1:].add(jnp.abs(e)).at[:-1].add(jnp.abs(e))
    largest = (jnp.abs(d) + radius).max(0)
    factor = power_of_two(2 * bias(d) - 1 - exponent_field(largest), largest)
    factor = jnp.where(largest == 0, 1, factor)
    d, e, radius = d * factor, e * factor, radius * factor + 4 * epsilon(d)
    low, high = (d - radius).min(0), (d + radius).max(0)
    mean = d.sum(0) / len(d)
    squares = (d * d).sum(0) + 2 * (e * e).sum(0)
    spread = jnp.sqrt(jnp.maximum(squares / len(d) - mean * mean, 0))
    e2 = jnp.maximum(e * e, (epsilon(d) / 8) ** 2)
    return Tridiagonal(d, e, e2, low, high, mean, spread), jnp.where(largest == 0, 0, 1 / factor)
