"""One user column as a matrix curve: A(x) = Σ_s w_s(x) C[id_s(x)], with one or two active entries.

A curve through knots κ_0 < … < κ_{K-1} has two, A(x) = (1−t) C_j + t C_{j+1} for x in [κ_j, κ_{j+1}]; a linear
column has one, A(x) = ((x − center) / scale) C; so has a category, A(level) = C[level]. Outside of the knots a curve
is constant, or goes on with the slope of its first and last piece: then t < 0 or t > 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import FloatArray
from lambdak.eigen.runtime import native
from lambdak.table.knots import Floats, auto_knots, center_and_scale, choose_knots, distinct, median
from lambdak.table.read import Cells


class Pooled(Enum):
    """The level that stands for all rare and unseen levels; an enumeration, so that it survives pickling as itself."""

    OTHER = "other"

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[type[Pooled], tuple[str]]:  # for skops; pickle knows enumerations
        return Pooled, (self.value,)


OTHER: Final = Pooled.OTHER


@dataclass(frozen=True, eq=False)
class Column:
    """A(x) of one user column: which design columns [start, stop) it owns, and how a cell selects among them.

    Attributes
    ----------
    name : str
        The user's name of the column, or x0, x1, … for arrays.
    kind : {"curve", "linear", "category"}
        A curve owns one design column per knot, a linear column one, a category one per level.
    start, stop : int
        Its design columns. Design column 0 is the constant and belongs to no user column.
    knots : array of shape (K,)
        Increasing knots of a curve, from ``low`` to ``high``. Empty otherwise.
    levels : tuple
        Levels of a category in design order: numbers ascending, then strings in alphabetical order, then None if
        cells were missing in training, then OTHER if levels were pooled. Empty otherwise.
    center, scale : float
        Mean and standard deviation in training of a linear column; 0 and 1 otherwise.
    low, high : float
        Range of the numbers in training (0 and 0 if all were missing); NaN for a category.
    missing : int
        Design column of a missing cell; -1 if none was missing in training. It comes after the knots or the slope.
    median : float
        Where a missing number is read if none was missing in training; NaN for a category.
    clamp : bool
        Whether a column of numbers is constant outside of [low, high]; otherwise it goes on with its end slopes.
    """

    name: str
    kind: str
    start: int
    stop: int
    knots: Floats = field(default_factory=lambda: np.empty(0))
    levels: tuple[object, ...] = ()
    center: float = 0.0
    scale: float = 1.0
    low: float = float("nan")
    high: float = float("nan")
    missing: int = -1
    median: float = float("nan")
    clamp: bool = True

    @property
    def n_ramps(self) -> int:
        """K − 1, the number of pieces of a curve; 0 for other kinds and for a curve with a single knot."""
        return max(len(self.knots) - 1, 0)

    @property
    def n_slots(self) -> int:
        """Active entries of a cell: two for a curve with pieces, otherwise one."""
        return 2 if self.n_ramps else 1

    def write_(self, cells: Cells, ids: NDArray[np.int32], weights: FloatArray, threads: int = 0) -> None:
        """Fill ``ids`` and ``weights``, both (rows, n_slots), with the active entries of ``cells``."""
        if self.kind == "category":
            self._write_category_(cells, ids, weights)
            return
        x = cells.numbers()
        gaps = np.isnan(x)
        if gaps.any():
            x = np.where(gaps, self.median, x)
        if self.n_ramps:
            self._write_curve_(x, ids, weights, threads)
        else:
            ids[:, 0] = self.start
            weights[:, 0] = 1.0 if self.kind == "curve" else self._slope_weight(x)
        if self.missing >= 0 and gaps.any():
            ids[gaps] = self.missing
            weights[gaps] = [1.0, 0.0][: self.n_slots]

    def write_slopes_(self, cells: Cells, ids: NDArray[np.int32], weights: FloatArray, leftwards: bool = False) -> None:
        """Fill with dA/dx instead of A(x): at a knot the slope to its right, or ``leftwards``, if there are two.

        There is none where A is constant or a cell is missing. In the place of a category's slope stands its level.
        """
        self.write_(cells, ids, weights)
        if self.kind == "category":
            return
        x = cells.numbers()
        inside = (x >= self.low) & (x <= self.high) & (self.low < self.high)
        moves = inside if self.clamp else ~np.isnan(x)
        if self.n_ramps:
            piece = np.where(moves, ids[:, 0] - self.start, 0)
            if leftwards:
                piece = np.maximum(piece - (moves & (x == self.knots[piece])), 0)
                ids[moves] = self.start + piece[moves, None] + np.arange(2)
            steep = moves / np.diff(self.knots)[piece]
            weights[:, 0], weights[:, 1] = -steep, steep
        else:
            weights[:, 0] = moves / self.scale if self.kind == "linear" else 0.0

    def _write_curve_(self, x: Floats, ids: NDArray[np.int32], weights: FloatArray, threads: int = 0) -> None:
        kernel = native()
        if kernel is not None:
            numbers = np.ascontiguousarray(x, np.float64)
            kernel.curve(numbers, self.knots, self.start, self.clamp, (ids, weights), threads)
            return
        x = np.clip(x, self.knots[0], self.knots[-1]) if self.clamp else x
        piece = np.searchsorted(self.knots[1:-1], x, side="right")
        t = (x - self.knots[piece]) / np.diff(self.knots)[piece]
        ids[:, 0] = piece + self.start
        ids[:, 1] = piece + (self.start + 1)
        weights[:, 0] = 1.0 - t
        weights[:, 1] = t

    def _slope_weight(self, x: Floats) -> Floats:
        if self.clamp:
            x = np.clip(x, self.low, self.high)
        return (x - self.center) / self.scale

    def _write_category_(self, cells: Cells, ids: NDArray[np.int32], weights: FloatArray) -> None:
        codes, levels = cells.levels()
        positions = {level: i for i, level in enumerate(self.levels)}
        found = np.array([positions.get(level, positions.get(OTHER, -1)) for level in levels], np.int32)
        given, known = _are_strings(levels), _are_strings(self.levels)
        if cells.named and given and known and not given & known:
            raise ValueError(
                f"column {self.name!r} must hold {'strings' if True in known else 'numbers'}, as in training; got "
                f"{next(level for level in levels if level is not None)!r}: convert it first"
            )
        ids[:, 0] = (self.start + np.maximum(found, 0))[codes]
        weights[:, 0] = (found >= 0)[codes]


def _are_strings(levels: Iterable[object]) -> set[bool]:
    """Whether levels are strings: both answers may occur."""
    return {isinstance(level, str) for level in levels if level is not None and level is not OTHER}


def fit_number(cells: Cells, start: int, n_knots: int | None, clamp: bool, mass: Floats | None) -> Column:
    """Column of numbers with ``n_knots`` knots (None: as many as suit the rows; 0: linear); the rows weigh ``mass``."""
    x = cells.numbers()
    seen = ~np.isnan(x)
    gaps = not seen.all()
    values, weight = distinct(x[seen], None if mass is None else mass[seen])
    if not len(values):
        values, weight = np.zeros(1), np.ones(1)
    n_knots = auto_knots(len(x) if mass is None else mass.sum()) if n_knots is None else n_knots
    knots = choose_knots(values, weight, n_knots) if n_knots else np.empty(0)
    center, scale = (0.0, 1.0) if n_knots else center_and_scale(values, weight)
    end = start + max(len(knots), 1)
    return Column(
        name=cells.name,
        kind="curve" if n_knots else "linear",
        start=start,
        stop=end + gaps,
        knots=knots,
        center=center,
        scale=scale,
        low=float(values[0]),
        high=float(values[-1]),
        missing=end if gaps else -1,
        median=median(values, weight),
        clamp=clamp,
    )


def fit_category(cells: Cells, start: int, min_level_count: int, max_levels: int, mass: Floats | None) -> Column:
    """Column of levels; those with less than ``min_level_count`` rows, or beyond ``max_levels``, become OTHER."""
    codes, levels = cells.levels()
    counts = np.bincount(codes, mass, len(levels))
    kept = _kept_levels(dict(zip(levels, counts.tolist(), strict=True)), min_level_count, max_levels)
    return Column(
        name=cells.name,
        kind="category",
        start=start,
        stop=start + len(kept),
        levels=kept,
        missing=start + kept.index(None) if None in kept else -1,
    )


def _kept_levels(counts: dict[object, float], min_level_count: int, max_levels: int) -> tuple[object, ...]:
    """Frequent levels in natural order, then None, then OTHER; ties in frequency go to the first in that order."""
    seen = sorted((level for level in counts if level is not None), key=_natural)
    frequent = [level for level in seen if counts[level] >= min_level_count]
    kept = sorted(sorted(frequent, key=lambda level: -counts[level])[:max_levels], key=_natural)
    missing = [None] if None in counts else []
    pooled = [OTHER] if len(kept) < len(seen) else []
    return (*kept, *missing, *pooled)


def _natural(level: object) -> tuple[bool, object]:
    return isinstance(level, str), level
