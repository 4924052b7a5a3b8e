"""How a cell selects matrices, as plain data: what is needed to compute a column elsewhere, in C, SQL or a browser.

There are three rules, and every type of column names one of them (:attr:`~lambdak.table.column_contract.Column.rule`).
Who writes a rule in another language matches all of them and ends with ``assert_never``, so that mypy lists the places
that a fourth rule would need. A new type of column that has one of these rules needs none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias, final

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.table.category_levels import OTHER, Kind

NOTHING = -1  # instead of a design column: the cell adds nothing


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberRule:
    """What both rules for numbers have in common.

    Attributes
    ----------
    start, n_entries : int
        The design columns that numbers select, [start, start + n_entries).
    missing : int
        The design column of a missing cell; :data:`NOTHING` if it counts as the median.
    low, high : float
        Range of the numbers in training.
    median : float
        What a missing cell counts as if it has no design column.
    clamp : bool
        Whether a number beyond the range counts as the end of the range.
    """

    start: int
    n_entries: int
    missing: int
    low: float
    high: float
    median: float
    clamp: bool

    @property
    def has_missing(self) -> bool:
        """Whether a missing cell has a design column."""
        return self.missing != NOTHING


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class LineRule(NumberRule):
    """One design column, of weight (x − center) / scale."""

    code: ClassVar[str] = "linear"  # what the scripts of pages and exports call this rule

    center: float
    scale: float

    def lengths(self) -> Float64Array:
        """(1,): by how much the number grows while the weight grows by one."""
        return np.array([self.scale])


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class KnotRule(NumberRule):
    """One design column per knot: the two around x, of weights 1 − t and t; a single knot has always weight 1.

    Attributes
    ----------
    knots : array of shape (n_entries,)
        Increasing, from ``low`` to ``high``.
    """

    code: ClassVar[str] = "curve"

    knots: Float64Array

    @property
    def n_pieces(self) -> int:
        """Pieces between two knots."""
        return len(self.knots) - 1

    def lengths(self) -> Float64Array:
        """(n_pieces,): distances from knot to knot."""
        return np.asarray(np.diff(self.knots))


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class LevelRule:
    """One design column per level, of weight 1; a level that training has not seen selects OTHER, or nothing.

    Attributes
    ----------
    start : int
        The design column of the first level.
    levels : tuple
        Strings, numbers and booleans, then None if a missing cell is a level, then OTHER if levels were pooled.
    kinds : frozenset of Kind
        What cells were in training, those of pooled levels included.
    """

    code: ClassVar[str] = "category"

    start: int
    levels: tuple[object, ...]
    kinds: frozenset[Kind]

    @property
    def stop(self) -> int:
        """One after the design column of the last level."""
        return self.start + len(self.levels)

    @cached_property
    def _place(self) -> dict[object, int]:
        return {level: self.start + i for i, level in enumerate(self.levels)}

    @cached_property
    def numbers(self) -> tuple[tuple[int | float, int], ...]:
        """Levels that are numbers, with their design columns; True is 1 and False is 0."""
        return tuple((level + 0, id_) for level, id_ in self._place.items() if isinstance(level, bool | int | float))

    @cached_property
    def texts(self) -> tuple[tuple[str, int], ...]:
        """Levels that are text, with their design columns."""
        return tuple((level, id_) for level, id_ in self._place.items() if isinstance(level, str))

    @property
    def unseen(self) -> int:
        """The design column of a level that training has not seen; :data:`NOTHING` for the average level."""
        return self._place.get(OTHER, NOTHING)

    @property
    def missing(self) -> int:
        """The design column of a missing cell; if that is no level, it counts as an unseen one."""
        return self._place.get(None, self.unseen)

    @property
    def take_numbers(self) -> bool:
        """Whether cells may be numbers."""
        return bool(self.kinds & {Kind.NUMBER, Kind.BOOLEAN})

    @property
    def take_text(self) -> bool:
        """Whether cells may be text: also where training has seen no level."""
        return Kind.TEXT in self.kinds or not self.take_numbers


CellRule: TypeAlias = LineRule | KnotRule | LevelRule
