r"""squareplus(x) = (x + √(1 + x²)) / 2: a smooth positive ramp whose slope decays slowly, and its inverse."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lambdak._checks import check_floats
from lambdak._types import FloatArray


def squareplus(x: ArrayLike) -> FloatArray:
    """(x + √(1 + x²)) / 2, positive for every finite x; written 1 / (2 (√(1 + x²) − x)) where x < 0.

    >>> squareplus([-1e9, 0.0, 0.75])
    array([2.5e-10, 5.0e-01, 1.0e+00])
    """
    x = check_floats(x, "x")
    half = (np.hypot(1, x) / 2 + np.abs(x) / 2).astype(x.dtype)  # halves first: 2|x| may overflow
    return np.where(x < 0, x.dtype.type(0.25) / half, half)


def squareplus_inverse(y: ArrayLike) -> FloatArray:
    """(4y² − 1) / (4y) = y − 1 / (4y), the x with squareplus(x) = y, for y ≥ the smallest normal number.

    >>> squareplus_inverse([0.5, 1.0])
    array([0.  , 0.75])
    """
    y = check_floats(y, "y")
    tiny = np.finfo(y.dtype).tiny
    if not (y >= tiny).all():
        raise ValueError(f"y must be at least {tiny:.3g}; got {y[~(y >= tiny)].flat[0]}")
    return np.asarray(y - 0.25 / y, y.dtype)


def squareplus_slope(a: FloatArray, b: FloatArray) -> FloatArray:
    """(s(a) − s(b)) / (a − b) = (s(a) + s(b)) / (√(1 + a²) + √(1 + b²)) for s = squareplus; s′(a) if a = b.

    >>> squareplus_slope(np.array([0.0, 1e8]), np.array([0.0, 0.0]))
    array([0.5, 1. ])
    """
    # Halves, because the sum of two large square roots may overflow.
    above = squareplus(a) / 2 + squareplus(b) / 2
    return np.asarray(above / (np.hypot(1, a) / 2 + np.hypot(1, b) / 2), np.result_type(a, b))
