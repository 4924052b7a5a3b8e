r"""Do matrices go one way along a common pattern? c I + g P with one diagonal P of zeros and ones, decided exactly.

A diagonal matrix with two values, u where P has ones and v elsewhere, is v I + (u − v) P whatever these floats are, and
whether u − v falls from one matrix to the next is decided in fractions. Turning P round, to I − P, turns all g round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.eigen.packing import diagonal_indices, packed_dim
from lambdak.pencil.statements import Combination


@final
@dataclass(frozen=True)
class PatternVerdict:
    """Why columns do not go their ways along a common pattern (empty if they do), and the smallest step, about."""

    reason: str
    least: float


def common_pattern(rows: Float64Array, steps: Mapping[int, Sequence[Combination]], sign: int) -> PatternVerdict:
    """Whether every two columns go the same way (``sign`` 1), opposite ways (-1) or not at all (0), in every pencil.

    ``rows`` (pencils, p, D) are packed matrices as they are stored, ``steps`` those of each column as combinations of
    them. A column whose matrices are multiples of I goes no way, whatever they are.
    """
    dim, least = packed_dim(rows.shape[-1]), np.inf
    diagonal = diagonal_indices(dim)
    used = {i: sorted({j for step in own for j in step}) for i, own in steps.items()}
    for pencil, matrices in enumerate(rows):
        values, full = matrices[:, diagonal], np.delete(matrices, diagonal, axis=-1).any(axis=-1)  # (p, d), (p,)
        plain = {i: own for i, own in used.items() if not _scalar(values[own], full[own])}
        if len(plain) < 2:
            continue
        where = f" in pencil {pencil + 1}"
        ways: dict[int, int] = {}
        ones = _pattern(values[[j for own in plain.values() for j in own]])
        for i, own in plain.items():
            if full[own].any() or not _two_valued(values[own], ones):
                return PatternVerdict(f"matrices of a column are not c I + g P{where}", 0.0)
            sizes = _steps(values, ones, steps[i])
            ways[i] = int(max(sizes, default=0) > 0) - int(min(sizes, default=0) < 0)
            if min(sizes, default=0) < 0 < max(sizes, default=0):
                return PatternVerdict(f"a column goes both ways{where}", float(min(sizes)))
            least = min(least, *(float(abs(size)) for size in sizes))
        if any(ways[i] * ways[j] not in (0, sign) for i, j in combinations(ways, 2)):
            which = {0: "move it along one pattern", 1: "go opposite ways", -1: "go the same way"}[sign]
            return PatternVerdict(f"two columns {which}{where}", 0.0)
    return PatternVerdict("", 0.0 if np.isinf(least) else least)


def _scalar(values: Float64Array, full: NDArray[np.bool_]) -> bool:
    """Whether matrices with these diagonals (n, d) are multiples of I."""
    return bool((values == values[:, :1]).all() and not full.any())


def _pattern(values: Float64Array) -> NDArray[np.bool_]:
    """Where the first diagonal with two values has the first of them."""
    uneven = np.flatnonzero((values != values[:, :1]).any(axis=1))
    first = values[uneven[0]] if len(uneven) else values[0]
    return np.asarray(first == first[0])


def _two_valued(values: Float64Array, ones: NDArray[np.bool_]) -> bool:
    """Whether diagonals (n, d) have one value where the pattern has ones, and one value elsewhere."""
    sides = [values[:, side] for side in (ones, ~ones) if side.any()]
    return all(bool((side == side[:, :1]).all()) for side in sides)


def _steps(values: Float64Array, ones: NDArray[np.bool_], steps: Sequence[Combination]) -> list[Fraction]:
    """By how much u − v grows in each step."""
    if ones.all():
        return [Fraction(0)] * len(steps)
    high, low = values[:, ones][:, 0].tolist(), values[:, ~ones][:, 0].tolist()
    return [sum((q * (Fraction(high[j]) - Fraction(low[j])) for j, q in own.items()), Fraction(0)) for own in steps]
