"""Whether a distribution is right: levels of targets (PIT), coverage by level, by interval and by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from lambdak._checks import check_int, freeze_arrays
from lambdak._types import Float64Array
from lambdak.governance.performance.bands import BANDS
from lambdak.governance.performance.columns import Columns
from lambdak.model import Model
from lambdak.model.distribution import interval_of, quantiles_at, quantiles_of
from lambdak.table.frames import make_frame
from lambdak.table.rows import read_rows
from lambdak.table.shown import Shown
from lambdak.table.visible import visible

COVERAGES = (0.5, 0.8, 0.9, 0.95)
PICTURES = ("levels", "intervals", "pit")
_BINS = 20


@final
@dataclass(frozen=True, eq=False, repr=False)
class GroupCoverage(Shown):
    """The share of targets in an interval, group by group.

    Attributes
    ----------
    about : str
        The column that the groups are of.
    names : tuple of str
        The groups.
    rows, observed, width : arrays of shape (groups,)
        Rows, the share of them whose target is inside, and the mean width of their intervals.
    coverage : float
        The share that is wanted.
    """

    about: str
    names: tuple[str, ...]
    rows: Float64Array
    observed: Float64Array
    width: Float64Array
    coverage: float

    def __str__(self) -> str:
        groups = zip(self.names, self.rows, self.observed, self.width, strict=True)
        lines = [
            f"  {visible(name)}: {100 * observed:.1f} % inside, mean width {width:.4g}, rows {rows:,g}"
            for name, rows, observed, width in groups
        ]
        return "\n".join([f"{100 * self.coverage:g} % intervals by {visible(self.about)}", *lines])

    def plot(self, ax: Any = None) -> Any:
        """Shares of all groups beside the wanted one, with 95 % intervals; returns the Axes."""
        from lambdak.governance.performance.distribution_plots import draw_groups

        return draw_groups(self, ax)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Coverage(Shown):
    """How often targets are where a distribution says, on rows that the fit did not see.

    Attributes
    ----------
    levels : array of shape (rows,)
        F(y) of each row: the level of its target. If the distribution is right they are spread evenly over [0, 1].
    intervals : array of shape (rows, coverages, 2)
        Ends of the intervals of ``coverages``: calibrated ones, or else quantiles at their nominal levels.
    calibrated : bool
        Which of the two.
    y, weight : arrays of shape (rows,)
        Targets, and how much each row counts.
    """

    levels: Float64Array
    intervals: Float64Array
    y: Float64Array
    weight: Float64Array
    calibrated: bool
    columns: Columns
    coverages: tuple[float, ...] = COVERAGES

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def observed(self) -> Float64Array:
        """The share of targets in each interval."""
        return np.asarray(np.average(self._inside, axis=0, weights=self.weight))

    @property
    def widths(self) -> Float64Array:
        """The mean width of each interval; of infinite ones it is infinite."""
        return np.asarray(np.average(self.intervals[..., 1] - self.intervals[..., 0], axis=0, weights=self.weight))

    @property
    def _inside(self) -> Float64Array:
        y = self.y[:, None]
        return np.asarray((self.intervals[..., 0] <= y) & (y <= self.intervals[..., 1]), np.float64)

    def share_up_to(self, levels: ArrayLike) -> Float64Array:
        """The share of targets at or below the quantile of each level, which it should be."""
        wanted = np.asarray(levels, np.float64)
        return np.asarray(np.average(self.levels[:, None] <= wanted, axis=0, weights=self.weight))

    def pit(self, bins: int = _BINS) -> Float64Array:
        """The share of targets in each of so many bins of their levels: 1 / bins in all of them if all is right."""
        counts, _ = np.histogram(self.levels, check_int(bins, "bins", 1, 1000), (0.0, 1.0), weights=self.weight)
        return np.asarray(counts / self.weight.sum())

    def by(self, column: Any, coverage: float = 0.9, *, bands: int = BANDS) -> GroupCoverage:
        """Coverage by the levels or bands of a column of X, or of an array with one entry per row."""
        if coverage not in self.coverages:
            raise ValueError(f"coverage must be one of {list(self.coverages)}; got {coverage!r}")
        split, place = self.columns.split(column, bands), self.coverages.index(coverage)
        rows = np.bincount(split.codes, self.weight, len(split.names)).astype(np.float64)
        width = self.intervals[:, place, 1] - self.intervals[:, place, 0]
        with np.errstate(invalid="ignore"):
            inside, wide = (
                np.bincount(split.codes, self.weight * own, len(rows)) / rows for own in (self._inside[:, place], width)
            )
        kept = rows > 0
        names = tuple(name for name, some in zip(split.names, kept, strict=True) if some)
        return GroupCoverage(split.about, names, rows[kept], inside[kept], wide[kept], coverage)

    def to_frame(self) -> Any:
        """One line per interval, in a frame of the library that X came from."""
        table = {"coverage": list(self.coverages), "observed": self.observed.tolist(), "width": self.widths.tolist()}
        return make_frame(table, self.columns.X)

    def __str__(self) -> str:
        kind = "calibrated intervals" if self.calibrated else "quantiles at nominal levels"
        lines = [
            f"  {100 * wanted:g} %: {100 * observed:.1f} % inside, mean width {width:.4g}"
            for wanted, observed, width in zip(self.coverages, self.observed, self.widths, strict=True)
        ]
        return "\n".join([f"{len(self.y):,} rows, {kind}", *lines])

    def plot(self, what: str = "levels", ax: Any = None) -> Any:
        """Draw "levels" (observed against wanted shares), "intervals", "pit", or coverage by a column."""
        from lambdak.governance.performance.distribution_plots import DRAWN

        return DRAWN[what](self, ax) if what in PICTURES else self.by(what).plot(ax)


def coverage_of(
    model: Model, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, threads: int = 0
) -> Coverage:
    """How often the targets of these rows are where the distribution of a model says."""
    rows = read_rows(X, y, sample_weight, keep=False)
    target = np.asarray(model.loss.check_target(rows.target), np.float64)
    counted, calibrated = rows.counted(), model.calibration is not None and model.calibration.counted
    quantiles = quantiles_of(model, rows.X, threads)
    ends = []
    for coverage in COVERAGES:
        if calibrated:
            ends.append(interval_of(model, rows.X, coverage, threads=threads))
        else:
            ends.append(quantiles_at(model, rows.X, [(1 - coverage) / 2, (1 + coverage) / 2], threads))
    columns = Columns(model.encoder, X, counted, rows.mass[counted], len(target))
    return Coverage(
        model.level_curve.level_of(quantiles, target)[counted], np.stack(ends, axis=1)[counted], target[counted],
        rows.mass[counted], calibrated, columns,
    )  # fmt: skip
