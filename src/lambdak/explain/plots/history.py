"""How a fit went, epoch by epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from lambdak.explain.plots.canvas import BLUE, DARK, RED, legend_above, separated, side_by_side

if TYPE_CHECKING:
    from lambdak.explain.learning_curves import LearningCurves


def draw_history(curves: LearningCurves, ax: Axes | None = None) -> Axes:
    """Training and validation metric by epoch: the mean of the members, each as a thin line, and what was kept."""
    ax = ax or side_by_side(1, (7.0, 4.2))[0]
    for values, color, label in ((curves.training, BLUE, "training rows"), (curves.validation, RED, "validation rows")):
        ax.plot(curves.epochs, values, color=color, linewidth=0.7, alpha=0.35)
        ax.plot(curves.epochs, values.mean(axis=1), color=color, linewidth=2.2, label=f"{label}, mean of the members")
    members = np.arange(curves.validation.shape[1])
    chosen = curves.chosen
    ax.plot(chosen, curves.validation[chosen - 1, members], "o", color=RED, markersize=4, label="kept, of each member")
    ax.axvline(curves.best, color=DARK, linestyle="--", linewidth=1, label=f"lowest mean: epoch {curves.best}")
    ax.set(xlabel="epoch", ylabel=curves.metric, title="Learning curves")
    separated(ax.xaxis, whole=True)
    separated(ax.yaxis)
    legend_above(ax, columns=2)
    return ax
