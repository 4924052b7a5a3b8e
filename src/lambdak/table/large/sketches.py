"""What is kept of a column in one pass over its batches: enough to choose knots and levels, in memory that stays small.

A sketch takes batches in, and other sketches: workers each begin one, and these are merged. Nothing is random, and the
same batches in the same order give the same bits.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.table.category_levels import natural
from lambdak.table.cells import Cells
from lambdak.table.knots import are_whole, center_and_scale, distinct
from lambdak.table.seen import SeenNumbers, numbers_of_training

EXACT_VALUES: Final = 1 << 13  # distinct numbers of a column, up to which all of them are kept
MOST_LEVELS: Final = 1 << 20  # of a category, up to which all of them are counted

_COMPRESSION = 1000  # of a t-digest: its ranks are right to about 0.1 %, in some 20 kB
_RANKS = 1 << 12  # of a t-digest, at which its numbers are read


class NumberSketch:
    """Numbers of a column: counts of all of them, or a t-digest where they are many.

    Up to 8192 distinct numbers are counted as they are, so that whole numbers and spikes stay exact. Smallest and
    largest number, mean, standard deviation and whether any is missing are those of all rows. A t-digest, that of the
    library datasketches, takes in the ``share`` of the rows with the smallest keys.
    """

    def __init__(self, share: float = 1.0) -> None:
        self.rows = 0  # all of them
        self.missing = 0
        self.values, self.mass = np.empty(0), np.empty(0)
        self._digest: Any = None
        self._share = share
        self._ends = (np.inf, -np.inf)
        self._mean, self._deviation = 0.0, 0.0
        self._whole = True  # all of them

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_digest": None if self._digest is None else self._digest.serialize()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self._digest is not None:
            self._digest = _t_digest().deserialize(self._digest)

    @property
    def exact(self) -> bool:
        """Whether all numbers are counted."""
        return self._digest is None

    @property
    def seen(self) -> int:
        """Rows whose number is not missing."""
        return self.rows - self.missing

    def add_(self, cells: Cells, keys: Float64Array) -> None:
        """Take in the cells of a batch; random ``keys`` in [0, 1) decide which rows a t-digest leaves out."""
        x = numbers_of_training(cells)
        there = ~np.isnan(x)
        gone = len(x) - int(np.count_nonzero(there))
        self.add_missing_(gone)
        if gone < len(x):
            self._add_numbers_(x[there] if gone else x, keys[there] if gone else keys)

    def _add_numbers_(self, x: Float64Array, keys: Float64Array) -> None:
        self._count_(len(x), _moments(x), (float(x.min()), float(x.max())))
        self._whole = self._whole and are_whole(x)
        if self.exact:
            self._join_(*distinct(x))
        else:
            self._digest.update(np.ascontiguousarray(x if self._share == 1.0 else x[keys < self._share]))
            self._digest.compress()  # now, and not when it is sent to another process: that would change its bits

    @classmethod
    def of_counts(cls, counts: dict[object, float], share: float = 1.0) -> NumberSketch:
        """The sketch of levels that are numbers or booleans, and None for missing cells."""
        result, there = cls(share), {level: count for level, count in counts.items() if level is not None}
        if there:
            numbers = np.array([float(level) for level in there])  # type: ignore[arg-type]
            values, mass = distinct(numbers, np.array(list(there.values())))
            result._count_(int(mass.sum()), center_and_scale(values, mass), (float(values[0]), float(values[-1])))
            result._whole = are_whole(values)
            result._join_(values, mass)
        result.add_missing_(int(counts.get(None, 0)))
        return result

    def add_missing_(self, rows: int) -> None:
        """Take in rows whose number is missing."""
        self.rows, self.missing = self.rows + rows, self.missing + rows

    def merge_(self, other: NumberSketch) -> None:
        """Take in another sketch of the same column."""
        self.add_missing_(other.missing)
        if not other.seen:
            return
        self._count_(other.seen, (other._mean, other._deviation), other._ends)
        self._whole = self._whole and other._whole
        if self.exact and other.exact:
            self._join_(other.values, other.mass)
            return
        self._turn_()
        self._digest.merge(other._digest if other._digest is not None else other._digested())
        self._digest.compress()

    def facts(self) -> list[float]:
        """Numbers that change with any of its cells."""
        return [self.rows, self.missing, *self._ends, self._mean, self._deviation]

    def _count_(self, rows: int, moments: tuple[float, float], ends: tuple[float, float]) -> None:
        self._mean, self._deviation = _joined((self.seen, self._mean, self._deviation), (rows, *moments))
        self.rows += rows
        self._ends = min(self._ends[0], ends[0]), max(self._ends[1], ends[1])

    def _join_(self, values: Float64Array, mass: Float64Array) -> None:
        together = np.concatenate([self.values, values])
        self.values, self.mass = distinct(together, np.concatenate([self.mass, mass]))
        if len(self.values) > EXACT_VALUES:
            self._turn_()

    def _turn_(self) -> None:
        """Turn counts into a t-digest."""
        if self.exact:
            self._digest = self._digested()
            self.values, self.mass = np.empty(0), np.empty(0)

    def _digested(self) -> Any:
        digest = _t_digest()(_COMPRESSION)
        if len(self.values):
            digest.update(_thinned(self.values, self.mass, self._share))
        digest.compress()
        return digest

    def numbers(self) -> SeenNumbers:
        """What columns are fitted with."""
        if not self.seen:
            return SeenNumbers.none(self.rows)
        if self.exact:
            return SeenNumbers(self.values, self.mass, self.missing > 0, self.rows)
        low, high = self._ends
        ranks = (np.arange(_RANKS) + 0.5) / _RANKS
        read = np.clip([self._digest.get_quantile(rank) for rank in ranks], low, high)
        values, mass = distinct(np.concatenate([[low], read, [high]]))
        spread = (self._mean, max(self._deviation, np.finfo(np.float64).tiny))
        return SeenNumbers(values, mass * (self.seen / mass.sum()), self.missing > 0, self.rows, spread, self._whole)


def _thinned(values: Float64Array, mass: Float64Array, share: float) -> Float64Array:
    """The numbers of a share of the rows, evenly spread over all of them in order.

    >>> _thinned(np.array([1.0, 5.0]), np.array([6.0, 2.0]), 0.5)
    array([1., 1., 1., 5.])
    """
    edges = np.cumsum(mass)
    places = (np.arange(max(int(edges[-1] * share), 1)) + 0.5) / share
    return np.asarray(values[np.minimum(np.searchsorted(edges, places), len(values) - 1)])


def _t_digest() -> Any:
    try:
        from datasketches import tdigest_double
    except ImportError:
        raise ImportError('large tables need a library of sketches: pip install "lambdak[tables]"') from None
    return tdigest_double


def _moments(x: Float64Array) -> tuple[float, float]:
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
        mine = self.counts
        for level, count in counts.items():
            mine[level] = mine.get(level, 0.0) + count
        if len(mine) > MOST_LEVELS:
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
        ordered = sorted(self.counts, key=lambda level: (-self.counts[level], natural(level)))
        kept, rest = ordered[: MOST_LEVELS // 2], ordered[MOST_LEVELS // 2 :]
        known = {type(level) for level in kept}  # what a column holds is not forgotten with its rare levels
        others = {type(level): level for level in reversed(rest) if type(level) not in known}
        self.counts = {level: self.counts[level] for level in [*kept, *others.values()]}
        if missing is not None:
            self.counts[None] = missing
