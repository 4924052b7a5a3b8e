r"""Models of one cell, trained at once: the kernel takes the steps, of tridiagonal matrices in O(d) each.

A model is λ_k(A_0 + Σ x_i A_i), trained on a mean squared error by Adam with a constant rate. Models that differ in
their rate alone start alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hessenberg

from lambdak._types import FloatArray
from lambdak.eigen import tridiagonal_eigenvalue
from lambdak.eigen.engine import AdamConstants, AdamRule, DesignRows
from lambdak.eigen.packing import padded_width, unsym
from lambdak.eigen.steps import step_engine
from lambdak.paper.synthetic.grid import FITS, Cell, Grid
from lambdak.pencil.constraints import SEMIDEFINITE, Constraint, Tridiagonal
from lambdak.pencil.initial import gapped

PYTORCH_ADAM = AdamConstants(beta1=0.9, beta2=0.999, tiny=1e-8)  # its defaults, as in the paper
_MEASURED_ROWS = 1 << 20  # at a time
_SQRT2 = np.float32(np.sqrt(2.0))


class Stack:
    """Models of one cell, (targets × seeds × rates), with their Adam states; they start as in the paper.

    ``threads`` is the number of threads of every call of the kernel; 0 is the process's setting.
    """

    def __init__(
        self, cell: Cell, grid: Grid, constraints: tuple[str, ...], rng: np.random.Generator, threads: int = 0
    ) -> None:
        self._threads = threads
        self._jitter, self._gap = grid.jitter * grid.conventions.jitter, grid.gap
        self._dim, self._inputs, self._index = cell.dim, cell.inputs, cell.dim // 2
        self._streams, self._copies, self._steps = grid.targets * grid.seeds, len(grid.rates), 0
        signs = [0] * (cell.inputs - len(constraints)) + [1] * len(constraints)
        starts = np.stack([self._start(signs, rng) for _ in range(self._streams)])
        self._width = starts.shape[-1]
        shape = self._streams * self._copies, cell.inputs + 1, padded_width(self._width)
        self.coef = np.zeros(shape, np.float32)
        self.coef[..., : self._width] = np.repeat(starts, self._copies, axis=0)
        self._rates = np.tile(np.asarray(grid.rates), self._streams)
        self._grad = np.zeros_like(self.coef)
        self._moments = [np.zeros_like(self.coef) for _ in range(2)]
        self._bounds = {
            matrix: _Bound(SEMIDEFINITE[name].constraint, self.coef[:, matrix, : self._width])
            for matrix, name in enumerate(constraints, cell.inputs + 1 - len(constraints))
        }

    def step(self, x: FloatArray, y: FloatArray) -> None:
        """One step of every model on the points of its stream, x (streams, batch, inputs) and y (streams, batch)."""
        self._differentiate(x, y)
        self._steps += 1
        rule = PYTORCH_ADAM.rule(self._steps)
        rates = self._rates / PYTORCH_ADAM.rate_correction(self._steps)
        for matrix, bound in self._bounds.items():
            bound.step_(self._grad[:, matrix, : self._width], rates, rule)
            self._grad[:, matrix] = 0.0
        models = len(self.coef)
        theta, grad, first, second = (part.reshape(models, -1) for part in (self.coef, self._grad, *self._moments))
        step_engine().adam((theta, grad, first, second), rates.tolist(), [1.0] * models, rule, 0, self._threads)
        for matrix, bound in self._bounds.items():
            self.coef[:, matrix, : self._width] = bound.matrix()

    def errors(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """RMSE of every model on points of its stream, (models,)."""
        out = np.empty(len(self.coef))
        step = max(1, _MEASURED_ROWS // (x.shape[1] * self._copies))
        for first in range(0, self._streams, step):
            some = slice(first, min(first + step, self._streams))
            models = slice(some.start * self._copies, some.stop * self._copies)
            value = self._values(x[some], self.coef[models, :, : self._width])
            wrong = value.reshape(-1, self._copies, x.shape[1]) - y[some, None]
            out[models] = np.sqrt(np.square(wrong, dtype=np.float64).mean(axis=-1)).ravel()
        return out

    def _start(self, signs: list[int], rng: np.random.Generator) -> FloatArray:
        """The matrices of one model, (inputs + 1, width)."""
        settings = {"monotonic_cst": signs, "jitter": self._jitter, "gap": self._gap}
        return gapped(self._inputs, self._dim, random_state=rng, dtype=np.float64, **settings)  # type: ignore[arg-type]

    def _differentiate(self, x: FloatArray, y: FloatArray) -> None:
        """Fill the gradient of the mean squared error."""
        design, total = self._design(x), len(self.coef) * x.shape[1]
        value = np.empty((total, 1), np.float32)
        vector = np.empty((total, 1, self._dim), np.float32)
        coef, grad = (part[..., : self._width] for part in (self.coef, self._grad))
        step_engine().forward(design, coef, self._dim, [self._index], (value, vector), self._threads)
        step_engine().backward(design, vector, self._slope(value, y), self._dim, grad, self._threads)

    def _values(self, x: FloatArray, coef: FloatArray) -> FloatArray:
        """λ_k of some models at the points of their streams."""
        value = np.empty((len(coef) * x.shape[1], 1), np.float32)
        step_engine().forward(self._design(x), coef, self._dim, [self._index], (value, None), self._threads)
        return value

    def _slope(self, value: FloatArray, y: FloatArray) -> FloatArray:
        """The derivative of the mean squared error with respect to each value, (models × batch, 1)."""
        batch = y.shape[1]
        slope = value.reshape(self._streams, self._copies, batch) - y[:, None]
        slope *= np.float32(2.0 / batch)
        return slope.reshape(-1, 1)

    def _design(self, x: FloatArray) -> DesignRows:
        """Sparse rows of all points, and which of them each model takes."""
        streams, batch, _ = x.shape
        weights = np.ones((streams * batch, self._inputs + 1), np.float32)
        weights[:, 1:] = x.reshape(-1, self._inputs)
        ids = np.broadcast_to(np.arange(self._inputs + 1, dtype=np.int32), weights.shape).copy()
        rows = np.arange(streams * batch, dtype=np.int32).reshape(streams, batch)
        return ids, weights, np.repeat(rows, self._copies, axis=0)


class BandStack(Stack):
    """Stack of models with tridiagonal matrices, 2d − 1 numbers: the diagonal, then the sub-diagonal times √2.

    A tridiagonal matrix whose eigenvalues repeat falls into blocks of which λ_k knows one. So A_0 starts with distinct
    eigenvalues, evenly spaced in ±[1, 2] around the zero at k, and random otherwise; the A_i start as in the paper.
    """

    def _start(self, signs: list[int], rng: np.random.Generator) -> FloatArray:
        start, steps = super()._start(signs, rng), np.arange(self._dim) - self._index
        basis = np.linalg.qr(rng.standard_normal((self._dim, self._dim)))[0]
        spectrum = np.sign(steps) + 2 * steps / self._dim
        start[0] = unsym(hessenberg(basis * spectrum @ basis.T))
        return Tridiagonal().right_inverse(start)

    def _differentiate(self, x: FloatArray, y: FloatArray) -> None:
        coef, grad = (part[..., : self._width] for part in (self.coef, self._grad))
        step_engine().band_gradient(_with_ones(x), y, coef, self._dim, self._index, grad, self._threads)

    def _values(self, x: FloatArray, coef: FloatArray) -> FloatArray:
        entries = np.repeat(_with_ones(x), self._copies, axis=0) @ coef  # (models, batch, width)
        bands = entries[..., : self._dim], entries[..., self._dim :] / _SQRT2
        return tridiagonal_eigenvalue(*bands, self._index, n_jobs=self._threads or None)


def _with_ones(x: FloatArray) -> FloatArray:
    return np.concatenate([np.ones((*x.shape[:-1], 1), x.dtype), x], axis=-1)


def make_stack(cell: Cell, grid: Grid, rng: np.random.Generator, threads: int = 0) -> Stack:
    """The models of a cell at their start."""
    fit = FITS[cell.fit]
    return (BandStack if fit.model == "tridiagonal" else Stack)(cell, grid, fit.constraints, rng, threads)


class _Bound:
    """Parameters of the constrained matrices and their Adam state."""

    def __init__(self, constraint: Constraint, start: FloatArray) -> None:
        self._constraint = constraint
        self._theta = constraint.right_inverse(start.astype(np.float64)).astype(np.float32)
        self._mean, self._square = np.zeros_like(self._theta), np.zeros_like(self._theta)

    def matrix(self) -> FloatArray:
        return self._constraint.forward(self._theta)

    def step_(self, grad: FloatArray, rates: NDArray[np.float64], rule: AdamRule) -> None:
        slope = self._constraint.vjp(self._theta, np.ascontiguousarray(grad))
        beta1, beta2, correct, tiny = rule
        self._mean += np.float32(1.0 - beta1) * (slope - self._mean)
        self._square += np.float32(1.0 - beta2) * (slope * slope - self._square)
        size = np.sqrt(self._square * np.float32(correct)) + np.float32(tiny)
        self._theta -= rates[:, None].astype(np.float32) * self._mean / size
