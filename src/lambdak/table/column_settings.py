"""What decides which type a column of a table becomes: the column as it came, and what the user set."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import final


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
    """

    n_knots: int | None
    linear: Collection[str]
    by_dtype: bool
    min_level_count: int
    max_categories: int
    clamp: bool
