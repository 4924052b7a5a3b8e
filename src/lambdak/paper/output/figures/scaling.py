"""Test error against samples, from the results of a study: medians and quartiles of what validation selected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from numpy.typing import NDArray

from lambdak.explain.plots import BLUE, DARK, GREY, RED, SKY
from lambdak.paper.output.figures.canvas import STYLES, panels, sheet
from lambdak.paper.synthetic.grid import STARTS, Cell
from lambdak.paper.synthetic.results import read_cells
from lambdak.paper.synthetic.selection import Curve, select

_FITS = {"free": ("free model", RED, "^", "--"), "monotone": ("monotone model", BLUE, "s", "-")}

_TICKS = (1.0, 3.0)  # times powers of ten


@dataclass(frozen=True, eq=False)
class Scaling:
    """The curve of a cell over numbers of samples."""

    samples: NDArray[np.int64]
    curve: Curve


Scalings = Mapping[Cell, Scaling]


def read_scalings(folder: Path, fits: Iterable[str]) -> dict[Cell, Scaling]:
    """The curves of a study; cells of these fits that are not done are an error that counts them."""
    wanted, found, missing = set(fits), {}, None
    for cell, grid, result in read_cells(folder):
        if missing is None:
            missing = {each for each in grid.cells() if each.fit in wanted}
        if cell.fit in wanted:
            found[cell] = Scaling(np.multiply(grid.checkpoints, grid.batch), select(result))
    if missing is None or missing - set(found):
        count = "all" if missing is None else f"{len(missing - set(found))} of {len(missing)}"
        raise FileNotFoundError(f"{folder} lacks {count} cells: run `lambdak reproduce` to its end")
    return found


def draw_general(scalings: Scalings) -> Figure:
    """General targets: a panel per complexity, a line per dim; clean labels above, noisy ones below."""
    cells = [cell for cell in scalings if cell.fit == "general"]
    noises, complexities = _values(cells, "noise"), _values(cells, "complexity")
    figure = sheet(1.2 + 3.2 * len(complexities), 0.7 + 2.6 * len(noises))
    grid = panels(figure, len(noises), len(complexities), share=True)
    for (row, column), ax in np.ndenumerate(grid):
        for (colour, marker), dim in zip(STYLES, _values(cells, "dim"), strict=False):
            cell = Cell(cells[0].inputs, "general", complexities[column], noises[row], dim)
            draw_curve(ax, scalings[cell], f"d = {dim}", colour, marker, "-")
        ax.set_title(f"complexity {complexities[column]}, {noise_words(noises[row])}", fontsize=10)
    finish(figure, grid)
    return figure


def draw_monotone(scalings: Scalings) -> Figure:
    """Monotone targets: complexity along rows, dims along columns; clean labels left, noisy ones right."""
    cells = [cell for cell in scalings if cell.fit in _FITS]
    noises, complexities, dims = (_values(cells, name) for name in ("noise", "complexity", "dim"))
    figure = sheet(1.0 + 2.1 * len(dims) * len(noises), 0.9 + 2.1 * len(complexities))
    columns = [(noise, dim) for noise in noises for dim in dims]
    grid = panels(figure, len(complexities), len(columns), share=True)
    for (row, column), ax in np.ndenumerate(grid):
        noise, dim = columns[column]
        for fit, style in _FITS.items():
            draw_curve(ax, scalings[Cell(cells[0].inputs, fit, complexities[row], noise, dim)], *style)
        if row == 0:
            ax.set_title(f"d = {dim}, {noise_words(noise)}", fontsize=10)
        if column == len(columns) - 1:
            ax.annotate(f"complexity {complexities[row]}", (1.04, 0.5), xycoords="axes fraction", rotation=-90,
                        va="center", fontsize=10)  # fmt: skip
    finish(figure, grid)
    return figure


def _values(cells: list[Cell], name: str) -> list[int]:
    return sorted({getattr(cell, name) for cell in cells})


def noise_words(noise: float) -> str:
    """What labels are like."""
    return f"noise {noise:g}" if noise else "clean"


def draw_curve(ax: Axes, scaling: Scaling, label: str, colour: str, marker: str, line: str) -> None:
    """The median, and a band from quartile to quartile."""
    curve = scaling.curve
    ax.fill_between(scaling.samples, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
    ax.plot(
        scaling.samples, curve.median, line, marker=marker, color=colour, label=label, markersize=3.5, linewidth=1.4
    )


def log_scales(ax: Axes) -> None:
    """Logarithmic scales with plain numbers at the errors."""
    ax.set(xscale="log", yscale="log")
    ax.yaxis.set_major_locator(LogLocator(subs=_TICKS))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter("")
    ax.grid(alpha=0.25, linewidth=0.5)


def finish(figure: Figure, grid: NDArray[Any]) -> None:
    """Scales, words along the axes, and one legend for all panels."""
    for ax in grid.flat:
        log_scales(ax)
    figure.supxlabel("training samples", fontsize=10)
    figure.supylabel("test RMSE: median and quartiles", fontsize=10)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=10)


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
