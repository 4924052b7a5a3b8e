"""A learning curve that grows in a notebook while a model is fitted, drawn as SVG, which needs no library."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.training.trainer import Event

LIVE = 2  # the least ``verbose`` that draws
_PAUSE = 0.3  # seconds between two pictures: a notebook follows them without flicker
_WIDTH, _HEIGHT, _MARGIN = 520, 220, 46  # pixels: beside the output of a cell, with room for numbers
_BLUE, _RED = "#0072B2", "#D55E00"


def watch_of(verbose: int) -> Live | None:
    """What is to be called with all epochs so far; None if nothing was requested, or nobody could see it."""
    return Live(_display()) if verbose >= LIVE and _in_notebook() else None


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _display() -> Any:
    """A place below the cell, whose content can be replaced."""
    from IPython.display import HTML, display

    handle = display(HTML(""), display_id=True)
    return lambda text: handle.update(HTML(text))


class Live:
    """Draws the epochs so far, a few times a second, and once training has ended."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show, self._last = show, 0.0

    def __call__(self, events: Sequence[Event], ended: bool = False) -> None:
        """Draw, if the last picture is old enough, or training has ``ended``."""
        now = time.monotonic()
        if ended or now - self._last >= _PAUSE:
            self._last = now
            self._show(curve_svg(events))


def curve_svg(events: Sequence[Event]) -> str:
    """Mean losses of the members on training and validation rows by epoch, as SVG that fits light and dark pages."""
    train, seen = (np.array([getattr(event, name).mean() for event in events]) for name in ("train", "validation"))
    epochs, best = events[-1].epochs, int(seen.argmin())
    low, high = float(min(train.min(), seen.min())), float(max(train.max(), seen.max()))
    place = _places(len(events), max(epochs, 2), low, high)
    x = place(seen)[best, 0]
    bottom, right = _HEIGHT - _MARGIN, _WIDTH - 8
    said = f"epoch {len(events)} of {epochs}; validation loss {seen[-1]:.4g}, lowest {seen[best]:.4g}"
    texts = [
        (_MARGIN, 14, "start", said),
        (_MARGIN - 4, 34, "end", f"{high:.3g}"), (_MARGIN - 4, bottom, "end", f"{low:.3g}"),
        (_MARGIN, bottom + 16, "middle", "1"), (right, bottom + 16, "end", f"{epochs}"),
        (_MARGIN, bottom + 34, "start", "training rows"), (_MARGIN + 110, bottom + 34, "start", "validation rows"),
    ]  # fmt: skip
    colours = {"training rows": _BLUE, "validation rows": _RED}
    words = "".join(
        f'<text x="{left}" y="{top}" text-anchor="{anchor}" fill="{colours.get(text, "currentColor")}">{text}</text>'
        for left, top, anchor, text in texts
    )
    lines = "".join(
        f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{_points(place(values))}"/>'
        for values, colour in ((train, _BLUE), (seen, _RED))
    )
    frame = f'<path d="M{_MARGIN} 26V{bottom}H{right}" fill="none" stroke="currentColor" opacity="0.5"/>'
    kept = f'<path d="M{x:.1f} 26V{bottom}" stroke="currentColor" stroke-dasharray="4 3" opacity="0.6"/>'
    fonts = 'font-size="11" font-family="sans-serif"'
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {fonts}>{frame}{kept}{lines}{words}</svg>'


def _places(count: int, epochs: int, low: float, high: float) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """From losses of the epochs so far to pixels, (epochs, 2)."""
    x = _MARGIN + np.arange(count) / (epochs - 1) * (_WIDTH - 8 - _MARGIN)
    span = (high - low) or 1.0
    return lambda values: np.column_stack([x, 30 + (high - values) / span * (_HEIGHT - _MARGIN - 34)])


def _points(places: NDArray[Any]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
