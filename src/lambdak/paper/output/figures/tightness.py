"""Beyond the paper: log-loss on HIGGS against the tightness of the influence bound, for penalties of many strengths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lambdak.paper.output.figures.canvas import STYLES, panels, sheet
from lambdak.paper.parts import read_results
from lambdak.paper.real.tightness import Tightened, tighten


def read_tightness(folder: Path) -> list[Tightened]:
    """Every dim and strength, from the folder of the study."""
    return list(tighten(read_results(folder)))


def draw_tightness(found: Sequence[Tightened]) -> Figure:
    """A line per dim through the strengths: log-loss against the mean ratio, and against the sum of the norms."""
    figure = sheet(10.0, 4.2)
    (left, right), *_ = panels(figure, 1, 2)
    for (colour, marker), dim in zip(STYLES, dict.fromkeys(each.dim for each in found), strict=False):
        own = [each for each in found if each.dim == dim]
        for ax, name in ((left, "mean_ratio"), (right, "norms")):
            x, style = [getattr(each, name) for each in own], {"color": colour, "marker": marker, "markersize": 4}
            ax.fill_between(x, [e.low for e in own], [e.high for e in own], color=colour, alpha=0.15, linewidth=0)
            ax.plot(x, [each.median for each in own], label=f"d = {dim}", linewidth=1.4, **style)
        _name_strengths(left, own)
    left.set_xlabel("mean of |change| / bound", fontsize=10)
    right.set_xlabel(r"$\sum_i \|A_i\|_2$", fontsize=10)
    right.set_xscale("log")
    for ax in (left, right):
        ax.grid(alpha=0.25, linewidth=0.5)
        ax.legend(frameon=False, fontsize=8)
    figure.supylabel("test log-loss: median and quartiles", fontsize=10)
    return figure


def _name_strengths(ax: Axes, own: Sequence[Tightened]) -> None:
    for each in own:
        where = (each.mean_ratio, each.median)
        ax.annotate(f"{each.strength:g}", where, (3, 4), textcoords="offset points", fontsize=6)
