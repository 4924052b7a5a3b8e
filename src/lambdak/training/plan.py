"""How the columns of a table become parameters: which are free, monotone, convex, capped or may vanish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.shapes.patterns import Patterned, diagonal_of
from lambdak.shapes.slope import Direction
from lambdak.shapes.spreads import Generated, Spread, Steps, Support
from lambdak.table.column_contract import Column
from lambdak.training.caps import Cap, GroupCap
from lambdak.training.cones import Cone, ConeCoordinates
from lambdak.training.coordinates import (
    Block,
    Moments,
    free_blocks,
    free_size,
)
from lambdak.training.effort import Regularisation
from lambdak.training.level_caps import LevelCap
from lambdak.training.parameters import Parameters
from lambdak.training.shrink import Shrinkage
from lambdak.training.slope_caps import PieceCap, slope_cap
from lambdak.training.terms import Reading, Role, Roles, Terms
from lambdak.training.trained_columns import TrainedColumns
from lambdak.training.whitening import ColumnWhitening, FreeCoordinates


@dataclass(frozen=True)
class Plan:
    """What is requested of the columns; ``parameters`` builds the parameters of a stack of models for it."""

    columns: Sequence[Column]
    moments: Moments
    spreads: Sequence[Spread] = ()  # of the columns that shapes constrain, as seen by the eigenvalues
    caps: Mapping[int, float] = field(default_factory=dict)  # in units of eigenvalues
    alpha: float = 0.0  # size of the penalty that makes columns vanish
    dropped: frozenset[int] = frozenset()  # columns that have vanished
    rises: Mapping[int, Float64Array] = field(default_factory=dict)  # of the steps of a column, where they are known
    groups: Mapping[tuple[int, ...], float] = field(default_factory=dict)  # caps of columns together, in the same units
    slopes: Sequence[tuple[Direction, float]] = ()  # limits of slopes along directions, in the same units
    trained: TrainedColumns | None = None  # where some columns stand for the levels of a category
    terms: Terms | None = None  # where not all columns may interact

    def parameters(
        self, regularisations: Sequence[Regularisation], dim: int, pencils: int, threads: int = 0
    ) -> Parameters:
        """Parameters of a stack of models: ``pencils`` with each of the regularisations."""
        damping, decay = np.repeat(np.asarray(regularisations), pencils, axis=0).T
        terms = self._terms_of(len(damping), pencils)
        free = FreeCoordinates(self._whitening, damping.tolist(), terms)
        caps: list[Cap | GroupCap | PieceCap] = [self._cap(i, limit, dim) for i, limit in self.caps.items()]
        caps += [GroupCap([self._cap(i, limit, dim, own) for i in own], limit) for own, limit in self.groups.items()]
        for along, limit in self.slopes:
            bends = all(self._bends(i) for i, _ in along)
            tied = self._tied([i for i, _ in along])
            caps.append(slope_cap([(self.columns[i], q) for i, q in along], limit, dim, bends, tied))
        shrinkage = Shrinkage([block.cols for block in self._blocks], dim, self.alpha) if self.alpha else None
        cones = [ConeCoordinates([*self._cones.values()], self.moments, dim)] if self._cones else []
        reading = self._reading(terms, dim)
        return Parameters(
            free, cones, dim, decay.tolist(), caps=caps, shrinkage=shrinkage, reading=reading, threads=threads
        )

    def _terms_of(self, models: int, pencils: int) -> list[int]:
        """The term of each model: those of a member follow one another, each with the pencils of its outputs."""
        own: list[int] = (np.arange(models) // (pencils // self.n_terms) % self.n_terms).tolist()
        return own

    @property
    def n_terms(self) -> int:
        """How many eigenvalues of a member are summed up."""
        return 1 if self.terms is None else len(self.terms)

    def _reading(self, terms: Sequence[int], dim: int) -> Reading | None:
        supports = list(dict.fromkeys(own for spread in self._kept for own in spread.supports))
        if self._roles is None and not supports:
            return None
        free = np.full((len(terms), self.sizes[0]), Role.ANY, np.int8)  # the constant's among them
        for block, roles in zip(self._blocks, self._block_roles.T, strict=True):
            free[:, block.cols] = roles[terms, None]
        places = {own: Role.IDENTITY + 1 + place for place, own in enumerate(supports)}
        steps = [self._step_roles(own, places)[terms] for own in self._kept if own.size]
        diagonals = [diagonal_of(own, dim) for own in supports]
        return Reading([free, np.concatenate(steps, axis=1)] if steps else [free], dim, diagonals)

    def _step_roles(self, spread: Spread, places: Mapping[Support, int]) -> Roles:
        """(terms, generators): the roles of a spread's; where its columns are free, what each may be a multiple of."""
        own = _together(self._all_roles[:, list(spread.owners)])
        asked = [places[support] for support in spread.supports] or [int(Role.ANY)] * spread.size
        kept = self._keeps_pattern(spread.owners[0])[:, None]
        return np.where((own == Role.ANY) & kept, np.array(asked, np.int8), np.repeat(own, spread.size, axis=1))

    def _keeps_pattern(self, i: int) -> NDArray[np.bool_]:
        """(terms,): whether a term reads several columns of the pattern of column i, which only these must keep."""
        numbers = {k: own.pattern for k, own in self._constrained.items() if isinstance(own, Patterned)}
        group = [k for k, number in numbers.items() if number == numbers.get(i)]
        return np.asarray((self._all_roles[:, group] == Role.ANY).sum(axis=1) > 1)

    @cached_property
    def _block_roles(self) -> Roles:
        """(terms, blocks): those of the free columns, part by part."""
        own = self._all_roles[:, [block.owner for block in self._blocks]]
        scalar = [block.scalar & self._keeps_pattern(block.owner) for block in self._blocks]
        confined = np.array(scalar, np.bool_).reshape(len(self._blocks), len(own)).T
        return np.where((own == Role.ANY) & confined, np.int8(Role.IDENTITY), own)

    @property
    def _all_roles(self) -> Roles:
        """(terms, columns): every column is free where there are no terms."""
        return np.full((1, len(self.columns)), Role.ANY, np.int8) if self._roles is None else self._roles

    @cached_property
    def _roles(self) -> Roles | None:
        """(terms, columns): those of the trained columns; the levels of outputs are in every term."""
        if self.terms is None:
            return None
        trained = self.trained or TrainedColumns.of(self.columns)
        owners = [i for i, parts in enumerate(trained.parts) for _ in parts]
        roles = self.terms.roles(len(trained.parts))[:, owners]
        levels = np.full((len(roles), len(self.columns) - len(owners)), Role.ANY, np.int8)
        return np.concatenate([roles, levels], axis=1)

    @property
    def sizes(self) -> list[int]:
        """Rows of each part of θ: of the free columns, and of the constrained ones, if there are any."""
        free = free_size(self.columns, self._constrained, self.dropped)
        steps = sum(self._cone_sizes.values())
        return [free, steps] if steps else [free]

    def _tied(self, positions: Sequence[int]) -> NDArray[np.intp]:
        """Design columns of these columns, and of those that shapes compare with them: they keep their proportions."""
        spreads = (self._constrained.get(i) for i in positions)
        owners = {owner for own in spreads if isinstance(own, Generated) for owner in own.owners}
        spans = [np.arange(self.columns[i].start, self.columns[i].stop) for i in sorted(owners)]
        return np.concatenate([np.zeros(0, np.intp), *spans])

    def _cap(self, i: int, limit: float, dim: int, group: Sequence[int] = ()) -> Cap:
        """The cap of a column, or of the category whose first trained column it is; of a group the first scales all."""
        levels = {} if self.trained is None else {self.trained.first(k): k for k in self.trained.levels}
        if self.trained is None or i not in levels:
            cap, tied = Cap(self.columns[i], limit, dim), self._tied(group or [i])
            others = [np.arange(self.columns[j].start, self.columns[j].stop) for j in group if j != i]
            if len(tied) and (not group or i == group[0]):
                cap.scale_also_(np.setdiff1d(tied, np.concatenate([np.zeros(0, np.intp), *others])))
            return cap
        parts = self.trained.parts[levels[i]]
        return LevelCap(slice(parts[0].start, parts[-1].stop), self.trained.levels[levels[i]], limit, dim)

    def _bends(self, i: int) -> bool:
        """Whether a column may bend anywhere, so that each of its steps may be scaled by itself."""
        spread = self._constrained.get(i)
        return spread is None or (isinstance(spread, Steps) and not spread.bend)

    @property
    def _rewritten(self) -> frozenset[int]:
        return frozenset() if self.trained is None else self.trained.rewritten()

    @cached_property
    def _kept(self) -> list[Spread]:
        """The spreads of columns that are neither dropped nor rewritten."""
        gone = {*self.dropped, *self._rewritten}
        return [own.without(gone) for own in self.spreads if not gone.issuperset(own.owners)]

    @cached_property
    def _constrained(self) -> dict[int, Spread]:
        """Position of a column → what it is spread by."""
        return {i: own for own in self._kept for i in own.owners}

    @cached_property
    def _blocks(self) -> list[Block]:
        return free_blocks(self.columns, self._constrained, self.dropped)

    @cached_property
    def _whitening(self) -> ColumnWhitening:
        return ColumnWhitening(self._blocks, self.moments, self.alpha > 0, self._block_roles)

    @cached_property
    def _cone_sizes(self) -> dict[tuple[int, ...], int]:
        """How many semidefinite matrices each set of constrained columns has that has any."""
        return {own.owners: own.size for own in self._kept if own.size}

    @cached_property
    def _cones(self) -> dict[tuple[int, ...], Cone]:
        """What each set of constrained columns is trained in."""
        kept = (own for own in self._kept if own.owners in self._cone_sizes)
        return {own.owners: Cone(own.start, own.weights, self.rises.get(own.owners[0])) for own in kept}


def _together(roles: Roles) -> Roles:
    """(models, 1): the role of what moves several columns (models, columns) at once, which all of them must allow."""
    least, most = roles.min(axis=1, keepdims=True), roles.max(axis=1, keepdims=True)
    return np.asarray(np.where(least == Role.ZERO, Role.ZERO, most), np.int8)
