r"""A line, as in the paper: A(x) = ((x − center) / scale) C, with one active entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.engine import EntryKind
from lambdak.eigen.lazy import cached_property
from lambdak.table.cell_rules import LineRule
from lambdak.table.column_contract import Saved
from lambdak.table.numeric_column import SAVED_FACTS, Numeric, check_median, restored_facts
from lambdak.table.plain import Entries
from lambdak.table.seen import ColumnSettings, RawColumn, Seen

_MOST_SPREADS = 1e12  # no cell of n rows is further than √n standard deviations from the mean


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Linear(Numeric):
    """A column of numbers as a straight line: one design column, the slope.

    Attributes
    ----------
    center, scale : float
        Mean and standard deviation in training; of a sparse column 0 and the root mean square of its non-zeros.
    """

    kind: ClassVar[str] = "linear"
    saved_as: ClassVar[Mapping[str, Saved]] = {
        **dict.fromkeys(("center", "scale", "low", "high", "median"), Saved.NUMBER),
        "missing": Saved.FLAG,
        **SAVED_FACTS,
    }

    center: float = 0.0
    scale: float = 1.0

    @classmethod
    def suits(cls, raw: RawColumn, settings: ColumnSettings) -> bool:
        """Return whether the user asks for a line: by the name of the column, or of all columns by ``n_knots=0``."""
        return raw.name in settings.linear or settings.n_knots == 0

    @classmethod
    def fit(cls, seen: Seen, start: int, settings: ColumnSettings) -> Linear:
        """Return the line over the numbers of a column."""
        numbers = seen.numbers()
        center, scale = numbers.center_and_scale()
        return cls(
            seen.name, start, center=center, scale=scale, low=float(numbers.values[0]), high=float(numbers.values[-1]),
            clamp=settings.clamp, **numbers.facts(),
        )  # fmt: skip

    @cached_property
    def rule(self) -> LineRule:
        """One weight, the scaled number."""
        return LineRule(center=self.center, scale=self.scale, **self._number_rule())

    @property
    def spread(self) -> float:
        """The standard deviation in training."""
        return self.scale or float(self.high - self.low) or 1.0

    @property
    def n_entries(self) -> int:
        """One, the slope."""
        return 1

    @property
    def n_slots(self) -> int:
        """One."""
        return 1

    @property
    def packed_as(self) -> EntryKind:
        """A weight of any size."""
        return EntryKind.LINE

    def feature_names(self) -> list[str]:
        """The name of the column, then "missing"."""
        return [self.name, *([f"{self.name}=missing"] if self.has_missing else [])]

    # ---- from cells to entries ---------------------------------------------------------------------------------

    def _write_numbers_(self, x: Float64Array, ids: NDArray[np.int32], weights: FloatArray, threads: int) -> None:
        ids[:, 0] = self.start
        with np.errstate(over="ignore"):  # the model refuses what is too far away
            weights[:, 0] = ((np.clip(x, self.low, self.high) if self.clamp else x) - self.center) / self.scale

    def _number_entries(self, x: float) -> Entries:
        if self.clamp:
            x = self.low if x < self.low else self.high if x > self.high else x
        return (self.start,), ((x - self.center) / self.scale,)

    def _turn_to_slopes_(
        self, x: Float64Array, moves: NDArray[np.bool_], ids: NDArray[np.int32], weights: FloatArray, leftwards: bool
    ) -> None:
        weights[:, 0] = moves / self.scale

    # ---- its cells and moves -----------------------------------------------------------------------------------

    def nodes(self) -> Float64Array:
        """The two ends of the training range."""
        return np.array([self.low, self.high])

    def corners(self) -> Float64Array:
        """None inside of the training range."""
        return np.empty(0)

    def extreme_cells(self) -> Float64Array:
        """(cells, p): the two ends of the training range, then "missing"."""
        ends = np.zeros((2, self.width))
        ends[:, 0] = (self.nodes() - self.center) / self.scale
        return np.concatenate([ends, np.eye(self.width)[1:]])

    @cached_property
    def reach(self) -> float:
        """The largest absolute weight of an end of its range, but at least 1."""
        ends = (abs((end - self.center) / self.scale) for end in (self.low, self.high))
        return float(max(1.0, *ends))

    def exact_cells(self) -> list[dict[int, Fraction]]:
        """Design column → its weight at the two ends of the training range, then for "missing", without rounding."""
        center, scale = Fraction(self.center), Fraction(self.scale)
        ends = [{0: (Fraction(x) - center) / scale} for x in self.nodes().tolist()]
        return [*ends, *([{1: Fraction(1)}] if self.has_missing else [])]

    def increments(self) -> Any:
        """(1, p), sparse: one unit of the scaled number."""
        return sparse.eye_array(1, self.width, format="csr")

    def lengths(self) -> Float64Array:
        """(1,): that unit in units of the number."""
        return np.array([self.scale])

    def _within(self, tolerance: float) -> Float64Array:
        most = min(tolerance, self.high - self.low) if self.clamp else tolerance
        return np.asarray(most / self.scale * np.eye(self.width)[:1])

    # ---- in which coordinates it is trained --------------------------------------------------------------------

    @property
    def n_free(self) -> int:
        """The slope, unless nothing is known of it, and one for "missing"."""
        return self.width - int(self.low == self.high)

    def n_rising(self, bend: int = 0, sign: int = 0) -> int:
        """The slope, if anything is known of it."""
        return int(self.low < self.high)

    def ramps(self) -> Float64Array:
        """(p, 1 and "missing"): the slope, unless the numbers of training were all equal and say nothing of it."""
        return np.eye(self.width)[:, int(self.low == self.high) :]

    def rising(self) -> Float64Array:
        """(1, 1): the slope itself; (1, 0) if nothing is known of it."""
        return np.ones((1, int(self.low < self.high)))

    # ---- in a file ---------------------------------------------------------------------------------------------

    def saved(self) -> dict[str, Any]:
        """All that was computed in training."""
        numbers = {name: getattr(self, name) for name in ("center", "scale", "low", "high", "median")}
        return {**numbers, "missing": self.has_missing, **self._saved_facts()}

    @classmethod
    def restored(cls, start: int, clamp: bool, saved: Mapping[str, Any], what: str) -> Linear:
        """The line with these fields."""
        center, scale, low, high = (saved[name] for name in ("center", "scale", "low", "high"))
        if scale <= 0 or low > high:
            raise ValueError(f"{what} must have a positive scale and a range that is not empty")
        if max(abs(low - center), abs(high - center)) > _MOST_SPREADS * scale:
            raise ValueError(f"{what} must have a scale that fits its range; got {scale}")
        check_median(saved["median"], low, high, what)
        return cls(
            saved["name"], start, center=center, scale=scale, low=low, high=high, median=saved["median"],
            has_missing=saved["missing"], clamp=clamp, **restored_facts(saved, (low, high), what),
        )  # fmt: skip
