"""Vectors in tridiagonal coordinates, (n, lanes): twisted factorisation, and inverse iteration where that fails."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

import jax
from jax import Array
from lambdak.jax.device.lanes import away_from_zero, epsilon, normalised, nothing
from lambdak.jax.device.sturm import Tridiagonal


def residual(t: Tridiagonal, value: Array, z: Array) -> tuple[Array, Array]:
    """zᵀTz - λ for a unit z, and ‖(T - λ)z‖²; NaN where z is not finite."""
    r = (t.d - value) * z
    r = r.at[1:].add(t.e * z[:-1]).at[:-1].add(t.e * z[1:])
    return (r * z).sum(0), (r * r).sum(0)


def _chain(diagonal: Array, links: Array) -> tuple[Array, Array]:
    """Pivots (n, lanes) of the factorisation from the first row on, and its ratios -e / pivot, (n - 1, lanes)."""
    least = epsilon(diagonal) ** 2

    def step(pivot: Array, row: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        below, link = row
        ratio = -link / pivot
        return away_from_zero(below + link * ratio, least), (pivot, ratio)

    first = away_from_zero(diagonal[0], least)
    last, (pivots, ratios) = jax.lax.scan(step, first, (diagonal[1:], links))
    return jnp.concatenate([pivots, last[None]]), ratios


def twisted_vector(t: Tridiagonal, value: Array) -> Array:
    """Unit z with (T - λ) z = γ_r e_r for the r whose |γ_r| is least, from both chains of ratios."""
    shifted = t.d - value
    up, forward = _chain(shifted, t.e)
    backward = _chain(shifted[::-1], t.e[::-1])[1][::-1]  # of row i + 1
    gamma = jnp.abs(jnp.concatenate([up[:-1] + t.e * backward, up[-1:]]))
    twist = jnp.argmin(gamma, 0)
    rows = jnp.arange(len(t.d))[:, None]
    one = nothing(shifted[0]) + 1

    def product(x: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        ratio, reset = row
        x = jnp.where(reset, 1, x * ratio)
        return x, x

    above = jax.lax.scan(product, one, (forward, rows[:-1] >= twist), reverse=True)[1]
    below = jax.lax.scan(product, one, (backward, rows[1:] <= twist))[1]
    return normalised(jnp.concatenate([above, one[None]]) * jnp.concatenate([one[None], below]))


def solve_shifted(t: Tridiagonal, value: Array, cut: Array, z: Array) -> Array:
    """(T - λ)⁻¹ z by Givens rotations, stable for any shift; a row ``cut`` >= 0 is cut out first."""
    least = epsilon(z) / 8
    rows = jnp.arange(len(z))[:, None]
    diagonal = jnp.where(rows == cut, 1, t.d - value)
    links = jnp.where((rows[:-1] == cut) | (rows[1:] == cut), 0, t.e)
    none = nothing(z[0])

    def rotate(
        state: tuple[Array, Array, Array], row: tuple[Array, ...]
    ) -> tuple[tuple[Array, Array, Array], tuple[Array, ...]]:
        head, following, zi = state
        below, under, further, zj = row
        norm = jnp.sqrt(head * head + below * below)
        void = norm < least * least
        scale = 1 / away_from_zero(norm, least * least)
        c, s = jnp.where(void, 1, head * scale), jnp.where(void, 0, below * scale)
        upper = away_from_zero(norm, least), c * following + s * under, s * further, c * zi + s * zj
        return (c * under - s * following, c * further, c * zj - s * zi), upper

    further = jnp.concatenate([links[1:], none[None]])
    (head, _, last), upper = jax.lax.scan(
        rotate, (diagonal[0] + none, links[0] + none, z[0]), (links + none, diagonal[1:] + none, further, z[1:])
    )

    def substitute(state: tuple[Array, Array], row: tuple[Array, ...]) -> tuple[tuple[Array, Array], Array]:
        first, second = state
        r0, r1, r2, zi = row
        x = (zi - r1 * first - r2 * second) / r0
        return (x, first), x

    last = last / away_from_zero(head, least)
    rest = jax.lax.scan(substitute, (last, none), upper, reverse=True)[1]
    return jnp.concatenate([rest, last[None]])


def corrected(value: Array, shift: Array) -> Array:
    """λ with its Rayleigh correction, which can be no larger than the tolerance of the search."""
    return jnp.where(jnp.abs(shift) < 4 * epsilon(value), value + shift, value)


def orthogonalised(values: Array, vectors: Array) -> tuple[Array, Array]:
    """Vectors (m, n, lanes), each without what it shares with those before it, and where nothing new is left."""
    count = len(values)

    def one(m: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        vectors, stale = state

        def remove(step: Array, z: Array) -> Array:
            other = m - 1 - step
            close = jnp.abs(values[other] - values[m]) < 1 / 16
            return z - jnp.where(close, (vectors[other] * z).sum(0), 0) * vectors[other]

        z = jax.lax.fori_loop(0, m, remove, vectors[m])
        return vectors.at[m].set(normalised(z)), stale | ((z * z).sum(0) <= 0.25)

    found: tuple[Array, Array] = jax.lax.fori_loop(1, count, one, (vectors, nothing(values[0]) > 0))
    return found


def _start(n: int) -> list[float]:
    """A reproducible start of inverse iteration that has no structure of its own."""
    low = 0xFFFFFFFF
    entries = []
    for i in range(n):
        x = (i * 0x9E3779B1 + 0x165667B1) & low
        x = (x ^ (x >> 15)) * 0x2C1B3C6D & low
        x = (x ^ (x >> 12)) * 0x297A2D39 & low
        entries.append(((x ^ (x >> 15)) >> 8) * 2.0**-23 - 1)
    return entries


def repaired(t: Tridiagonal, value: Array, failed: Array, z: Array) -> tuple[Array, Array]:
    """λ, corrected, and a second try for the single vectors that failed, by inverse iteration."""
    shift, best = residual(t, value, z)
    best = jnp.where(best < 1, best, 1)  # and not NaN
    beside = value + 8 * epsilon(value)  # so that the members of a cluster are treated alike
    nowhere = nothing(value).astype(jnp.int32) - 1

    def again(state: Any) -> Any:
        step, z, trial, shift, best = state
        trial = normalised(solve_shifted(t, beside, nowhere, trial))
        now_shift, now = residual(t, value, trial)
        better = failed & (now < best)
        z, shift, best = jnp.where(better, trial, z), jnp.where(better, now_shift, shift), jnp.where(better, now, best)
        return step + 1, z, trial, shift, best

    trial = jnp.asarray(_start(len(z)), z.dtype)[:, None] + nothing(z)
    state = jax.lax.while_loop(
        lambda state: failed.any() & (state[0] < 4),
        again,
        (jnp.int32(0), jnp.where(failed, 0, z) + nothing(trial), trial, shift, best),
    )
    return jnp.where(failed, corrected(value, state[3]), value), jnp.where(failed & (state[4] < 1), state[1], z)
