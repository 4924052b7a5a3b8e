"""Data to matplotlib Axes; nothing else in the library imports matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from PIL import Image

from lambdak.demo import Effect, Fan, Influence

# Okabe and Ito's colours, which people of every colour vision can tell apart.
BLUE, SKY, RED = "#0072B2", "#56B4E9", "#D55E00"
GREY, DARK = "#8A8A8A", "#333333"
_DPI = 130
_SHADES = 128  # of all colours together: thin lines look the same, and the file is a third
_MOST_LINES = 40
_ARROWS = {1: " ↑", -1: " ↓", 0: ""}


def side_by_side(count: int, size: tuple[float, float] = (4.6, 4.2)) -> list[Axes]:
    """Axes of this size, in inches, next to each other on one figure."""
    _, axes = plt.subplots(1, count, figsize=(size[0] * count, size[1]), layout="constrained", squeeze=False)
    return list(axes[0])


def save(ax: Axes, path: Path) -> None:
    """Write the figure that the Axes are on to a small PNG file, and close it."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("ax must be on a figure; got Axes that were removed from theirs")
    whole = BytesIO()
    figure.savefig(whole, dpi=_DPI, format="png")
    plt.close(figure)
    Image.open(whole).convert("RGB").quantize(_SHADES).save(path, format="PNG", optimize=True)


def draw_effect(effect: Effect, ax: Axes | None = None) -> Axes:
    """The change of single rows as thin lines, that of all as a thick one, and the region that no row can leave."""
    ax = ax or side_by_side(1)[0]
    ax.fill_between(
        effect.x, effect.low, effect.high, color=SKY, alpha=0.25, linewidth=0, label="proven: no row can leave"
    )
    ax.plot(effect.x, np.array([effect.low, effect.high]).T, color=SKY, linewidth=1)
    shown = effect.change[:: -(-len(effect.change) // _MOST_LINES)]
    lines = ax.plot(effect.x, shown.T, color=GREY, linewidth=0.5)
    lines[0].set_label(f"{len(shown)} single rows")
    ax.plot(effect.x, effect.change.mean(axis=0), color=BLUE, linewidth=2.5, label="mean of all rows")
    asked = {1: ": prediction never falls", -1: ": prediction never rises", 0: ": no constraint"}[effect.sign]
    ax.set(xlabel=effect.column, ylabel="change of the prediction", title=f"{effect.column}{asked}")
    return _finished(ax)


def draw_influence(influences: Sequence[Influence], ax: Axes | None = None) -> Axes:
    """A bar per column up to its proven bound, the strongest on top, and a dot at the largest change that was seen."""
    ax = ax or _wide()
    ranked = sorted(influences, key=lambda influence: influence.proven)
    places = np.arange(len(ranked))
    ax.barh(places, [each.proven for each in ranked], color=SKY, height=0.6, label="proven: no change does more")
    ax.plot([each.seen for each in ranked], places, "o", color=RED, markersize=6, label="largest change that was seen")
    names = [f"{each.column}{_ARROWS[each.sign]}" for each in ranked]
    ax.set_yticks(places, names)
    ax.set(xlabel="change of the prediction, when this column alone changes", title="What each column can do")
    return _finished(ax)


def draw_fan(fan: Fan, ax: Axes | None = None) -> Axes:
    """Bands between quantiles of opposite levels, row after row, and what was observed."""
    ax = ax or _wide()
    rows, last = np.arange(len(fan.y)), len(fan.levels) - 1
    for i in range(len(fan.levels) // 2):
        share = f"{100 * (fan.levels[last - i] - fan.levels[i]):.0f} % of the rows should be inside"
        low, high = fan.quantiles[:, i], fan.quantiles[:, last - i]
        ax.fill_between(rows, low, high, step="mid", color=SKY, alpha=0.35 + 0.3 * i, linewidth=0, label=share)
    ax.step(rows, fan.quantiles[:, len(fan.levels) // 2], where="mid", color=BLUE, linewidth=2, label="median")
    ax.plot(rows[fan.inside], fan.y[fan.inside], "o", color=DARK, markersize=4, label="observed")
    ax.plot(rows[~fan.inside], fan.y[~fan.inside], "X", color=RED, markersize=7, label="observed, outside")
    ax.set(xlabel="held-out rows, by predicted median", ylabel=fan.target, title="Quantiles that never cross")
    return _finished(ax)


def _wide() -> Axes:
    return side_by_side(1, (9.2, 4.4))[0]


def _finished(ax: Axes) -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9)
    return ax
