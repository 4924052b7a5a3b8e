"""Curves to draw, and what was drawn."""

from __future__ import annotations

import numpy as np

from lambdak.paper.output.figures import scaling
from lambdak.paper.synthetic.grid import Cell
from lambdak.paper.synthetic.selection import Curve

SAMPLES = np.array([32, 320, 3200])


def scalings(dims=(5, 9), complexities=(5, 10), noises=(0.0, 0.1)):
    """Curves that say which cell they are of: medians are unique."""
    cells = [Cell(1, fit, c, n, d) for fit in ("general", "free", "monotone") for c in complexities for n in noises
             for d in dims]  # fmt: skip
    return {cell: scaling.Scaling(SAMPLES, Curve(np.zeros(3, int), *(np.full((3, 3), 1 + i) * [[0.5], [1], [2]])))
            for i, cell in enumerate(cells)}  # fmt: skip


def lines(ax):
    """label: y of every labelled line."""
    return {line.get_label(): line.get_ydata() for line in ax.lines if not line.get_label().startswith("_")}
