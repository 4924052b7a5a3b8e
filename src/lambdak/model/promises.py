"""What was requested of a model, column by column, and holds by construction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lambdak.table.column_types import Column
from lambdak.table.constraints import influence_caps, monotone_signs

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
    """

    signs: tuple[int, ...]
    caps: tuple[float, ...]
    shape: str | None = None

    @classmethod
    def requested(cls, columns: Sequence[Column], monotonic_cst: Any, max_influence: Any, shape: Any) -> Promises:
        """From the settings of an estimator, in any of their spellings."""
        if not (shape is None or (isinstance(shape, str) and shape in SHAPES)):
            raise ValueError(f"shape must be None, 'convex' or 'concave'; got {shape!r}")
        signs, caps = monotone_signs(monotonic_cst, columns), influence_caps(max_influence, columns)
        every = range(len(columns))
        return cls(tuple(signs.get(i, 0) for i in every), tuple(caps.get(i, np.inf) for i in every), shape)

    @property
    def monotone(self) -> Mapping[int, int]:
        """Position of each monotone column → its sign."""
        return {i: sign for i, sign in enumerate(self.signs) if sign}

    @property
    def capped(self) -> Mapping[int, float]:
        """Position of each capped column → its cap."""
        return {i: cap for i, cap in enumerate(self.caps) if np.isfinite(cap)}
