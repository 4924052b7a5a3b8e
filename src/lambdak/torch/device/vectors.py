"""Vectors in tridiagonal coordinates: twisted factorisation, and inverse iteration where that fails.

What ``eigen/native/vectors.hpp`` does. All vectors are slots of scratch; ``work`` has 4n of them.
"""

from __future__ import annotations

import triton
import triton.language as tl

from lambdak.torch.device.lanes import (
    any_lane,
    away_from_zero,
    divide,
    dot,
    epsilon,
    get,
    inverse,
    put,
    put_where,
    root,
)  # fmt: skip


@triton.jit
def normalise(z, n):
    """Z of length one; what could overflow is scaled first."""
    largest = tl.zeros((z.shape[0],), z.dtype.element_ty)
    for i in range(0, n):
        largest = tl.maximum(largest, tl.abs(get(z, i)))
    factor = inverse(largest)
    total = tl.zeros_like(factor)
    for i in range(0, n):
        x = get(z, i) * factor
        put(z, i, x)
        total += x * x
    factor = inverse(root(total))
    for i in range(0, n):
        put(z, i, get(z, i) * factor)


@triton.jit
def residual(d, e, n, value, z):
    """zᵀTz - λ for a unit z, and ‖(T - λ)z‖²; NaN where z is not finite."""
    shift, square = tl.zeros_like(value), tl.zeros_like(value)
    before, here, link = tl.zeros_like(value), get(z, 0), tl.zeros_like(value)
    for i in range(0, n):
        r = (get(d, i) - value) * here + link * before
        before = here
        if i + 1 < n:
            link = get(e, i)
            here = get(z, i + 1)
            r += link * here
        square += r * r
        shift += r * before
    return shift, square


@triton.jit
def twisted_vector(d, e, n, value, work, z):
    """Z with (T - λ) z = γ_r e_r for the r whose |γ_r| is least, from both chains of ratios."""
    least: tl.constexpr = epsilon(value.dtype) * epsilon(value.dtype)
    forward, backward = work, work + n * work.shape[0]
    up, down = away_from_zero(get(d, 0) - value, least), away_from_zero(get(d, n - 1) - value, least)
    put(z, 0, up)
    for i in range(0, n - 1):
        j = n - 1 - i
        above, below = get(e, i), get(e, j - 1)
        ratio, other = -divide(above, up), -divide(below, down)
        put(forward, i, ratio)
        put(backward, j, other)
        up = away_from_zero((get(d, i + 1) - value) + above * ratio, least)
        down = away_from_zero((get(d, j - 1) - value) + below * other, least)
        put(z, i + 1, up)
    best, twist = tl.abs(up), tl.zeros(value.shape, tl.int32) + (n - 1)
    for i in range(0, n - 1):
        gamma = tl.abs(get(z, i) + get(e, i) * get(backward, i + 1))
        twist = tl.where(gamma < best, i, twist)
        best = tl.minimum(gamma, best)
    x = tl.full(value.shape, 1, value.dtype)
    put(z, n - 1, x)
    for step in range(1, n):
        i = n - 1 - step
        x = tl.where(i >= twist, 1, x * get(forward, i))
        put(z, i, x)
    x = tl.full(value.shape, 1, value.dtype)
    for i in range(1, n):
        x = tl.where(i <= twist, 1, x * get(backward, i))
        put(z, i, get(z, i) * x)


@triton.jit
def _entry(d, value, i, cut):
    """d_i - λ, and 1 in a row that is cut out."""
    return tl.where(cut == i, 1, get(d, i) - value)


@triton.jit
def _link(e, i, cut):
    """The entry between i and i + 1, and 0 beside a row that is cut out."""
    return tl.where((cut == i) | (cut == i + 1), 0, get(e, i))


@triton.jit
def solve_shifted(d, e, n, value, cut, work, z):
    """Solve (T - λ) z = z in place by Givens rotations, stable for any shift; a row ``cut`` >= 0 is cut out first."""
    least: tl.constexpr = epsilon(value.dtype) / 8
    r0, r1, r2 = work, work + n * work.shape[0], work + 2 * n * work.shape[0]
    head, following, zi = _entry(d, value, 0, cut), _link(e, 0, cut), get(z, 0)
    for i in range(0, n - 1):
        below, diagonal, further = _link(e, i, cut), _entry(d, value, i + 1, cut), tl.zeros_like(value)
        if i + 2 < n:
            further = _link(e, i + 1, cut)
        norm = root(head * head + below * below)
        nothing = norm < least * least
        scale = inverse(away_from_zero(norm, least * least))
        c, s = tl.where(nothing, 1, head * scale), tl.where(nothing, 0, below * scale)
        put(r0, i, away_from_zero(norm, least))
        put(r1, i, c * following + s * diagonal)
        put(r2, i, s * further)
        head = c * diagonal - s * following
        following = c * further
        zj = get(z, i + 1)
        put(z, i, c * zi + s * zj)
        zi = c * zj - s * zi
    first = divide(zi, away_from_zero(head, least))
    second = tl.zeros_like(value)
    put(z, n - 1, first)
    for step in range(1, n):
        i = n - 1 - step
        x = divide(get(z, i) - get(r1, i) * first - get(r2, i) * second, get(r0, i))
        put(z, i, x)
        second = first
        first = x


@triton.jit
def _orthogonalise(vectors, values, n, m, value, z):
    """Remove from z what it shares with the m vectors before it of (nearly) the same eigenvalue."""
    for before in range(0, m):
        j = m - 1 - before
        other = vectors + j * n * vectors.shape[0]
        close = tl.abs(get(values, j) - value) < 1 / 16
        if any_lane(close):
            share = tl.where(close, dot(other, z, n), 0)
            for i in range(0, n):
                put(z, i, get(z, i) - share * get(other, i))


@triton.jit
def _corrected(value, shift):
    """λ with its Rayleigh correction, which can be no larger than the tolerance of the search."""
    return tl.where(tl.abs(shift) < 4 * epsilon(value.dtype), value + shift, value)


@triton.jit
def find_vector(d, e, n, value, vectors, values, m, work):
    """Write the m-th unit vector; λ, corrected, and where the residual is too large or nothing new was found."""
    z = vectors + m * n * vectors.shape[0]
    twisted_vector(d, e, n, value, work, z)
    normalise(z, n)
    _orthogonalise(vectors, values, n, m, value, z)
    fresh = dot(z, z, n) > 0.25
    if m > 0:
        normalise(z, n)
    shift, square = residual(d, e, n, value, z)
    limit: tl.constexpr = 4 * epsilon(value.dtype) * epsilon(value.dtype)
    return _corrected(value, shift), ((square <= limit * n) & fresh) == 0


@triton.jit
def _start_entry(i, like):
    """An entry of a reproducible start that has no structure of its own."""
    x = (tl.zeros(like.shape, tl.int32) + i).to(tl.uint32) * 0x9E3779B1 + 0x165667B1
    x = (x ^ (x >> 15)) * 0x2C1B3C6D
    x = (x ^ (x >> 12)) * 0x297A2D39
    x = x ^ (x >> 15)
    return (x >> 8).to(like.dtype) * 2.0**-23 - 1


@triton.jit
def repair_vector(d, e, n, value, failed, work, z):
    """A second try for a single vector where the first one failed, by inverse iteration; λ, corrected."""
    trial = work + 3 * n * work.shape[0]
    for i in range(0, n):
        put(trial, i, _start_entry(i, value))
    best_shift, best = residual(d, e, n, value, z)
    best = tl.where(best < 1, best, 1)  # and not NaN
    beside = value + 8 * epsilon(value.dtype)  # so that the members of a cluster are treated alike
    nowhere = tl.zeros(value.shape, tl.int32) - 1
    for _ in range(0, 4):
        solve_shifted(d, e, n, beside, nowhere, work, trial)
        normalise(trial, n)
        shift, square = residual(d, e, n, value, trial)
        better = failed & (square < best)
        for i in range(0, n):
            put_where(z, i, better, get(trial, i))
        best, best_shift = tl.where(better, square, best), tl.where(better, shift, best_shift)
    return tl.where(failed, _corrected(value, best_shift), value)
