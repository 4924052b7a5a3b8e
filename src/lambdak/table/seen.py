"""What a column is chosen and fitted by: the settings, and what training saw of it.

What decides which type a column of a table becomes: the column as it came, and what the user set.

What training saw of a column, numbers or levels and how often each: from cells, or from a sketch of many batches.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from lambdak._types import Float64Array
from lambdak.table.cells import Cells
from lambdak.table.knots import MAX_KNOTS, are_whole, center_and_scale, distinct, median, quartiles


@final
@dataclass(frozen=True)
class RawColumn:
    """A column before its cells are looked at.

    Attributes
    ----------
    name : str
        Its name, or x0, x1, … for arrays.
    kind : str
        What its cells are: number, bool, level or text.
    listed : bool
        Whether the user lists it in ``categorical_features``.
    """

    name: str
    kind: str
    listed: bool


@final
@dataclass(frozen=True)
class ColumnSettings:
    """The settings of an encoder that its columns are chosen and fitted with, see :class:`TableEncoder`.

    Attributes
    ----------
    n_knots : int or None
        Knots of a numeric column; None chooses them by the number of rows, and 0 asks for lines.
    linear : collection of str
        Names of columns that are to be lines.
    by_dtype : bool
        Whether columns of category and bool dtype are categories, if they are not listed.
    min_level_count : int
        Rows below which a level is pooled.
    max_categories : int
        Most levels of a category.
    clamp : bool
        Whether columns of numbers are constant outside of the training range.
    nodes : tuple of float
        Numbers at which the column must have knots, where they are in the training range.
    spaced : bool
        Whether no two knots are very close, because rounding would decide about the slope between them.
    most_knots : int
        Most knots of a numeric column, these among them.
    """

    n_knots: int | None
    linear: Collection[str]
    by_dtype: bool
    min_level_count: int
    max_categories: int
    clamp: bool
    nodes: tuple[float, ...] = ()
    spaced: bool = False
    most_knots: int = MAX_KNOTS


_SMALLEST = 1e-280  # in training, numbers closer to zero are zero: slopes between them would leave the range of a float


@final
@dataclass(frozen=True, eq=False)
class SeenNumbers:
    """Distinct numbers of a column in training, and how many rows have them.

    Attributes
    ----------
    values, mass : array of shape (n,)
        Distinct numbers, increasing, and the rows of each; 0 if all were missing.
    missing : bool
        Whether any was missing.
    rows : float
        All rows, those with missing cells included; they count by their weight.
    spread : tuple of float, optional
        Mean and standard deviation, where ``values`` only stand for all numbers.
    whole : bool, optional
        Whether all numbers are whole, where ``values`` only stand for all numbers.
    """

    values: Float64Array
    mass: Float64Array
    missing: bool
    rows: float
    spread: tuple[float, float] | None = None
    whole: bool | None = None

    @classmethod
    def none(cls, rows: float) -> SeenNumbers:
        """Numbers of a column that has none, as if of zeros: training does not say what a number in it would do."""
        return cls(np.zeros(1), np.ones(1), False, rows, whole=False)

    def facts(self) -> dict[str, Any]:
        """What a column of these numbers says of them beside its knots or scale: see :class:`Numeric`."""
        return {
            "median": median(self.values, self.mass),
            "has_missing": self.missing,
            "whole": are_whole(self.values) if self.whole is None else self.whole,
            "quartiles": quartiles(self.values, self.mass),
        }

    def center_and_scale(self) -> tuple[float, float]:
        """Mean and standard deviation; the scale of a constant is 1."""
        return self.spread or center_and_scale(self.values, self.mass)


class Seen(Protocol):
    """What was seen of one column in training, from which it is encoded."""

    @property
    def name(self) -> str:
        """Name of the column."""

    @property
    def kind(self) -> str:
        """What its cells are: number, bool, level or text."""

    def numbers(self) -> SeenNumbers:
        """Cells of the column as numbers."""

    def level_counts(self) -> dict[object, float]:
        """Rows of each level; None stands for missing cells."""


@final
@dataclass(frozen=True, eq=False)
class SeenCells:
    """The cells of a column, and what each row counts for; None counts every row once."""

    cells: Cells
    mass: Float64Array | None = None

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.cells.name

    @property
    def kind(self) -> str:
        """What its cells are."""
        return self.cells.kind

    @property
    def order(self) -> tuple[object, ...]:
        """Levels from the lowest to the highest, if the table knows."""
        return self.cells.order

    def numbers(self) -> SeenNumbers:
        """Distinct numbers of the cells."""
        x = numbers_of_training(self.cells)
        seen, rows = ~np.isnan(x), len(x) if self.mass is None else float(self.mass.sum())
        values, mass = distinct(x[seen], None if self.mass is None else self.mass[seen])
        return SeenNumbers(values, mass, not seen.all(), rows) if len(values) else SeenNumbers.none(rows)

    def level_counts(self) -> dict[object, float]:
        """Rows of each level of the cells."""
        codes, levels = self.cells.levels()
        return dict(zip(levels, np.bincount(codes, self.mass, len(levels)).tolist(), strict=True))


def numbers_of_training(cells: Cells) -> Float64Array:
    """The numbers of cells as training takes them; NaN where one is missing."""
    numbers = cells.numbers()
    return np.where(np.abs(numbers) < _SMALLEST, 0.0, numbers)
