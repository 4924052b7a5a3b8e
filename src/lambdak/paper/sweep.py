r"""One cell of a synthetic study: all its models are trained at once, one kernel call per step.

A model is λ_k(A_0 + Σ x_i A_i) with the paper's gapped start, trained on a mean squared error by Adam with a constant
rate on fresh random points. Models that differ in their rate alone see the same points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import FloatArray
from lambdak._steps import step_engine
from lambdak.constraints import Constraint, DiagonalPSD, Factor, RootFactor, SpectralSquareplus, Tridiagonal
from lambdak.initial import gapped
from lambdak.packing import packed_size
from lambdak.paper.grid import FITS, Cell, Grid
from lambdak.paper.targets import HIGH, LOW, Targets, make_targets
from lambdak.parameters import PAD

CONSTRAINTS: dict[str, Constraint] = {
    "diagonal": DiagonalPSD(),
    "factor": Factor(),
    "root": RootFactor(),
    "squareplus": SpectralSquareplus(),
    "tridiagonal": Tridiagonal(),
}
_BETAS = (0.9, 0.999)
_TINY = 1e-8
_DRAWN = 100  # steps whose points are drawn at once
_MEASURED_ROWS = 1 << 20  # at a time


@dataclass(frozen=True, eq=False)
class CellResult:
    """RMSE on validation and test points, (targets, seeds, rates, checkpoints) each."""

    validation: FloatArray
    test: FloatArray


def run_cell(grid: Grid, cell: Cell, tick: Callable[[int], None] = lambda steps: None) -> CellResult:
    """Train and measure every model of a cell; ``tick`` is told of steps that were taken."""
    kind, constraint = FITS[cell.fit]
    place = (cell.inputs, list(FITS).index(cell.fit), cell.complexity, round(1000 * cell.noise), cell.dim)
    rng = np.random.default_rng(place)
    targets = make_targets(kind, cell.inputs, cell.complexity, range(grid.targets))
    which = np.repeat(np.arange(grid.targets), grid.seeds)  # of each stream of points
    stack = Stack(cell, grid, constraint, rng)
    points = _Points(targets, which, cell, rng)
    held, exact = points.draw(1, grid.measured), points.lattice(grid.measured)
    validation, test = [], []
    done = 0
    for checkpoint in grid.checkpoints:
        while done < checkpoint:
            count = min(_DRAWN, checkpoint - done)
            x, y = points.draw(count, grid.batch)
            for step in range(count):
                stack.step(x[step], y[step])
            done += count
            tick(count)
        validation.append(stack.errors(held[0][0], held[1][0]))
        test.append(stack.errors(*exact))
    shape = (grid.targets, grid.seeds, len(grid.rates))
    return CellResult(*(np.stack(errors, axis=-1).reshape(*shape, -1) for errors in (validation, test)))


class _Points:
    """Random and regular points of all streams, with the values of their targets."""

    def __init__(self, targets: Targets, which: NDArray[np.intp], cell: Cell, rng: np.random.Generator) -> None:
        self._targets, self._which, self._cell, self._rng = targets, which, cell, rng

    def draw(self, steps: int, batch: int) -> tuple[FloatArray, FloatArray]:
        """Points x (steps, streams, batch, inputs) and y (steps, streams, batch), with noise."""
        x = self._rng.uniform(LOW, HIGH, (steps, len(self._which), batch, self._cell.inputs))
        y = self._targets(self._which[:, None], x)
        if self._cell.noise:
            y += self._rng.normal(0.0, self._cell.noise, y.shape)
        return x.astype(np.float32), y.astype(np.float32)

    def lattice(self, count: int) -> tuple[FloatArray, FloatArray]:
        """The same regular points for every stream, without noise: x (streams, count, inputs) and y."""
        axes = [np.linspace(LOW, HIGH, round(count ** (1 / self._cell.inputs)))] * self._cell.inputs
        x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, self._cell.inputs)
        every = np.broadcast_to(x, (len(self._which), *x.shape))
        return every.astype(np.float32), self._targets(self._which[:, None], every).astype(np.float32)


class Stack:
    """Models of one cell, (targets × seeds × rates), with their Adam states."""

    def __init__(self, cell: Cell, grid: Grid, constraint: str, rng: np.random.Generator) -> None:
        self._dim, self._inputs, self._index = cell.dim, cell.inputs, cell.dim // 2
        streams, rates = grid.targets * grid.seeds, len(grid.rates)
        self._width = packed_size(cell.dim)
        signs = [0] * (cell.inputs - 1) + [int(constraint != "free")]
        starts = np.stack(
            [
                gapped(cell.inputs, cell.dim, random_state=rng, monotonic_cst=signs, dtype=np.float64)
                for _ in range(streams)
            ]
        )
        models = streams * rates
        padded = -(-self._width // PAD) * PAD
        self.coef = np.zeros((models, cell.inputs + 1, padded), np.float32)
        self.coef[..., : self._width] = np.repeat(starts, rates, axis=0)
        self._rates = np.tile(np.asarray(grid.rates), streams)
        self._grad = np.zeros_like(self.coef)
        self._moments = [np.zeros_like(self.coef) for _ in range(2)]
        self._bound = _Bound(CONSTRAINTS[constraint], self.coef[:, -1, : self._width]) if signs[-1] else None
        self._streams, self._copies, self._steps = streams, rates, 0

    def step(self, x: FloatArray, y: FloatArray) -> None:
        """One step of every model on the points of its stream, x (streams, batch, inputs) and y (streams, batch)."""
        ids, weights, rows = self._design(x)
        engine, models, batch = step_engine(), len(self.coef), x.shape[1]
        value = np.empty((models * batch, 1), np.float32)
        vector = np.empty((models * batch, 1, self._dim), np.float32)
        coef = self.coef[..., : self._width]
        engine.forward(ids, weights, rows, coef, self._dim, [self._index], value, vector)
        slope = value.reshape(self._streams, self._copies, batch) - y[:, None]
        slope *= np.float32(2.0 / batch)
        engine.backward(ids, weights, rows, vector, slope.reshape(-1, 1), self._dim, self._grad[..., : self._width])
        self._steps += 1
        correct = 1.0 / (1.0 - _BETAS[1] ** self._steps)
        rates = self._rates / (1.0 - _BETAS[0] ** self._steps)
        if self._bound is not None:
            self._bound.step_(self._grad[:, -1, : self._width], rates, correct)
            self._grad[:, -1] = 0.0
        flat = [part.reshape(models, -1) for part in (self.coef, self._grad, *self._moments)]
        engine.adam(*flat, rates.tolist(), [1.0] * models, *_BETAS, correct, _TINY, 0)
        if self._bound is not None:
            self.coef[:, -1, : self._width] = self._bound.matrix()

    def errors(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """RMSE of every model on points of its stream, (models,)."""
        out = np.empty(len(self.coef))
        step = max(1, _MEASURED_ROWS // (x.shape[1] * self._copies))
        for first in range(0, self._streams, step):
            some = slice(first, min(first + step, self._streams))
            models = slice(some.start * self._copies, some.stop * self._copies)
            ids, weights, rows = self._design(x[some])
            value = np.empty((rows.size, 1), np.float32)
            coef = self.coef[models, :, : self._width]
            step_engine().forward(ids, weights, rows, coef, self._dim, [self._index], value, None)
            wrong = value.reshape(-1, self._copies, x.shape[1]) - y[some, None]
            out[models] = np.sqrt(np.square(wrong, dtype=np.float64).mean(axis=-1)).ravel()
        return out

    def _design(self, x: FloatArray) -> tuple[NDArray[np.int32], FloatArray, NDArray[np.int32]]:
        """Sparse rows of all points, and which of them each model takes."""
        streams, batch, _ = x.shape
        weights = np.ones((streams * batch, self._inputs + 1), np.float32)
        weights[:, 1:] = x.reshape(-1, self._inputs)
        ids = np.broadcast_to(np.arange(self._inputs + 1, dtype=np.int32), weights.shape).copy()
        rows = np.arange(streams * batch, dtype=np.int32).reshape(streams, batch)
        return ids, weights, np.repeat(rows, self._copies, axis=0)


class _Bound:
    """Parameters of the constrained matrices and their Adam state."""

    def __init__(self, constraint: Constraint, start: FloatArray) -> None:
        self._constraint = constraint
        self._theta = constraint.right_inverse(start.astype(np.float64)).astype(np.float32)
        self._mean, self._square = np.zeros_like(self._theta), np.zeros_like(self._theta)

    def matrix(self) -> FloatArray:
        return self._constraint.forward(self._theta)

    def step_(self, grad: FloatArray, rates: NDArray[np.float64], correct: float) -> None:
        own = self._constraint.vjp(self._theta, np.ascontiguousarray(grad))
        beta1, beta2 = _BETAS
        self._mean += np.float32(1.0 - beta1) * (own - self._mean)
        self._square += np.float32(1.0 - beta2) * (own * own - self._square)
        size = np.sqrt(self._square * np.float32(correct)) + np.float32(_TINY)
        self._theta -= rates[:, None].astype(np.float32) * self._mean / size
