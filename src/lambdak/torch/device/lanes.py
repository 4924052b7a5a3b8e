"""One matrix per lane: slots of scratch memory, and arithmetic that rounds as IEEE 754 says.

``at`` is a block of pointers, one per lane, to the first slot of an array; its next slot is one block further, so that
the lanes of a warp read neighbouring addresses. Division and square root are the correctly rounded ones: Triton's
operators are not, in float32.
"""

from __future__ import annotations

import triton
import triton.language as tl

ROOT_HALF = tl.constexpr(0.7071067811865476)


@triton.constexpr_function
def epsilon(dtype):
    """ε, the distance from 1 to the next number."""
    return 2.0**-52 if dtype == tl.float64 else 2.0**-23


@triton.constexpr_function
def mantissa_bits(dtype):
    """Bits of a number below its exponent."""
    return 52 if dtype == tl.float64 else 23


@triton.constexpr_function
def bias(dtype):
    """What is added to an exponent where it is stored."""
    return 1023 if dtype == tl.float64 else 127


@triton.constexpr_function
def infinity_bits(dtype):
    """Bits of infinity; those of NaN are larger."""
    return 0x7FF0000000000000 if dtype == tl.float64 else 0x7F800000


@triton.constexpr_function
def bits_type(dtype):
    """Integers as wide as the numbers."""
    return tl.int64 if dtype == tl.float64 else tl.int32


@triton.jit
def get(at, i):
    """Slot i."""
    return tl.load(at + i * at.shape[0])


@triton.jit
def put(at, i, x):
    """Write slot i."""
    tl.store(at + i * at.shape[0], x)


@triton.jit
def put_where(at, i, mask, x):
    """Write slot i in some lanes."""
    tl.store(at + i * at.shape[0], x, mask=mask)


@triton.jit
def row_start(i):
    """Where row i of a packed lower triangle begins."""
    return i * (i + 1) // 2


@triton.jit
def divide(x, y):
    """X / y, correctly rounded."""
    if x.dtype == tl.float64:
        return x / y
    return tl.math.div_rn(x, y)


@triton.jit
def inverse(x):
    """1 / x, correctly rounded."""
    return divide(tl.full(x.shape, 1, x.dtype), x)


@triton.jit
def root(x):
    """√x, correctly rounded."""
    if x.dtype == tl.float64:
        return tl.math.sqrt(x)
    return tl.math.sqrt_rn(x)


@triton.jit
def bits(x):
    """A number's bits as an integer."""
    return x.to(bits_type(x.dtype), bitcast=True)


@triton.jit
def negative(x):
    """Where the sign bit is set."""
    return bits(x) < 0


@triton.jit
def with_sign(magnitude, sign):
    """A magnitude with another number's sign."""
    return tl.where(negative(sign), -magnitude, magnitude)


@triton.jit
def exponent_field(x):
    """The biased exponent of a number that is not negative."""
    return (bits(x) >> mantissa_bits(x.dtype)).to(tl.int32)


@triton.jit
def power_of_two(biased, dtype: tl.constexpr):
    """2^(biased exponent - bias)."""
    return (biased.to(bits_type(dtype)) << mantissa_bits(dtype)).to(dtype, bitcast=True)


@triton.jit
def any_lane(mask):
    """Whether a mask is set in some lane."""
    return tl.max(mask.to(tl.int32), axis=0) > 0


@triton.jit
def away_from_zero(x, least):
    """A number of magnitude ``least`` in place of a smaller one."""
    return tl.where(tl.abs(x) < least, with_sign(tl.zeros(x.shape, x.dtype) + least, x), x)


@triton.jit
def dot(x, y, n):
    """xᵀy."""
    total = tl.zeros((x.shape[0],), x.dtype.element_ty)
    for i in range(0, n):
        total += get(x, i) * get(y, i)
    return total
