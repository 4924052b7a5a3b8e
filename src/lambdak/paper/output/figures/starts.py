"""Beyond the paper: test error against samples for several starts, with more and less jitter and gap."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from lambdak.explain.plots import BLUE, DARK, GREY, RED, SKY
from lambdak.paper.output.figures.canvas import panels, sheet
from lambdak.paper.output.figures.scaling import Scalings, finish
from lambdak.paper.synthetic.grid import STARTS

_STYLES = ((GREY, "v", ":"), (DARK, "D", "-"), (BLUE, "s", "-"), (SKY, "o", "-"), (RED, "^", "--"), (RED, "*", "-."))


def draw_starts(found: Mapping[str, Scalings]) -> Figure:
    """A panel per complexity and dim, a line for the median of every start."""
    cells = list(next(iter(found.values())))
    dims, complexities = (sorted({getattr(cell, name) for cell in cells}) for name in ("dim", "complexity"))
    figure = sheet(1.0 + 2.8 * len(dims), 0.9 + 2.2 * len(complexities))
    grid = panels(figure, len(complexities), len(dims), share=True)
    place = {cell: grid[complexities.index(cell.complexity), dims.index(cell.dim)] for cell in cells}
    for (colour, marker, line), (name, scalings) in zip(_STYLES, found.items(), strict=False):
        for cell, scaling in scalings.items():
            style = {"color": colour, "marker": marker, "markersize": 3.5, "linewidth": 1.3}
            place[cell].plot(scaling.samples, scaling.curve.median, line, label=_words(name), **style)
    for cell, ax in place.items():
        ax.set_title(f"d = {cell.dim}, complexity {cell.complexity}", fontsize=9)
    finish(figure, np.asarray(grid))
    figure.supylabel("median test RMSE", fontsize=10)
    return figure


def _words(name: str) -> str:
    """The factors on the paper's start."""
    grid = STARTS[name]
    return f"gap × {grid.gap:g}" if grid.gap != 1 else f"jitter × {grid.jitter:g}"
