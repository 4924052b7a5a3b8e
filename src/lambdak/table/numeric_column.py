"""The contract of columns of numbers: a range, a median for missing cells, and cells between any two cells."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.lazy import cached_property
from lambdak.table.category_levels import shown
from lambdak.table.cells import Cells
from lambdak.table.column_contract import Column, Saved
from lambdak.table.knots import are_whole
from lambdak.table.number_scale import NumberScale
from lambdak.table.plain import Entries, plain_number

_TELLING = 3  # knots that are whole numbers: those of a fraction hardly ever are
SAVED_FACTS: Mapping[str, Saved] = {"whole": Saved.MAYBE, "quartiles": Saved.SOME}


@dataclass(frozen=True, eq=False, kw_only=True)
class Numeric(Column):
    """A column of numbers.

    Attributes
    ----------
    low, high : float
        Range of the numbers in training (0 and 0 if all were missing).
    median : float
        What a missing number is read as if none, or all, were missing in training.
    has_missing : bool
        Whether missing cells have their own design column, the last one: whether some, but not all, were missing in
        training.
    clamp : bool
        Whether the column is constant outside of [low, high]; otherwise it continues with the slope at its ends.
    whole : bool
        Whether all numbers of training were whole: what is asked or said about the column is then so, too.
    quartiles : tuple of float, optional
        Around the middle half of the numbers, see :func:`lambdak.table.knots.quartiles`; the two numbers themselves
        if there were only two. None if that is not known.
    """

    is_number: ClassVar[bool] = True

    low: float
    high: float
    median: float = float("nan")
    has_missing: bool = False
    clamp: bool = True
    whole: bool = False
    quartiles: tuple[float, float] | None = None

    @property
    @abstractmethod
    def n_entries(self) -> int:
        """Design columns beside that of a missing cell."""

    @property
    def stop(self) -> int:
        """One after its last design column."""
        return self.start + self.n_entries + self.has_missing

    @property
    def missing(self) -> int:
        """Design column of a missing cell; -1 if there is none."""
        return self.start + self.n_entries if self.has_missing else -1

    @property
    def two_values(self) -> tuple[float, float] | None:
        """The two numbers of a column that has no others; None of all other columns."""
        ends = self.low, self.high
        return ends if self.low < self.high and self.quartiles == ends else None

    @property
    def bounded(self) -> bool:
        """Whether no number, however large, lies outside of the extreme cells."""
        return self.clamp

    def _number_rule(self) -> dict[str, Any]:
        """What every rule for numbers says."""
        return {
            "start": self.start,
            "n_entries": self.n_entries,
            "missing": self.missing,
            "low": self.low,
            "high": self.high,
            "median": self.median,
            "clamp": self.clamp,
        }

    # ---- from cells to entries ---------------------------------------------------------------------------------

    def write_(self, cells: Cells, ids: NDArray[np.int32], weights: FloatArray, threads: int = 0) -> None:
        """Fill with the active entries of ``cells``."""
        x = cells.numbers()
        gaps = np.isnan(x)
        some = gaps.any()
        self._write_numbers_(np.where(gaps, self.median, x) if some else x, ids, weights, threads)
        if some and self.has_missing:
            ids[gaps] = self.missing
            weights[gaps] = [1.0, 0.0][: self.n_slots]

    def cell_entries(self, cell: object, named: bool) -> Entries | None:
        """The active entries of one plain cell; None if it is not plain."""
        x = plain_number(cell)
        if x is None:
            return None
        if x == x:
            return self._number_entries(x)
        if self.has_missing:
            return (self.missing,) * self.n_slots, (1.0, 0.0)[: self.n_slots]
        return self._number_entries(self.median)

    def write_slopes_(self, cells: Cells, ids: NDArray[np.int32], weights: FloatArray, leftwards: bool = False) -> None:
        """Fill with dA/dx."""
        self.write_(cells, ids, weights)
        x = cells.numbers()
        inside = (x >= self.low) & (x <= self.high) & (self.low < self.high)
        self._turn_to_slopes_(x, inside if self.clamp else ~np.isnan(x), ids, weights, leftwards)

    @abstractmethod
    def _write_numbers_(self, x: Float64Array, ids: NDArray[np.int32], weights: FloatArray, threads: int) -> None:
        """Fill with the active entries of numbers, none missing."""

    @abstractmethod
    def _number_entries(self, x: float) -> Entries:
        """The active entries of one number."""

    @abstractmethod
    def _turn_to_slopes_(
        self, x: Float64Array, moves: NDArray[np.bool_], ids: NDArray[np.int32], weights: FloatArray, leftwards: bool
    ) -> None:
        """Turn the entries of A(x) into those of dA/dx, which is zero unless a number ``moves`` A."""

    # ---- its cells ---------------------------------------------------------------------------------------------

    @abstractmethod
    def nodes(self) -> Float64Array:
        """(cells,): the numbers of its extreme cells, increasing."""

    @abstractmethod
    def corners(self) -> Float64Array:
        """(n,): numbers at which its slope may change, increasing."""

    @cached_property
    def axis_scale(self) -> NumberScale:
        """Where its numbers stand on an axis or a slider."""
        return NumberScale.of(self.nodes(), self.quartiles, self.whole)

    @property
    def spread(self) -> float:
        """The range of the middle half of its nodes; of all of them, or 1, if that is zero."""
        nodes = self.nodes()
        return float(np.subtract(*np.quantile(nodes, [0.75, 0.25]))) or float(np.ptp(nodes)) or 1.0

    def cell_names(self) -> list[str]:
        """Numbers, then "missing"."""
        return [*map(shown, self.nodes()), *(["missing"] if self.has_missing else [])]

    def baseline(self) -> Float64Array:
        """(p,): the cell at the median."""
        return np.asarray(self.cell_rows([self.median])[0])

    @property
    def baseline_name(self) -> float:
        """The median."""
        return self.median

    def points(self, most: int) -> tuple[tuple[float, ...], Float64Array]:
        """Numbers: nodes, median, and others between, whole ones of a whole column; and (cells, p), "missing" added."""
        nodes = self.nodes()
        between = _divided(nodes, max(1, (most - 1) // max(len(nodes) - 1, 1)))
        if not self.axis_scale.is_even:
            between = self.axis_scale.even(most)
        x = np.unique([*(np.rint(between) if self.whole else between), *nodes, self.median])
        missing = np.eye(self.width)[self.n_entries :]
        return tuple(x.tolist()), np.vstack([self.cell_rows(x), missing])

    def check_between(self, between: Any) -> Sequence[float]:
        """The two ends of a range; with None that of training."""
        try:
            ends = (self.low, self.high) if between is None else tuple(map(float, between))
        except (TypeError, ValueError):
            ends = ()
        if len(ends) != 2 or not np.isfinite(np.asarray(ends, float)).all() or ends[0] > ends[1]:
            raise ValueError(f"between must hold two numbers, the smaller first, for {self.name!r}; got {between!r}")
        return ends

    def grid(self, low: float, high: float, least: int) -> Float64Array:
        """Numbers from ``low`` to ``high``: the corners between, and at least ``least`` steps, evenly spread."""
        corners = self.corners()
        ends = np.array([low, *corners[(corners > low) & (corners < high)], high])
        return _divided(ends, -(-least // max(len(ends) - 1, 1)))

    def whole_grid(self, most: int, least: int) -> Float64Array:
        """The whole numbers of the range; if these are more than ``most``, those on both sides of :meth:`grid`."""
        first, last = np.ceil(self.low), np.floor(self.high)
        if last - first < most:
            return np.asarray(np.arange(first, last + 1.0))
        fine = self.grid(self.low, self.high, least)
        return np.unique(np.clip(np.concatenate([np.floor(fine), np.ceil(fine)]), first, last)) + 0.0

    def path(self, between: Sequence[Any], least: int) -> Float64Array:
        """(cells, p): the cells at :meth:`grid`."""
        low, high = between
        return self.cell_rows(self.grid(float(low), float(high), least))

    def shown_cells(self, cells: Cells) -> NDArray[np.object_]:
        """Cells as text."""
        return np.array([shown(number) for number in cells.numbers()], object)

    def plain_cells(self, cells: Cells) -> NDArray[np.object_]:
        """Numbers, and None for missing ones."""
        numbers = cells.numbers()
        plain = numbers.astype(object)
        plain[np.isnan(numbers)] = None
        return plain

    # ---- in a file ---------------------------------------------------------------------------------------------

    def _saved_facts(self) -> dict[str, Any]:
        """What a file says beside knots or scale."""
        return {"whole": self.whole, "quartiles": list(self.quartiles or ())}


def restored_facts(saved: Mapping[str, Any], nodes: Sequence[float], what: str) -> dict[str, Any]:
    """Whether a column is whole, and its quartiles; of a file that does not say so, it is whole if three knots are."""
    quartiles, whole = saved["quartiles"], saved["whole"]
    if quartiles and not (len(quartiles) == 2 and nodes[0] <= quartiles[0] <= quartiles[1] <= nodes[-1]):
        raise ValueError(f"quartiles of {what} must be two numbers in its range, the smaller first; got {quartiles}")
    if whole and not are_whole(np.array([nodes[0], nodes[-1]])):
        raise ValueError(f"{what} must have a range of whole numbers, as whole says; got {nodes[0]} to {nodes[-1]}")
    known = len(nodes) >= _TELLING and are_whole(np.asarray(nodes, np.float64)) if whole is None else whole
    return {"whole": known, "quartiles": tuple(quartiles) or None}


def _divided(ends: Float64Array, share: int) -> Float64Array:
    """All ends, and ``share`` − 1 numbers evenly between each two."""
    fine = ends[:-1, None] + np.diff(ends)[:, None] * (np.arange(share) / share)
    return np.append(fine.ravel(), ends[-1])


def check_median(median: float, low: float, high: float, what: str) -> None:
    """Refuse a median outside of the range of a column."""
    if not low <= median <= high:
        raise ValueError(f"median of {what} must be in its range [{low}, {high}]; got {median}")
