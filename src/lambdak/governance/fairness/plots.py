"""An assessment of a protected column to matplotlib Axes; nothing is computed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from lambdak._types import Float64Array
from lambdak.explain.plots import BLUE, DARK, RED, SKY, side_by_side
from lambdak.table.category_levels import shown

if TYPE_CHECKING:
    from lambdak.governance.fairness.assessment import Fairness
    from lambdak.governance.fairness.flips import Pair

_LONGEST = 28  # letters of a name
_MOST_PAIRS = 12


def draw_flips(found: Fairness, ax: Axes | None = None) -> Axes:
    """Draw the changes of all rows between pairs of levels, and the proven bounds that no row can leave."""
    pairs = found.flips.pairs[:_MOST_PAIRS]
    ax = ax or side_by_side(1, (8.4, 1.9 + 0.45 * max(len(pairs), 2)))[0]
    for y, pair in enumerate(pairs):
        _draw_pair(ax, len(pairs) - 1 - y, found, pair, not y)
    ax.axvline(0, color=DARK, linewidth=0.8)
    ax.set_yticks(range(len(pairs)), [f"{_level(own.first)} → {_level(own.second)}" for own in reversed(pairs)])
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
    first, second = (found.flips.predictions[levels.index(own)] for own in (pair.first, pair.second))
    return np.asarray(second / first - 1 if found.factor else second - first)


def _level(level: object) -> str:
    return f"{level:.4g}" if isinstance(level, float) else _short(shown(level))


def _short(name: str) -> str:
    text = "".join(letter if letter.isprintable() else " " for letter in name)
    text = text if len(text) <= _LONGEST else f"{text[:13]}…{text[-13:]}"
    return text.replace("$", r"\$")
