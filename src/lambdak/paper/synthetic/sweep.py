"""One cell of a synthetic study: all its models are trained at once, on fresh random points.

Models that differ in their rate alone see the same points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray
from lambdak.paper.synthetic.grid import FITS, Cell, Grid
from lambdak.paper.synthetic.stacks import make_stack
from lambdak.paper.synthetic.targets import HIGH, LOW, Targets, lattice, make_targets

_DRAWN = 100  # steps whose points are drawn at once


@dataclass(frozen=True, eq=False)
class CellResult:
    """RMSE on validation and test points, (targets, seeds, rates, checkpoints) each."""

    validation: FloatArray
    test: FloatArray


def run_cell(grid: Grid, cell: Cell, threads: int = 0) -> CellResult:
    """Train and measure every model of a cell."""
    seed = (cell.inputs, list(FITS).index(cell.fit), cell.complexity, round(1000 * cell.noise), cell.dim)
    rng = np.random.default_rng(seed)
    kind, conventions = FITS[cell.fit].target, grid.conventions
    targets = make_targets(kind, cell.inputs, cell.complexity, range(grid.targets), conventions)
    which = np.repeat(np.arange(grid.targets), grid.seeds)  # of each stream of points
    stack = make_stack(cell, grid, rng, threads)
    points = _Points(targets, which, cell, rng)
    x_validation, y_validation = points.draw(1, grid.measured, conventions.noisy_validation)
    exact = points.lattice(grid.tested or grid.measured)
    validation, test = [], []
    done = 0
    for checkpoint in grid.checkpoints:
        while done < checkpoint:
            count = min(_DRAWN, checkpoint - done)
            x, y = points.draw(count, grid.batch)
            for step in range(count):
                stack.step(x[step], y[step])
            done += count
        validation.append(stack.errors(x_validation[0], y_validation[0]))
        test.append(stack.errors(*exact))
    shape = (grid.targets, grid.seeds, len(grid.rates))
    return CellResult(*(np.stack(errors, axis=-1).reshape(*shape, -1) for errors in (validation, test)))


class _Points:
    """Random and regular points of all streams, with the values of their targets."""

    def __init__(self, targets: Targets, which: NDArray[np.intp], cell: Cell, rng: np.random.Generator) -> None:
        self._targets, self._which, self._cell, self._rng = targets, which, cell, rng

    def draw(self, steps: int, batch: int, noisy: bool = True) -> tuple[FloatArray, FloatArray]:
        """Points x (steps, streams, batch, inputs) and y (steps, streams, batch), with noise if the cell has some."""
        x = self._rng.uniform(LOW, HIGH, (steps, len(self._which), batch, self._cell.inputs))
        y = self._targets(self._which[:, None], x)
        if self._cell.noise and noisy:
            y += self._rng.normal(0.0, self._cell.noise, y.shape)
        return x.astype(np.float32), y.astype(np.float32)

    def lattice(self, count: int) -> tuple[FloatArray, FloatArray]:
        """Regular points, equal in every stream and without noise: x (streams, count, inputs) and y."""
        x = lattice(self._cell.inputs, count)
        every = np.broadcast_to(x, (len(self._which), *x.shape))
        return every.astype(np.float32), self._targets(self._which[:, None], every).astype(np.float32)
