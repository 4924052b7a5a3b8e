"""Levels of a category: OTHER, which stands for all rare ones, cells as text, and what they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum, StrEnum
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


class Kind(StrEnum):
    """What cells of a category may be; "look-alike" if a number and a text are spelled alike."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LOOK_ALIKE = "look-alike"


def kinds_of(levels: Iterable[object]) -> set[Kind]:
    """Text, numbers or booleans: what levels are, beside missing and pooled ones.

    >>> sorted(kinds_of([None, "a", 1.5, OTHER]))
    [<Kind.NUMBER: 'number'>, <Kind.TEXT: 'text'>]
    """
    types: dict[type, Kind] = {str: Kind.TEXT, bool: Kind.BOOLEAN, int: Kind.NUMBER, float: Kind.NUMBER}
    return {types[type(level)] for level in levels if type(level) in types}


def kinds_of_pooled(kept: Collection[object], pooled: Collection[object]) -> tuple[Kind, ...]:
    """What pooled levels are and none of the kept ones shows.

    >>> kinds_of_pooled([1, 2], ["a", False, 3, None]), kinds_of_pooled([1, 2], ["1"])
    ((<Kind.TEXT: 'text'>,), (<Kind.LOOK_ALIKE: 'look-alike'>, <Kind.TEXT: 'text'>))
    """
    shown, more = kinds_of(kept), kinds_of(pooled)
    if shown & {Kind.NUMBER, Kind.BOOLEAN}:
        more -= {Kind.NUMBER, Kind.BOOLEAN}  # who reads numbers reads booleans, too, as 1 and 0
    alike = {_spelled(level) for level in kept} & {_spelled(level) for level in pooled} - {None}
    return tuple(sorted((more - shown) | ({Kind.LOOK_ALIKE} if alike else set())))


def _spelled(level: object) -> str | None:
    if isinstance(level, str):
        return level
    return repr(level + 0) if isinstance(level, bool | int | float) else None
