r"""A curve through knots, and quantile levels as one.

A curve through knots κ_0 < … < κ_{K-1}: A(x) = (1−t) C_j + t C_{j+1} for x in [κ_j, κ_{j+1}].

Outside of the knots it is constant, or continues with the slope of its first and last piece: then t < 0 or t > 1.

Quantile levels as one more column: f(x, q) = λ_k(A(x) + P(q)), with P rising by semidefinite steps with q.

An eigenvalue never falls when a semidefinite matrix is added, so quantiles of one row never cross. Every row appears
once for each quantile level; the column is a curve whose knots are the quantile levels. (A level that is
not called a quantile level is one of a category.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lambdak._checks import freeze_arrays
from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.engine import EntryKind
from lambdak.eigen.lazy import cached_property
from lambdak.eigen.runtime import native
from lambdak.table.cell_rules import KnotRule
from lambdak.table.column_contract import Saved
from lambdak.table.design import Design
from lambdak.table.knots import auto_knots, choose_knots, spaced, with_nodes
from lambdak.table.numeric_column import SAVED_FACTS, Numeric, check_median, restored_facts
from lambdak.table.plain import Entries
from lambdak.table.seen import ColumnSettings, RawColumn, Seen

_SMALLEST = 1e-300  # replaces a range of zero in a division


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Curve(Numeric):
    """A column of numbers as a piecewise linear curve: one design column per knot, two of them active.

    A single knot is always active.

    Attributes
    ----------
    knots : array of shape (K,)
        Increasing, from ``low`` to ``high``; read-only.
    """

    kind: ClassVar[str] = "curve"
    saved_as: ClassVar[Mapping[str, Saved]] = {
        "knots": Saved.NUMBERS,
        "median": Saved.NUMBER,
        "missing": Saved.FLAG,
        **SAVED_FACTS,
    }

    knots: Float64Array
    low: float = field(init=False)
    high: float = field(init=False)

    def __post_init__(self) -> None:
        knots = np.array(self.knots, np.float64)
        for name, value in (("knots", knots), ("low", float(knots[0])), ("high", float(knots[-1]))):
            object.__setattr__(self, name, value)
        freeze_arrays(self)

    @classmethod
    def suits(cls, raw: RawColumn, settings: ColumnSettings) -> bool:
        """Return True: what no other type takes becomes a curve."""
        return True

    @classmethod
    def fit(cls, seen: Seen, start: int, settings: ColumnSettings) -> Curve:
        """Return a curve with as many knots as the settings say, or as the number of rows allows."""
        numbers, clamp = seen.numbers(), settings.clamp
        n_knots = auto_knots(numbers.rows) if settings.n_knots is None else settings.n_knots
        n_knots = min(n_knots, max(settings.most_knots - len(settings.nodes), 2))
        knots = choose_knots(numbers.values, numbers.mass, n_knots)
        apart = settings.spaced or not clamp
        knots = with_nodes(spaced(knots) if apart else knots, settings.nodes, apart)
        return cls(seen.name, start, knots=knots, clamp=clamp, **numbers.facts())

    @cached_property
    def rule(self) -> KnotRule:
        """Two knots around a number."""
        return KnotRule(knots=self.knots, **self._number_rule())

    @property
    def n_entries(self) -> int:
        """The number K of knots."""
        return len(self.knots)

    @property
    def n_ramps(self) -> int:
        """K − 1, the number of pieces."""
        return len(self.knots) - 1

    @property
    def n_slots(self) -> int:
        """Two, or one if there are no pieces."""
        return 2 if self.n_ramps else 1

    @property
    def packed_as(self) -> EntryKind:
        """A piece, or one of two levels if there are no pieces: a number, and "missing"."""
        return EntryKind.PIECE if self.n_ramps else EntryKind.LEVEL

    def feature_names(self) -> list[str]:
        """Names of the design columns: one per knot, then "missing"."""
        knots = [f"{self.name}={knot:g}" for knot in self.knots]
        return [*knots, *([f"{self.name}=missing"] if self.has_missing else [])]

    # ---- from cells to entries ---------------------------------------------------------------------------------

    def _write_numbers_(self, x: Float64Array, ids: NDArray[np.int32], weights: FloatArray, threads: int) -> None:
        kernel = native()
        if not self.n_ramps:
            ids[:, 0], weights[:, 0] = self.start, 1.0
        elif kernel is not None:
            numbers = np.ascontiguousarray(x, np.float64)
            kernel.curve(numbers, self.knots, self.start, self.clamp, (ids, weights), threads)
        else:
            self._interpolate_(x, ids, weights)

    def _interpolate_(self, x: Float64Array, ids: NDArray[np.int32], weights: FloatArray) -> None:
        """Fill with the two knots around every number and their weights, without the kernel."""
        x = np.clip(x, self.low, self.high) if self.clamp else x
        piece = np.searchsorted(self.knots[1:-1], x, side="right")
        with np.errstate(over="ignore"):  # the model refuses what is too far away
            t = (x - self.knots[piece]) / self.lengths()[piece]
        ids[:, 0] = piece + self.start
        ids[:, 1] = piece + (self.start + 1)
        weights[:, 0] = 1.0 - t
        weights[:, 1] = t

    def _number_entries(self, x: float) -> Entries:
        if not self.n_ramps:
            return (self.start,), (1.0,)
        if self.clamp:
            x = self.low if x < self.low else self.high if x > self.high else x
        knots = self._knots
        piece = bisect_right(knots, x, 1, len(knots) - 1) - 1
        t = (x - knots[piece]) / (knots[piece + 1] - knots[piece])
        return (self.start + piece, self.start + piece + 1), (1.0 - t, t)

    @cached_property
    def _knots(self) -> list[float]:
        """The knots for one number at a time."""
        return list(map(float, self.knots))

    def _turn_to_slopes_(
        self, x: Float64Array, moves: NDArray[np.bool_], ids: NDArray[np.int32], weights: FloatArray, leftwards: bool
    ) -> None:
        if not self.n_ramps:
            weights[:, 0] = 0.0
            return
        piece = np.where(moves, ids[:, 0] - self.start, 0)
        if leftwards:
            piece = np.maximum(piece - (moves & (x == self.knots[piece])), 0)
            ids[moves] = self.start + piece[moves, None] + np.arange(2)
        steep = moves / self.lengths()[piece]
        weights[:, 0], weights[:, 1] = -steep, steep

    # ---- its cells and moves -----------------------------------------------------------------------------------

    def nodes(self) -> Float64Array:
        """The knots."""
        return self.knots

    def corners(self) -> Float64Array:
        """The knots."""
        return self.knots

    def at_cells(self, own: FloatArray) -> FloatArray:
        """(…, cells, D): its matrices, those of the knots and of "missing"."""
        return own

    def increments(self) -> Any:
        """(K − 1, p), sparse: from knot to knot."""
        return self._increments

    @cached_property
    def _increments(self) -> Any:
        steps = np.arange(self.n_ramps)
        parts = (np.tile([-1.0, 1.0], len(steps)), (steps[:, None] + [0, 1]).ravel(), 2 * np.arange(len(steps) + 1))
        return sparse.csr_array(parts, shape=(len(steps), self.width))

    def lengths(self) -> Float64Array:
        """(K − 1,): distances from knot to knot."""
        return np.asarray(np.diff(self.knots))

    def exact_lengths(self) -> list[Fraction]:
        """Distances from knot to knot, without rounding."""
        return [Fraction(high) - Fraction(low) for low, high in pairwise(self.knots.tolist())]

    def _within(self, tolerance: float) -> Float64Array:
        if not self.n_ramps:
            return np.zeros((1, self.width))
        first, second = np.triu_indices(len(self.knots), 1)
        close = self.knots[second] - self.knots[first] <= tolerance
        low = np.concatenate([self.knots, self.knots - tolerance, self.knots[first[close]]])
        high = np.concatenate([self.knots + tolerance, self.knots, self.knots[second[close]]])
        return self.cell_rows(high) - self.cell_rows(low)

    # ---- in which coordinates it is trained --------------------------------------------------------------------

    @property
    def n_free(self) -> int:
        """K − 1, and one for "missing"."""
        return self.n_ramps + self.width - self.n_entries

    @property
    def n_straight(self) -> int:
        """One, and one for "missing"."""
        return 1 + self.width - self.n_entries

    def n_rising(self, bend: int = 0, sign: int = 0) -> int:
        """K − 1; hinges that may rise and fall are at inner knots only."""
        return self.n_ramps if sign or not bend else self.n_ramps - 1

    def ramps(self) -> Float64Array:
        """(p, K − 1 and "missing"): knot j is the sum of the first j increments."""
        steps = np.zeros((self.width, self.n_ramps))
        steps[: self.n_entries] = self.rising()
        return np.concatenate([steps, np.eye(self.width)[:, self.n_entries :]], axis=1)

    def straight(self) -> Float64Array:
        """(p, 1 and "missing"): a slope across all knots, centred."""
        slope = np.zeros((self.width, 1))
        slope[: self.n_entries, 0] = (self.knots - self.knots.mean()) / max(np.ptp(self.knots), _SMALLEST)
        return np.concatenate([slope, np.eye(self.width)[:, self.n_entries :]], axis=1)

    def rising(self) -> Float64Array:
        """(K, K − 1): knot j is the sum of the first j steps."""
        return np.tri(self.n_entries, self.n_ramps, -1)

    def hinged(self, sign: int) -> Float64Array:
        """(K, hinges): hinges at the inner knots; with a sign, hinges that all rise (1) or all fall (-1)."""
        x = (self.knots - self.knots[0]) / np.ptp(self.knots)
        if sign:
            return np.asarray(np.maximum(sign * (x[:, None] - (x[:-1] if sign > 0 else x[1:])), 0))
        return np.asarray(np.maximum(x[:, None] - x[1:-1], 0))

    # ---- in a file ---------------------------------------------------------------------------------------------

    def saved(self) -> dict[str, Any]:
        """Knots and median; the range follows from the knots."""
        return {"knots": self.knots.tolist(), "median": self.median, "missing": self.has_missing, **self._saved_facts()}

    @classmethod
    def restored(cls, start: int, clamp: bool, saved: Mapping[str, Any], what: str) -> Curve:
        """The curve with these fields."""
        knots, middle = saved["knots"], saved["median"]
        if any(low >= high for low, high in pairwise(knots)):
            raise ValueError(f"knots of {what} must increase")
        check_median(middle, knots[0], knots[-1], what)
        return cls(
            saved["name"], start, knots=knots, median=middle, has_missing=saved["missing"], clamp=clamp,
            **restored_facts(saved, knots, what),
        )  # fmt: skip


def level_column(quantile_levels: Sequence[float], start: int) -> Curve:
    """The column that holds the quantile level of a row, whose first design column is ``start``."""
    return Curve("quantile level", start, knots=np.asarray(quantile_levels, float))


def with_levels(design: Design, n_design: int, n_levels: int) -> Design:
    """Every row once for each of ``n_levels`` quantile levels, the copies of one row next to each other."""
    return at_levels(design, n_design, np.broadcast_to(np.arange(n_levels), (len(design), n_levels)))


def at_levels(design: Design, n_design: int, levels: NDArray[np.integer]) -> Design:
    """Every row once for each of its ``levels`` (rows, n), by their numbers; the copies of a row follow one another."""
    n_levels = levels.shape[1]
    ids = np.column_stack([np.repeat(design.ids, n_levels, axis=0), n_design + levels.ravel()])
    weights = np.column_stack([np.repeat(design.weights, n_levels, axis=0), np.ones(levels.size)])
    return Design(ids.astype(np.int32), weights.astype(design.weights.dtype))
