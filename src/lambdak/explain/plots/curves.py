"""Survival curves of rows, with the number of rows that are still at risk below."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from lambdak._types import Float64Array
from lambdak.explain.plots.canvas import DARK, GREY, separated, short_name, wide
from lambdak.model.event_curves import EventCurves

_POINTS = 300  # of a curve: more than a printed line can show
_MOST_CURVES = 10  # in one picture
_COUNTS = 6  # of the rows at risk
_BELOW = -0.24  # of the axes, where they stand


def draw_survival(
    curves: EventCurves,
    names: Sequence[str] = (),
    lines: Float64Array | None = None,
    until: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Curves of rows, dotted after the last event of training, where they are extrapolated.

    ``lines`` say what was observed of other rows, such as all of a test table: how many of them were still at risk is
    written below some times.
    """
    if len(curves.raw) > _MOST_CURVES:
        raise ValueError(f"X must have at most {_MOST_CURVES} rows to be drawn; got {len(curves.raw)}: choose some")
    ax = ax or wide(7)
    last = curves.loss.times[-1]
    end = last if until is None else until
    for part, style in ((np.linspace(0, min(end, last), _POINTS), "-"), (np.linspace(last, end, _POINTS), ":")):
        if part[-1] <= part[0]:
            continue
        for i, survival in enumerate(curves.survival(part)):
            label = short_name(names[i] if names else f"row {i}") if style == "-" else None
            ax.plot(part, survival, style, color=f"C{i}", label=label)
    ax.set(xlim=(0, end), ylim=(0, 1.02), ylabel="probability of no event", title="Survival never rises")
    ax.set_xlabel("time" + (" (dotted: beyond the last event)" if end > last else ""))
    separated(ax.xaxis)
    if lines is not None:
        _write_at_risk_(ax, lines, end)
    ax.legend(frameon=False)
    return ax


def _write_at_risk_(ax: Axes, lines: Float64Array, end: float) -> None:
    """How many rows had entered and were without an event, below some times."""
    times = np.linspace(0, end, _COUNTS)
    place = ax.get_xaxis_transform()
    ax.text(0.0, _BELOW + 0.06, "rows at risk", transform=ax.transAxes, color=GREY, ha="left", va="top")
    for time in times:
        count = int(((lines[:, 1] <= time) & (lines[:, 3] >= time)).sum())
        ax.text(time, _BELOW, f"{count:,}", transform=place, color=DARK, ha="center", va="top")
