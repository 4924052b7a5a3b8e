r"""What a cell of Criteo's columns becomes: the id of a level, or an id and its weight.

A category has one id per level, one for MISSING and one for RARE: levels seen less than ``min_count`` times are RARE.
An integer is either put into a bucket, x ↦ 2 + ⌊ln(x)²⌋ for x ≥ 2, which is then a level, or it is a weight. What
the paper's text and its released runs do differently is in :class:`lambdak.paper.protocols.CriteoColumns`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray

_MISSING, _RARE, _FIRST = 0, 1, 2  # positions of a column's ids
_POSITIVE, _ZERO, _NEGATIVE, _FIRST_NEGATIVE = 1, 2, 3, 4  # of a column of signed numbers, after MISSING

Gaps = NDArray[np.bool_]
Ids = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of one column and their ids; ``base`` is the id of MISSING."""

    base: int
    seen: NDArray[Any]  # sorted
    ids: Ids
    size: int
    unseen: int  # id of all other levels

    def __call__(self, column: NDArray[Any], gap: Gaps) -> Ids:
        """The id of every cell."""
        return np.where(gap, self.base, _looked_up(column, self.seen, self.ids, self.unseen)).astype(np.int32)


def levels(base: int, column: NDArray[Any], min_count: int, unseen_rare: bool) -> Levels:
    """Levels of the cells of a column that are not empty."""
    seen, counts = np.unique(column, return_counts=True)
    frequent = counts >= min_count
    ids = np.where(frequent, base + _FIRST - 1 + np.cumsum(frequent), base + _RARE)
    unseen = base + (_RARE if unseen_rare else _MISSING)
    return Levels(base, seen, ids.astype(np.int32), _FIRST + int(frequent.sum()), unseen)


@dataclass(frozen=True)
class Numbers:
    """All numbers are weights of the id after MISSING; negative ones, of which there are a few, count as zero."""

    base: int
    squared: bool
    mean: float
    scale: float
    size: int = 2

    def __call__(self, column: NDArray[Any], gap: Gaps) -> Ids:
        """The id of every cell."""
        return np.where(gap, self.base, self.base + 1).astype(np.int32)

    def weight(self, column: NDArray[Any], gap: Gaps) -> FloatArray:
        """The standardised logarithm, and one in gaps."""
        return np.where(gap, 1.0, (logarithm(column, self.squared) - self.mean) / self.scale).astype(np.float32)


def numbers(base: int, column: NDArray[Any], squared: bool) -> Numbers:
    """Standardised on the cells of a column that are not empty."""
    return Numbers(base, squared, *_moments(logarithm(column, squared)))


@dataclass(frozen=True, eq=False)
class SignedNumbers:
    """Positive numbers are weights of one id; zero, and each negative number that was seen, has an id of its own."""

    base: int
    negative: NDArray[Any]  # sorted
    squared: bool
    mean: float
    scale: float

    @property
    def size(self) -> int:
        """How many ids the column has."""
        return _FIRST_NEGATIVE + len(self.negative)

    def __call__(self, column: NDArray[Any], gap: Gaps) -> Ids:
        """The id of every cell; negative numbers that were not seen share one."""
        ids = self.base + _FIRST_NEGATIVE + np.arange(len(self.negative), dtype=np.int32)
        below = _looked_up(column, self.negative, ids, self.base + _NEGATIVE)
        signed = np.select([column > 0, column == 0], [self.base + _POSITIVE, self.base + _ZERO], below)
        return np.where(gap, self.base, signed).astype(np.int32)

    def weight(self, column: NDArray[Any], gap: Gaps) -> FloatArray:
        """The standardised logarithm of positive numbers, one elsewhere."""
        found = (logarithm(column, self.squared) - self.mean) / self.scale
        return np.where((column > 0) & ~gap, found, 1.0).astype(np.float32)


Encoder = Levels | Numbers | SignedNumbers


def signed_numbers(base: int, column: NDArray[Any], squared: bool) -> SignedNumbers:
    """Standardised on the positive cells of a column, with the negative ones that are among its cells."""
    moments = _moments(logarithm(column[column > 0], squared))
    return SignedNumbers(base, np.unique(column[column < 0]), squared, *moments)


def bucket(x: NDArray[Any]) -> NDArray[np.int32]:
    """Integers x ↦ 2 + ⌊ln(x)²⌋ for x ≥ 2, smaller ones as they are.

    >>> bucket(np.array([-1, 0, 1, 2, 100]))
    array([-1,  0,  1,  2, 23], dtype=int32)
    """
    large = 2 + np.floor(np.log(np.maximum(x, 2)) ** 2)
    return np.where(x >= 2, large, x).astype(np.int32)


def logarithm(x: NDArray[Any], squared: bool) -> FloatArray:
    """Integers x ↦ ln(1 + max(x, 0)), or its square."""
    found = np.log1p(np.maximum(x, 0).astype(np.float64))
    return np.asarray(np.square(found) if squared else found)


def _looked_up(column: NDArray[Any], seen: NDArray[Any], ids: Ids, otherwise: int) -> NDArray[Any]:
    """The ids of cells that were seen."""
    if len(seen) == 0:
        return np.full(len(column), otherwise, np.int32)
    position = np.minimum(np.searchsorted(seen, column), len(seen) - 1)
    return np.where(seen[position] == column, ids[position], otherwise)


def _moments(values: FloatArray) -> tuple[float, float]:
    """Mean and deviation; a deviation of zero is one."""
    if len(values) == 0:
        return 0.0, 1.0
    return float(values.mean()), float(values.std()) or 1.0
