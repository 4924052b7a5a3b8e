r"""Is a symmetric matrix positive semidefinite? Decided in integers, about the numbers as they are stored.

Every float is an integer times a power of two, and so are its sums and products: a combination Σ_j q_j C_j of stored
packed matrices with rational factors is, up to a positive factor, a matrix of integers (off-diagonals unpacked by
:data:`lambdak.eigen.packing.ROOT_HALF`). A factorisation of its leading bits, with a bound on what these leave out,
proves most matrices; elimination without fractions (Bareiss) decides all others: nothing is rounded, and there is no
margin. The integers of an elimination grow with the size of the matrix and with the spread of its exponents, and so
does their number: :class:`Work` says before it begins whether it may.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import isqrt, lcm
from operator import mul
from typing import final

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen.packing import ROOT_HALF, diagonal_indices, packed_dim

_ROOT, _ROOT_UNIT = ROOT_HALF.as_integer_ratio()
_MANTISSA_BITS = 53
_LEADING_BITS = 192  # of a factorisation: it proves what is more than about 2⁻⁹⁰ of its size from being singular

# Microseconds that Python's integers took (benchmarks/integers.py): for an entry of a matrix that is built, for a
# product in a factorisation, and for a step of an elimination, at first and for every bit of its numbers, squared.
_ENTRY, _PRODUCT, _STEP, _BIT = 1.5, 0.12, 1.6, 5.8e-7

DOUBTS = 2e6  # work that is worth a doubt which float64 leaves, all doubts together: some seconds

Term = tuple[Fraction, Float64Array]  # a factor, and the packed matrix (D,) that it multiplies
Verdict = bool | None  # None: it would take more integers than it may


@final
class Work:
    """How much may be done in integers, all decisions of one file together, in units of about a microsecond.

    Work depends on dimensions and bits only, so that a verdict is the same on every machine.
    """

    def __init__(self, most: float) -> None:
        self._left = most

    def may(self, amount: float) -> bool:
        """Whether so much work is left, which is then taken."""
        if amount > self._left:
            return False
        self._left -= amount
        return True


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """True if all are true; otherwise the first that is not, and the others are not asked for.

    >>> all_of([True, True]), all_of([True, None]), all_of([False, None])
    (True, None, False)
    """
    return next((verdict for verdict in verdicts if verdict is not True), True)


def combination_is_psd(terms: Sequence[Term], identity: Fraction = Fraction(0), work: Work | None = None) -> Verdict:
    """Whether Σ q C + identity · I is positive semidefinite, exactly; None if that is more than ``work`` allows.

    >>> one = np.array([1.0, 0.0, 1.0])
    >>> combination_is_psd([(Fraction(1, 3), one)], Fraction(-1, 3)), combination_is_psd([(Fraction(-1), one)])
    (True, False)
    """
    if not _finite(terms):
        return False
    if not _may_build(terms, work):
        return None
    dim = packed_dim(len(terms[0][1]))
    unit_matrix = np.zeros(len(terms[0][1]))
    unit_matrix[diagonal_indices(dim)] = 1.0
    packed, _ = _integers([*terms, (identity, unit_matrix)] if identity else terms)
    return is_psd(_unpacked(packed, dim), work)


def is_zero(terms: Sequence[Term]) -> bool:
    """Whether Σ q C = 0, exactly.

    >>> one = np.array([1.0, 0.0, 1.0])
    >>> is_zero([(Fraction(1, 3), one), (Fraction(-1, 3), one)]), is_zero([(Fraction(1), one)])
    (True, False)
    """
    return _finite(terms) and (not terms or not any(_integers(terms)[0]))


def norm_is_below(terms: Sequence[Term], limit: Fraction, work: Work | None = None) -> Verdict:
    """Whether ‖Σ q C‖₂ ≤ limit, exactly: limit · I ± Σ q C are both positive semidefinite."""
    return all_of(combination_is_psd([(sign * q, matrix) for q, matrix in terms], limit, work) for sign in (1, -1))


def frobenius_is_below(terms: Sequence[Term], limit: Fraction, work: Work | None = None) -> Verdict:
    """Whether ‖Σ q C‖_F ≤ limit, exactly, which is at least ‖Σ q C‖₂.

    >>> [frobenius_is_below([(Fraction(1), np.array([3.0, 0.0, 4.0]))], Fraction(limit)) for limit in (5, 4)]
    [True, False]
    """
    if not _finite(terms):
        return False
    if not _may_build(terms, work):
        return None
    packed, unit = _integers(terms)
    on_diagonal = sum(packed[i] ** 2 for i in diagonal_indices(packed_dim(len(packed))).tolist())
    rest = sum(entry * entry for entry in packed) - on_diagonal  # every off-diagonal entry counts twice
    squares = on_diagonal * _ROOT_UNIT**2 + 2 * rest * _ROOT**2
    return bool(squares * unit**2 <= (limit * _ROOT_UNIT) ** 2)


def is_psd(lower: Sequence[Sequence[int]], work: Work | None = None) -> Verdict:
    """Whether the symmetric matrix with this lower triangle of integers, row by row, is positive semidefinite.

    None if that is more than ``work`` allows.

    >>> is_psd([[1], [1, 1]]), is_psd([[0], [1, 1]]), is_psd([[1], [2, 1]])
    (True, False, False)
    """
    if any(row[-1] < 0 for row in lower):
        return False
    dim, bits = len(lower), max(entry.bit_length() for row in lower for entry in row)
    if not bits:  # zero, as are all steps of columns that training dropped
        return True
    if work is not None and not work.may(factorisation_work(dim)):
        return None
    if _is_factorised(lower):
        return True
    if work is not None and not work.may(elimination_work(dim, bits)):
        return None
    return _is_eliminated(lower)


def factorisation_work(dim: int) -> float:
    """What it takes to factorise a matrix of this size."""
    return _PRODUCT * dim**2 * (dim / 6 + 5)


def elimination_work(dim: int, bits: int) -> float:
    """What it takes to eliminate a matrix of this size, whose integers have so many bits: their own number grows."""
    return dim**3 / 6 * (_STEP + _BIT * (dim * bits) ** 2)


def _is_factorised(lower: Sequence[Sequence[int]]) -> bool:
    """Whether L Lᵀ + E, computed from the leading bits, proves it positive semidefinite.

    The matrix times 2^shift is M + R, where M has integers and |R| < 1 in every entry, and M − reserve · I = L Lᵀ + E
    with 0 ≤ E_ij < L_jj below the diagonal and E_ii ≥ 0. So no eigenvalue of it is below reserve minus the largest row
    sum of |E| + |R| (Gershgorin), and as L_jj² ≤ M_jj, the reserve covers that.
    """
    dim, largest = len(lower), max(row[-1] for row in lower)
    shift = _LEADING_BITS - largest.bit_length()
    reserve = dim * (isqrt(_shifted(largest, shift)) + 2)
    factor: list[list[int]] = []
    for row in lower:
        new: list[int] = []
        for entry, other in zip(row, factor, strict=False):
            new.append((_shifted(entry, shift) - sum(map(mul, new, other))) // other[-1])
        rest = _shifted(row[-1], shift) - reserve - sum(map(mul, new, new))
        if rest <= 0:
            return False
        factor.append([*new, isqrt(rest)])
    return True


def _shifted(number: int, shift: int) -> int:
    """Number · 2^shift, rounded down."""
    return number << shift if shift >= 0 else number >> -shift


def _is_eliminated(lower: Sequence[Sequence[int]]) -> bool:
    """Whether no pivot of an elimination without fractions is negative, and those that are zero have rows of zeros."""
    rows, previous = [list(row) for row in lower], 1
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


def _may_build(terms: Sequence[Term], work: Work | None) -> bool:
    """Whether the integers of a combination may be made, which takes some time for each of its numbers."""
    return work is None or work.may(50 + _ENTRY * (2 + len(terms)) * len(terms[0][1]))


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
