"""Pictures of a distribution: levels of targets, shares below quantiles, and coverage of intervals and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lambdak._types import Float64Array
from lambdak.explain.plots import BLUE, DARK, GREY, SKY
from lambdak.governance.performance.plots import (
    label_segments,
    legend_above,
    new_axes,
    percent,
    segment_axes,
    short,
    titled,
)

if TYPE_CHECKING:
    from lambdak.governance.performance.coverage import Coverage, GroupCoverage

_Z = 1.959963984540054  # of a 95 % interval
_LEVELS = np.arange(1, 100) / 100


def draw_levels(found: Coverage, ax: Any = None) -> Any:
    """Shares of targets up to the quantile of each level, beside the diagonal."""
    ax = ax or new_axes(5.4, 5.4)
    reach = _half_width(_LEVELS, float(len(found.y)))
    ax.fill_between(_LEVELS, _LEVELS - reach, _LEVELS + reach, color=GREY, alpha=0.25, linewidth=0,
                    label="95 % of right models are in here")  # fmt: skip
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="wanted")
    ax.plot(_LEVELS, found.share_up_to(_LEVELS), color=BLUE, linewidth=2, label="observed")
    ax.set_aspect("equal")
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="level of the quantile", ylabel="share of targets up to it")
    _percent(ax.xaxis, ax.yaxis)
    titled(ax, "Coverage by level")
    legend_above(ax, columns=1)
    return ax


def draw_intervals(found: Coverage, ax: Any = None) -> Any:
    """Shares of targets inside intervals, beside the wanted ones."""
    ax = ax or new_axes(5.4, 4.4)
    place, wanted = np.arange(len(found.coverages)), np.array(found.coverages)
    reach = _reach(found.observed, float(len(found.y)))
    ax.bar(place, found.observed, width=0.6, color=SKY, label="observed, with 95 % interval")
    ax.errorbar(place, found.observed, yerr=reach, fmt="none", ecolor=DARK, elinewidth=1, capsize=3)
    ax.hlines(wanted, place - 0.38, place + 0.38, color=DARK, linewidth=2, label="wanted")
    ax.set_xticks(place, [f"{100 * own:g} %" for own in wanted])
    ax.set(ylim=(0, 1), xlabel="interval" if found.calibrated else "interval, not calibrated", ylabel="targets inside")
    _percent(ax.yaxis)
    titled(ax, "Coverage of intervals")
    legend_above(ax, columns=1)
    return ax


def draw_pit(found: Coverage, ax: Any = None) -> Any:
    """The histogram of the levels of targets, with where it is if the distribution is right."""
    ax = ax or new_axes(5.4, 4.4)
    shares = found.pit()
    bins = len(shares)
    reach = float(_half_width(np.array([1 / bins]), float(len(found.y)))[0])
    ax.bar((np.arange(bins) + 0.5) / bins, shares, width=0.9 / bins, color=SKY, label="observed")
    ax.axhspan(
        1 / bins - reach, 1 / bins + reach, color=GREY, alpha=0.25, zorder=0, label="95 % of bins, if all is right"
    )
    ax.axhline(1 / bins, color=DARK, linewidth=1, linestyle="--")
    ax.set(xlim=(0, 1), xlabel="level of the target in its own distribution", ylabel="share of rows")
    _percent(ax.xaxis, ax.yaxis)
    titled(ax, "Levels of targets (PIT)")
    legend_above(ax, columns=1)
    return ax


def draw_groups(found: GroupCoverage, ax: Any = None) -> Any:
    """Shares of targets inside an interval, group by group."""
    names = tuple(map(short, found.names))
    ax = ax or segment_axes(names, in_order=True)
    place = np.arange(len(names))
    reach = _reach(found.observed, found.rows)
    ax.errorbar(place, found.observed, yerr=reach, fmt="o", color=BLUE, ecolor=SKY, elinewidth=2,
                label="observed, with 95 % interval")  # fmt: skip
    ax.axhline(found.coverage, color=DARK, linewidth=1, linestyle="--", label=f"wanted: {100 * found.coverage:g} %")
    label_segments(ax, names, in_order=True)
    ax.set(xlabel=short(found.about, 48), ylabel="targets inside")
    _percent(ax.yaxis)
    titled(ax, f"Coverage by {found.about}")
    legend_above(ax)
    return ax


def _half_width(share: Float64Array, rows: float | Float64Array) -> Float64Array:
    """Half of the 95 % interval of a share of so many rows."""
    return np.asarray(_Z * np.sqrt(share * (1 - share) / np.maximum(rows, 1)))


def _reach(share: Float64Array, rows: float | Float64Array) -> Float64Array:
    """From a share down and up to the ends of its 95 % interval, Wilson's, (2, shares)."""
    room = _Z**2 / np.maximum(rows, 1)
    middle = (share + room / 2) / (1 + room)
    half = np.sqrt(room * share * (1 - share) + room**2 / 4) / (1 + room)
    return np.asarray(np.maximum([share - (middle - half), middle + half - share], 0.0))


def _percent(*axes: Any) -> None:
    for axis in axes:
        percent(axis)


DRAWN = {"levels": draw_levels, "intervals": draw_intervals, "pit": draw_pit}
