"""What is kept of a column in one pass over its batches: enough to choose knots and levels, in memory that stays small.

A sketch takes batches in, and other sketches: workers each begin one, and these are merged. Nothing is random, and the
same batches in the same order give the same bits.
"""

from __future__ import annotations

import math
import warnings
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lambdak.table.category_levels import natural
from lambdak.table.cells import Cells
from lambdak.table.knots import Floats, center_and_scale, distinct
from lambdak.table.seen import SeenNumbers, numbers_of_training

EXACT_VALUES: Final = 1 << 13  # distinct numbers of a column, up to which all of them are kept
_CELLS = EXACT_VALUES // 2  # beyond: numbers that stand for equal shares of the rows
_ALL_ROWS = (
    1 << 18
)  # of a column with more distinct numbers; of those after it, fewer and fewer are sorted: 0.1 % of rank
MOST_LEVELS: Final = 1 << 20  # of a category, up to which all of them are counted


class NumberSketch:
    """Numbers of a column and how often each occurs: all of them, or some that stand for equal shares of the rows.

    Up to 8192 distinct numbers are kept as they are. Beyond, the number in the middle of its neighbours stands for
    about 1/4096 of the rows, and a number that has a larger share stands for itself, so that spikes stay as they are.
    Smallest and largest number, mean, standard deviation and whether any is missing are those of all rows.
    """

    def __init__(self) -> None:
        self.rows = 0  # all of them
        self.missing = 0
        self.values, self.mass = np.empty(0), np.empty(0)
        self.exact = True
        self._mean, self._deviation = 0.0, 0.0

    @property
    def seen(self) -> int:
        """Rows whose number is not missing."""
        return self.rows - self.missing

    def add_(self, cells: Cells, keys: Floats) -> None:
        """Take in the cells of a batch; random ``keys`` in [0, 1) decide which rows are left out, if any are."""
        x = numbers_of_training(cells)
        there = ~np.isnan(x)
        gone = len(x) - int(np.count_nonzero(there))
        self.add_missing_(gone)
        if gone < len(x):
            self._add_numbers_(x[there] if gone else x, keys[there] if gone else keys)

    def _add_numbers_(self, x: Floats, keys: Floats) -> None:
        share = 1.0 if self.exact else min(1.0, _ALL_ROWS / max(self.seen, 1))
        values, mass = distinct(x) if share == 1.0 else _some_distinct(x, x[keys < share])
        self._join_(values, mass, len(x), _moments(x))

    @classmethod
    def of_counts(cls, counts: dict[object, float]) -> NumberSketch:
        """The sketch of levels that are numbers or booleans, and None for missing cells."""
        result, there = cls(), {level: count for level, count in counts.items() if level is not None}
        if there:
            numbers = np.array([float(level) for level in there])  # type: ignore[arg-type]
            values, mass = distinct(numbers, np.array(list(there.values())))
            result._join_(values, mass, int(mass.sum()), center_and_scale(values, mass))
        result.add_missing_(int(counts.get(None, 0)))
        return result

    def add_missing_(self, rows: int) -> None:
        """Take in rows whose number is missing."""
        self.rows, self.missing = self.rows + rows, self.missing + rows

    def merge_(self, other: NumberSketch) -> None:
        """Take in another sketch of the same column."""
        self.add_missing_(other.missing)
        self.exact = self.exact and other.exact
        if other.seen:
            self._join_(other.values, other.mass, other.seen, (other._mean, other._deviation))

    def _join_(self, values: Floats, mass: Floats, rows: int, moments: tuple[float, float]) -> None:
        if len(values) > EXACT_VALUES:
            values, mass, self.exact = *condensed(values, mass, _CELLS), False
        self._mean, self._deviation = _joined((self.seen, self._mean, self._deviation), (rows, *moments))
        self.rows += rows
        together = np.concatenate([self.values, values])
        self.values, self.mass = distinct(together, np.concatenate([self.mass, mass]))
        if len(self.values) > EXACT_VALUES:
            self.values, self.mass, self.exact = *condensed(self.values, self.mass, _CELLS), False

    def numbers(self) -> SeenNumbers:
        """What columns are fitted with."""
        if not self.seen:
            return SeenNumbers.none(self.rows)
        spread = None if self.exact else (self._mean, max(self._deviation, np.finfo(np.float64).tiny))
        return SeenNumbers(self.values, self.mass, self.missing > 0, self.rows, spread)


def condensed(values: Floats, mass: Floats, cells: int) -> tuple[Floats, Floats]:
    """Some of the distinct ``values``, each for its neighbours: the ends, what has a share of 1/cells, and middles.

    >>> condensed(np.arange(12.0), np.array([1, 1, 1, 20, 1, 1, 1, 1, 1, 1, 1, 1.0]), 4)
    (array([ 0.,  1.,  3.,  6., 10., 11.]), array([ 1.,  2., 20.,  6.,  1.,  1.]))
    """
    share = mass.sum() / cells
    own = mass >= share
    own[[0, -1]] = True
    light = np.where(own, 0.0, mass)
    cell = np.floor((np.cumsum(light) - light / 2) / share)
    starts = np.flatnonzero(np.append(True, own[1:] | own[:-1] | (np.diff(cell) != 0)))
    total = np.add.reduceat(mass, starts)
    edges = np.cumsum(mass)
    middle = np.searchsorted(edges, edges[starts] - mass[starts] + total / 2)
    return values[middle], total


def _some_distinct(x: Floats, some: Floats) -> tuple[Floats, Floats]:
    """Distinct values of some of the numbers, with the mass of all; the ends are among them, as one row each."""
    values, mass = distinct(np.concatenate([[x.min(), x.max()], some]))
    each = (len(x) - 2) / max(len(some), 1)
    mass *= each
    mass[[0, -1]] += 1.0 - each
    return (values, mass) if len(values) > 1 else (values, np.array([float(len(x))]))


def _moments(x: Floats) -> tuple[float, float]:
    """Mean and standard deviation."""
    size = float(np.abs(x).max()) or 1.0  # squares of huge or tiny values would leave the range of a float
    return float((x / size).mean()) * size, float((x / size).std()) * size


def _joined(one: tuple[int, float, float], two: tuple[int, float, float]) -> tuple[float, float]:
    """Mean and standard deviation of two sets of numbers, each given by its size, mean and standard deviation."""
    (n1, mean1, deviation1), (n2, mean2, deviation2) = one, two
    n, apart = n1 + n2, mean2 - mean1
    between = abs(apart) * math.sqrt(n1 / n * (n2 / n))
    return mean1 + apart * (n2 / n), math.hypot(deviation1 * math.sqrt(n1 / n), deviation2 * math.sqrt(n2 / n), between)


class LevelCounts:
    """Levels of a column and their rows, None for missing cells.

    Beyond 2²⁰ levels the rarer half of them is forgotten, with a warning, and counted again should it come back.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts: dict[object, float] = {}
        self._warned = False

    def add_(self, codes: NDArray[np.intp], levels: list[object]) -> None:
        """Take in the cells of a batch."""
        self._join_(dict(zip(levels, np.bincount(codes, minlength=len(levels)).astype(float).tolist(), strict=True)))

    def merge_(self, other: LevelCounts) -> None:
        """Take in other counts of the same column."""
        self._join_(other.counts)

    def _join_(self, counts: dict[object, float]) -> None:
        own = self.counts
        for level, count in counts.items():
            own[level] = own.get(level, 0.0) + count
        if len(own) > MOST_LEVELS:
            self._forget_()

    def _forget_(self) -> None:
        if not self._warned:
            warnings.warn(
                f"column {self.name!r} has more than {MOST_LEVELS} levels: the rarest are not counted; group its "
                "levels before the fit to keep them",
                UserWarning,
                stacklevel=2,
            )
            self._warned = True
        missing = self.counts.pop(None, None)
        kept = sorted(self.counts, key=lambda level: (-self.counts[level], natural(level)))[: MOST_LEVELS // 2]
        self.counts = {level: self.counts[level] for level in kept}
        if missing is not None:
            self.counts[None] = missing
