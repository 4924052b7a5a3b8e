"""Data to matplotlib Axes; nothing else in the library imports matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from lambdak.demo import Effect, Fan, Influence

# Okabe and Ito's colours, which people of every colour vision can tell apart.
BLUE, ORANGE, GREEN, SKY, RED = "#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00"
_GREY, _DARK = "#8A8A8A", "#333333"
_DPI = 110


def side_by_side(count: int) -> list[Axes]:
    """Axes next to each other on one figure."""
    _, axes = plt.subplots(1, count, figsize=(4.6 * count, 4.2), layout="constrained", squeeze=False)
    return list(axes[0])


def save(ax: Axes, path: Path) -> None:
    """Write the figure that the Axes are on to a file, and close it."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("ax must be on a figure; got Axes that were removed from theirs")
    figure.savefig(path, dpi=_DPI)
    plt.close(figure)


def draw_effect(effect: Effect, ax: Axes | None = None) -> Axes:
    """The change of every row as a thin line, their mean as a thick one, and the region that no row can leave."""
    ax = ax or side_by_side(1)[0]
    ax.fill_between(effect.x, effect.low, effect.high, color=SKY, alpha=0.25, linewidth=0, label="proven bounds")
    ax.plot(effect.x, np.array([effect.low, effect.high]).T, color=SKY, linewidth=1)
    lines = ax.plot(effect.x, effect.change.T, color=_GREY, linewidth=0.4, alpha=0.35, rasterized=True)
    lines[0].set_label(f"each of {len(effect.change)} rows")
    ax.plot(effect.x, effect.change.mean(axis=0), color=BLUE, linewidth=2.5, label="mean")
    asked = {1: ": never falls", -1: ": never rises", 0: ""}[effect.sign]
    ax.set(xlabel=effect.column, ylabel="change of the prediction", title=f"{effect.column.split(' (')[0]}{asked}")
    return _finished(ax, legend="upper left")


def draw_influence(influences: Sequence[Influence], ax: Axes | None = None) -> Axes:
    """A bar per column up to its proven bound, the strongest on top, and a dot at the largest change that was seen."""
    ax = ax or plt.subplots(figsize=(8, 4.4), layout="constrained")[1]
    ranked = sorted(influences, key=lambda influence: influence.proven)
    proven, seen = np.array([[each.proven, each.seen] for each in ranked]).T
    places = np.arange(len(ranked))
    ax.barh(places, proven, color=[BLUE if each.sign else SKY for each in ranked], height=0.65)
    ax.plot(seen, places, "o", color=ORANGE, markersize=7)
    ax.set_yticks(places, [each.column for each in ranked])
    return _finished(ax)


def draw_fan(fan: Fan, ax: Axes | None = None) -> Axes:
    """Bands between matching quantiles, row by row, with what came true."""
    ax = ax or plt.subplots(figsize=(8, 4.4), layout="constrained")[1]
    rows = np.arange(len(fan.y))
    return _finished(ax)


def _finished(ax: Axes, legend: str = "best") -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc=legend, fontsize=9)
    return ax
