"""Which columns may interact: groups of columns, requested by name or position as scikit-learn spells them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any, ClassVar, Self, final

import numpy as np

from lambdak.shapes.contract import ANYTHING, Key, Shape
from lambdak.shapes.naming import position_of, unknown_columns
from lambdak.table.column_contract import Column

_NAMED = ("pairwise", "no_interactions")
_LISTS = (list, tuple, set, frozenset)
_WAYS = "'pairwise', 'no_interactions' or a sequence of lists, tuples or sets of columns"


@final
@dataclass(frozen=True, repr=False)
class Interactions(Shape):
    """Say "only these columns may depend on one another": "pairwise", "no_interactions", or groups of columns.

    Columns without a common group do not interact. Columns in no group form another one.

    Attributes
    ----------
    groups : str or tuple of tuples
        As a user gives them; once placed, positions of the columns of each group, none of them part of another.
    pairs : bool
        Whether every two columns are a group, which would be too many to list.

    >>> Interactions([["age", "bmi"], ["sex"]])
    Interactions((('age', 'bmi'), ('sex',)))
    """

    groups: Any
    pairs: bool = False

    numeric: ClassVar[bool] = False
    ordered: ClassVar[bool] = False
    kind: ClassVar[str] = "interactions"
    method: ClassVar[str] = (
        "in every member the matrices of all columns but those of one group must be zero or multiples of "
        "the identity, which only add a number to every eigenvalue: they are compared as they are stored"
    )

    def __post_init__(self) -> None:
        if not isinstance(self.groups, str):
            object.__setattr__(self, "groups", tuple(map(tuple, listed_groups(self.groups))))

    @property
    def keys(self) -> tuple[Key, ...]:
        """The columns of all groups, each once."""
        listed = () if isinstance(self.groups, str) else self.groups
        return tuple(dict.fromkeys(key for group in listed for key in group))

    def renamed(self, keys: Sequence[Key]) -> Self:
        """Return the groups with other names for the columns."""
        names = dict(zip(self.keys, keys, strict=True))
        groups = self.groups if isinstance(self.groups, str) else tuple(tuple(names[k] for k in g) for g in self.groups)
        return type(self)(groups, self.pairs)

    def about(self, columns: Sequence[Column]) -> tuple[int, ...]:
        """Return none: it speaks of what columns do together."""
        return ()

    def placed(self, columns: Sequence[Column]) -> Self:
        """Return the groups as positions; a single one where everything is allowed."""
        found = requested_interactions(self.groups, [column.name for column in columns])
        return type(self)(
            (tuple(range(len(columns))),) if found is None else found.groups, found is not None and found.pairs
        )

    def topics(self) -> Iterable[Hashable]:
        """Return that it is about all columns, whichever it names."""
        return [ANYTHING]

    def contradicts(self, other: Shape, names: Sequence[str]) -> str:
        """Return that groups were given twice."""
        if isinstance(other, Interactions) and other != self:
            return "columns may interact in one way only: keep one of the two, or join their groups"
        return ""

    def words(self, names: Sequence[str], what: str) -> str:
        """Return which columns interact."""
        if self.pairs:
            return "no three columns interact"
        groups = ", ".join(f"[{', '.join(names[i] for i in group)}]" for group in self.groups)
        return f"columns interact only within {groups}"

    def allow(self, columns: Collection[int]) -> bool:
        """Whether all these columns may interact with one another."""
        if len(columns) < 2 or (self.pairs and len(columns) == 2):
            return True
        return any(set(columns) <= set(group) for group in self.groups)

    @property
    def additive(self) -> bool:
        """Whether no two columns may interact."""
        return not self.pairs and all(len(group) == 1 for group in self.groups)

    def larger(self, columns: int) -> list[tuple[int, ...]]:
        """The groups of at least two of so many columns."""
        if self.pairs:
            return list(combinations(range(columns), 2))
        return [group for group in self.groups if len(group) > 1]


def requested_interactions(interaction_cst: Any, names: Sequence[str]) -> Interactions | None:
    """What ``interaction_cst`` allows columns of these names; None if that is everything."""
    if interaction_cst is None:
        return None
    if isinstance(interaction_cst, str):
        if interaction_cst not in _NAMED:
            raise ValueError(f"interaction_cst must be {_WAYS}; got {interaction_cst!r}")
        pairs = interaction_cst == "pairwise"
        if len(names) < 2 or (pairs and len(names) == 2):
            return None
        return Interactions(() if pairs else tuple((i,) for i in range(len(names))), pairs)
    places = {name: i for i, name in enumerate(names)}
    groups = {frozenset(_positions(group, places)) for group in listed_groups(interaction_cst)}
    kept = _largest({*groups, frozenset(range(len(names))).difference(*groups)} - {frozenset()})
    return None if len(kept) == 1 else Interactions(tuple(kept))


def _largest(groups: set[frozenset[int]]) -> list[tuple[int, ...]]:
    """The groups that are no part of another one, sorted: each is compared with few of the larger ones.

    >>> _largest({frozenset({0, 1}), frozenset({1, 2, 3}), frozenset({2, 3})})
    [(0, 1), (1, 2, 3)]
    """
    larger, found = defaultdict[int, list[frozenset[int]]](list), list[frozenset[int]]()  # by each of their columns
    for _, alike in groupby(sorted(groups, key=len, reverse=True), len):
        kept = [group for group in alike if not _is_within(group, min([larger[i] for i in group], key=len))]
        for group in kept:
            for i in group:
                larger[i].append(group)
        found += kept
    return sorted(tuple(sorted(group)) for group in found)


def _is_within(group: frozenset[int], others: list[frozenset[int]]) -> bool:
    return any(group <= other for other in others)


def listed_groups(interaction_cst: Any) -> list[list[Any]]:
    """The groups as lists of names and positions; none if they are requested in words."""
    if interaction_cst is None or isinstance(interaction_cst, str):
        return []
    if not isinstance(interaction_cst, _LISTS):
        raise ValueError(f"interaction_cst must be {_WAYS}; got {interaction_cst!r}")
    for group in interaction_cst:
        if not (isinstance(group, _LISTS) or (isinstance(group, np.ndarray) and group.ndim == 1)):
            raise ValueError(f"a group of interaction_cst must be a list, a tuple or a set of columns; got {group!r}")
        if not len(group):
            raise ValueError(f"a group of interaction_cst must have at least one column; got {group!r}: omit it")
        for key in group:
            if isinstance(key, bool | np.bool_) or not isinstance(key, str | int | np.integer):
                raise ValueError(f"interaction_cst must name columns by name or position; got {key!r}")
    return [list(group) for group in interaction_cst]


def _positions(group: Sequence[Any], places: Mapping[str, int]) -> list[int]:
    found = {key: position_of(key, places) for key in group}
    unknown = [key for key, position in found.items() if position is None]
    if unknown:
        raise ValueError(unknown_columns("interaction_cst", unknown, list(places)))
    if len({*found.values()}) < len(found):
        raise ValueError(f"a group of interaction_cst must name a column once, by name or by position; got {group}")
    return [position for position in found.values() if position is not None]
