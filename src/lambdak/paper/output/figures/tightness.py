"""Beyond the paper: log-loss on HIGGS against the tightness of the influence bound, for penalties of many strengths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from lambdak.paper.output.figures.canvas import STYLES, panels, sheet
from lambdak.paper.parts import read_results
from lambdak.paper.real.tightness import Tightened, tighten

_OFFSETS = ((10, -8), (8, 5), (-8, -9))  # of the strengths beside the points of a line, in points


def read_tightness(folder: Path) -> list[Tightened]:
    """Every dim and strength, from the folder of the study."""
    return list(tighten(read_results(folder)))


def draw_tightness(found: Sequence[Tightened]) -> Figure:
    """A line per dim through the strengths: log-loss against the mean ratio, and against the sum of the norms."""
    figure = sheet(10.0, 4.2)
    (left, right), *_ = panels(figure, 1, 2)
    dims = list(dict.fromkeys(each.dim for each in found))
    for dim, (colour, marker), offset in zip(dims, STYLES, _OFFSETS, strict=False):
        of_dim = [each for each in found if each.dim == dim]
        for ax, name in ((left, "mean_ratio"), (right, "norms")):
            x, y = ([getattr(each, which) for each in of_dim] for which in (name, "median"))
            spread = [[e.median - e.low for e in of_dim], [e.high - e.median for e in of_dim]]
            style = {"marker": marker, "markersize": 4, "linewidth": 1.3, "elinewidth": 0.8}
            ax.errorbar(x, y, spread, color=colour, label=f"d = {dim}", capsize=2, **style)
        for each in of_dim:
            words = {"textcoords": "offset points", "fontsize": 6, "color": colour, "ha": "center"}
            left.annotate(f"{each.strength:g}", (each.mean_ratio, each.median), offset, **words)
    left.set_xlabel("mean of |change| / bound (at the points: strength)", fontsize=10)
    right.set_xlabel(r"$\sum_i \|A_i\|_2$", fontsize=10)
    right.set_xscale("log")
    for ax in (left, right):
        ax.grid(alpha=0.25, linewidth=0.5)
        ax.legend(frameon=False, fontsize=8)
    figure.supylabel("test log-loss: median and quartiles", fontsize=10)
    return figure
