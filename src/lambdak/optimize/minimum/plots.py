"""Value and proven bound over time, as matplotlib Axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from lambdak.explain.plots import BLUE, RED, side_by_side

if TYPE_CHECKING:
    from lambdak.optimize.minimum.result import Optimum


def draw_trace(optimum: Optimum, ax: Axes | None = None) -> Axes:
    """The best value found and the proven bound, and the gap between them, as the search went on."""
    ax = ax or side_by_side(1, (6.4, 4.2))[0]
    seconds, value, bound = (np.array([moment[i] for moment in optimum.trace], float) for i in range(3))
    value, bound = (np.where(np.isfinite(own), own, np.nan) for own in (value, bound))
    ax.plot(seconds, value, color=BLUE, drawstyle="steps-post", label="best row found")
    ax.plot(seconds, bound, color=RED, drawstyle="steps-post", label="proven bound")
    ax.fill_between(seconds, value, bound, step="post", color=RED, alpha=0.12, linewidth=0)
    late = bound[len(bound) // 4 :]  # first bounds may be far away
    shown = np.concatenate([late, value])[np.isfinite(np.concatenate([late, value]))]
    if len(shown) and np.ptp(shown):
        ax.set_ylim(shown.min() - 0.05 * np.ptp(shown), shown.max() + 0.05 * np.ptp(shown))
    ax.set_xlabel("seconds")
    ax.set_ylabel("value of the objective")
    ax.set_title(f"{optimum.status}: {optimum.value:.5g}, gap {100 * optimum.gap:.2g} %")
    ax.legend(frameon=False, loc="best")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
