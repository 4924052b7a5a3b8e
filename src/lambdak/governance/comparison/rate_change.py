"""What a change from a current tariff does to those who pay it: how many gain and lose how much, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, final

import numpy as np

from lambdak._checks import freeze_arrays
from lambdak._types import Float64Array
from lambdak.governance.performance.bands import Codes, Kind
from lambdak.governance.performance.columns import Split
from lambdak.governance.performance.segments import order_of, per_unit, sums
from lambdak.table.frames import headed, make_frame, number, percent
from lambdak.table.shown import Shown
from lambdak.table.visible import visible

LIMITS = (0.05, 0.1, 0.2, 0.3)
_TAILS = (0.05, 0.25, 0.5, 0.75, 0.95)
_ENDS = (0.05, 0.95)


@final
@dataclass(frozen=True, eq=False)
class Changes:
    """Rows with their old and new prices per unit of exposure; a change is new / old − 1.

    Attributes
    ----------
    exposure, old, new : arrays of shape (n,)
        Prices are per unit of exposure.
    """

    exposure: Float64Array
    old: Float64Array
    new: Float64Array

    @property
    def change(self) -> Float64Array:
        """New / old − 1 of each row."""
        return self.new / self.old - 1


@final
@dataclass(frozen=True, eq=False, repr=False)
class RateChange(Shown):
    """The distribution of changes: who gains, who loses, and how much.

    Attributes
    ----------
    names : tuple of str
        Bands of change, from the largest fall to the largest rise.
    rows, exposure : arrays of shape (bands,)
    old, new : arrays of shape (bands,)
        Totals: prices times exposure.
    off_balance : float
        New over old total: by what all prices would have to be divided to leave the total as it is.
    mean : float
        Mean change of a unit of exposure.
    quantiles : dict
        Shares of the exposure → the change that this share does not exceed.
    limits : tuple of float
        Ends of the bands.
    """

    names: tuple[str, ...]
    rows: Float64Array
    exposure: Float64Array
    old: Float64Array
    new: Float64Array
    off_balance: float
    mean: float
    quantiles: dict[float, float]
    limits: tuple[float, ...]
    lines: tuple[str, str]
    unit: str = field(repr=False)
    _changes: Changes = field(repr=False)
    _like: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def share_beyond(self, limit: float) -> tuple[float, float]:
        """Shares of the exposure that fall, and that rise, by more than a limit such as 0.1."""
        change, exposure = self._changes.change, self._changes.exposure
        total = float(exposure.sum())
        return float(exposure[change < -limit].sum()) / total, float(exposure[change > limit].sum()) / total

    def to_frame(self) -> Any:
        """One line per band of change, winners first, in a frame of the library that X came from."""
        columns = {
            "change": np.array(self.names, object), "rows": self.rows.astype(np.int64), "exposure": self.exposure,
            "share": self.exposure / self.exposure.sum(), "old": self.old, "new": self.new,
            "mean_change": per_unit(self.new, self.old) - 1,
        }  # fmt: skip
        return make_frame(columns, self._like)

    def __str__(self) -> str:
        fall, rise = self.share_beyond(0.0)
        lines = [
            f"{self.lines[0]} against {self.lines[1]}: off-balance factor {self.off_balance:.4f}, mean change "
            f"{100 * self.mean:+.1f} %, median {100 * self.quantiles[0.5]:+.1f} %",
            f"  {100 * fall:.1f} % of {self.unit} falls, {100 * rise:.1f} % rises",
        ]
        for limit in self.limits:
            down, up = self.share_beyond(limit)
            lines.append(f"  by more than {100 * limit:g} %: {100 * down:.1f} % falls, {100 * up:.1f} % rises")
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Exposure by change; returns the Axes."""
        from lambdak.governance.plots import draw_change

        return draw_change(self, ax)


@final
@dataclass(frozen=True, eq=False, repr=False)
class SegmentChange(Shown):
    """How prices change from one side to the other, by the levels or bands of a column.

    Attributes
    ----------
    names : tuple of str
        As those of :class:`lambdak.governance.performance.segments.Segments`.
    rows, exposure, old, new : arrays of shape (segments,)
        Totals.
    low, high : arrays of shape (segments,)
        What 5 % and 95 % of the exposure of a segment does not exceed.
    falls, rises : arrays of shape (segments,)
        Shares of the exposure of a segment.
    """

    about: str
    kind: Kind
    names: tuple[str, ...]
    rows: Float64Array
    exposure: Float64Array
    old: Float64Array
    new: Float64Array
    low: Float64Array
    high: Float64Array
    falls: Float64Array
    rises: Float64Array
    lines: tuple[str, str]
    unit: str = field(repr=False)
    _like: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def change(self) -> Float64Array:
        """New over old total − 1."""
        return per_unit(self.new, self.old) - 1

    def to_frame(self) -> Any:
        """One line per segment, in a frame of the library that X came from."""
        names = ("exposure", "old", "new", "change", "low", "high", "falls", "rises")
        first = {"segment": np.array(self.names, object), "rows": self.rows.astype(np.int64)}
        return make_frame(first | {name: getattr(self, name) for name in names}, self._like)

    def __str__(self) -> str:
        shares = zip(*(map(percent, part.tolist()) for part in (self.change, self.falls, self.rises)), strict=True)
        totals = zip(*(map(number, part.tolist()) for part in (self.rows, self.exposure)), strict=True)
        rows = [
            [visible(name), *sums_of_row, *share]
            for name, sums_of_row, share in zip(self.names, totals, shares, strict=True)
        ]
        title = visible(f"{self.lines[0]} against {self.lines[1]}, by {self.about}")
        return "\n".join([title, *headed(["", "rows", "exposure", "change", "falls", "rises"], rows)])

    def plot(self, ax: Any = None) -> Any:
        """Changes of the segments above bars of their exposure; returns the Axes."""
        from lambdak.governance.plots import draw_segment_change

        return draw_segment_change(self, ax)


def rate_change(changes: Changes, limits: Sequence[float], lines: tuple[str, str], unit: str, like: Any) -> RateChange:
    """Sum up changes in bands between the limits."""
    ends = tuple(sorted({float(limit) for limit in limits}))
    if not ends or not all(0 < limit < np.inf for limit in ends):
        raise ValueError(f"limits must be positive, such as (0.05, 0.1, 0.2); got {tuple(limits)}")
    change, old, new = changes.change, changes.old * changes.exposure, changes.new * changes.exposure
    falls, rises = (np.searchsorted(ends, side * change, side="left") for side in (-1, 1))
    codes = len(ends) - falls + rises  # a change of exactly a limit is not beyond it
    size = 2 * len(ends) + 1
    at = dict(zip(_TAILS, _quantiles(change, changes.exposure, _TAILS), strict=True))
    return RateChange(
        _names(ends), np.bincount(codes, minlength=size).astype(np.float64), sums(codes, changes.exposure, size),
        sums(codes, old, size), sums(codes, new, size), float(new.sum() / old.sum()),
        float(np.average(change, weights=changes.exposure)), at, ends, lines, unit, changes, like,
    )  # fmt: skip


def _names(ends: tuple[float, ...]) -> tuple[str, ...]:
    """Bands from the largest fall to the largest rise.

    >>> _names((0.05, 0.1))
    ('below −10 %', '−10 to −5 %', 'within ±5 %', '+5 to +10 %', 'above +10 %')
    """
    shown = [f"{100 * end:g}" for end in ends]
    falls = [f"−{high} to −{low} %" for low, high in pairwise(shown)][::-1]
    rises = [f"+{low} to +{high} %" for low, high in pairwise(shown)]
    return (f"below −{shown[-1]} %", *falls, f"within ±{shown[0]} %", *rises, f"above +{shown[-1]} %")


def segment_change(changes: Changes, split: Split, lines: tuple[str, str], unit: str, like: Any) -> SegmentChange:
    """Sum up changes by segment."""
    codes, size, change = split.codes, len(split.names), changes.change
    rows = np.bincount(codes, minlength=size).astype(np.float64)
    exposure = sums(codes, changes.exposure, size)
    old, new = (sums(codes, price * changes.exposure, size) for price in (changes.old, changes.new))
    falls, rises = (
        per_unit(sums(codes, changes.exposure * moved, size), exposure) for moved in (change < 0, change > 0)
    )
    low, high = _quantiles_by(codes, size, change, changes.exposure)
    kept = order_of(split.names, split.kind, rows, exposure)
    return SegmentChange(
        split.about, split.kind, tuple(split.names[i] for i in kept), rows[kept], exposure[kept], old[kept], new[kept],
        low[kept], high[kept], falls[kept], rises[kept], lines, unit, like,
    )  # fmt: skip


def _quantiles(values: Float64Array, weight: Float64Array, shares: Sequence[float]) -> list[float]:
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(weight[order])
    places = np.searchsorted(ends, np.asarray(shares) * ends[-1]).clip(0, len(values) - 1)
    return [float(value) for value in values[order[places]]]


def _quantiles_by(codes: Codes, size: int, values: Float64Array, weight: Float64Array) -> tuple[Any, Any]:
    """5 % and 95 % quantiles of each segment; NaN without rows."""
    order = np.lexsort((values, codes))
    starts = np.searchsorted(codes[order], np.arange(size + 1))
    found = np.full((2, size), np.nan)
    for i, (first, last) in enumerate(pairwise(starts)):
        if last > first:
            members = order[first:last]
            ends = np.cumsum(weight[members])
            places = np.searchsorted(ends, np.array(_ENDS) * ends[-1]).clip(0, len(members) - 1)
            found[:, i] = values[members[places]]
    return found[0], found[1]
