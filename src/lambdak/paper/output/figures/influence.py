"""How much of its proven bound a change of one HIGGS feature uses: a histogram per feature, a line per dim."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as pq
from matplotlib.figure import Figure

from lambdak.explain.plots import BLUE, DARK, RED
from lambdak.paper.data.higgs import NAMES
from lambdak.paper.output.figures.canvas import panels, sheet

_COLUMNS = 4
_LINES = ((BLUE, "-"), (RED, "--"), (DARK, ":"))


def read_influence(folder: Path) -> pa.Table:
    """The counts of the HIGGS study in a folder."""
    path = folder / "influence.parquet"
    if not path.exists():
        raise FileNotFoundError(f"{folder} holds no ratios: run `lambdak reproduce influence` first")
    return pq.read_table(path)


def draw_influence(table: pa.Table) -> Figure:
    """The share of rows per bin of |change| / bound."""
    dims = compute.unique(table["dim"]).to_pylist()
    rows = -(-len(NAMES) // _COLUMNS)
    figure = sheet(1.0 + 2.3 * _COLUMNS, 0.8 + 1.45 * rows)
    grid = panels(figure, rows, _COLUMNS, share=True)
    for dim, (colour, line) in zip(dims, cycle(_LINES)):
        own = table.filter(compute.equal(table["dim"], dim))
        counts = own["count"].to_numpy().reshape(len(NAMES), -1)
        edges, shares = np.linspace(0, 1, counts.shape[1] + 1), counts / counts.sum(axis=1, keepdims=True)
        label = f"d = {dim}, largest {compute.max(own['largest']).as_py():.5f}"
        for ax, share in zip(grid.flat, shares, strict=False):
            ax.stairs(share, edges, color=colour, linestyle=line, linewidth=1.2, label=label)
            ax.stairs(share, edges, color=colour, fill=True, alpha=0.12, linewidth=0)
    for ax, name in zip(grid.flat, NAMES, strict=False):
        ax.set_title(name, fontsize=8)
        ax.grid(alpha=0.25, linewidth=0.5)
    grid[0, 0].set(xlim=(0, 1), ylim=(0, None))
    figure.supxlabel(r"$|f(x + \delta e_i) - f(x)| \;/\; |\delta| \|A_i\|_2$", fontsize=10)
    figure.supylabel("share of the test rows", fontsize=10)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=10)
    return figure
