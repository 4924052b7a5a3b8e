r"""The contract of a column: one user column as a matrix curve, A(x) = Σ_s w_s(x) C[id_s(x)].

A column owns p design columns, of which one or two are active in a cell. It also says which cells it has, as
combinations of its p design columns, how it moves from one cell to the next, and what it looks like in a file.
A new type of column is one class that fills in this contract, and one line in :mod:`lambdak.table.column_types`: the
class says which columns of a table are of its type, and readers ask it for cells, moves, words and its cell rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lambdak._checks import freeze_arrays
from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.engine import EntryKind
from lambdak.eigen.lazy import cached_property
from lambdak.table.category_levels import OTHER
from lambdak.table.cell_rules import CellRule, KnotRule
from lambdak.table.cells import Cells
from lambdak.table.plain import Entries
from lambdak.table.seen import ColumnSettings, RawColumn, Seen


class Saved(Enum):
    """A field of a column in a file: true or false, a number, increasing numbers, levels of a category, kinds, order.

    Kinds of cells, and the order of levels, are omitted where there are none; what older files do not say may be true,
    false or absent, and some numbers or none.
    """

    FLAG = "flag"
    NUMBER = "number"
    NUMBERS = "numbers"
    LEVELS = "levels"
    KINDS = "kinds"
    ORDER = "order"
    MAYBE = "maybe"
    SOME = "some"


OMITTED: Mapping[Saved, Any] = {Saved.KINDS: [], Saved.ORDER: [], Saved.MAYBE: None, Saved.SOME: []}  # if they are this


@dataclass(frozen=True, eq=False)
class Column(ABC):
    """A(x) of one user column: which design columns [start, stop) it owns, and how a cell selects among them.

    Attributes
    ----------
    name : str
        The user's name of the column, or x0, x1, … for arrays.
    start : int
        Its first design column. Design column 0 is the constant and belongs to no user column.
    """

    name: str
    start: int

    kind: ClassVar[str]  # its name in files, and used nowhere else
    is_number: ClassVar[bool]  # whether its cells are numbers, so that there are cells between two cells
    saved_as: ClassVar[Mapping[str, Saved]]  # the fields of its object in a file, beside kind and name

    def __getstate__(self) -> dict[str, Any]:
        return {own.name: getattr(self, own.name) for own in fields(self)}  # nothing that can be computed again

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        freeze_arrays(self)

    # ---- from a table ------------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def suits(cls, raw: RawColumn, settings: ColumnSettings) -> bool:
        """Whether a column of a table becomes one of this type, unless an earlier line of the registry takes it."""

    @classmethod
    @abstractmethod
    def fit(cls, seen: Seen, start: int, settings: ColumnSettings) -> Self:
        """Return the column that training sees as ``seen``, with knots, levels, center and scale chosen from it."""

    # ---- its design columns ------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def stop(self) -> int:
        """One after its last design column."""

    @property
    @abstractmethod
    def missing(self) -> int:
        """Design column of a missing cell; -1 if none was missing in training."""

    @property
    def width(self) -> int:
        """The number p of its design columns."""
        return self.stop - self.start

    @property
    @abstractmethod
    def n_slots(self) -> int:
        """Active entries of a cell: one or two."""

    @property
    @abstractmethod
    def packed_as(self) -> EntryKind:
        """How its active entries are kept in a record, see :mod:`lambdak.table.large.packed`."""

    @abstractmethod
    def feature_names(self) -> list[str]:
        """What each of its design columns stands for."""

    @abstractmethod
    def write_(self, cells: Cells, ids: NDArray[np.int32], weights: FloatArray, threads: int = 0) -> None:
        """Fill ``ids`` and ``weights``, both (rows, n_slots), with the active entries of ``cells``."""

    @abstractmethod
    def cell_entries(self, cell: object, named: bool) -> Entries | None:
        """The active entries of one plain cell, bit for bit those of :meth:`write_`; None if only that can tell.

        ``named`` says whether the column was found by its name.
        """

    @property
    @abstractmethod
    def rule(self) -> CellRule:
        """How a cell selects design columns, as data: for those who compute it without this class."""

    @property
    def curve(self) -> tuple[Float64Array, int, bool] | None:
        """Knots, first design column and clamp, if two entries between its knots are all there is to a number."""
        rule = self.rule
        return (rule.knots, rule.start, rule.clamp) if isinstance(rule, KnotRule) and rule.n_pieces else None

    @abstractmethod
    def write_slopes_(self, cells: Cells, ids: NDArray[np.int32], weights: FloatArray, leftwards: bool = False) -> None:
        """Fill with dA/dx instead of A(x): at a knot the slope to its right, or ``leftwards``, if there are two.

        It is zero where A is constant or a cell is missing. A category has no slope: its level is written instead.
        """

    @property
    def order(self) -> tuple[object, ...]:
        """The levels from the lowest to the highest, if the table said so; nothing if they have no order."""
        return ()

    def without_order(self) -> Column:
        """Return the column as if its levels had none."""
        return self

    # ---- its cells ---------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """Whether no cell, seen in training or not, lies outside of the extreme cells."""

    @property
    def known_levels(self) -> tuple[Any, ...]:
        """Levels of training, then None if a missing cell is one and OTHER if some were pooled; () for numbers."""
        return ()

    @property
    def named_levels(self) -> tuple[Any, ...]:
        """Levels that have a name, in their order if they have one: neither None nor OTHER is among them."""
        known = [level for level in self.known_levels if level is not None and level is not OTHER]
        return (*self.order, *(level for level in known if level not in self.order))

    @property
    def holds_text(self) -> bool:
        """Whether some of its levels are text."""
        return any(isinstance(level, str) for level in self.known_levels)

    @property
    def spread(self) -> float:
        """How far apart two typical cells are; 1 for two levels."""
        return 1.0

    def cell_rows(self, values: Sequence[object] | Float64Array) -> Float64Array:
        """(n, p): cells, numbers or levels, as combinations of its design columns."""
        array = np.asarray(values, np.float64 if self.is_number else object)
        ids, weights = np.zeros((len(array), self.n_slots), np.int32), np.zeros((len(array), self.n_slots))
        self.write_(Cells(self.name, array, "number" if self.is_number else "text"), ids, weights)
        rows = np.zeros((len(array), self.width))
        np.add.at(rows, (np.arange(len(array))[:, None], np.where(weights == 0, 0, ids - self.start)), weights)
        return rows

    def extreme_cells(self) -> Float64Array:
        """(cells, p): cells between which its largest changes lie, with "missing"."""
        return np.eye(self.width)

    @property
    def reach(self) -> float:
        """The largest sum of absolute weights of an extreme cell, but at least 1."""
        return 1.0  # one of its matrices alone, or two whose weights sum up to one

    @abstractmethod
    def cell_names(self) -> list[str]:
        """Names of the extreme cells."""

    def all_names(self) -> list[str]:
        """Names of the extreme cells, and of an unseen one, if that differs from all of them."""
        return self.cell_names()

    def all_cells(self) -> tuple[Float64Array, list[str]]:
        """(cells, p) and their names: the extreme cells, and an unseen one, if that differs from all of them."""
        return self.extreme_cells(), self.all_names()

    def at_cells(self, own: FloatArray) -> FloatArray:
        """(…, cells, D): its matrices at all cells, from those of its design columns (…, p, D)."""
        return np.asarray(self.all_cells()[0] @ own)

    def exact_cells(self) -> list[dict[int, Fraction]]:
        """All cells as position of a design column → its weight, without rounding."""
        return [{int(j): Fraction(cell[j]) for j in np.flatnonzero(cell)} for cell in self.all_cells()[0]]

    def swaps(self) -> Float64Array:
        """(pairs, p): differences between any two extreme cells."""
        return _differences(self.extreme_cells())

    @abstractmethod
    def baseline(self) -> Float64Array:
        """(p,): the cell that others are compared with."""

    @property
    @abstractmethod
    def baseline_name(self) -> float | str:
        """What the baseline of the column is."""

    @abstractmethod
    def points(self, most: int) -> tuple[tuple[Any, ...], Float64Array]:
        """About ``most`` cells to draw the column with: their values, and (cells, p), to which "missing" is added."""

    @abstractmethod
    def check_between(self, between: Any) -> Sequence[Any]:
        """The two ends of a range of numbers, or known levels; with None all of them."""

    @abstractmethod
    def path(self, between: Sequence[Any], least: int) -> Float64Array:
        """(cells, p): the levels, or at least ``least`` steps along a range of numbers, straight from cell to cell."""

    @abstractmethod
    def shown_cells(self, cells: Cells) -> NDArray[np.object_]:
        """Cells as text."""

    @abstractmethod
    def plain_cells(self, cells: Cells) -> NDArray[np.object_]:
        """Cells as data: numbers and None, or positions among the levels, −1 for an unseen one."""

    # ---- its moves ---------------------------------------------------------------------------------------------

    @property
    def n_ramps(self) -> int:
        """Pieces between which its slope may change; 0 if it has no knots."""
        return 0

    @property
    def n_steps(self) -> int:
        """Steps in which it rises from its lowest to its highest number; 0 if it cannot rise."""
        return len(self.lengths())

    def increments(self) -> Any:
        """(steps, p), sparse, as there may be thousands of them: what each step adds."""
        return sparse.csr_array((0, self.width))

    def lengths(self) -> Float64Array:
        """(steps,): by how much the number rises in each step."""
        return np.zeros(0)

    def exact_lengths(self) -> list[Fraction]:
        """By how much the number, as it is stored, rises in every step, without rounding."""
        return list(map(Fraction, self.lengths().tolist()))

    def bends(self) -> Any:
        """(steps − 1, p), sparse: by how much the slope grows from each step to the next."""
        return self._bends

    @cached_property
    def _bends(self) -> Any:
        if self.n_steps < 2:
            return sparse.csr_array((0, self.width))
        steps = self.increments().tocsr()
        slopes = steps.data * np.repeat(1 / self.lengths(), np.diff(steps.indptr))
        rates = sparse.csr_array((slopes, steps.indices, steps.indptr), shape=steps.shape)
        return rates[1:] - rates[:-1]

    def nearby(self, tolerance: float | None) -> Float64Array:
        """(moves, p): the extreme differences A(b) − A(a) with |b − a| ≤ tolerance, each in one of its two directions.

        All others are convex combinations of these and their negatives. A tolerance of None allows any change.
        """
        return _differences(self.all_cells()[0]) if tolerance is None else self._within(tolerance)

    def _within(self, tolerance: float) -> Float64Array:
        return np.zeros((1, self.width))

    # ---- in which coordinates it is trained --------------------------------------------------------------------

    @property
    def n_free(self) -> int:
        """How many coordinates :meth:`ramps` has; to count them, no matrix is made."""
        return self.width

    @property
    def n_straight(self) -> int:
        """How many coordinates :meth:`straight` has."""
        return self.n_free

    def n_rising(self, bend: int = 0, sign: int = 0) -> int:
        """How many coordinates :meth:`rising` has, or :meth:`hinged` with this sign if it has to bend."""
        return 0

    def ramps(self) -> Float64Array:
        """(p, n): coordinates in which it is free up to a constant, such as its increments."""
        return np.eye(self.width)

    def straight(self) -> Float64Array:
        """(p, n): the same for a column that is straight, but free where a cell is missing."""
        return self.ramps()

    def rising(self) -> Float64Array:
        """(numbers, steps): the increments that are summed up at each of its numbers."""
        return np.zeros((0, 0))

    def hinged(self, sign: int) -> Float64Array:
        """(numbers, hinges): hinges that make it convex, beside a slope; with a sign all rise (1) or all fall (-1)."""
        return self.rising() if sign else np.zeros((self.width, 0))

    # ---- in a file ---------------------------------------------------------------------------------------------

    @abstractmethod
    def saved(self) -> dict[str, Any]:
        """The fields of ``saved_as``, as plain data."""

    @classmethod
    @abstractmethod
    def restored(cls, start: int, clamp: bool, saved: Mapping[str, Any], what: str) -> Self:
        """The column with these saved fields and a name; an error calls it ``what``, if they do not fit together."""


def _differences(cells: Float64Array) -> Float64Array:
    first, second = np.triu_indices(len(cells), 1)
    return np.asarray(cells[second] - cells[first])
