"""Actual against expected in segments: of predictions, of a column, or of time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from scipy.stats import norm

from lambdak._checks import freeze_arrays
from lambdak._types import Float64Array
from lambdak.governance.performance.bands import MISSING, Codes, Kind
from lambdak.governance.performance.scored import ScoredRows, Words
from lambdak.table.frames import headed, make_frame, number
from lambdak.table.shown import Shown
from lambdak.table.visible import visible


@final
@dataclass(frozen=True, eq=False, repr=False)
class Segments(Shown):
    """Segments of a table, with what was observed and what was expected of each.

    Attributes
    ----------
    about : str
        What the segments are of: a column, the predictions, time.
    kind : {"predictions", "bands", "levels", "periods"}
        Levels come by their exposure, the largest first; all else in its natural order. Missing cells are last.
    names : tuple of str
    rows : array of shape (segments,)
        The number of rows.
    exposure, actual, expected : arrays of shape (segments,)
        Totals. Their sums are those of all rows that count.
    observed_low, observed_high : arrays of shape (segments,)
        Confidence interval of ``observed``, from the spread of rows (or groups of rows) about the mean of the segment
        and the normal distribution; NaN where all rows of a segment are alike.
    other : array of shape (segments,) or None
        What another model expects.
    words : Words
        What is measured, in the user's words.
    lines : tuple of str
        What ``expected`` and ``other`` are called.
    """

    about: str
    kind: Kind
    names: tuple[str, ...]
    rows: Float64Array
    exposure: Float64Array
    actual: Float64Array
    expected: Float64Array
    observed_low: Float64Array
    observed_high: Float64Array
    words: Words
    other: Float64Array | None = None
    lines: tuple[str, str] = ("expected", "other")
    _like: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def observed(self) -> Float64Array:
        """What was observed per unit of exposure; NaN without exposure."""
        return per_unit(self.actual, self.exposure)

    @property
    def predicted(self) -> Float64Array:
        """What was expected per unit of exposure."""
        return per_unit(self.expected, self.exposure)

    @property
    def ratio(self) -> Float64Array:
        """Actual over expected."""
        return per_unit(self.actual, self.expected)

    def to_frame(self) -> Any:
        """One line per segment, in a frame of the library that X came from."""
        columns: dict[str, Any] = {
            "segment": np.array(self.names, object), "rows": self.rows.astype(np.int64), "exposure": self.exposure,
            "actual": self.actual, "expected": self.expected, "observed": self.observed,
            "observed_low": self.observed_low, "observed_high": self.observed_high, "predicted": self.predicted,
            "actual_over_expected": self.ratio,
        }  # fmt: skip
        if self.other is not None:
            columns["other"] = self.other
            columns["predicted_other"] = per_unit(self.other, self.exposure)
        return make_frame(columns, self._like)

    def __str__(self) -> str:
        second = [] if self.other is None else [per_unit(self.other, self.exposure)]
        parts = (self.rows, self.exposure, self.observed, self.predicted, *second, self.ratio)
        head = ["", "rows", "exposure", "observed", *map(visible, self.lines[: 1 + len(second)]), "actual / expected"]
        cells = (map(number, part.tolist()) for part in parts)
        rows = [list(row) for row in zip(map(visible, self.names), *cells, strict=True)]
        return "\n".join([f"{visible(self.words.rate)}, by {visible(self._order)}", *headed(head, rows)])

    @property
    def _order(self) -> str:
        """What the segments are of, in words."""
        if self.kind != "predictions":
            return self.about
        ratio = "prediction" if self.other is None else f"{self.lines[0]} over {self.lines[1]}"
        return f"{ratio}, the lowest first"

    def plot(self, ax: Any = None) -> Any:
        """Exposure as bars, observed and expected as lines above them; returns the Axes."""
        from lambdak.governance.performance.plots import draw_segments

        return draw_segments(self, ax)


def per_unit(total: Float64Array, exposure: Float64Array) -> Float64Array:
    """Totals over exposure; NaN where there is none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(exposure > 0, total / exposure, np.nan)


def segments(
    scored: ScoredRows,
    codes: Codes,
    names: tuple[str, ...],
    about: str,
    kind: Kind,
    confidence: float,
    other: Float64Array | None = None,
    lines: tuple[str, str] = ("expected", "other"),
    like: Any = None,
) -> Segments:
    """Sum up rows by their ``codes``, positions among ``names``; of those without rows only periods are kept."""
    size = len(names)
    rows = np.bincount(codes, minlength=size).astype(np.float64)
    exposure, actual, expected = (sums(codes, part, size) for part in (scored.exposure, scored.actual, scored.expected))
    low, high = _interval(scored, codes, per_unit(actual, exposure), exposure, confidence)
    second = None if other is None else sums(codes, other, size)
    kept = order_of(names, kind, rows, exposure)
    return Segments(
        about, kind, tuple(names[i] for i in kept), rows[kept], exposure[kept], actual[kept], expected[kept],
        low[kept], high[kept], scored.words, None if second is None else second[kept], lines, like,
    )  # fmt: skip


def sums(codes: Codes, values: Float64Array, size: int) -> Float64Array:
    """Sums of values by their codes, (size,)."""
    return np.asarray(np.bincount(codes, values, size), np.float64)


def order_of(names: tuple[str, ...], kind: Kind, rows: Float64Array, exposure: Float64Array) -> list[int]:
    """Positions of the segments to show: levels by exposure, missing cells at the end."""
    found = [i for i, name in enumerate(names) if rows[i] or (kind == "periods" and name != MISSING)]
    if kind == "levels":
        found.sort(key=lambda i: (names[i] == MISSING, -exposure[i]))
    return found


def _interval(
    scored: ScoredRows, codes: Codes, rate: Float64Array, exposure: Float64Array, confidence: float
) -> tuple[Float64Array, Float64Array]:
    """Rate ± z √(Σ_g (Σ_{r in g} a_r − R e_r)²) / Σ e, the error of a ratio of sums; g are rows or groups of rows."""
    residual = scored.actual - rate[codes] * scored.exposure
    size = float(np.abs(residual).max()) or 1.0  # squares of huge or tiny numbers would leave the range of a float
    units, variance = _squares(scored, codes, residual / size, len(rate))
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(variance * units / (units - 1)) * (size / exposure)
    error[~(error > 1e-9 * np.abs(rate))] = np.nan  # also where rounding is all that there is
    z = float(norm.ppf(0.5 + confidence / 2))
    low = rate - z * error
    return (np.maximum(low, 0.0) if (scored.actual >= 0).all() else low), rate + z * error


def _squares(scored: ScoredRows, codes: Codes, residual: Float64Array, size: int) -> tuple[Float64Array, Float64Array]:
    """Independent units of each segment, and the sum of their squared residuals."""
    if scored.groups is None:
        return np.bincount(codes, minlength=size).astype(np.float64), sums(codes, residual**2, size)
    pairs, place = np.unique(scored.groups * size + codes, return_inverse=True)
    segment = pairs % size
    squares = sums(place, residual, len(pairs)) ** 2
    return np.bincount(segment, minlength=size).astype(np.float64), sums(segment, squares, size)
