"""An oracle without rounding: how many eigenvalues of a packed matrix lie below a number, in integers."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from lambdak.eigen.packing import ROOT_HALF, packed_dim

Entries = list[list[Fraction]]


def exact_matrix(packed) -> Entries:
    """The symmetric matrix that packed floats stand for, off-diagonals times the dyadic ROOT_HALF."""
    dim, values = packed_dim(len(packed)), iter(packed)
    full = [[Fraction(0)] * dim for _ in range(dim)]
    for i in range(dim):
        for j in range(i + 1):
            factor = Fraction(1) if i == j else Fraction(ROOT_HALF)
            full[i][j] = full[j][i] = Fraction(float(next(values))) * factor
    return full


def squared_norm(full: Entries) -> Fraction:
    return sum((x * x for row in full for x in row), Fraction(0))


def norm_above(full: Entries) -> Fraction:
    """A number just above ‖A‖_F."""
    return root_above(squared_norm(full))


def root_above(square: Fraction) -> Fraction:
    """A number just above the square root, from the upper 200 bits."""
    shift = max(0, 200 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift % 2
    return Fraction(isqrt((square.numerator << shift) // square.denominator) + 1, 1 << (shift // 2))


def count_below(full: Entries, x: Fraction) -> int | None:
    """Eigenvalues below x by the signs of leading minors, without fractions (Bareiss); None if a minor vanishes."""
    dim = len(full)
    shifted = [[entry - (x if i == j else 0) for j, entry in enumerate(row)] for i, row in enumerate(full)]
    common = max((entry.denominator for row in shifted for entry in row), default=1)  # all are powers of two
    rows = [[entry.numerator * (common // entry.denominator) for entry in row] for row in shifted]
    before, count = 1, 0
    for k in range(dim):
        pivot = rows[k][k]
        if pivot == 0:
            return None
        count += (pivot < 0) != (before < 0)
        for i in range(k + 1, dim):
            left = rows[i][k]
            for j in range(k + 1, i + 1):
                rows[i][j] = rows[j][i] = (rows[i][j] * pivot - left * rows[k][j]) // before
        before = pivot
    return count


def certainly_within(full: Entries, k: int, value: float, distance: Fraction) -> bool:
    """Whether λ_k is proven to be within the distance, a dyadic number, of the value."""
    return (
        _below(full, Fraction(value) - distance, distance, -1)
        <= k
        < _below(full, Fraction(value) + distance, distance, 1)
    )


def _below(full: Entries, x: Fraction, distance: Fraction, side: int) -> int:
    """The count at x, or a trifle further inside where a minor vanishes at x: that proves no less."""
    for step in range(20):
        found = count_below(full, x - side * step * distance / (1 << 30))
        if found is not None:
            return found
    return -side * len(full) * 2 + len(full)
