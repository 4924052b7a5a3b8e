"""λ_k of tridiagonal matrices by Sturm counts, with a super-linear finish once λ_k is alone in its bracket.

Step by step what ``lambdak.torch.device.sturm`` does, whose comments and names these are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

import jax
from jax import Array
from lambdak.jax.device.lanes import bias, epsilon, exponent_field, negative, nothing, power_of_two, with_sign

_MOST_PASSES = 256


class Tridiagonal(NamedTuple):
    """Scaled matrices (n, lanes) whose row sums are at most 1, and what is known of their spectra (lanes)."""

    d: Array
    e: Array
    e2: Array  # squares, kept away from zero
    low: Array
    high: Array
    mean: Array
    spread: Array


def evaluate(t: Tridiagonal, x: Array) -> tuple[Array, Array, Array]:
    """F and exponent with det(T - x) = f 2^exponent up to a constant, and the number of eigenvalues below x."""
    n, (top, every) = len(t.d), (800, 16) if x.dtype == jnp.float64 else (100, 4)

    def step(i: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        p0, p1, count = state
        following = (t.d[i] - x) * p1 - t.e2[i - 1] * p0
        return p1, following, count + (negative(p1) != negative(following))

    def chunk(j: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
        p0, p1, exponent, count = state
        lift = top + bias(x) - exponent_field(jnp.maximum(jnp.abs(p0), jnp.abs(p1)))
        half = lift >> 1
        first, second = power_of_two(half + bias(x), x), power_of_two(lift - half + bias(x), x)
        pair, begin = (p0 * first * second, p1 * first * second), 1 + j * every
        p0, p1, count = jax.lax.fori_loop(begin, jnp.minimum(begin + every, n), step, (*pair, count))
        return p0, p1, exponent - lift, count

    p0 = nothing(x) + 2.0**top
    p1 = (t.d[0] - x) * p0
    exponent, count = nothing(x).astype(jnp.int32), negative(p1) + nothing(x).astype(jnp.int32)
    _, f, exponent, count = jax.lax.fori_loop(0, -(-(n - 1) // every), chunk, (p0, p1, exponent, count))
    return f, exponent, count


class _Bracket(NamedTuple):
    """The search in every lane: the ends with what is known there, and the next point."""

    a: Array
    b: Array
    a_f: Array
    b_f: Array
    a_exponent: Array
    b_exponent: Array
    a_count: Array
    b_count: Array
    last: Array  # -1 where the last point replaced b
    alone: Array
    is_open: Array
    since: Array  # the counted ends between which λ_k was found alone
    until: Array
    x: Array


def _shared(s: _Bracket, k: Array) -> Array:
    """Share of the bracket at which the chord crosses zero, of the counts where others are in it."""
    most = bias(s.x) - 1
    shift = jnp.clip(s.b_exponent - s.a_exponent, -most, most)
    middle = k + 0.5
    left = jnp.where(s.alone, s.a_f, s.a_count.astype(s.x.dtype) - middle)
    right = s.b_f * power_of_two(shift + bias(s.x), s.x)
    right = jnp.where(s.alone, right, s.b_count.astype(s.x.dtype) - middle)
    return left / (left - right)


def _narrowed(s: _Bracket, k: Array, point: Array, at: tuple[Array, Array, Array], careful: Array) -> _Bracket:
    """The bracket after one more point; a careful one never trusts the sign of the polynomial."""
    f, exponent, count = at
    below = jnp.where(s.alone, negative(f) != (k % 2 == 1), count > k)
    to_b, to_a = s.is_open & below, s.is_open & ~below
    a, b = jnp.where(to_a, point, s.a), jnp.where(to_b, point, s.b)
    a_count = jnp.where(to_a & ~s.alone, count, s.a_count)
    b_count = jnp.where(to_b & ~s.alone, count, s.b_count)
    return _Bracket(
        a, b,
        jnp.where(to_a, f, s.a_f * jnp.where(to_b & (s.last == -1), 0.5, 1.0).astype(f.dtype)),
        jnp.where(to_b, f, s.b_f * jnp.where(to_a & (s.last == 1), 0.5, 1.0).astype(f.dtype)),
        jnp.where(to_a, exponent, s.a_exponent), jnp.where(to_b, exponent, s.b_exponent), a_count, b_count,
        jnp.where(to_b, -1, 1).astype(jnp.int32), (a_count == k) & (b_count == k + 1) & ~careful,
        s.is_open & (b - a > 2 * epsilon(f)),
        jnp.where(s.alone, s.since, a), jnp.where(s.alone, s.until, b), point,
    )  # fmt: skip


def _close(t: Tridiagonal, k: Array, start: Array, spacing: Array, todo: Array, careful: Array) -> tuple[Array, Array]:
    """λ_k in the lanes ``todo``, and where it is not to be believed; a careful search relies on counts only."""
    none = nothing(start)
    whole = none.astype(jnp.int32)

    def advance(state: tuple[Array, _Bracket]) -> tuple[Array, _Bracket]:
        step, s = state
        inner = jnp.minimum(0.5 * (s.b - s.a), 2 * epsilon(s.x))
        point = jnp.minimum(jnp.maximum(s.x, s.a + inner), s.b - inner)
        at = evaluate(t, point)
        s = _narrowed(s, k, point, at, careful)
        share, width = _shared(s, k), s.b - s.a
        sound = (share > 0) & (share < 1) & ((step < 12) | (step % 2 == 0)) & ((step < 5) | s.alone)
        x = s.a + jnp.where(sound, share, 0.5) * width
        behind = k + 0.5 - at[2].astype(x.dtype)
        jump = point + spacing * (behind + with_sign(jnp.full_like(x, 0.5), behind))
        inside = (jump > s.a + 0.01 * width) & (jump < s.b - 0.01 * width) & ~s.alone & (step < 2)
        return step + 1, s._replace(x=jnp.where(inside, jump, x))

    def wanted(state: tuple[Array, _Bracket]) -> Any:
        return state[1].is_open.any() & (state[0] < _MOST_PASSES)

    low, high = t.low + none, t.high + none
    ends = whole, whole + len(t.d)
    start_state = _Bracket(
        low, high, none, none, whole, whole, *ends, whole, none > 0, todo, low, high, start + none
    )  # fmt: skip
    s = jax.lax.while_loop(wanted, advance, (jnp.int32(0), start_state))[1]
    # A count is that of a matrix nearby: an end so close to a counted one may have closed beside a neighbour.
    doubt = 6 * epsilon(start)
    return s.a + 0.5 * (s.b - s.a), s.alone & ((s.b < s.since + doubt) | (s.a > s.until - doubt))


def find_eigenvalue(t: Tridiagonal, k: Array, position: Array, spacing: Array) -> Array:
    """λ_k for every k of a column, (m, lanes); where a first search is not to be believed, by counts alone."""
    start, step = t.mean + position * t.spread, spacing * t.spread

    def search(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        found, todo, careful = state
        here, doubtful = _close(t, k, start, step, todo, careful)
        return jnp.where(todo, here, found), todo & doubtful, careful | True

    state = nothing(start), nothing(start) == 0, nothing(start).max() > 0
    return jax.lax.while_loop(lambda state: state[1].any(), search, state)[0]
