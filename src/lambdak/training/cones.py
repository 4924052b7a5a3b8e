r"""The coordinates in which monotone and convex columns are trained: C = M (± L Lᵀ), whose steps are semidefinite."""

from __future__ import annotations

import numpy as np

from lambdak._checks import FloatArray
from lambdak.eigen.packing import packed_size
from lambdak.pencil.constraints import Factor
from lambdak.pencil.spectrum import Float64Array
from lambdak.table.column_contract import Column
from lambdak.training.coordinates import Moments

# How far all ramps of a constrained column rise together at the start, in units of the target's scale.
_START_RISE = 0.3


class ConeCoordinates:
    """C = M (± L Lᵀ): the knots of a column move by semidefinite steps, spread over the knots by M ≥ 0, (knots, steps).

    Monotone: knot j is the sum of the first j steps. Convex: step i is a hinge (x − κ_i)₊ beside a free slope; both
    together: hinges that all rise, or all fall.
    """

    def __init__(
        self,
        column: Column,
        sign: int,
        moments: Moments,
        dim: int,
        spread: Float64Array,
        rises: Float64Array | None = None,
    ) -> None:
        """``rises`` (steps,) says how far each step goes at the start."""
        self._sign, self._dim, self._width = sign, dim, packed_size(dim)
        self._span = slice(column.start, column.start + len(spread))
        self._spread, self._mean = spread, moments.mean[self._span, None]
        self.size = spread.shape[1]
        self._rises = np.full(self.size, _START_RISE / max(self.size, 1)) if rises is None else rises

    def start(self, models: int, rng: np.random.Generator) -> FloatArray:
        """Parameters (models, size, D): steps near small multiples of the identity, not all equal."""
        theta = 0.1 * rng.standard_normal((models, self.size, self._width))
        theta[..., np.cumsum(np.arange(1, self._dim + 1)) - 1] += 1
        return np.asarray(np.sqrt(self._rises)[:, None] * theta, np.float32)

    def add_(self, theta: FloatArray, coef: FloatArray) -> None:
        """Add to the column's rows of coef, and subtract their mean from the constant."""
        knots = self._spread.astype(theta.dtype) @ (self._sign * Factor().forward(theta))
        coef[:, self._span, : self._width] += knots
        coef[:, 0, : self._width] -= (self._mean.astype(theta.dtype) * knots).sum(axis=1)

    def pull_back(self, theta: FloatArray, grad_coef: FloatArray) -> FloatArray:
        """The transpose of the derivative of :meth:`add_`."""
        mean, spread = self._mean.astype(theta.dtype), self._spread.T.astype(theta.dtype)
        knots = grad_coef[:, self._span, : self._width] - mean * grad_coef[:, :1, : self._width]
        steps = np.ascontiguousarray(spread @ knots)
        return np.asarray(self._sign * Factor().vjp(theta, steps))
