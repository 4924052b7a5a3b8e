"""How much of its proven bound a change of one HIGGS feature uses; what penalties on norms do to that and the loss."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from matplotlib.figure import Figure

from lambdak.explain.plots import BLUE, DARK, RED
from lambdak.paper.data.higgs import NAMES
from lambdak.paper.output.figures.canvas import STYLES, panels, sheet
from lambdak.paper.parts import read_results
from lambdak.paper.real.ratios import NOISE, Ratios, read_ratios
from lambdak.paper.real.tightness import Tightened, tighten

_COLUMNS = 4
_LINES = ((BLUE, "-"), (RED, "--"), (DARK, ":"))
_RATIO = r"$|f(x + \delta e_i) - f(x)| \;/\; |\delta| \|A_i\|_2$"


def read_influence(folder: Path) -> dict[int, Ratios]:
    """The ratios of all models of a dim, from the folder of the study."""
    table = read_results(folder)
    return {dim: read_ratios(_of_dim(table, dim)) for dim in compute.unique(table["dim"]).to_pylist()}


def _of_dim(table: pa.Table, dim: int) -> pa.Table:
    return table.filter(compute.equal(table["dim"], dim))


def draw_influence(found: dict[int, Ratios]) -> Figure:
    """A histogram per feature, a line per dim: the share of changes per bin of |change| / bound, of any size."""
    rows = -(-len(NAMES) // _COLUMNS)
    figure = sheet(1.0 + 2.3 * _COLUMNS, 0.8 + 1.45 * rows)
    grid = panels(figure, rows, _COLUMNS, share=True)
    for (dim, ratios), (colour, line) in zip(found.items(), cycle(_LINES)):
        counts = ratios.counts.sum(axis=1)
        edges, shares = (
            np.linspace(0, 1, counts.shape[1] + 1),
            counts / np.maximum(counts.sum(axis=1, keepdims=True), 1),
        )
        label = f"d = {dim}, mean {ratios.mean:.3f}, largest {ratios.largest.max():.5f}"
        for ax, share in zip(grid.flat, shares, strict=False):
            ax.stairs(share, edges, color=colour, linestyle=line, linewidth=1.2, label=label)
            ax.stairs(share, edges, color=colour, fill=True, alpha=0.12, linewidth=0)
    for ax, name in zip(grid.flat, NAMES, strict=False):
        ax.set_title(name, fontsize=8)
        ax.grid(alpha=0.25, linewidth=0.5)
    grid[0, 0].set(xlim=(0, 1), ylim=(0, None))
    figure.supxlabel(_RATIO, fontsize=10)
    figure.supylabel("share of the changes", fontsize=10)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=10)
    return figure


def draw_shells(found: dict[int, Ratios]) -> Figure:
    """Mean and largest ratio against the size of the change, a line per dim; the band holds half of the features."""
    figure = sheet(9.0, 3.6)
    (left, right), *_ = panels(figure, 1, 2, share=True)
    for (dim, ratios), (colour, line) in zip(found.items(), cycle(_LINES)):
        counts = ratios.counts.sum(axis=2)  # (features, shells)
        sizes = NOISE * (np.arange(counts.shape[1]) + 0.5) / counts.shape[1]
        some = counts.sum(axis=1) > 0
        low, high = np.quantile(ratios.sums[some] / np.maximum(counts[some], 1), (0.25, 0.75), axis=0)
        left.fill_between(sizes, low, high, color=colour, alpha=0.12, linewidth=0)
        style = {"color": colour, "linestyle": line, "marker": "o", "markersize": 3, "label": f"d = {dim}"}
        left.plot(sizes, ratios.sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1), **style)
        right.plot(sizes, ratios.largest.max(axis=0), **style)
    for ax, title in ((left, "mean, and quartiles of the features"), (right, "largest")):
        ax.set_title(title, fontsize=10)
        ax.grid(alpha=0.25, linewidth=0.5)
        ax.legend(frameon=False, fontsize=8)
    left.set(xlim=(0, NOISE), ylim=(0, 1.03))
    figure.supxlabel(r"$|\delta|$, standard deviations", fontsize=10)
    figure.supylabel(_RATIO, fontsize=10)
    return figure


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
