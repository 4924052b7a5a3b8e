"""The two kernels: eigenpairs, and their reverse derivatives; see :mod:`lambdak.torch.device.launch` for arguments.

Every program works on blocks of as many matrices as it has threads, in slots of scratch memory of its own: packed
matrix, diagonal, off-diagonal and its square, factors of the reflectors, 4n for work, y, m values and m vectors, and
where the whole spectrum may be wanted 2 n² more.
"""

from __future__ import annotations

import triton
import triton.language as tl

from lambdak.torch.device.lanes import (
    ROOT_HALF,
    any_lane,
    bias,
    bits,
    divide,
    dot,
    epsilon,
    exponent_field,
    get,
    infinity_bits,
    inverse,
    power_of_two,
    put,
    put_where,
    root,
    row_start,
)  # fmt: skip
from lambdak.torch.device.reduce import transform_back, transform_forth, tridiagonalise
from lambdak.torch.device.spectrum import choose_pairs, solve_apart, whole_spectrum
from lambdak.torch.device.sturm import evaluate, find_eigenvalue
from lambdak.torch.device.vectors import find_vector, repair_vector, solve_shifted

_NAN = tl.constexpr(float("nan"))
_SIZES = ["rows", "n", "count", "slots"]  # one binary for all of them: what is checked is what runs


@triton.jit
def _read(coords, n, packed, d, e, TRIDIAGONAL: tl.constexpr):
    """Entries into their slots; the bits of the largest magnitude."""
    largest = tl.zeros((d.shape[0],), tl.int64)
    for i in range(0, n):
        if TRIDIAGONAL:
            x = tl.load(coords + i)
            put(d, i, x)
            largest = tl.maximum(largest, bits(tl.abs(x)).to(tl.int64))
            if i + 1 < n:
                x = tl.load(coords + n + i) * ROOT_HALF
                put(e, i, x)
                largest = tl.maximum(largest, bits(tl.abs(x)).to(tl.int64))
        else:
            for j in range(0, i + 1):
                x = tl.load(coords + row_start(i) + j)
                if j < i:
                    x = x * ROOT_HALF
                put(packed, row_start(i) + j, x)
                largest = tl.maximum(largest, bits(tl.abs(x)).to(tl.int64))
    return largest


@triton.jit
def _rescale(at, size, bad, outer, inner):
    """Multiply slots by two powers of two, and clear lanes that are not finite."""
    for i in range(0, size):
        put(at, i, tl.where(bad, 0, get(at, i)) * outer * inner)


@triton.jit
def _load(coords, n, packed, d, e, TRIDIAGONAL: tl.constexpr):
    """Read matrices and scale those whose largest entry is far from 1: that entry, what undoes it, where NaN is."""
    seen = _read(coords, n, packed, d, e, TRIDIAGONAL)
    dtype: tl.constexpr = d.dtype.element_ty
    bad = seen >= infinity_bits(dtype)
    if dtype == tl.float64:
        largest = tl.where(bad, 0, seen).to(dtype, bitcast=True)
    else:
        largest = tl.where(bad, 0, seen).to(tl.int32).to(dtype, bitcast=True)
    odd = ((largest > 0) & (largest < 2.0**-8)) | (largest > 2.0**24)
    lift: tl.constexpr = 2.0**900 if dtype == tl.float64 else 2.0**100
    safe = tl.where(odd, largest, 1)
    outer = tl.where(safe < 1 / lift, lift, 1).to(dtype)
    wanted = tl.maximum(2 * bias(dtype) - exponent_field(safe * outer), 1)
    inner = tl.where(odd, power_of_two(wanted, dtype), 1)
    if any_lane(odd | bad):
        if TRIDIAGONAL:
            _rescale(d, n, bad, outer, inner)
            _rescale(e, n - 1, bad, outer, inner)
        else:
            _rescale(packed, row_start(n), bad, outer, inner)
    return largest * outer * inner, inverse(outer), inverse(inner), bad


@triton.jit
def _radius(e, n, i):
    """Σ |off-diagonals| of row i."""
    total = tl.zeros((e.shape[0],), e.dtype.element_ty)
    if i > 0:
        total += tl.abs(get(e, i - 1))
    if i + 1 < n:
        total += tl.abs(get(e, i))
    return total


@triton.jit
def _prepare(d, e, e2, n):
    """Scale T to row sums of at most 1: Gershgorin's bounds, mean and spread of the spectrum, what undoes it."""
    dtype: tl.constexpr = d.dtype.element_ty
    zero = tl.zeros((d.shape[0],), dtype)
    largest = zero
    for i in range(0, n):
        largest = tl.maximum(largest, tl.abs(get(d, i)) + _radius(e, n, i))
    nothing = largest == 0
    factor = tl.where(nothing, 1, power_of_two(2 * bias(dtype) - 1 - exponent_field(largest), dtype))
    low, high, total, squares = zero + 1, zero - 1, zero, zero
    least: tl.constexpr = epsilon(dtype) / 8
    for i in range(0, n - 1):
        x = get(e, i) * factor
        put(e, i, x)
        squares += 2 * x * x
        put(e2, i, tl.maximum(x * x, least * least))
    for i in range(0, n):
        x = get(d, i) * factor
        put(d, i, x)
        r = _radius(e, n, i) + 4 * epsilon(dtype)
        low, high = tl.minimum(low, x - r), tl.maximum(high, x + r)
        total += x
        squares += x * x
    mean = divide(total, zero + n)
    spread = root(tl.maximum(divide(squares, zero + n) - mean * mean, 0))
    return low, high, mean, spread, tl.where(nothing, 0, inverse(factor))


@triton.jit
def _set_up(coords, n, packed, d, e, e2, h, work, TRIDIAGONAL: tl.constexpr):
    """From coordinates to a scaled tridiagonal matrix."""
    largest, outer, inner, bad = _load(coords, n, packed, d, e, TRIDIAGONAL)
    if not TRIDIAGONAL:
        least = largest * (epsilon(largest.dtype) * epsilon(largest.dtype))
        tridiagonalise(packed, d, e, h, work, n, least * least)
    low, high, mean, spread, unit = _prepare(d, e, e2, n)
    return low, high, mean, spread, unit, inner, outer, bad


@triton.jit(do_not_specialize=_SIZES)
def solve_kernel(
    coords, index, guess, value, vector, scratch, rows, n, count, slots,
    BLOCK: tl.constexpr, TRIDIAGONAL: tl.constexpr, VECTORS: tl.constexpr, SEVERAL: tl.constexpr,
):  # fmt: skip
    """λ_k, (rows, count), and with VECTORS unit vectors, (rows, count, n)."""
    lane = tl.arange(0, BLOCK)
    packed = scratch + tl.program_id(0).to(tl.int64) * slots * BLOCK + lane
    size = 2 * n - 1 if TRIDIAGONAL else row_start(n)
    d = packed + (0 if TRIDIAGONAL else row_start(n)) * BLOCK
    e, e2, h, work = d + n * BLOCK, d + 2 * n * BLOCK, d + 3 * n * BLOCK, d + 4 * n * BLOCK
    values = work + 5 * n * BLOCK
    vectors = values + count * BLOCK
    for block in range(tl.program_id(0), tl.cdiv(rows, BLOCK), tl.num_programs(0)):
        real = block * BLOCK + lane < rows
        row = tl.minimum(block * BLOCK + lane, rows - 1).to(tl.int64)
        low, high, mean, spread, unit, inner, outer, bad = _set_up(
            coords + row * size, n, packed, d, e, e2, h, work, TRIDIAGONAL
        )
        failed = bad & (bad == 0)
        for m in range(0, count):
            start, spacing = mean + tl.load(guess + 2 * m) * spread, tl.load(guess + 2 * m + 1) * spread
            found = find_eigenvalue(d, e2, n, tl.load(index + m), low, high, start, spacing)
            if VECTORS:
                found, wrong = find_vector(d, e, n, found, vectors, values, m, work)
                failed = failed | wrong
            put(values, m, found)
        if VECTORS:  # noqa: SIM102 - known when it is compiled, unlike what follows
            if any_lane(failed):
                if SEVERAL:
                    full = vectors + count * n * BLOCK
                    whole_spectrum(d, e, n, full, full + n * n * BLOCK)
                    choose_pairs(full, full + n * n * BLOCK, n, index, count, failed, values, vectors)
                else:
                    put(values, 0, repair_vector(d, e, n, get(values, 0), failed, work, vectors))
        largest = get(values, 0)
        for m in range(0, count):
            largest = tl.maximum(largest, get(values, m))  # eigenvalues never change order
            tl.store(value + row * count + m, tl.where(bad, _NAN, largest * unit * inner * outer), mask=real)
            if VECTORS:
                z = vectors + m * n * BLOCK
                if not TRIDIAGONAL:
                    transform_back(packed, h, n, z)
                for i in range(0, n):
                    tl.store(vector + (row * count + m) * n + i, tl.where(bad, _NAN, get(z, i) + 0.0), mask=real)


@triton.jit
def _add_outer(grad, real, m, y, v, n, TRIDIAGONAL: tl.constexpr):
    """Add y vᵀ, symmetrised, in coordinates; the first one is written."""
    for i in range(0, n):
        yi, vi = get(y, i), get(v, i)
        if TRIDIAGONAL:
            _add(grad + i, real, m, yi * vi)
            if i + 1 < n:
                _add(grad + n + i, real, m, (yi * get(v, i + 1) + get(y, i + 1) * vi) * ROOT_HALF)
        else:
            for j in range(0, i):
                _add(grad + row_start(i) + j, real, m, (yi * get(v, j) + get(y, j) * vi) * ROOT_HALF)
            _add(grad + row_start(i) + i, real, m, yi * vi)


@triton.jit
def _add(at, real, m, x):
    """Write, or add to, what is there."""
    if m > 0:
        x += tl.load(at, mask=real, other=0)
    tl.store(at, x, mask=real)


@triton.jit
def _project(x, y, n):
    """Y -= x xᵀy for a unit x."""
    share = dot(x, y, n)
    for i in range(0, n):
        put(y, i, get(y, i) - share * get(x, i))


@triton.jit
def _largest_entry(x, n):
    """Where the entry of largest magnitude is."""
    largest, where = tl.abs(get(x, 0)), tl.zeros((x.shape[0],), tl.int32)
    for i in range(1, n):
        here = tl.abs(get(x, i))
        where = tl.where(here > largest, i, where)
        largest = tl.maximum(here, largest)
    return where


@triton.jit
def _resolve(d, e, e2, n, value, near, x, y, work, spare):
    """Y becomes (T - λ)⁺ y for the unit vector x of λ; eigenvalues within ``near`` of λ count as equal to it."""
    _project(x, y, n)
    _, _, below = evaluate(d, e2, n, value - near)
    _, _, above = evaluate(d, e2, n, value + near)
    several = above - below > 1
    apart = spare + 2 * n * n * spare.shape[0]
    if any_lane(several):
        whole_spectrum(d, e, n, spare, spare + n * n * spare.shape[0])
        solve_apart(spare, spare + n * n * spare.shape[0], n, value, near, y, apart)
    cut = _largest_entry(x, n)
    for i in range(0, n):
        put_where(y, i, cut == i, tl.zeros_like(value))
    solve_shifted(d, e, n, value, cut, work, y)
    if any_lane(several):
        for i in range(0, n):
            put_where(y, i, several, get(apart, i))
    _project(x, y, n)


@triton.jit(do_not_specialize=_SIZES)
def vjp_kernel(
    coords, value, vector, grad_value, grad_vector, grad, scratch, near, rows, n, count, slots,
    BLOCK: tl.constexpr, TRIDIAGONAL: tl.constexpr, PAIR: tl.constexpr,
):  # fmt: skip
    """Σ_m (g_m v_m + R_m h_m) v_mᵀ, symmetrised, in coordinates; without PAIR Σ_m g_m v_m v_mᵀ."""
    lane = tl.arange(0, BLOCK)
    packed = scratch + tl.program_id(0).to(tl.int64) * slots * BLOCK + lane
    size = 2 * n - 1 if TRIDIAGONAL else row_start(n)
    d = packed + (0 if TRIDIAGONAL else row_start(n)) * BLOCK
    e, e2, h, work = d + n * BLOCK, d + 2 * n * BLOCK, d + 3 * n * BLOCK, d + 4 * n * BLOCK
    x, y, v = work + 4 * n * BLOCK, work + 5 * n * BLOCK, work + 6 * n * BLOCK
    spare = v + n * BLOCK
    for block in range(tl.program_id(0), tl.cdiv(rows, BLOCK), tl.num_programs(0)):
        real = block * BLOCK + lane < rows
        row = tl.minimum(block * BLOCK + lane, rows - 1).to(tl.int64)
        if PAIR:
            _, _, mean, spread, unit, inner, outer, _ = _set_up(
                coords + row * size, n, packed, d, e, e2, h, work, TRIDIAGONAL
            )
            norm = root((mean * mean + spread * spread) * n)
            width = tl.maximum(tl.load(near) * norm, 2 * epsilon(norm.dtype))
            unit = tl.where(unit == 0, 1, unit)
        for m in range(0, count):
            share = tl.load(grad_value + row * count + m)
            for i in range(0, n):
                entry = tl.load(vector + (row * count + m) * n + i)
                put(v, i, entry)
                put(x, i, entry)
                put(y, i, tl.load(grad_vector + (row * count + m) * n + i) if PAIR else share * entry)
            if PAIR:
                if not TRIDIAGONAL:
                    transform_forth(packed, h, n, x)
                    transform_forth(packed, h, n, y)
                here = divide(divide(divide(tl.load(value + row * count + m), outer), inner), unit)
                _resolve(d, e, e2, n, here, width, x, y, work, spare)
                if not TRIDIAGONAL:
                    transform_back(packed, h, n, y)
                for i in range(0, n):
                    put(y, i, share * get(v, i) - divide(divide(divide(get(y, i), unit), inner), outer))
            _add_outer(grad + row * size, real, m, y, v, n, TRIDIAGONAL)
