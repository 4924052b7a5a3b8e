"""What a training sample costs a model: CPU time of one thread, all models of a cell at once."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import numpy as np

from lambdak.atomic import write_text
from lambdak.paper.parts import csv_text
from lambdak.paper.synthetic.grid import Cell, Grid, study
from lambdak.paper.synthetic.stacks import make_stack
from lambdak.paper.synthetic.targets import HIGH, LOW

Times = dict[tuple[str, int], float]  # (fit, dim): seconds per sample and model

_REPEATS = 5
_LEAST = 0.05  # seconds of CPU time per repeat, far above the clock's resolution


def time_study(name: str, profile: str, out: Path) -> Path:
    """Measure the fits and dims of a study and write ``times.csv`` into its folder, unless it is there."""
    path, grid = out / f"{name}-{profile}" / "times.csv", study(name, profile)
    if not path.exists():
        cells = {(cell.fit, cell.dim): cell for cell in grid.cells()}
        rows = [{"fit": fit, "dim": dim, "seconds": sample_time(grid, cell)} for (fit, dim), cell in cells.items()]
        write_text(path, csv_text(rows))
    return path


def read_times(folder: Path) -> Times:
    """Seconds per sample and model from a study's folder."""
    path = folder / "times.csv"
    if not path.exists():
        raise FileNotFoundError(f"{folder} holds no times: run `lambdak reproduce` to its end")
    with path.open() as lines:
        return {(row["fit"], int(row["dim"])): float(row["seconds"]) for row in csv.DictReader(lines)}


def sample_time(grid: Grid, cell: Cell) -> float:
    """Seconds per sample and model, the least of a few repeats: gradient, Adam and the constraints' own work."""
    rng, streams = np.random.default_rng(0), grid.targets * grid.seeds
    stack = make_stack(cell, grid, rng, threads=1)
    x = rng.uniform(LOW, HIGH, (streams, grid.batch, cell.inputs)).astype(np.float32)
    y = rng.standard_normal((streams, grid.batch)).astype(np.float32)
    found = []
    stack.step(x, y)
    for _ in range(_REPEATS):
        began, steps, spent = time.process_time(), 0, 0.0
        while not steps or spent < _LEAST:
            stack.step(x, y)
            steps, spent = steps + 1, time.process_time() - began
        found.append(spent / (steps * grid.models * grid.batch))
    return min(found)
