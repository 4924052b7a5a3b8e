"""λ_k of tridiagonal matrices by Sturm counts, with a super-linear finish once λ_k is alone in its bracket.

What ``eigen/native/sturm.hpp`` does, with every step proven: the pair of the recurrence is brought back to the top of
the range before rounding below the normal range could matter. Every point is counted; a lane that is alone reads the
sign of the polynomial instead. ``eigen/rounding.py`` says why the error is bounded for every matrix.
"""

from __future__ import annotations

import triton
import triton.language as tl

from lambdak.torch.device.lanes import (
    any_lane,
    bias,
    divide,
    epsilon,
    exponent_field,
    get,
    negative,
    power_of_two,
    with_sign,
)  # fmt: skip

_MOST_PASSES = tl.constexpr(256)


@triton.constexpr_function
def _top(dtype):
    """The exponent from which a pair of the recurrence starts, and to which it is brought back."""
    return 800 if dtype == tl.float64 else 100


@triton.constexpr_function
def _proven_steps(dtype):
    """Steps from there in which nothing falls below the normal range."""
    return 16 if dtype == tl.float64 else 4


@triton.jit
def _rescaled(p0, p1, exponent):
    """The pair at the top of the range, in two steps: from the bottom one factor would overflow."""
    lift = _top(p0.dtype) + bias(p0.dtype) - exponent_field(tl.maximum(tl.abs(p0), tl.abs(p1)))
    half = lift >> 1
    first = power_of_two(half + bias(p0.dtype), p0.dtype)
    second = power_of_two(lift - half + bias(p0.dtype), p0.dtype)
    return p0 * first * second, p1 * first * second, exponent - lift


@triton.jit
def evaluate(d, e2, n, x):
    """F and exponent with det(T - x) = f 2^exponent up to a constant, and the number of eigenvalues below x."""
    p0 = tl.full(x.shape, 2.0 ** _top(x.dtype), x.dtype)
    p1 = (get(d, 0) - x) * p0
    exponent = tl.zeros(x.shape, tl.int32)
    count = negative(p1).to(tl.int32)
    for first in range(1, n, _proven_steps(x.dtype)):
        p0, p1, exponent = _rescaled(p0, p1, exponent)
        for i in range(first, tl.minimum(first + _proven_steps(x.dtype), n)):
            following = (get(d, i) - x) * p1 - get(e2, i - 1) * p0
            p0 = p1
            p1 = following
            count += (negative(p0) != negative(p1)).to(tl.int32)
    return p1, exponent, count


@triton.jit
def _share(a_f, a_exponent, b_f, b_exponent):
    """Share of the bracket at which the chord between its ends crosses zero."""
    most = bias(a_f.dtype) - 1
    shift = tl.minimum(tl.maximum(b_exponent - a_exponent, -most), most)
    right = b_f * power_of_two(shift + bias(a_f.dtype), a_f.dtype)
    return divide(a_f, a_f - right)


@triton.jit
def _close(d, e2, n, k, low, high, x, spacing, todo, careful):
    """λ_k in the lanes ``todo``, and where it is not to be believed; a careful search relies on counts only."""
    dtype: tl.constexpr = x.dtype
    tolerance: tl.constexpr = 2 * epsilon(x.dtype)
    a, b, since, until = low, high, low, high  # the bracket, and the counted ends between which λ_k was found alone
    point = x
    a_f, b_f = tl.zeros_like(x), tl.zeros_like(x)
    a_exponent, b_exponent = tl.zeros(x.shape, tl.int32), tl.zeros(x.shape, tl.int32)
    a_count, b_count = tl.zeros(x.shape, tl.int32), tl.zeros(x.shape, tl.int32) + n
    last = tl.zeros(x.shape, tl.int32)  # -1 where the last point replaced b
    alone = last > 0
    is_open = todo
    step, wanted = 0, 1
    while wanted > 0:
        inner = tl.minimum(0.5 * (b - a), tolerance)
        point = tl.minimum(tl.maximum(x, a + inner), b - inner)
        f, exponent, count = evaluate(d, e2, n, point)
        below = tl.where(alone, negative(f) != ((k & 1) > 0), count > k)
        to_b, to_a = is_open & below, is_open & (below == 0)
        # Illinois: an end that stays a second time counts half.
        a_f = tl.where(to_a, f, a_f * tl.where(to_b & (last == -1), 0.5, 1.0).to(dtype))
        b_f = tl.where(to_b, f, b_f * tl.where(to_a & (last == 1), 0.5, 1.0).to(dtype))
        a, b = tl.where(to_a, point, a), tl.where(to_b, point, b)
        a_exponent, b_exponent = tl.where(to_a, exponent, a_exponent), tl.where(to_b, exponent, b_exponent)
        last = tl.where(to_b, -1, 1)
        a_count = tl.where(to_a & (alone == 0), count, a_count)
        b_count = tl.where(to_b & (alone == 0), count, b_count)
        since, until = tl.where(alone, since, a), tl.where(alone, until, b)
        alone = (a_count == k) & (b_count == k + 1) & (careful == 0)
        width = b - a
        is_open = is_open & (width > tolerance)
        # While others are in the bracket, the counts stand for the polynomial.
        left, right = a_count.to(dtype) - k - 0.5, b_count.to(dtype) - k - 0.5
        share = tl.where(alone, _share(a_f, a_exponent, b_f, b_exponent), divide(left, left - right))
        sound = (share > 0) & (share < 1) & (((step < 12) | (step % 2 == 0)) & ((step < 5) | alone))
        x = a + tl.where(sound, share, 0.5) * width
        behind = k + 0.5 - count.to(dtype)
        jump = point + spacing * (behind + with_sign(tl.full(x.shape, 0.5, dtype), behind))
        inside = (jump > a + 0.01 * width) & (jump < b - 0.01 * width) & (alone == 0)
        x = tl.where(inside & (step < 2), jump, x)
        step += 1
        wanted = tl.where(step < _MOST_PASSES, tl.max(is_open.to(tl.int32), axis=0), 0)
    # A count is that of a matrix nearby: an end so close to a counted one may have closed beside a neighbour.
    doubt: tl.constexpr = 6 * epsilon(x.dtype)
    return a + 0.5 * (b - a), alone & ((b < since + doubt) | (a > until - doubt))


@triton.jit
def find_eigenvalue(d, e2, n, k, low, high, start, spacing):
    """λ_k; where a first search is not to be believed, by counts alone."""
    found = tl.zeros_like(start)
    todo = start == start
    careful, wanted = 0, 1
    while wanted > 0:
        here, doubtful = _close(d, e2, n, k, low, high, start, spacing, todo, careful)
        found = tl.where(todo, here, found)
        todo = todo & doubtful
        wanted = any_lane(todo).to(tl.int32)
        careful += 1
    return found
