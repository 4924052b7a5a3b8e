"""What the pictures share: size, labels that do not overlap, numbers with separators, a legend off the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from lambdak.explain.plots import short_name as short
from lambdak.explain.plots import side_by_side
from lambdak.explain.plots.canvas import legend_above, separated

__all__ = ["label_segments", "legend_above", "new_axes", "segment_axes", "separated", "short", "titled"]

_STEEP = 70  # degrees of labels that would overlap
_ROOM, _SMALL_ROOM = 96, 124  # characters of labels beside each other, and of small ones
_PER_LETTER = 0.065  # inches of a label that is turned
_MOST_LABELS = 40
_WRAPPED = 74  # characters of a title


def new_axes(width: float = 8.6, height: float = 4.8) -> Axes:
    """Axes on a figure of their own."""
    return side_by_side(1, (width, height))[0]


def segment_axes(names: Sequence[str], in_order: bool) -> Axes:
    """Axes that are as high with names below them as others without."""
    shown, room = _labels(names, in_order)
    longest = max(len(word) for _, word in shown)
    return new_axes(height=4.8 + (_PER_LETTER * longest if room > _SMALL_ROOM else 0.0))


def label_segments(ax: Axes, names: Sequence[str], in_order: bool) -> None:
    """Names below the x axis: turned where they would overlap, and if they follow one another only every few."""
    shown, room = _labels(names, in_order)
    turned: dict[str, Any] = {"rotation": _STEEP, "ha": "right", "va": "top", "rotation_mode": "anchor"}
    ax.set_xticks([i for i, _ in shown], [word for _, word in shown], **turned if room > _SMALL_ROOM else {})
    ax.tick_params(axis="x", labelsize=8 if room > _ROOM else 10)


def _labels(names: Sequence[str], in_order: bool) -> tuple[list[tuple[int, str]], float]:
    """Places and words of the names to show, and how many letters they need beside each other."""
    step = -(-len(names) // _MOST_LABELS) if in_order else 1
    shown = [(i, short(name, 24)) for i, name in enumerate(names) if i % step == 0]
    return shown, max(len(word) + 1 for _, word in shown) * len(names) / step


def titled(ax: Axes, title: str) -> None:
    """A title that fits."""
    ax.set_title(short(title, _WRAPPED), fontsize=11)
