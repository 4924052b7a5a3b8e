"""Confidence intervals by resampling rows, or whole groups of them: seeded, and the same for all that is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_int
from lambdak._types import Float64Array

RESAMPLES = 200
CONFIDENCE = 0.95
_MOST_RESAMPLES = 100_000


@final
@dataclass(frozen=True, eq=False)
class Resampling:
    """How rows are drawn, with replacement: as many as there are, or as many groups as there are.

    Attributes
    ----------
    rows : int
    groups : array of shape (rows,), optional
        Rows with the same number are drawn together, as the years of one policy, which are not independent.
    times : int
        Resamples; 0 gives no intervals.
    confidence : float
        Of the intervals, which are between quantiles of the resamples.
    seed : int
        The same seed draws the same rows.
    """

    rows: int
    groups: NDArray[np.intp] | None = None
    times: int = RESAMPLES
    confidence: float = CONFIDENCE
    seed: int = 0

    def __post_init__(self) -> None:
        check_int(self.times, "n_resamples", 0, _MOST_RESAMPLES)
        check_int(self.seed, "random_state", 0, 2**63)
        if not 0.0 < self.confidence < 1.0:
            raise ValueError(f"confidence must be in (0, 1); got {self.confidence}")

    @property
    def words(self) -> str:
        """How intervals were computed, in a sentence."""
        if not self.times:
            return "No confidence intervals: n_resamples is 0."
        what = "rows" if self.groups is None else f"{self.units:,} groups of rows"
        return (
            f"Intervals hold {100 * self.confidence:g} % of {self.times} resamples of {what} with replacement, "
            f"random_state={self.seed}."
        )

    @property
    def units(self) -> int:
        """What is drawn: rows or groups."""
        return self.rows if self.groups is None else int(self.groups.max()) + 1

    def draws(self) -> Iterator[Float64Array]:
        """How often each row was drawn, (rows,), resample by resample."""
        rng = np.random.default_rng(self.seed)
        for _ in range(self.times):
            counts = np.bincount(rng.integers(0, self.units, self.units), minlength=self.units).astype(np.float64)
            yield counts if self.groups is None else counts[self.groups]

    def intervals(self, statistics: Callable[[Float64Array | None], Float64Array]) -> Float64Array:
        """(statistics, 3): values on all rows and the ends of their intervals; NaN where too few resamples have one."""
        values = statistics(None)
        if self.times < 2 or self.units < 2:
            return np.column_stack([values, np.full((len(values), 2), np.nan)])
        drawn = np.array([statistics(counts) for counts in self.draws()])  # (times, statistics)
        known = np.isfinite(drawn).sum(axis=0) > self.times / 2
        tail = (1.0 - self.confidence) / 2
        ends = np.full((len(values), 2), np.nan)
        ends[known] = np.nanquantile(drawn[:, known], [tail, 1.0 - tail], axis=0).T
        return np.column_stack([values, ends])
