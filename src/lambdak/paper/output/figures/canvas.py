"""What all figures of the paper share: sheets of panels, colours, and files that are the same in every run."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from lambdak.explain.plots import BLUE, DARK, GREY, RED, SKY, png

# One colour and one marker per line, so that no figure depends on colours alone.
STYLES = ((SKY, "o"), (BLUE, "s"), (RED, "^"), (DARK, "D"), (GREY, "v"))
COLOURS = "viridis"  # of surfaces: its lightness alone shows the values


def sheet(width: float, height: float) -> Figure:
    """An empty figure of this size, in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def panels(figure: Figure | SubFigure, rows: int, columns: int, share: bool = False) -> NDArray[Any]:
    """Axes (rows, columns); with ``share``, one pair of scales for all of them."""
    grid = figure.subplots(rows, columns, sharex=share, sharey=share, squeeze=False)
    for ax in grid.flat:
        plain(ax)
    return np.asarray(grid)


def plain(ax: Axes) -> None:
    """Hide what carries no information."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


def as_png(figure: Figure) -> bytes:
    """The figure as a small PNG file."""
    return png(figure.axes[0])


def as_svg(figure: Figure) -> bytes:
    """The figure as an SVG file, without the date and the random names that would differ from run to run."""
    file = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "lambdak"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
