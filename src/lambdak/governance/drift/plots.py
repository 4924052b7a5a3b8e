"""Drift: PSI of all columns as bars, and one column in both samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from lambdak._types import Float64Array
from lambdak.explain import MOST_BARS
from lambdak.explain.plots import BLUE, DARK, GREY, RED, SKY
from lambdak.governance.drift.stability import LARGE, LITTLE
from lambdak.governance.performance.plots.canvas import (
    label_segments,
    legend_above,
    new_axes,
    segment_axes,
    short,
    titled,
)

if TYPE_CHECKING:
    from lambdak.governance.drift.drift import ColumnDrift, Drift

_MOST_LEVELS = 25
_COLOURS = {"little change": SKY, "some change": BLUE, "large change": RED}


def draw_ranking(found: Drift, ax: Axes | None = None) -> Axes:
    """A bar per column, the largest PSI on top, the prediction above all, and the limits of the usual reading."""
    shown = [*found.columns[:MOST_BARS][::-1], found.prediction]
    ax = ax or new_axes(8.6, 1.8 + 0.3 * max(len(shown), 6))
    place = np.arange(len(shown))
    for words, colour in _COLOURS.items():
        own = [i for i, each in enumerate(shown) if each.reading == words]
        if own:
            ax.barh(own, [shown[i].psi for i in own], height=0.62, color=colour, label=words)
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
    old, new = (np.append(own[first], own[rest].sum())[: len(names)] for own in (found.old, found.new))
    return names, old, new
