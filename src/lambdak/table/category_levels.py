"""Levels of a category: OTHER, which stands for all rare ones, and cells as text."""

from __future__ import annotations

from enum import Enum
from typing import Final

import numpy as np


class Pooled(Enum):
    """The level that stands for all rare and unseen levels; an enumeration, so that it survives pickling as itself."""

    OTHER = "other"

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[type[Pooled], tuple[str]]:  # for skops; pickle knows enumerations
        return Pooled, (self.value,)


OTHER: Final = Pooled.OTHER


def shown(cell: object) -> str:
    """A cell as text.

    >>> [shown(cell) for cell in (None, OTHER, 1 / 3, "red")]
    ['missing', 'other', '0.333333', 'red']
    """
    if cell is None or (isinstance(cell, float | np.floating) and np.isnan(cell)):
        return "missing"
    if cell is OTHER:
        return "other"
    if isinstance(cell, float | np.floating):
        return f"{cell:.6g}"
    return str(cell)


def natural(level: object) -> tuple[bool, object]:
    """What levels are sorted by: numbers first, then strings.

    >>> sorted(["b", 2, "a", 1], key=natural)
    [1, 2, 'a', 'b']
    """
    return isinstance(level, str), level
