"""Householder reduction of packed matrices to tridiagonal form, and the way to and fro for a vector.

What ``eigen/native/reduce.hpp`` does: a step's rank-2 update is fused with the product that the next step needs.
Reflector s is H = I - h u uᵀ with u on s+1 … n-1; u is kept in column s of the packed matrix.
"""

from __future__ import annotations

import triton
import triton.language as tl

from lambdak.torch.device.lanes import dot, get, inverse, put, root, row_start, with_sign


@triton.jit
def _reflector(packed, d, e, h, work, n, s, tiny):
    """Bring column s up to date, and choose the reflector that turns it into (diagonal, off, 0, …, 0)."""
    v, w, u = work, work + n * work.shape[0], work + 2 * n * work.shape[0]
    vs, ws = get(v, s), get(w, s)
    diagonal = get(packed, row_start(s) + s) - 2 * vs * ws
    alpha = get(packed, row_start(s + 1) + s) - get(v, s + 1) * ws - get(w, s + 1) * vs
    rest = tl.zeros_like(alpha)
    for i in range(s + 2, n):
        x = get(packed, row_start(i) + s) - get(v, i) * ws - get(w, i) * vs
        put(u, i, x)
        put(packed, row_start(i) + s, x)
        rest += x * x
    active = rest > tiny
    norm = with_sign(root(alpha * alpha + rest), alpha)
    head = alpha + norm
    put(d, s, diagonal)
    put(u, s + 1, head)
    put(packed, row_start(s + 1) + s, head)
    put(e, s, tl.where(active, -norm, alpha))
    put(h, s, tl.where(active, inverse(tl.where(active, norm * head, 1)), 0))


@triton.jit
def _update(packed, work, n, s):
    """Apply the pending update A -= v wᵀ + w vᵀ from row s on, and compute p = A u from what is in registers."""
    v, w, u = work, work + n * work.shape[0], work + 2 * n * work.shape[0]
    p = work + 3 * n * work.shape[0]
    for i in range(s, n):
        row = packed + row_start(i) * packed.shape[0]
        vi, wi, ui = get(v, i), get(w, i), get(u, i)
        pi = tl.zeros_like(vi)
        for j in range(s, i):
            a = get(row, j) - vi * get(w, j) - wi * get(v, j)
            put(row, j, a)
            put(p, j, get(p, j) + a * ui)
            pi += a * get(u, j)
        a = get(row, i) - 2 * vi * wi
        put(row, i, a)
        put(p, i, pi + a * ui)


@triton.jit
def _next_update(h, work, n, s):
    """W = h p - (h/2)(h uᵀp) u, so that H A H = A - u wᵀ - w uᵀ; u becomes the pending v."""
    v, w, u = work, work + n * work.shape[0], work + 2 * n * work.shape[0]
    p = work + 3 * n * work.shape[0]
    factor, ahead = get(h, s), (s + 1) * work.shape[0]
    half = 0.5 * factor * (factor * dot(u + ahead, p + ahead, n - s - 1))
    for i in range(s + 1, n):
        ui = get(u, i)
        put(w, i, factor * get(p, i) - half * ui)
        put(v, i, ui)


@triton.jit
def tridiagonalise(packed, d, e, h, work, n, tiny):
    """Diagonal and off-diagonal of T = Qᵀ A Q; ``work`` is scratch of 4n slots, ``tiny`` the square of a zero."""
    v, w = work, work + n * work.shape[0]
    zero = tl.zeros_like(tiny)
    for i in range(0, n):
        put(v, i, zero)
        put(w, i, zero)
    for s in range(0, n - 2):
        _reflector(packed, d, e, h, work, n, s, tiny)
        _update(packed, work, n, s + 1)
        _next_update(h, work, n, s)
    i, j = n - 2, n - 1
    put(d, i, get(packed, row_start(i) + i) - 2 * get(v, i) * get(w, i))
    put(d, j, get(packed, row_start(j) + j) - 2 * get(v, j) * get(w, j))
    put(e, i, get(packed, row_start(j) + i) - get(v, j) * get(w, i) - get(w, j) * get(v, i))


@triton.jit
def _reflect(packed, h, n, s, z):
    """Z -= h u (uᵀz)."""
    total = tl.zeros((z.shape[0],), z.dtype.element_ty)
    for i in range(s + 1, n):
        total += get(packed, row_start(i) + s) * get(z, i)
    total *= get(h, s)
    for i in range(s + 1, n):
        put(z, i, get(z, i) - total * get(packed, row_start(i) + s))


@triton.jit
def transform_back(packed, h, n, z):
    """From tridiagonal to original coordinates: z = H_0 H_1 … z."""
    for step in range(0, n - 2):
        _reflect(packed, h, n, n - 3 - step, z)


@triton.jit
def transform_forth(packed, h, n, z):
    """From original to tridiagonal coordinates."""
    for s in range(0, n - 2):
        _reflect(packed, h, n, s, z)
