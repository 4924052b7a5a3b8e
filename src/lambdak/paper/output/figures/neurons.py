"""The neuron in pictures: diagrams, random ones of one input with all their eigenvalues, and the ramp of squareplus."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.eigen.packing import unsym
from lambdak.explain.plots import BLUE, DARK, GREY, RED, SKY
from lambdak.paper.output.figures.canvas import plain, sheet
from lambdak.pencil.squareplus import squareplus, squareplus_slope

Point = tuple[float, float]


def draw_neuron() -> Figure:
    """x_i on the left, matrices on the edges, their sum, and one of its eigenvalues."""
    figure, ax = _blank(8.4, 3.6)
    inputs = {"$1$": "$A_0$", "$x_1$": "$A_1$", "$x_2$": "$A_2$", "$x_n$": "$A_n$"}
    heights = (3.0, 2.2, 1.4, 0.2)
    total = _box(ax, (3.6, 1.6), r"$A_0 + \sum_i x_i A_i$", BLUE, width=1.9)
    for height, (name, matrix) in zip(heights, inputs.items(), strict=True):
        _arrow(ax, _box(ax, (0.5, height), name, GREY), total, matrix)
    ax.text(0.5, 0.8, r"$\vdots$", ha="center", va="center", fontsize=14)
    value = _box(ax, (6.0, 1.6), r"$\lambda_k$", RED)
    _arrow(ax, total, value)
    _arrow(ax, value, _box(ax, (7.6, 1.6), r"$f_k(x)$", GREY, width=0.9))
    return figure


def draw_recurrence() -> Figure:
    """Step i minimises uᵀAu among unit vectors orthogonal to those that the steps before it have found."""
    figure, ax = _blank(11.0, 3.4)
    steps = []
    for x, i, found in ((1.1, "1", ""), (3.9, "2", "u_1"), (6.7, "3", "u_1, u_2"), (9.7, "k", "u_1, …, u_{k-1}")):
        words = "$\\min\\, u^T A u$\n$|u| = 1$" + (rf", $u \perp {found}$" if found else "")
        steps.append(_box(ax, (x, 1.6), words, BLUE if i != "k" else RED, width=2.0, height=0.9))
        _arrow(ax, _box(ax, (x, 3.0), "$A$", GREY, width=0.6, height=0.5), steps[-1])
        _arrow(ax, steps[-1], _box(ax, (x, 0.3), rf"$\lambda_{i}$", SKY if i != "k" else RED, width=0.6, height=0.5))
    for left, right, found in zip(steps, steps[1:], ("$u_1$", "$u_1, u_2$", "…"), strict=False):
        _arrow(ax, left, right, found)
    return figure


def draw_hyper_network() -> Figure:
    """An encoder predicts A and a semidefinite B from a contract y; the bid b meets them in the eigenvalue."""
    figure, ax = _blank(10.0, 3.0)
    encoder = _box(ax, (2.9, 2.2), "encoder,\nany network", BLUE, width=1.6, height=0.9)
    _arrow(ax, _box(ax, (0.7, 2.2), "contract $y$", GREY, width=1.2), encoder)
    value = _box(ax, (7.2, 1.4), r"$\lambda_k(A + b B)$", RED, width=1.6)
    for height, name in ((2.6, "$A$"), (1.7, r"$B \succeq 0$")):
        matrix = _box(ax, (5.0, height), name, SKY)
        _arrow(ax, encoder, matrix)
        _arrow(ax, matrix, value)
    _arrow(ax, _box(ax, (0.7, 0.5), "bid $b$", GREY, width=1.2), value)
    _arrow(ax, value, _box(ax, (9.3, 1.4), "logit of\nwinning", GREY, width=1.1))
    return figure


def _blank(width: float, height: float) -> tuple[Figure, Axes]:
    """Axes without axes, one unit an inch."""
    figure = sheet(width, height)
    ax = figure.subplots()
    ax.set(xlim=(-0.1, width), ylim=(-0.2, height))
    ax.set_axis_off()
    return figure, ax


class _Box:
    """A rounded box; arrows leave and reach it at the edge that faces the other end."""

    def __init__(self, centre: Point, width: float, height: float) -> None:
        self.centre, self._width, self._height = centre, width, height

    def edge(self, towards: Point) -> Point:
        (x, y), (to_x, to_y) = self.centre, towards
        if abs(to_x - x) >= self._width:
            return x + (self._width / 2 if to_x > x else -self._width / 2), y
        return x, y + (self._height / 2 if to_y > y else -self._height / 2)


def _box(ax: Axes, centre: Point, text: str, colour: str, width: float = 0.8, height: float = 0.6) -> _Box:
    corner, style = (centre[0] - width / 2, centre[1] - height / 2), "round,pad=0,rounding_size=0.12"
    ax.add_patch(FancyBboxPatch(corner, width, height, style, facecolor=colour + "22", edgecolor=colour, linewidth=1.5))
    ax.text(*centre, text, ha="center", va="center", fontsize=11, color=DARK)
    return _Box(centre, width, height)


def _arrow(ax: Axes, start: _Box, end: _Box, text: str = "") -> None:
    first, last = start.edge(end.centre), end.edge(start.centre)
    ax.annotate("", last, first, arrowprops={"arrowstyle": "-|>", "color": DARK, "shrinkA": 2, "shrinkB": 2})
    if text:
        middle = (first[0] + last[0]) / 2, (first[1] + last[1]) / 2
        ax.text(*middle, text, ha="center", va="center", fontsize=11, color=BLUE,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip


_COLOURS = (BLUE, SKY, DARK, RED, "#E69F00", GREY)
_POINTS = 801
_REACH = 2.0


def draw_eigenvalues() -> Figure:
    """λ_k(A + xB) for all k, A and B symmetric 5 × 5 with entries uniform in [0, 1]."""
    return _gallery(*_uniform_matrices(5, seed=3))


def draw_monotone_eigenvalues() -> Figure:
    """λ_k(A + xB) for all k, 6 × 6, with the eigenvalues of B clipped at zero: none of them falls."""
    a, b = _uniform_matrices(6, seed=0)
    values, vectors = np.linalg.eigh(b)
    return _gallery(a, vectors * np.maximum(values, 0) @ vectors.T)


def draw_squareplus() -> Figure:
    """Squareplus beside softplus and the ramp, and their derivatives, of which that of squareplus decays slowly."""
    x = np.linspace(-8, 8, _POINTS)
    figure = sheet(9.2, 3.6)
    left, right = figure.subplots(1, 2)
    left.plot(x, np.maximum(x, 0), color=GREY, linewidth=1, linestyle=":", label="max(x, 0)")
    left.plot(x, squareplus(x), color=BLUE, linewidth=2, label=r"squareplus: $(x + \sqrt{1 + x^2}) / 2$")
    left.plot(x, np.logaddexp(0, x), color=RED, linewidth=2, linestyle="--", label=r"softplus: $\ln(1 + e^x)$")
    right.plot(x, squareplus_slope(x, x), color=BLUE, linewidth=2, label="squareplus")
    right.plot(x, 1 / (1 + np.exp(-x)), color=RED, linewidth=2, linestyle="--", label="softplus")
    right.set(yscale="log", xlabel="$x$")
    left.set_xlabel("$x$")
    left.set_title("function", fontsize=10)
    right.set_title("derivative, on a logarithmic scale", fontsize=10)
    for ax in (left, right):
        plain(ax)
        ax.legend(frameon=False, fontsize=9)
    return figure


def _uniform_matrices(dim: int, seed: int) -> tuple[Float64Array, Float64Array]:
    """Two symmetric matrices with entries uniform in [0, 1]."""
    entries = np.random.default_rng(seed).uniform(0, 1, (2, dim, dim))
    a, b = np.tril(entries) + np.tril(entries, -1).swapaxes(1, 2)
    return a, b


def _gallery(a: Float64Array, b: Float64Array) -> Figure:
    """Figure of the eigenvalues of A + xB: one by one above, all together below."""
    dim, x = len(a), np.linspace(-_REACH, _REACH, _POINTS)
    values = eigenvalue(unsym(a + x[:, None, None] * b), dim, range(dim))
    figure = sheet(1.9 * dim, 6.4)
    grid = figure.add_gridspec(2, dim, height_ratios=(1, 2))
    together = figure.add_subplot(grid[1, :])
    for k in range(dim):
        ax = figure.add_subplot(grid[0, k])
        name = rf"$\lambda_{k + 1}(A + xB)$"
        for each in (ax, together):
            each.plot(x, values[:, k], color=_COLOURS[k], linewidth=1.8, label=name)
        ax.set_title(name, fontsize=10)
        plain(ax)
    plain(together)
    together.set(xlabel="$x$", xlim=(-_REACH, _REACH))
    together.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
