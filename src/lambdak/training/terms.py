r"""Members that keep columns apart: f = Σ_t λ_k(A_t(row)), where a term t reads the columns of one group only.

A sum of functions of groups of columns has no other interactions. Two things are exact. A term has zero matrices for
columns that it does not read, so it does not depend on them. And a column whose matrices are multiples of I may be in
any term, because λ_k(A + c I) = λ_k(A) + c: columns that interact with none are in the first term, as such multiples. A
frozen model has one member for each term, whose mean times their number is the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.packing import diagonal_indices, packed_size
from lambdak.shapes.interactions import Interactions
from lambdak.table.column_contract import Column

Roles = NDArray[np.int8]


class Role(IntEnum):
    """What the matrices of a column are in a term."""

    ZERO = 0
    ANY = 1
    IDENTITY = 2  # multiples of it; what is above are multiples of diagonals of zeros and ones, in the order of a list


@dataclass(frozen=True)
class Terms:
    """Positions of the columns that each term reads, and of those that are in the first one as multiples of I."""

    groups: tuple[tuple[int, ...], ...]
    alone: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, interactions: Interactions, columns: int, apart: bool, most: int, strengths: Callable[[], Float64Array]
    ) -> Terms:
        """The terms that columns need for these interactions; if they are more than ``most``, the strongest ones.

        Where columns are to be ``apart``, those that interact with none have terms of their own, too. ``strengths``
        (columns, columns) are those of pairs, and on the diagonal those of columns that are apart.
        """
        if interactions.pairs and columns * (columns - 1) // 2 > most:
            candidates = _strongest_pairs(strengths(), most)
        else:
            groups = interactions.larger(columns)
            alone = sorted(set(range(columns)).difference(*groups))
            candidates = [*groups, *([(i,) for i in alone] if apart else [])]
        if len(candidates) > most:
            known = strengths()
            order = np.argsort([-_strength(known, group) for group in candidates], kind="stable")
            candidates = sorted(candidates[i] for i in order[:most])
        return cls(tuple(candidates or [()]), tuple(sorted(set(range(columns)).difference(*candidates))))

    def __len__(self) -> int:
        return len(self.groups)

    def roles(self, columns: int) -> Roles:
        """(terms, columns): the role of each column of the table."""
        roles = np.full((len(self), columns), Role.ZERO, np.int8)
        for own, group in zip(roles, self.groups, strict=True):
            own[list(group)] = Role.ANY
        roles[0, list(self.alone)] = Role.IDENTITY
        return roles

    def count(self, *columns: int) -> int:
        """In how many terms one of these columns is."""
        own, alone = set(columns), set(columns) & set(self.alone)
        return sum(not own.isdisjoint(group) or (t == 0 and bool(alone)) for t, group in enumerate(self.groups))

    def keep_apart_(self, coef: FloatArray, columns: Sequence[Column], dim: int, pencils: int) -> None:
        """Give matrices (members * terms * pencils, design columns, width) their roles exactly."""
        for term, own in enumerate(self.roles(len(columns))):
            models = np.arange(len(coef)) // pencils % len(self) == term
            for column, role in zip(columns, own, strict=True):
                if role != Role.ANY:
                    rows = coef[models, column.start : column.stop]
                    coef[models, column.start : column.stop] = (
                        nearest(rows, np.ones(dim, np.bool_)) if role == Role.IDENTITY else 0.0
                    )


def _strongest_pairs(known: Float64Array, most: int) -> list[tuple[int, ...]]:
    """So many pairs of columns, of which a wide table has too many to list all; sorted."""
    found = np.argwhere(known > 0)
    left, right = found[found[:, 0] < found[:, 1]].T
    order = np.argsort(-known[left, right], kind="stable")[:most]
    strong = list(zip(left[order].tolist(), right[order].tolist(), strict=True))
    others = (pair for pair in combinations(range(len(known)), 2) if pair not in strong)
    return sorted([*strong, *islice(others, most - len(strong))])


def _strength(known: Float64Array, group: tuple[int, ...]) -> float:
    pairs = [known[i, j] for i, j in combinations(group, 2)] if len(group) > 1 else [known[group[0], group[0]]]
    return float(np.maximum(pairs, 0.0).sum())


def nearest(packed: FloatArray, ones: NDArray[np.bool_]) -> FloatArray:
    """The multiples of a diagonal of zeros and ones that are nearest to packed matrices (..., width): their means."""
    result = np.zeros_like(packed)
    diagonal = diagonal_indices(len(ones))[ones]
    if len(diagonal):
        result[..., diagonal] = packed[..., diagonal].mean(axis=-1, keepdims=True)
    return result


class Reading:
    """Which rows of each part of θ a model of a stack uses, (models, size): freely, as multiples of I, or not.

    A role above that of I is the place of a diagonal of zeros and ones in ``diagonals``, of which a row is a multiple.
    """

    def __init__(self, parts: Sequence[Roles], dim: int, diagonals: Sequence[NDArray[np.bool_]] = ()) -> None:
        self._width = packed_size(dim)
        self._unused = [roles == Role.ZERO for roles in parts]
        known = list(enumerate([np.ones(dim, np.bool_), *diagonals], Role.IDENTITY)) if dim > 1 else []
        self._confined = [[(rows, ones) for role, ones in known if (rows := roles == role).any()] for roles in parts]

    @property
    def confined(self) -> bool:
        """Whether some rows are multiples of I, or of another diagonal."""
        return any(map(bool, self._confined))

    def start_(self, theta: Sequence[FloatArray]) -> None:
        """Make θ one that this reading allows; a row of zeros stays so, because its gradient is zero."""
        for part, unused in zip(theta, self._unused, strict=True):
            part[unused] = 0.0
        self.confine_(theta)

    def confine_(self, parts: Sequence[FloatArray]) -> None:
        """Project rows of θ, or of its gradient, on the multiples of their diagonals."""
        for part, confined in zip(parts, self._confined, strict=False):
            for rows, ones in confined:
                part[rows, : self._width] = nearest(part[rows, : self._width], ones)
