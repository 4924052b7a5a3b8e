"""Data to matplotlib Axes; nothing else in the library imports matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lambdak._checks import FloatArray
from lambdak.demo import CurveData, Gallery

# Okabe and Ito's colours, which people of every colour vision can tell apart.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000"]


def save(drawn: Figure | Axes, path: Path) -> None:
    """Write the figure to a file and close it."""
    figure = drawn if isinstance(drawn, Figure) else drawn.get_figure(root=True)
    if figure is None:
        raise ValueError("drawn must be on a figure; got Axes that were removed from theirs")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_gallery(data: Gallery) -> Figure:
    """Each λ_k in its own axis, and all of them in one below."""
    dim = len(data.values)
    with plt.rc_context({"axes.spines.top": False, "axes.spines.right": False}):
        figure = plt.figure(figsize=(max(7.5, 2.1 * dim), 6.2), layout="constrained")
        grid = figure.add_gridspec(2, dim, height_ratios=[1, 1.7])
        together = figure.add_subplot(grid[1, :])
        for k, curve in enumerate(data.values):
            colour = COLOURS[k % len(COLOURS)]
            alone = figure.add_subplot(grid[0, k])
            alone.plot(data.x, curve, color=colour, linewidth=2)
            alone.set_title(f"$\\lambda_{k + 1}$")
            alone.tick_params(labelsize=8)
            together.plot(data.x, curve, color=colour, linewidth=2, label=f"$\\lambda_{k + 1}$")
        together.legend(frameon=False, ncols=2)
        together.set_xlabel("x")
        figure.suptitle(data.title)
    return figure


def draw_fits(data: CurveData, fits: Mapping[int, FloatArray], ax: Axes | None = None) -> Axes:
    """The sample, the true curve, and the fitted curve of each dim, with its distance from the truth."""
    ax = ax or plt.subplots(figsize=(9, 5), layout="constrained")[1]
    ax.scatter(data.x, data.y, s=4, color="#999999", alpha=0.35, linewidths=0, label="noisy sample")
    ax.plot(data.grid, data.truth, color="black", linewidth=1.2, linestyle="--", label="truth")
    for colour, (dim, curve) in zip(COLOURS, fits.items(), strict=False):
        rmse = float(np.sqrt(np.mean((curve - data.truth) ** 2)))
        ax.plot(data.grid, curve, color=colour, linewidth=2, label=f"dim {dim}: RMSE to truth {rmse:.3f}")
    ax.set(xlabel="x", ylabel="y", title="One spectral neuron, λₖ(A₀ + xA₁), fitted to a noisy curve")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax
