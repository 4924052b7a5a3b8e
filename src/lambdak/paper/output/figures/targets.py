"""The random targets of the synthetic studies, and how slices are blended to one that is monotone in x_2."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from lambdak.explain.plots import BLUE, DARK, RED
from lambdak.paper.output.figures.canvas import COLOURS, STYLES, panels, plain, sheet
from lambdak.paper.protocols import CONVENTIONS
from lambdak.paper.synthetic.grid import STUDIES
from lambdak.paper.synthetic.targets import HIGH, KINDS, LOW, Targets, make_targets, quintic

_AUTHORS = CONVENTIONS["released"]  # the functions of the published numbers
_SHOWN = 3  # functions of each kind
_SLICES = 5
_BLENDED = 2  # seed of the function whose making is shown
_POINTS = 241


def draw_univariate_targets() -> Figure:
    """Three functions of one input for every complexity, general and monotone, with the points they interpolate."""
    complexities = STUDIES["univariate"].complexities
    figure = sheet(9.2, 0.6 + 2.1 * len(complexities))
    grid, x = panels(figure, len(complexities), 2), np.linspace(LOW, HIGH, 4 * _POINTS)
    for (row, column), ax in np.ndenumerate(grid):
        targets = make_targets(KINDS[column], 1, complexities[row], range(_SHOWN), _AUTHORS)
        knots = np.linspace(LOW, HIGH, complexities[row])
        for which, (colour, marker) in enumerate(STYLES[:_SHOWN]):
            ax.plot(x, _along(targets, which, x), color=colour, linewidth=1.5)
            ax.plot(knots, _along(targets, which, knots), marker, color=colour, markersize=3.5)
        ax.set_title(f"{KINDS[column]}, complexity {complexities[row]}", fontsize=10)
    for ax in grid[-1]:
        ax.set_xlabel("$x$")
    return figure


def draw_bivariate_targets() -> Figure:
    """Three functions of two inputs for every complexity, general left and monotone in x_2 right."""
    complexities = STUDIES["bivariate"].complexities
    figure = sheet(12.4, 0.8 + 1.85 * len(complexities))
    grid = panels(figure, len(complexities), 2 * _SHOWN, share=True)
    for (row, column), ax in np.ndenumerate(grid):
        kind, which = KINDS[column // _SHOWN], column % _SHOWN
        image = _map(ax, make_targets(kind, 2, complexities[row], range(_SHOWN), _AUTHORS), which)
        if row == 0:
            ax.set_title(kind if kind == "general" else "monotone in $x_2$", fontsize=10)
    for row, ax in enumerate(grid[:, 0]):
        ax.set_ylabel(f"complexity {complexities[row]}\n$x_2$", fontsize=9)
    for ax in grid[-1]:
        ax.set_xlabel("$x_1$", fontsize=9)
    figure.colorbar(image, ax=grid, shrink=0.6, label="target", extend="both")
    return figure


def draw_slice_blending() -> Figure:
    """Monotone slices in x_2, the quintic that blends neighbours along x_1, and what comes out."""
    targets = make_targets("monotone", 2, _SLICES, range(_BLENDED + 1), _AUTHORS)
    figure = sheet(12.5, 4.2)
    grid = figure.add_gridspec(1, 3, width_ratios=(5, 4, 5))
    _slices(figure.add_subplot(grid[0], projection="3d"), targets)
    _blend(figure.add_subplot(grid[1]))
    _surface(figure.add_subplot(grid[2], projection="3d"), targets)
    return figure


def _along(targets: Targets, which: int, x: NDArray[np.float64]) -> NDArray[np.float64]:
    return targets(np.full(len(x), which), x[:, None])


def _lattice(targets: Targets, which: int, x1: NDArray[np.float64], x2: NDArray[np.float64]) -> NDArray[np.float64]:
    points = np.stack(np.meshgrid(x1, x2, indexing="ij"), axis=-1)
    return targets(np.full(points.shape[:-1], which), points)


def _map(ax: Axes, targets: Targets, which: int) -> Any:
    x = np.linspace(LOW, HIGH, _POINTS // 2)
    values = _lattice(targets, which, x, x).T
    image = ax.imshow(values, origin="lower", extent=(LOW, HIGH, LOW, HIGH), cmap=COLOURS, vmin=-2.5, vmax=2.5)
    lines = ax.contour(x, x, values, levels=np.arange(-2, 2.5, 0.5), colors="white", linewidths=0.5, linestyles="solid")
    lines.set_rasterized(True)  # thousands of short pieces would make the SVG file ten times as large
    ax.set(xticks=[-4, 0, 4], yticks=[-4, 0, 4])
    return image


def _slices(ax: Any, targets: Targets) -> None:
    x2 = np.linspace(LOW, HIGH, _POINTS)
    for (colour, _), first in zip(STYLES, np.linspace(LOW, HIGH, _SLICES), strict=True):
        ax.plot(np.full(_POINTS, first), x2, _lattice(targets, _BLENDED, np.array([first]), x2)[0], color=colour)
    ax.set_title(f"{_SLICES} slices, each monotone in $x_2$", fontsize=10)
    _turn(ax)


def _blend(ax: Axes) -> None:
    t = np.linspace(0, 1, _POINTS)
    ax.plot(t, quintic(t), color=RED, linewidth=2, label="next slice: $w(t) = 6t^5 - 15t^4 + 10t^3$")
    ax.plot(t, 1 - quintic(t), color=BLUE, linewidth=2, linestyle="--", label="this slice: $1 - w(t)$")
    ax.set(xlabel="$t$: where $x_1$ is between two slices", ylim=(-0.03, 1.25))
    ax.set_title("neighbours are blended by a quintic", fontsize=10)
    ax.legend(frameon=False, fontsize=8, loc="upper center")
    plain(ax)


def _surface(ax: Any, targets: Targets) -> None:
    x, x2 = np.linspace(LOW, HIGH, 49), np.linspace(LOW, HIGH, 33)
    ax.plot_surface(*np.meshgrid(x, x2, indexing="ij"), _lattice(targets, _BLENDED, x, x2), cmap=COLOURS, alpha=0.75,
                    linewidth=0, rcount=49, ccount=33)  # fmt: skip
    for first in np.linspace(LOW, HIGH, _SLICES):
        ax.plot(np.full(33, first), x2, _lattice(targets, _BLENDED, np.array([first]), x2)[0], color=DARK, linewidth=1)
    ax.set_title("$f(x_1, x_2)$: $C^2$ in $x_1$, monotone in $x_2$", fontsize=10)
    _turn(ax)


def _turn(ax: Any) -> None:
    ax.set(xlabel="$x_1$", ylabel="$x_2$", xticks=[-4, -2, 0, 2, 4], yticks=[-4, -2, 0, 2, 4])
    ax.tick_params(labelsize=7, pad=0)
    ax.view_init(elev=28, azim=-55)
    ax.set_box_aspect(None, zoom=0.95)
