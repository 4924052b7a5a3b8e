"""Actual against expected: exposure as bars, what was observed and expected as lines above them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from lambdak._types import Float64Array
from lambdak.explain.plots import BLUE, DARK, GREY, RED
from lambdak.governance.performance.bands import MISSING
from lambdak.governance.performance.plots.canvas import (
    label_segments,
    legend_above,
    segment_axes,
    separated,
    short,
    titled,
)

if TYPE_CHECKING:
    from lambdak.governance.performance.segments import Segments

MOST_LEVELS = 25
_BAR_ROOM = 3.2  # how many times as high as the bars the picture is
_BAR = "#D9D9D9"


def draw_segments(found: Segments, ax: Axes | None = None) -> Axes:
    """Segments beside one another."""
    own = _Shown(found)
    ax = ax or segment_axes(own.names, found.kind != "levels")
    bars = draw_exposure(ax, own.exposure, found.words.exposure)
    place = np.arange(len(own.names))
    reach = np.array([own.observed - own.low, own.high - own.observed])
    if np.isfinite(reach).any():
        ax.errorbar(place, own.observed, yerr=np.nan_to_num(reach), fmt="none", ecolor=DARK, elinewidth=1, capsize=2)
    lines = [("observed", own.observed, "o", DARK), (found.lines[0], own.predicted, "D", BLUE)]
    if own.other is not None:
        lines.append((found.lines[1], own.other, "s", RED))
    joined = 0 if found.kind == "levels" else len(place) - (own.names[-1] == MISSING)
    for label, values, marker, colour in lines:
        ax.plot(place, values, marker, color=colour, markersize=5, label=short(label, 32))
        ax.plot(place[:joined], values[:joined], color=colour, linewidth=1.6)
    ax.set(xlabel=_below(found, own.more), ylabel=short(found.words.rate, 44))
    label_segments(ax, own.names, found.kind != "levels")
    separated(ax.yaxis)
    titled(ax, _title(found))
    legend_above(ax, [bars])
    return ax


class _Shown:
    """What there is room for: all segments, or the largest levels and the sum of all others."""

    def __init__(self, found: Segments) -> None:
        from lambdak.governance.performance.segments import per_unit

        cut = found.kind == "levels" and len(found) > MOST_LEVELS
        first = MOST_LEVELS - 1 if cut else len(found)
        self.more = len(found) - first

        def joined(values: Float64Array) -> Float64Array:
            return np.append(values[:first], values[first:].sum()) if cut else values

        self.names = [*found.names[:first], *([f"… and {self.more} more levels"] if cut else [])]
        self.exposure = joined(found.exposure)
        self.observed = per_unit(joined(found.actual), self.exposure)
        self.predicted = per_unit(joined(found.expected), self.exposure)
        self.other = None if found.other is None else per_unit(joined(found.other), self.exposure)
        self.low, self.high = (
            np.append(ends[:first], np.nan) if cut else ends for ends in (found.observed_low, found.observed_high)
        )


def draw_exposure(ax: Axes, exposure: Float64Array, words: str) -> Axes:
    """Bars on an axis of their own at the right, low enough to be below the lines."""
    bars = ax.twinx()
    bars.bar(np.arange(len(exposure)), exposure, width=0.8, color=_BAR, label=short(words, 24), zorder=0)
    bars.set_ylim(0, _BAR_ROOM * max(exposure.max(), np.finfo(float).tiny))
    bars.set_ylabel(short(words, 40), color=GREY)
    bars.tick_params(axis="y", colors=GREY)
    separated(bars.yaxis)
    bars.spines[["top", "left"]].set_visible(False)
    bars.spines["right"].set_color(GREY)
    ax.set_zorder(bars.get_zorder() + 1)  # lines above the bars
    ax.patch.set_visible(False)
    return bars


def _title(found: Segments) -> str:
    if found.kind == "predictions":
        return "Lift: observed and expected by prediction" if found.other is None else "Double lift"
    return f"Actual against expected by {found.about}"


def _below(found: Segments, more: int) -> str:
    if found.kind != "predictions":
        return short(found.about, 48)
    count = {10: "tenths", 5: "fifths", 4: "quarters", 20: "twentieths"}.get(len(found), "bands")
    of = "" if found.words.exposure == "rows" else f" of {short(found.words.exposure, 24)}"
    by = "prediction" if found.other is None else f"{found.lines[0]} over {found.lines[1]}"
    return f"{count}{of}, from the lowest {by} to the highest"
