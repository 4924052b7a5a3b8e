r"""Is a symmetric matrix positive semidefinite? Decided in integers, about the numbers as they are stored.

Every float is an integer times a power of two, and so are its sums and products: a combination Σ_j q_j C_j of stored
packed matrices with rational factors is, up to a positive factor, a matrix of integers (off-diagonals unpacked by
:data:`lambdak.eigen.packing.ROOT_HALF`). Elimination without fractions (Bareiss) then decides: nothing is rounded, and
there is no margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from lambdak.eigen.packing import ROOT_HALF, diagonal_indices, packed_dim
from lambdak.pencil.spectrum import Float64Array

_ROOT, _ROOT_UNIT = ROOT_HALF.as_integer_ratio()
_MANTISSA_BITS = 53

Term = tuple[Fraction, Float64Array]  # a factor, and the packed matrix (D,) that it multiplies


def combination_is_psd(terms: Sequence[Term], identity: Fraction = Fraction(0)) -> bool:
    """Whether Σ q C + identity · I is positive semidefinite, exactly.

    >>> one = np.array([1.0, 0.0, 1.0])
    >>> combination_is_psd([(Fraction(1, 3), one)], Fraction(-1, 3)), combination_is_psd([(Fraction(-1), one)])
    (True, False)
    """
    if not _finite(terms):
        return False
    dim = packed_dim(len(terms[0][1]))
    unit_matrix = np.zeros(len(terms[0][1]))
    unit_matrix[diagonal_indices(dim)] = 1.0
    packed, _ = _integers([*terms, (identity, unit_matrix)] if identity else terms)
    return is_psd(_unpacked(packed, dim))


def norm_is_below(terms: Sequence[Term], limit: Fraction) -> bool:
    """Whether ‖Σ q C‖₂ ≤ limit, exactly: limit · I ± Σ q C are both positive semidefinite."""
    return all(combination_is_psd([(sign * q, matrix) for q, matrix in terms], limit) for sign in (1, -1))


def frobenius_is_below(terms: Sequence[Term], limit: Fraction) -> bool:
    """Whether ‖Σ q C‖_F ≤ limit, exactly, which is at least ‖Σ q C‖₂.

    >>> [frobenius_is_below([(Fraction(1), np.array([3.0, 0.0, 4.0]))], Fraction(limit)) for limit in (5, 4)]
    [True, False]
    """
    if not _finite(terms):
        return False
    packed, unit = _integers(terms)
    on_diagonal = sum(packed[i] ** 2 for i in diagonal_indices(packed_dim(len(packed))).tolist())
    rest = sum(entry * entry for entry in packed) - on_diagonal  # every off-diagonal entry counts twice
    squares = on_diagonal * _ROOT_UNIT**2 + 2 * rest * _ROOT**2
    return bool(squares * unit**2 <= (limit * _ROOT_UNIT) ** 2)


def is_psd(lower: list[list[int]]) -> bool:
    """Whether the symmetric matrix with this lower triangle of integers, row by row, is positive semidefinite.

    >>> is_psd([[1], [1, 1]]), is_psd([[0], [1, 1]]), is_psd([[1], [2, 1]])
    (True, False, False)
    """
    rows, previous = [row[:] for row in lower], 1
    for k, row in enumerate(rows):
        pivot = row[k]
        column = [below[k] for below in rows[k + 1 :]]
        if pivot < 0 or (pivot == 0 and any(column)):
            return False
        if pivot == 0:  # a row of zeros
            continue
        for i, factor in enumerate(column):
            below = rows[k + 1 + i]
            for j in range(i + 1):
                below[k + 1 + j] = (pivot * below[k + 1 + j] - factor * column[j]) // previous
        previous = pivot
    return True


def _finite(terms: Sequence[Term]) -> bool:
    """Whether all entries are numbers: nothing is true of others, and as integers they would be arbitrary."""
    return all(bool(np.isfinite(matrix).all()) for _, matrix in terms)


def _integers(terms: Sequence[Term]) -> tuple[list[int], Fraction]:
    """Σ q C as integers (D,), in units of the second result."""
    denominator = lcm(*(q.denominator for q, _ in terms))
    whole = [int(q * denominator) for q, _ in terms]
    mantissa, exponent = np.frexp(np.stack([matrix for _, matrix in terms]))
    least = int(exponent[mantissa != 0].min(initial=_MANTISSA_BITS))
    shifts = np.where(mantissa != 0, exponent - least, 0).tolist()
    numbers = np.ldexp(mantissa, _MANTISSA_BITS).astype(np.int64).tolist()
    packed = [0] * len(numbers[0])
    for q, row, own in zip(whole, numbers, shifts, strict=True):
        packed = [total + (q * number << shift) for total, number, shift in zip(packed, row, own, strict=True)]
    power = least - _MANTISSA_BITS
    return packed, Fraction(1 << max(power, 0), denominator << max(-power, 0))


def _unpacked(packed: list[int], dim: int) -> list[list[int]]:
    """The lower triangle, in units of a power of two as small as the numbers allow."""
    rows = []
    for i in range(dim):
        first = i * (i + 1) // 2
        rows.append([*(entry * _ROOT for entry in packed[first : first + i]), packed[first + i] * _ROOT_UNIT])
    bits = 0
    for row in rows:
        for entry in row:
            bits |= entry
    spare = (bits & -bits).bit_length() - 1 if bits else 0
    return [[entry >> spare for entry in row] for row in rows]
