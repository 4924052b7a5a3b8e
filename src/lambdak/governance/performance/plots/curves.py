"""Lorenz and ROC curves, and calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from lambdak.explain.plots import BLUE, DARK, GREY, RED, SKY
from lambdak.governance.performance.plots.canvas import legend_above, new_axes, separated, short, titled

if TYPE_CHECKING:
    from lambdak.governance.performance.lorenz import Lorenz
    from lambdak.governance.performance.performance import Calibration
    from lambdak.governance.performance.roc import Roc


def draw_lorenz(found: Lorenz, ax: Axes | None = None) -> Axes:
    """The curve between the diagonal and the perfect order; Gini is twice the shaded area."""
    ax = ax or new_axes(5.4, 5.4)
    ax.fill_between(found.x, found.curve, found.x, color=SKY, alpha=0.3, linewidth=0)
    ax.plot(found.x, found.curve, color=BLUE, linewidth=2, label=f"by prediction: Gini {found.gini:.3f}")
    ax.plot(found.x, found.perfect, color=DARK, linewidth=1.2, label=f"perfect order: {found.perfect_gini:.3f}")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="no order: 0")
    _square(ax)
    ax.set_xlabel(f"share of {short(found._labels[0], 24)}, lowest predictions first")
    ax.set_ylabel(f"share of {short(found._labels[1], 40)}")
    titled(ax, f"Lorenz curve: normalised Gini {found.normalised_gini:.3f}")
    legend_above(ax, columns=1)
    return ax


def draw_roc(found: Roc, ax: Axes | None = None) -> Axes:
    """The curve, the diagonal, and where the shares differ most."""
    ax = ax or new_axes(5.4, 5.4)
    x, y = found.false_positive_rate, found.true_positive_rate
    ax.plot(x, y, color=BLUE, linewidth=2, label=f"AUC {found.auc:.3f}")
    at = int(np.argmax(y - x))
    ax.plot([x[at], x[at]], [x[at], y[at]], color=RED, linewidth=1.5,
            label=f"KS {found.ks:.3f}, at a probability of {found.ks_threshold:.3g}")  # fmt: skip
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="chance: AUC 0.5, KS 0")
    _square(ax)
    ax.set(xlabel="false positive rate", ylabel="true positive rate")
    titled(ax, f"ROC curve: {found._words.removeprefix('share of ')}")
    legend_above(ax, columns=1)
    return ax


def draw_calibration(found: Calibration, ax: Axes | None = None) -> Axes:
    """Observed against predicted, bin by bin."""
    ax = ax or new_axes(5.4, 5.4)
    bands = found.bands
    reach = np.array([bands.observed - bands.observed_low, bands.observed_high - bands.observed])
    ax.errorbar(bands.predicted, bands.observed, yerr=np.nan_to_num(reach), fmt="o", color=BLUE, ecolor=SKY,
                elinewidth=2, label="bands of predictions, with intervals")  # fmt: skip
    known = [bands.predicted, bands.observed]
    low, high = min(map(np.nanmin, known)), max(map(np.nanmax, known))
    ax.plot([low, high], [low, high], color=GREY, linewidth=1, linestyle="--", label="observed as predicted")
    separated(ax.xaxis, 4)
    separated(ax.yaxis)
    rate = short(bands.words.rate, 40)
    ax.set(xlabel=f"predicted {rate}", ylabel=f"observed {rate}")
    ax.plot([], [], " ", label=f"actual / expected {found.balance:.4g}, slope {found.slope:.3g}")
    titled(ax, "Calibration")
    legend_above(ax, columns=1)
    return ax


def _square(ax: Axes) -> None:
    ax.set_aspect("equal")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f} %"))
