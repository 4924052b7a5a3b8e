"""Beyond the paper: scaling laws, parametrisations of semidefinite matrices, and tridiagonal against dense matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from lambdak._types import FloatArray
from lambdak.eigen.packing import packed_size
from lambdak.explain.plots import BLUE, DARK, GREY, RED, SKY
from lambdak.paper.output.figures.canvas import STYLES, panels, sheet
from lambdak.paper.output.figures.scaling import Scalings, draw_curve, finish, log_scales, noise_words
from lambdak.paper.synthetic.grid import FITS, Cell
from lambdak.paper.synthetic.laws import Curves, choose_form, exponent, fit_law
from lambdak.paper.synthetic.timing import Times

_INPUTS = {1: "one input", 2: "two inputs"}
_PARAMETRISATIONS = {  # fit: label, colour, marker, line
    "rising-free": ("free", GREY, "v", ":"),
    "rising-diagonal": ("diagonal squareplus", SKY, "o", "-"),
    "rising-factor": (r"$LL^T$", RED, "^", "-"),
    "rising-root": (r"$\sqrt{LL^T}$", DARK, "D", "-"),
    "rising-squareplus": ("spectral squareplus", BLUE, "s", "-"),
}
_SHOWN = 1_000  # of the longest time, how small a part the axis begins with
_SIZES = (15, 45, 120, 500, 2000)
_FAMILIES = {"general": ("dense", BLUE, "s"), "tridiagonal": ("tridiagonal", RED, "^")}


def draw_laws(found: Sequence[Curves]) -> Figure:
    """Medians as dots, the law as lines; dashed what the other dims predict for the largest. A row per inputs."""
    rows = sorted({each.cell.inputs for each in found})
    columns = list(dict.fromkeys((each.cell.fit, each.cell.noise) for each in found))
    figure = sheet(1.0 + 3.2 * len(columns), 0.9 + 3.2 * len(rows))
    grid, form = panels(figure, len(rows), len(columns)), next(iter(choose_form(found)))
    for each in found:
        panel = rows.index(each.cell.inputs), columns.index((each.cell.fit, each.cell.noise))
        _draw_law(grid[panel], each, form)
    finish(figure, grid)
    figure.supylabel("median test RMSE", fontsize=10)
    return figure


def _draw_law(ax: Axes, curves: Curves, form: str) -> None:
    errors, used, last = curves.medians(), curves.used, curves.dims[-1]
    law, guess = (fit_law(form, curves, errors, dims) for dims in (None, -1))
    along = np.geomspace(curves.samples[used][0], curves.samples[-1], 60)
    for (colour, marker), dim, of_dim in zip(STYLES, curves.dims, errors, strict=False):
        ax.plot(curves.samples[used], of_dim[used], marker, color=colour, markersize=4.5, label=f"d = {dim}")
        ax.plot(along, law(dim, along), color=colour, linewidth=1.3)
    ax.plot([], color=DARK, linewidth=1.3, label="law")
    ax.plot(along, guess(last, along), "--", color=GREY, linewidth=1.8, label=f"d = {last}, predicted")
    named = zip(("alpha", "beta", "gamma"), law.exponents, strict=True)
    exponents = ", ".join(rf"$\{name}$ = {exponent(value)}".replace("= ≥", "≥") for name, value in named)
    kind = FITS[curves.cell.fit]
    title = f"{_INPUTS[curves.cell.inputs]}, {kind.target}/{kind.model}, {noise_words(curves.cell.noise)}"
    ax.set_title(f"{title}\n{exponents}", fontsize=10)


def draw_definite(scalings: Scalings, times: Times) -> Figure:
    """Error against samples for every dim, clean above and noisy below; on the right what a step costs."""
    cells = list(scalings)
    noises, dims = (sorted({getattr(cell, name) for cell in cells}) for name in ("noise", "dim"))
    figure = sheet(1.0 + 2.8 * (len(dims) + 1), 0.9 + 2.8 * len(noises))
    left, right = figure.subfigures(1, 2, width_ratios=(2.8 * len(dims), 3.1), squeeze=False)[0]
    grid = panels(left, len(noises), len(dims), share=True)
    for (row, column), ax in np.ndenumerate(grid):
        for fit, style in _PARAMETRISATIONS.items():
            draw_curve(ax, scalings[_like(cells[0], fit, noises[row], dims[column])], *style)
        ax.set_title(f"d = {dims[column]}, {noise_words(noises[row])}", fontsize=10)
        log_scales(ax)
    left.supxlabel("training samples", fontsize=10)
    left.supylabel("test RMSE: median and quartiles", fontsize=10)
    cost, gain = panels(right, 2, 1).flat
    for fit, style in _PARAMETRISATIONS.items():
        _plot(cost, dims, [1e6 * times[fit, dim] for dim in dims], *style)
        scaling = scalings[_like(cells[0], fit, 0.0, dims[-1])]
        _plot(gain, scaling.samples * times[fit, dims[-1]], scaling.curve.median, *style)
    for ax in (cost, gain):
        log_scales(ax)
    _mark(cost, dims)
    cost.set_title("CPU time per training sample, µs", fontsize=10)
    cost.set_xlabel("d", fontsize=9)
    gain.set_title(f"d = {dims[-1]}, clean, against time", fontsize=10)
    gain.set_xlabel("CPU seconds of training", fontsize=9)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=10)
    return figure


def draw_tridiagonal(found: Sequence[tuple[Scalings, Times]]) -> Figure:
    """Error against numbers per matrix and against time, for dense and tridiagonal matrices; a row per inputs."""
    figure = sheet(10.4, 0.9 + 3.3 * len(found))
    grid = panels(figure, len(found), 3)
    for row, (scalings, times) in zip(grid, found, strict=True):
        name = _INPUTS[next(iter(scalings)).inputs]
        for ax, noise in zip(row[:2], (0.0, 0.1), strict=True):
            _draw_sizes(ax, scalings, noise)
            ax.margins(x=0.12)
            ax.set_title(f"{name}, {noise_words(noise)}: equal size", fontsize=10)
        _draw_race(row[2], scalings, times)
        row[2].set_title(f"{name}, clean: equal time", fontsize=10)
        for ax in row:
            log_scales(ax)
        _mark(row[0], _SIZES)
        _mark(row[1], _SIZES)
    for ax, words in zip(grid[-1], ("numbers per matrix",) * 2 + ("CPU seconds of training",), strict=True):
        ax.set_xlabel(words, fontsize=10)
    figure.supylabel("test RMSE", fontsize=10)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=10)
    return figure


def _draw_sizes(ax: Axes, scalings: Scalings, noise: float) -> None:
    """Final medians and quartiles over numbers per matrix, with the dims beside them."""
    for fit, (label, colour, marker) in _FAMILIES.items():
        curves_of_dims = {cell.dim: s.curve for cell, s in scalings.items() if (cell.fit, cell.noise) == (fit, noise)}
        dims = sorted(curves_of_dims)
        sizes = [size_of(fit, dim) for dim in dims]
        low, middle, high = (
            [getattr(curves_of_dims[dim], part)[-1] for dim in dims] for part in ("low", "median", "high")
        )
        ax.fill_between(sizes, low, high, color=colour, alpha=0.18, linewidth=0)
        ax.plot(sizes, middle, color=colour, marker=marker, markersize=4.5, linewidth=1.4, label=label)
        offset, side = ((-5, -10), "right") if fit == "tridiagonal" else ((5, 4), "left")
        for size, value, dim in zip(sizes, middle, dims, strict=True):
            ax.annotate(f"{dim}", (size, value), offset, textcoords="offset points", ha=side, fontsize=8, color=colour,
                        path_effects=[withStroke(linewidth=2, foreground="white")])  # fmt: skip


def _draw_race(ax: Axes, scalings: Scalings, times: Times) -> None:
    """Thin: every dim. Thick: the best of a family after so much time."""
    shown = []
    for fit, (label, colour, _) in _FAMILIES.items():
        runs = [(s.samples * times[fit, cell.dim], s.curve.median) for cell, s in scalings.items()
                if (cell.fit, cell.noise) == (fit, 0.0)]  # fmt: skip
        for seconds, errors in runs:
            ax.plot(seconds, errors, color=colour, linewidth=0.6, alpha=0.5)
        at = np.unique(np.concatenate([seconds for seconds, _ in runs]))
        at = at[at > at[-1] / _SHOWN]
        shown.append(best_by(runs, at))
        ax.plot(at, shown[-1], color=colour, linewidth=2.2, drawstyle="steps-post", label=label)
    best = np.concatenate(shown)
    ax.set(xlim=(at[0], None), ylim=(0.9 * best.min(), 1.2 * best.max()))


def best_by(runs: Sequence[tuple[FloatArray, FloatArray]], at: FloatArray) -> FloatArray:
    """The lowest error that any run has reached by these times; infinite before the first."""
    reached = [[errors[seconds <= time].min(initial=np.inf) for seconds, errors in runs] for time in at]
    return np.asarray(np.min(reached, axis=1))


def size_of(fit: str, dim: int) -> int:
    """Numbers in one matrix."""
    return 2 * dim - 1 if fit == "tridiagonal" else packed_size(dim)


def _like(cell: Cell, fit: str, noise: float, dim: int) -> Cell:
    return replace(cell, fit=fit, noise=noise, dim=dim)


def _plot(
    ax: Axes, x: Sequence[float] | FloatArray, y: Sequence[float] | FloatArray, label: str, colour: str, marker: str,
    line: str,
) -> None:  # fmt: skip
    ax.plot(x, y, line, marker=marker, color=colour, label=label, markersize=3.5, linewidth=1.4)


def _mark(ax: Axes, at: Sequence[int]) -> None:
    """Plain numbers at these values of a logarithmic scale."""
    ax.set_xticks(at, [f"{each:,}" for each in at])
    ax.minorticks_off()
