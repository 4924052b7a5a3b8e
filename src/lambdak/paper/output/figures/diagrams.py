"""The paper's three diagrams: the neuron, its eigenvalue as a recurrence, and matrices from another network."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from lambdak.explain.plots import BLUE, DARK, GREY, RED, SKY
from lambdak.paper.output.figures.canvas import sheet

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
