r"""The rows of one column's table: bands of numbers, knots to interpolate between, or levels; "missing" and "other".

A factor says which rows of its table a cell belongs to, and with which weights. For proofs it also lists vertices:
cells of the model's column, in an order in which the column is affine from each to the next unless there is a jump, and
the row of the table that each belongs to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.table.band_words import band_words, number_words
from lambdak.table.category_levels import OTHER
from lambdak.table.cells import Cells
from lambdak.table.column_contract import Column
from lambdak.table.numeric_column import Numeric

Positions = NDArray[np.intp]


class Row(NamedTuple):
    """One row of a factor table: a band, a knot, a level, missing cells or all others.

    Attributes
    ----------
    kind : {"band", "knot", "level", "missing", "other"}
    label : str
        In words.
    low, high : float or None
        Ends of a band, from ``low`` to below ``high``, None where it has no end; a knot is both.
    level : str, int, float, bool or None
        The level of a category.
    """

    kind: str
    label: str
    low: float | None = None
    high: float | None = None
    level: Any = None


class Vertices(NamedTuple):
    """Cells between which a column is affine: what they are, the row of each, and where there is a jump to the next."""

    cells: tuple[Any, ...]
    owner: Positions
    jumps: NDArray[np.bool_]  # (vertices − 1,)


@dataclass(frozen=True, eq=False)
class Factor(ABC):
    """One column of a model as the rows of a table."""

    column: Column

    form: ClassVar[str]  # its name in files

    @cached_property
    @abstractmethod
    def rows(self) -> tuple[Row, ...]:
        """What its rows stand for."""

    @property
    @abstractmethod
    def n_ordered(self) -> int:
        """How many of its rows, the first ones, follow one another: bands or knots."""

    @abstractmethod
    def entries(self, cells: Cells) -> tuple[Positions, Float64Array]:
        """Rows and weights of cells, (n, slots) each."""

    @cached_property
    @abstractmethod
    def vertices(self) -> Vertices:
        """See the module."""

    @abstractmethod
    def matrices(self, matrices: Float64Array) -> Float64Array:
        """(members, vertices, D): the model's matrices at the vertices, from those of its column (members, p, D)."""

    @property
    def tied(self) -> tuple[int, int] | None:
        """A row that no cell belongs to, and the row whose value it repeats; None if there is none."""
        return None

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class _Numbers(Factor):
    """What the factors of a column of numbers share: a last row for missing cells."""

    column: Numeric

    def _missing_row(self) -> Row:
        read = "" if self.column.has_missing else f" (read as {number_words(self.column.median)})"
        return Row("missing", f"missing{read}")

    def _with_missing(self, x: Sequence[float], owner: Sequence[int], jumps: Sequence[bool]) -> Vertices:
        """The vertices at some numbers, and that of a missing cell."""
        return Vertices((*x, None), np.array([*owner, len(self) - 1], np.intp), np.array([*jumps, True]))

    def matrices(self, matrices: Float64Array) -> Float64Array:
        """Matrices (members, vertices, D) at the vertices: those of the numbers, then that of a missing cell."""
        x = [self.column.median if cell is None else float(cell) for cell in self.vertices.cells]
        found = np.asarray(self.column.cell_rows(x) @ matrices)
        if self.column.has_missing:
            found[:, -1] = matrices[:, -1]
        return found


@final
@dataclass(frozen=True, eq=False)
class Bands(_Numbers):
    """Bands (−∞, e_1), [e_1, e_2), …, [e_n, ∞), then missing cells: constant within each.

    With ``whole`` the vertices are about whole numbers only.
    """

    edges: Float64Array
    whole: bool = False
    form: ClassVar[str] = "bands"

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The bands, then "missing"."""
        ends = [None, *self.edges.tolist(), None]
        bands = [
            Row("band", band_words(low, high, self.whole, self.column.two_values or ()), low, high)
            for low, high in pairwise(ends)
        ]
        return (*bands, self._missing_row())

    @property
    def n_ordered(self) -> int:
        """The number of bands."""
        return len(self.edges) + 1

    def entries(self, cells: Cells) -> tuple[Positions, Float64Array]:
        """The band of each cell, with weight one."""
        x = cells.numbers()
        found = np.searchsorted(self.edges, x, side="right")
        found[np.isnan(x)] = self.n_ordered if self.tied is None else self.tied[1]
        return found[:, None], np.ones((len(x), 1))

    @property
    def tied(self) -> tuple[int, int] | None:
        """A missing cell is read as the median, unless some were missing in training."""
        if self.column.has_missing:
            return None
        return self.n_ordered, int(np.searchsorted(self.edges, self.column.median, side="right"))

    @cached_property
    def vertices(self) -> Vertices:
        """Vertices of the bands: the two ends of a band within the training range, and the knots between."""
        x: list[float] = []
        owner: list[int] = []
        leaps: list[bool] = []
        for band, (first, last) in enumerate(pairwise([-np.inf, *self.edges.tolist(), np.inf])):
            numbers = self._whole_vertices(first, last) if self.whole else self._vertices(first, last)
            leaps += [True, *self._leaps(numbers)] if len(numbers) else []
            x += numbers.tolist()
            owner += [band] * len(numbers)
        if self.tied is None:
            return self._with_missing(x, owner, leaps[1:])
        return Vertices(tuple(x), np.array(owner, np.intp), np.array(leaps[1:], bool))

    def _vertices(self, first: float, last: float) -> Float64Array:
        """The ends of a band within the training range, and the knots between."""
        ends, corners = np.clip([first, last], self.column.low, self.column.high), self.column.corners()
        return np.unique([*ends, *corners[(corners > ends[0]) & (corners < ends[1])]])

    def _whole_vertices(self, first: float, last: float) -> Float64Array:
        """The first and the last whole number of a band, those on either side of each knot between, and the median."""
        read = self.column.median  # what a missing cell is read as
        also = [] if self.column.has_missing or not first <= read < last else [read]
        ends = np.array([np.ceil(first), np.ceil(last) - 1.0])
        if ends[0] > ends[1]:
            return np.array(also)
        low, high = np.clip(ends, self.column.low, self.column.high)
        corners = self.column.corners()
        inside = corners[(corners > low) & (corners < high)]
        return np.unique([*np.clip([low, *np.floor(inside), *np.ceil(inside), high], low, high), *also])

    def _leaps(self, x: Float64Array) -> list[bool]:
        """Whether there is a knot between neighbours, so that the column is not affine from one to the other."""
        corners = self.column.corners()
        return [bool(((corners > low) & (corners < high)).any()) for low, high in pairwise(x.tolist())]


@final
@dataclass(frozen=True, eq=False)
class Knots(_Numbers):
    """The knots of a column, straight lines between, then missing cells: an additive column exactly.

    Beyond its knots the table is constant, or continues with its last slopes where the model does.
    """

    form: ClassVar[str] = "knots"

    @cached_property
    def nodes(self) -> Float64Array:
        """The knots, increasing; a line has two, and a constant one."""
        return np.unique(self.column.nodes())

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The knots, then "missing"."""
        return (*(Row("knot", number_words(x), x, x) for x in self.nodes.tolist()), self._missing_row())

    @property
    def n_ordered(self) -> int:
        """The number of knots."""
        return len(self.nodes)

    def entries(self, cells: Cells) -> tuple[Positions, Float64Array]:
        """The knots before and after each cell, and how close it is to each."""
        x, nodes = cells.numbers(), self.nodes
        gaps, last = np.isnan(x), len(self) - 1
        at = np.clip(x, nodes[0], nodes[-1]) if self.column.clamp or len(nodes) == 1 else x
        piece = np.clip(np.searchsorted(nodes, at, side="right") - 1, 0, max(len(nodes) - 2, 0))
        after = np.minimum(piece + 1, len(nodes) - 1)
        length = np.where(after > piece, nodes[after] - nodes[piece], 1.0)
        share = np.where(gaps, 0.0, (np.where(gaps, nodes[0], at) - nodes[piece]) / length)
        ids = np.where(gaps[:, None], last, np.stack([piece, after], axis=1))
        return ids, np.stack([1.0 - share, share], axis=1)

    @cached_property
    def vertices(self) -> Vertices:
        """The knots, and a missing cell."""
        n = len(self.nodes)
        return self._with_missing(self.nodes.tolist(), range(n), [False] * (n - 1))


@final
@dataclass(frozen=True, eq=False)
class Levels(Factor):
    """The levels of a category, then missing cells if there were some in training, and all other levels."""

    column: Column
    form: ClassVar[str] = "levels"

    @cached_property
    def _known(self) -> list[object]:
        return list(self.column.named_levels)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The levels, then "missing" and "other"; text that looks like a number or like these two is in quotes."""
        rest = [Row("other", "missing, or any other level")]
        if None in self.column.known_levels:
            rest = [Row("missing", "missing"), Row("other", "any other level")]
        labels = [str(level) for level in self._known]
        unclear = {label for label, count in Counter([*labels, *(row.label for row in rest)]).items() if count > 1}
        known = [
            Row("level", repr(level) if label in unclear else label, level=level)
            for label, level in zip(labels, self._known, strict=True)
        ]
        return (*known, *rest)

    @property
    def n_ordered(self) -> int:
        """Zero: levels have no order."""
        return 0

    @cached_property
    def _row_of_design(self) -> Positions:
        """The row of the table of each design column."""
        last = {None: len(self) - 2, OTHER: len(self) - 1}
        place = {level: i for i, level in enumerate(self._known)} | last
        return np.array([place[level] for level in self.column.known_levels], np.intp)

    def entries(self, cells: Cells) -> tuple[Positions, Float64Array]:
        """The level of each cell, with weight one."""
        ids = np.zeros((len(cells.levels()[0]), 1), np.int32)
        weights = np.zeros(ids.shape)
        self.column.write_(cells, ids, weights)
        found = np.where(weights > 0, self._row_of_design[ids - self.column.start], len(self) - 1)
        return found, np.ones(found.shape)

    @cached_property
    def vertices(self) -> Vertices:
        """The levels, and an unseen one, in the order of the model's matrices."""
        unseen = [] if OTHER in self.column.known_levels else [OTHER]
        owner = [*self._row_of_design.tolist(), *([len(self) - 1] if unseen else [])]
        return Vertices((*self.column.known_levels, *unseen), np.array(owner, np.intp), np.ones(len(owner) - 1, bool))

    def matrices(self, matrices: Float64Array) -> Float64Array:
        """Matrices (members, vertices, D) of the levels, and zero for an unseen one, if no levels were pooled."""
        return np.asarray(self.column.at_cells(matrices), np.float64)
