"""Test log-loss on HIGGS and Criteo against samples, ours and, where they are at hand, those of the released runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from lambdak.explain.plots import BLUE, DARK, GREY, RED, SKY
from lambdak.paper.data.higgs import FEATURES
from lambdak.paper.output.figures.canvas import STYLES, panels, sheet
from lambdak.paper.output.published import BATCH, TRAIN_ROWS, read_released
from lambdak.paper.parts import read_config, read_results
from lambdak.paper.real.protocol import hidden_width
from lambdak.paper.real.tuning import Tuned, tune

ORANGE = "#E69F00"
_MODELS = {  # in words, colour, marker, line
    "spectral": ("spectral neuron", BLUE, "s", "-"),
    "mlp-1": ("MLP-1", ORANGE, "v", "-."),
    "mlp-2": ("MLP-2", RED, "^", "--"),
    "mlp-3": ("MLP-3", DARK, "D", ":"),
    "linear": ("linear", GREY, "o", "-"),
    "spectral-continuous": ("spectral neuron, continuous", BLUE, "s", "-"),
    "spectral-bucketed": ("spectral neuron, bucketed", SKY, "o", "--"),
    "fm": ("factorisation machine", RED, "^", "-."),
    "linear-continuous": ("linear, continuous", DARK, "D", ":"),
    "linear-bucketed": ("linear, bucketed", GREY, "v", "-"),
}
_HEADROOM = 1.1  # times the largest first loss; what overfits further leaves the picture


@dataclass(frozen=True, eq=False)
class Losses:
    """Curves of one source of runs, by model and dim (0 for linear models), in order of samples."""

    source: str
    curves: dict[tuple[str, int], list[Tuned]]
    sizes: dict[tuple[str, int], int]  # parameters, where they are known

    @property
    def dims(self) -> list[int]:
        """Dims of the models that have one, increasing."""
        return sorted({dim for _, dim in self.curves if dim})


def read_losses(folder: Path, name: str, released: Path | None = None) -> list[Losses]:
    """Ours from the folder of a study, then those of the released runs, if their folder is given."""
    config = read_config(folder)
    rows, batch = config["data"]["splits"]["train"][1], config["protocol"]["batch"]
    found = [_losses(f"ours, {rows:,} rows, batches of {batch}", read_results(folder))]
    if released is not None:
        table = read_released(released / f"{name}_scaling.parquet")
        found.append(_losses(f"published, {TRAIN_ROWS[name]:,} rows, batches of {BATCH}", table))
    return found


def _losses(source: str, table: pa.Table) -> Losses:
    curves: dict[tuple[str, int], list[Tuned]] = {}
    for point in sorted(tune(table), key=lambda point: point.samples):
        curves.setdefault((point.model, point.dim), []).append(point)
    columns = [table[name].to_pylist() for name in ("model", "dim", "parameters") if name in table.column_names]
    sizes = {(model, dim): count for model, dim, count in zip(*columns, strict=True)} if len(columns) == 3 else {}
    return Losses(source, curves, sizes)


def draw_models(found: Sequence[Losses]) -> Figure:
    """A panel per dim, a line per model; the linear models are in every panel."""
    dims = found[0].dims
    figure, grid = _grid(found, len(dims))
    for (row, column), ax in np.ndenumerate(grid):
        losses, dim = found[row], dims[column]
        for model, style in _MODELS.items():
            key = (model, 0 if model.startswith("linear") else dim)
            if key in losses.curves:
                _line(ax, losses.curves[key], _words(losses, *key), *style[1:])
        ax.set_title(f"d = {dim}: {losses.source}", fontsize=10)
    _finish(figure, grid)
    return figure


def draw_dims(found: Sequence[Losses], models: Sequence[str]) -> Figure:
    """A panel per model, a line per dim."""
    figure, grid = _grid(found, len(models))
    for (row, column), ax in np.ndenumerate(grid):
        losses, model = found[row], models[column]
        for (colour, marker), dim in zip(STYLES, losses.dims, strict=False):
            _line(ax, losses.curves[model, dim], f"d = {dim}", colour, marker, "-")
        ax.set_title(f"{_MODELS[model][0]}\n{losses.source}", fontsize=10)
    _finish(figure, grid)
    return figure


def _words(losses: Losses, model: str, dim: int) -> str:
    """A model and its size."""
    words = [_MODELS[model][0]]
    if model.startswith("mlp-"):
        words.append(f"width {hidden_width(model, dim, FEATURES)}")
    if (model, dim) in losses.sizes:
        words.append(f"{losses.sizes[model, dim]:,} parameters")
    return ", ".join(words)


def _grid(found: Sequence[Losses], columns: int) -> tuple[Figure, NDArray[Any]]:
    figure = sheet(1.0 + 4.4 * columns, 0.6 + 3.3 * len(found))
    return figure, panels(figure, len(found), columns, share=True)


def _line(ax: Axes, points: Sequence[Tuned], label: str, colour: str, marker: str, line: str) -> None:
    samples = [point.samples for point in points]
    low, median, high = zip(*((point.low, point.median, point.high) for point in points), strict=True)
    ax.fill_between(samples, low, high, color=colour, alpha=0.15, linewidth=0)
    ax.plot(samples, median, line, marker=marker, color=colour, label=label, markersize=3.5, linewidth=1.4)


def _finish(figure: Figure, grid: NDArray[Any]) -> None:
    for ax in grid.flat:
        ax.set_xscale("log", base=2)
        ax.yaxis.set_major_locator(MaxNLocator(6))
        ax.grid(alpha=0.25, linewidth=0.5)
    bottom, top = grid[0, 0].get_ylim()  # shared by all panels
    first = max(line.get_ydata()[0] for ax in grid.flat for line in ax.lines)
    grid[0, 0].set_ylim(bottom, min(top, _HEADROOM * first))
    for ax in grid.flat:
        ax.legend(frameon=False, fontsize=7, loc="best")  # best within these limits
    figure.supxlabel("training samples", fontsize=10)
    figure.supylabel("test log-loss: median and quartiles", fontsize=10)
