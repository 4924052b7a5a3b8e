"""Changes from a current tariff: how much exposure changes by how much, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from lambdak._types import Float64Array
from lambdak.explain.plots import BLUE, DARK, GREY, RED, SKY
from lambdak.governance.performance.plots.canvas import label_segments, legend_above, segment_axes, short, titled
from lambdak.governance.performance.plots.segments import MOST_LEVELS, draw_exposure

if TYPE_CHECKING:
    from lambdak.governance.comparison.rate_change import RateChange, SegmentChange


def draw_change(found: RateChange, ax: Axes | None = None) -> Axes:
    """Share of the exposure in each band of change: falls and rises in two colours."""
    ax = ax or segment_axes(found.names, False)
    share = found.exposure / found.exposure.sum()
    middle = len(found.limits)
    colours = [BLUE] * middle + [GREY] + [RED] * middle
    bars = ax.bar(np.arange(len(share)), share, width=0.85, color=colours)
    words = [f"{100 * part:.1f} %" if part >= 0.0005 or not part else "< 0.1 %" for part in share]
    ax.bar_label(bars, words, padding=2, fontsize=9)
    label_segments(ax, found.names, False)
    ax.margins(y=0.12)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda part, _: f"{100 * part:.4g} %"))
    new, old = (short(name, 16) for name in found.lines)
    ax.set(xlabel=f"change from {old} to {new}", ylabel=f"share of {short(found.unit, 24)}")
    for colour, label in ((BLUE, "falls"), (GREY, "nearly the same"), (RED, "rises")):
        ax.bar([0], [0], color=colour, label=label)
    titled(ax, f"Rate change: total {100 * (found.off_balance - 1):+.1f} %, median {100 * found.quantiles[0.5]:+.1f} %")
    legend_above(ax)
    return ax


def draw_segment_change(found: SegmentChange, ax: Axes | None = None) -> Axes:
    """The change of each segment's total, and the range of nine tenths of its exposure."""
    first = len(found.names)
    if found.kind == "levels" and first > MOST_LEVELS:
        first = MOST_LEVELS - 1
    names, change, exposure = _joined(found, first)
    ax = ax or segment_axes(names, found.kind != "levels")
    bars = draw_exposure(ax, exposure, found.unit)
    place = np.arange(len(names))
    ax.axhline(0, color=DARK, linewidth=0.8)
    ax.vlines(place[:first], found.low[:first], found.high[:first], color=SKY, linewidth=5, alpha=0.8,
              label="90 % of the exposure")  # fmt: skip
    ax.plot(place, change, "o", color=BLUE, label="total of the segment")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda part, _: f"{100 * part:+.4g} %" if part else "0 %"))
    new, old = (short(name, 16) for name in found.lines)
    ax.set(xlabel=short(found.about, 48), ylabel=f"change from {old} to {new}")
    label_segments(ax, names, found.kind != "levels")
    titled(ax, f"Rate change by {found.about}")
    legend_above(ax, [bars])
    return ax


def _joined(found: SegmentChange, first: int) -> tuple[list[str], Float64Array, Float64Array]:
    """Names, changes and exposure, the smallest levels together."""
    if first == len(found.names):
        return list(found.names), found.change, found.exposure
    rest = found.new[first:].sum() / found.old[first:].sum() - 1
    names = [*found.names[:first], f"… and {len(found.names) - first} more levels"]
    return names, np.append(found.change[:first], rest), np.append(found.exposure[:first], found.exposure[first:].sum())
