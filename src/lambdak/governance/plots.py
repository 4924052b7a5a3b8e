"""Pictures of comparison, drift and fairness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from lambdak._types import Float64Array
from lambdak.explain import MOST_BARS
from lambdak.explain.plots import BLUE, DARK, FALLS, GREY, RED, RISES, SKY, side_by_side
from lambdak.governance.drift.stability import LARGE, LITTLE
from lambdak.governance.performance.plots import (
    MOST_LEVELS,
    draw_exposure,
    label_segments,
    legend_above,
    new_axes,
    segment_axes,
    short,
    titled,
)
from lambdak.table.category_levels import shown

if TYPE_CHECKING:
    from lambdak.governance.comparison.rate_change import RateChange, SegmentChange
    from lambdak.governance.drift.drift import ColumnDrift, Drift
    from lambdak.governance.fairness.assessment import Fairness
    from lambdak.governance.fairness.flips import Pair


def draw_change(found: RateChange, ax: Axes | None = None) -> Axes:
    """Share of the exposure in each band of change: falls and rises in two colours."""
    ax = ax or segment_axes(found.names, False)
    share = found.exposure / found.exposure.sum()
    middle = len(found.limits)
    colours = [FALLS] * middle + [GREY] + [RISES] * middle
    bars = ax.bar(np.arange(len(share)), share, width=0.85, color=colours)
    words = [f"{100 * part:.1f} %" if part >= 0.0005 or not part else "< 0.1 %" for part in share]
    ax.bar_label(bars, words, padding=2, fontsize=9)
    label_segments(ax, found.names, False)
    ax.margins(y=0.12)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda part, _: f"{100 * part:.4g} %"))
    new, old = (short(name, 16) for name in found.lines)
    ax.set(xlabel=f"change from {old} to {new}", ylabel=f"share of {short(found.unit, 24)}")
    for colour, label in ((FALLS, "falls"), (GREY, "nearly the same"), (RISES, "rises")):
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


_MOST_LEVELS = 25
_COLOURS = {"little change": SKY, "some change": BLUE, "large change": RED}


def draw_ranking(found: Drift, ax: Axes | None = None) -> Axes:
    """A bar per column, the largest PSI on top, the prediction above all, and the limits of the usual reading."""
    shown = [*found.columns[:MOST_BARS][::-1], found.prediction]
    ax = ax or new_axes(8.6, 1.8 + 0.3 * max(len(shown), 6))
    place = np.arange(len(shown))
    for words, colour in _COLOURS.items():
        matching = [i for i, each in enumerate(shown) if each.reading == words]
        if matching:
            ax.barh(matching, [shown[i].psi for i in matching], height=0.62, color=colour, label=words)
    ax.plot([each.chance for each in shown], place, "|", color=DARK, markersize=11, label="below: may be chance")
    widest = max(each.psi for each in shown)
    for limit in (LITTLE, LARGE):
        if limit <= 1.6 * widest:
            ax.axvline(limit, color=GREY, linewidth=1, linestyle="--")
    ax.set_yticks(place, [short(each.column) for each in shown])
    left = len(found.columns) - MOST_BARS
    more = f"\n({left} more columns with a smaller PSI are not shown)" if left > 0 else ""
    ax.set_xlabel(f"population stability index, with the limits {LITTLE:g} and {LARGE:g}{more}")
    titled(ax, f"Drift of {len(found.columns)} columns and of the prediction")
    legend_above(ax)
    return ax


def draw_column(found: ColumnDrift, ax: Axes | None = None) -> Axes:
    """Shares of both samples side by side."""
    names, old, new = _largest(found) if found.kind == "levels" else (list(found.names), found.old, found.new)
    ax = ax or segment_axes(names, False)
    place = np.arange(len(names))
    ax.bar(place - 0.2, old, width=0.4, color=GREY, label="old")
    ax.bar(place + 0.2, new, width=0.4, color=BLUE, label="new")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g} %"))
    ax.set(xlabel=short(found.column, 48), ylabel="share of the rows, by weight")
    label_segments(ax, names, False)
    titled(ax, f"{short(found.column)}: PSI {found.psi:.3f}, {found.reading}")
    legend_above(ax)
    return ax


def _largest(found: ColumnDrift) -> tuple[list[str], Float64Array, Float64Array]:
    """Levels by their share of both samples, the smallest ones together."""
    order = np.argsort(-(found.old + found.new), kind="stable")
    first = order if len(order) <= _MOST_LEVELS else order[: _MOST_LEVELS - 1]
    rest = order[len(first) :]
    names = [*(found.names[i] for i in first), *([f"… and {len(rest)} more levels"] if len(rest) else [])]
    old, new = (np.append(share[first], share[rest].sum())[: len(names)] for share in (found.old, found.new))
    return names, old, new


_LONGEST = 28  # letters of a name
_MOST_PAIRS = 12


def draw_flips(found: Fairness, ax: Axes | None = None) -> Axes:
    """Draw the changes of all rows between pairs of levels, and the proven bounds that no row can leave."""
    pairs = found.flips.pairs[:_MOST_PAIRS]
    ax = ax or side_by_side(1, (8.4, 1.9 + 0.45 * max(len(pairs), 2)))[0]
    for y, pair in enumerate(pairs):
        _draw_pair(ax, len(pairs) - 1 - y, found, pair, not y)
    ax.axvline(0, color=DARK, linewidth=0.8)
    ax.set_yticks(range(len(pairs)), [f"{_level(pair.first)} → {_level(pair.second)}" for pair in reversed(pairs)])
    ax.set_ylim(-0.7, max(len(pairs), 1) - 0.3)
    unit, name = "relative change" if found.factor else "change", _short(found.column)
    hidden = len(found.flips.pairs) - len(pairs)
    more = f"\n({hidden} more pairs are not shown)" if hidden else ""
    ax.set_xlabel(f"{unit} of {found.measure}, when {name} alone changes{more}")
    ax.set_title(f"What {name} does", pad=28)
    ax.spines[["top", "right"]].set_visible(False)
    if pairs:
        ax.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0.2, ncols=3)
    return ax


def _draw_pair(ax: Axes, y: int, found: Fairness, pair: Pair, named: bool) -> None:
    change = _changes(found, pair)
    line: dict[str, Any] = {"solid_capstyle": "butt"}
    labels = ("proven: no row can leave", "90 % of the rows", "largest changes that were seen")
    proven, most, seen = labels if named else ("", "", "")
    low = 1 / (1 + pair.bound) - 1 if found.factor else -pair.bound  # a factor can be as small as it can be large
    ax.plot([low, pair.bound], [y, y], color=SKY, linewidth=12, alpha=0.45, label=proven, **line)
    if len(change):
        ax.plot(np.quantile(change, [0.05, 0.95]), [y, y], color=BLUE, linewidth=5, label=most, **line)
        extremes = [change.min(), change.max()]
        ax.plot(extremes, [y, y], "|", color=RED, markersize=14, markeredgewidth=2, label=seen)


def _changes(found: Fairness, pair: Pair) -> Float64Array:
    levels = list(found.flips.levels)
    first, second = (found.flips.predictions[levels.index(level)] for level in (pair.first, pair.second))
    return np.asarray(second / first - 1 if found.factor else second - first)


def _level(level: object) -> str:
    return f"{level:.4g}" if isinstance(level, float) else _short(shown(level))


def _short(name: str) -> str:
    text = "".join(letter if letter.isprintable() else " " for letter in name)
    text = text if len(text) <= _LONGEST else f"{text[:13]}…{text[-13:]}"
    return text.replace("$", r"\$")
