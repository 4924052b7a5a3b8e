"""All eigenvalues and vectors of tridiagonal matrices by Jacobi's rotations: for lanes that defeat the fast path.

The CPU kernel solves such a matrix alone, by QL in double precision; here a whole warp waits for its hard lanes, and
Jacobi's order of rotations is the same for all of them.
"""

from __future__ import annotations

import triton
import triton.language as tl

from lambdak.torch.device.lanes import any_lane, divide, epsilon, get, inverse, put, put_where, root

_MOST_SWEEPS = tl.constexpr(20)


@triton.jit
def _rotation(here, there, across):
    """Cosine and sine of the rotation that makes ``across`` vanish, and whether it is one."""
    active = tl.abs(across) > epsilon(across.dtype) / 64
    slope = divide(there - here, tl.where(active, 2 * across, 1))
    t = inverse(tl.abs(slope) + root(slope * slope + 1))
    t = tl.where(active, tl.where(slope < 0, -t, t), 0)
    c = inverse(root(t * t + 1))
    return c, t * c, active


@triton.jit
def _rotate(at, step, n, p, q, c, s):
    """Rotate columns p and q of n rows that are ``step`` slots apart, or rows where the roles are exchanged."""
    for r in range(0, n):
        i, j = step * r + p, step * r + q
        x, y = get(at, i), get(at, j)
        put(at, i, c * x - s * y)
        put(at, j, s * x + c * y)


@triton.jit
def whole_spectrum(d, e, n, full, turn):
    """The diagonal of ``full`` becomes the eigenvalues, in no order; columns of ``turn`` the vectors. n² slots each."""
    zero = tl.zeros((d.shape[0],), d.dtype.element_ty)
    for i in range(0, n * n):
        put(full, i, zero)
        put(turn, i, zero)
    for i in range(0, n):
        put(full, i * n + i, get(d, i))
        put(turn, i * n + i, zero + 1)
        if i + 1 < n:
            put(full, i * n + i + 1, get(e, i))
            put(full, i * n + n + i, get(e, i))
    sweep, wanted = 0, 1
    while wanted > 0:
        turned = tl.zeros((d.shape[0],), tl.int32)
        for p in range(0, n - 1):
            for q in range(p + 1, n):
                c, s, active = _rotation(get(full, p * n + p), get(full, q * n + q), get(full, p * n + q))
                turned = tl.maximum(turned, active.to(tl.int32))
                if any_lane(active):
                    _rotate(full, n, n, p, q, c, s)
                    _rotate(full, 1, n, p * n, q * n, c, s)
                    put_where(full, p * n + q, active, zero)
                    put_where(full, q * n + p, active, zero)
                    _rotate(turn, n, n, p, q, c, s)
        sweep += 1
        wanted = tl.where(sweep < _MOST_SWEEPS, tl.max(turned, axis=0), 0)


@triton.jit
def choose_pairs(full, turn, n, index, count, failed, values, vectors):
    """Replace all values and vectors of the lanes ``failed`` by those of their whole spectrum."""
    for j in range(0, n):
        here = get(full, j * n + j)
        rank = tl.zeros(here.shape, tl.int32)
        for i in range(0, n):
            other = get(full, i * n + i)
            rank += ((other < here) | ((other == here) & (i < j))).to(tl.int32)
        for m in range(0, count):
            chosen = failed & (rank == tl.load(index + m))
            if any_lane(chosen):
                put_where(values, m, chosen, here)
                for i in range(0, n):
                    put_where(vectors, m * n + i, chosen, get(turn, i * n + j))


@triton.jit
def solve_apart(full, turn, n, value, near, y, out):
    """Out = (T - λ)⁺ y, where eigenvalues within ``near`` of λ count as equal to it."""
    for i in range(0, n):
        put(out, i, tl.zeros_like(value))
    for j in range(0, n):
        gap = get(full, j * n + j) - value
        apart = tl.abs(gap) > near
        share = tl.zeros_like(value)
        for i in range(0, n):
            share += get(turn, i * n + j) * get(y, i)
        share = tl.where(apart, divide(share, tl.where(apart, gap, 1)), 0)
        for i in range(0, n):
            put(out, i, get(out, i) + share * get(turn, i * n + j))
