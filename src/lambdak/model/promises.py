"""What was requested of a model, column by column, and holds by construction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lambdak.table.column_contract import Column
from lambdak.table.constraints import influence_caps, influence_groups, monotone_signs
from lambdak.table.interactions import Interactions, requested_interactions

SHAPES = ("convex", "concave")


@final
@dataclass(frozen=True)
class Promises:
    """Constraints that a model was fitted with. Immutable, so that nothing set later can change what was promised.

    Attributes
    ----------
    signs : tuple of int
        Of each column: 1 if predictions never fall with it, -1 if they never rise, otherwise 0.
    caps : tuple of float
        The most that a change of each column can do to a raw score; infinite where nothing was requested.
    shape : {None, "convex", "concave"}
        Of the raw score in all numeric columns together.
    groups : tuple of (positions, cap)
        The most that a change of these columns together can do to a raw score.
    interactions : Interactions or None
        Which columns may interact; None if all may.
    """

    signs: tuple[int, ...]
    caps: tuple[float, ...]
    shape: str | None = None
    groups: tuple[tuple[tuple[int, ...], float], ...] = ()
    interactions: Interactions | None = None

    @classmethod
    def requested(
        cls, columns: Sequence[Column], monotonic_cst: Any, max_influence: Any, shape: Any, interaction_cst: Any = None
    ) -> Promises:
        """From the settings of an estimator, in any of their spellings."""
        if not (shape is None or (isinstance(shape, str) and shape in SHAPES)):
            raise ValueError(f"shape must be None, 'convex' or 'concave'; got {shape!r}")
        signs, caps = monotone_signs(monotonic_cst, columns), influence_caps(max_influence, columns)
        groups = tuple(influence_groups(max_influence, columns).items())
        every, interactions = range(len(columns)), requested_interactions(interaction_cst, [c.name for c in columns])
        caps_of = tuple(caps.get(i, np.inf) for i in every)
        return cls(tuple(signs.get(i, 0) for i in every), caps_of, shape, groups, interactions)

    @property
    def monotone(self) -> Mapping[int, int]:
        """Position of each monotone column → its sign."""
        return {i: sign for i, sign in enumerate(self.signs) if sign}

    @property
    def capped(self) -> Mapping[int, float]:
        """Position of each capped column → its cap."""
        return {i: cap for i, cap in enumerate(self.caps) if np.isfinite(cap)}

    @property
    def without_influence(self) -> frozenset[int]:
        """Positions of the columns that may do nothing, alone or together: their cap is zero."""
        alone = {i for i, cap in self.capped.items() if cap == 0}
        return frozenset(alone.union(*(group for group, cap in self.groups if cap == 0)))
