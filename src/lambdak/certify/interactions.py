r"""Columns that do not interact: the proof, from matrices that are zero or multiples of I, and the attack on it.

λ_k(A + c I) = λ_k(A) + c. So what a member computes is a function of the columns whose matrices are not multiples of I,
plus a number for each other column; it has no interactions but those among the former. If these are columns of one
group in every member, the raw score is a sum of functions of groups. For columns S that have no group in common, the
mixed difference Σ_{U ⊆ S} (−1)^|U| f(row with other cells in U) of such a sum is zero: the attack looks for others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from lambdak._types import Float64Array
from lambdak.certify.attack import Attack, Margins
from lambdak.certify.cells import Values
from lambdak.certify.certificate import Claim
from lambdak.certify.search import Points, Search
from lambdak.eigen.packing import diagonal_indices
from lambdak.model import Model
from lambdak.shapes.interactions import Interactions

_ULPS = 4 * float(np.finfo(np.float64).eps)
_SETS = 8  # of columns that are tried at once
_LARGEST = 5  # columns of such a set
_DRAWS = 500  # sets of each size that are looked at
_FEWEST = 32  # rows, of which the guided search begins with some
_MOST_SHOWN = 6  # groups, and columns of each, in words


def interaction_claims(model: Model) -> Iterator[Claim]:
    """The claim about which columns do not interact, if that was requested."""
    allowed, names = model.promises.interactions, model.encoder.feature_names
    if allowed is None:
        return
    reads = [tuple(np.flatnonzero(own).tolist()) for own in _read(model)]
    wrong = next((i for i, own in enumerate(reads) if not allowed.allow(own)), None)
    how = f"in each of {len(reads)} pencils, the matrices of all columns but those of one group are multiples of I"
    if wrong is not None:
        member = wrong // model.outputs.pencils + 1
        how = f"those of {_listed([names[i] for i in reads[wrong]])} are not multiples of I, all in member {member}"
    yield Claim("interactions", "all columns", _words(allowed, names), wrong is None, True, None, None, how)


def _read(model: Model) -> list[list[bool]]:
    """Whether a pencil reads a column, (pencils, columns): its stored matrices there are not all multiples of I."""
    matrices, diagonal = model.matrices, diagonal_indices(model.dim)
    same = matrices[..., diagonal] == matrices[..., diagonal[:1]]
    others = np.delete(matrices, diagonal, axis=-1)
    scalar = same.all(axis=-1) & (others == 0).all(axis=-1)  # (pencils, design columns)
    return [[not own[c.start : c.stop].all() for c in model.encoder.columns] for own in scalar]


def _words(allowed: Interactions, names: Sequence[str]) -> str:
    never = "changing one never changes what a change of the other does to the raw score"
    if allowed.additive:
        return f"no two columns interact: {never}"
    if allowed.pairs:
        return "no three columns interact: the raw score is a sum of functions of two columns each"
    groups = _listed([f"[{_listed([_quoted(names[i]) for i in group])}]" for group in allowed.groups])
    return f"columns interact only within {groups}; of two others, {never}"


def _quoted(name: str) -> str:
    """A name that cannot be taken for two names, or for the end of a group."""
    return repr(name) if any(mark in name for mark in ",[]") else name


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_SHOWN
    return ", ".join(names[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")


class Apart(Attack):
    """Points are two rows: cells of the second replace those of the first in sets of columns that do not interact."""

    def __init__(self, search: Search, claim: Claim) -> None:
        super().__init__(search, claim)
        self._sets: list[tuple[int, ...]] = []
        self._known = self._forbidden()

    @property
    def hopeless(self) -> bool:
        """Whether no set was found."""
        return not self._known

    def begin(self, count: int) -> Points:
        """Random rows in pairs, and some of the sets."""
        drawn = self.search.rng.permutation(len(self._known))[:_SETS]
        self._sets = [self._known[i] for i in drawn]
        rows = max(count // len(self._sets), _FEWEST)
        return self.search.rows(rows), self.search.rows(rows)

    def cells(self, j: int, count: int) -> tuple[Values, ...]:
        """One for each row."""
        return self.any_cell(j, count), self.any_cell(j, count)

    def margins(self, points: Points) -> Margins:
        """Minus the size of the mixed difference of each set."""
        found = [self._difference(points, columns) for columns in self._sets]
        values, rounding = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
        return Margins(values, rounding)

    def _difference(self, points: Points, columns: tuple[int, ...]) -> tuple[Float64Array, Float64Array]:
        first, last = points
        mixed, signs = [], []
        for size in range(len(columns) + 1):
            for changed in map(list, combinations(columns, size)):
                mixed.append(first.put(changed, last.columns[changed]) if changed else first)
                signs.append((-1.0) ** size)
        raw = self.raw(tuple(mixed))  # (points, rows, outputs)
        values = -np.abs(np.tensordot(np.array(signs), raw, 1))
        rounding = len(mixed) * (self.search.error(mixed) + _ULPS * np.abs(raw).max(axis=0))
        return values, np.broadcast_to(rounding, values.shape)

    def _forbidden(self) -> list[tuple[int, ...]]:
        """Sets of columns that must not interact, although those with one column less may, small ones first."""
        allowed = self.search.model.promises.interactions or Interactions((), pairs=False)
        varied = [i for i, pool in enumerate(self.search.pools) if pool.several]
        found: list[tuple[int, ...]] = []
        for size in range(2, min(_LARGEST, len(varied)) + 1):
            drawn = self._drawn(varied, size)
            found += [
                own for own in drawn if not allowed.allow(own) and all(map(allowed.allow, combinations(own, size - 1)))
            ]
        return found

    def _drawn(self, varied: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
        """All sets of so many columns, or some if there are many."""
        every = list(zip(range(_DRAWS + 1), combinations(varied, size), strict=False))
        if len(every) <= _DRAWS:
            return (own for _, own in every)
        rng = self.search.rng
        drawn = (rng.choice(varied, size, replace=False) for _ in range(_DRAWS))
        return iter(sorted({tuple(sorted(map(int, own))) for own in drawn}))
