r"""The coordinates in which models are trained: C = B θ for free columns, C = cumsum(± L Lᵀ) for monotone ones.

Free columns are described by ramps (the increments of a curve from knot to knot), levels and slopes, all centred, and
whitened with damping: B = T (Σ + ε s I)^{-1/2}, where Σ is the covariance of the ramps, s its mean eigenvalue and T
turns ramps into the matrices at the knots. Weight decay on θ then penalises the variance of what a column contributes,
plus ε times its roughness. Design column 0, the constant, is θ's first row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import FloatArray
from lambdak._steps import step_engine
from lambdak.columns import Column
from lambdak.constraints import Factor
from lambdak.encode import Design
from lambdak.packing import packed_size
from lambdak.spectrum import Float64Array

# Up to this many ramps the whitening is joint; beyond, column by column: its cost grows with the square.
JOINT_RAMPS = 400

# A mean variance below this is the rounding of a table that never varies.
_VARIES = 1e-12

# How far all ramps of a monotone column rise together at the start, in units of the target's scale.
_START_RISE = 0.3


@dataclass(frozen=True)
class Moments:
    """Mean (P,) and covariance (P, P) of the design columns."""

    mean: Float64Array
    covariance: Float64Array


def design_moments(design: Design, n_design: int, weight: FloatArray | None = None) -> Moments:
    """Mean and covariance of the design columns over the (weighted) rows."""
    mass = np.ones(len(design)) if weight is None else weight.astype(np.float64)
    rows = mass / mass.sum()
    matrix = design.to_sparse(n_design).astype(np.float64)
    mean = np.asarray(matrix.T @ rows).ravel()
    second = (matrix.multiply(rows[:, None]).T @ matrix).toarray()
    return Moments(mean, second - np.outer(mean, mean))


@dataclass(frozen=True)
class Ramps:
    """T (P, p): what p ramps, levels and slopes contribute to the P design columns, and whose they are."""

    matrix: Float64Array
    owners: NDArray[np.intp]  # (p,) positions in the list of columns


def free_ramps(columns: Sequence[Column], n_design: int, constrained: Sequence[int]) -> Ramps:
    """Ramps of the free columns; of a constrained one only the matrix of its missing values is free."""
    parts, owners = [], []
    for position, column in enumerate(columns):
        knots = max(len(column.knots), 1) if column.kind == "curve" else 0
        kept = np.arange(column.start, column.stop)
        if position in constrained:
            kept = kept[kept == column.missing]
        block = np.zeros((n_design, len(kept)))
        block[kept, np.arange(len(kept))] = 1
        if position not in constrained and knots:
            steps = np.tri(knots, knots, -1)[:, : knots - 1]  # knot j is the sum of the first j ramps
            block = np.delete(block, knots - 1, axis=1)
            block[column.start : column.start + knots, : knots - 1] = steps
        parts.append(block)
        owners += [position] * block.shape[1]
    return Ramps(np.concatenate(parts, axis=1), np.asarray(owners, np.intp))


class FreeCoordinates:
    """C = B θ: the coefficients of the free columns of a stack of models, each with its own damping ε."""

    def __init__(self, ramps: Ramps, moments: Moments, damping: Sequence[float]) -> None:
        models, (n_design, size) = len(damping), ramps.matrix.shape
        covariance = ramps.matrix.T @ moments.covariance @ ramps.matrix
        joint = size <= JOINT_RAMPS
        owners = np.zeros_like(ramps.owners) if joint else ramps.owners
        self._left = np.zeros((models, n_design, size + 1), np.float32)
        self._left[:, :, 1:] = ramps.matrix @ _whiteners(covariance, owners, damping)
        self._shift = np.einsum("p,mpq->mq", moments.mean.astype(np.float32), self._left[:, :, 1:])[..., None]
        self._left[:, 0, 0] = 1
        self._left_spans = _spans((self._left != 0).any(axis=0))
        self._back = np.ascontiguousarray(self._left.transpose(0, 2, 1))
        self._back_spans = _spans((self._back != 0).any(axis=0))
        self.size, self.n_design = size + 1, n_design

    def write_(self, theta: FloatArray, coef: FloatArray) -> None:
        """Fill coef (models, P, width) from θ (models, size, width)."""
        step_engine().multiply(self._left, theta, self._left_spans, coef)
        coef[:, 0] -= np.matmul(self._shift.transpose(0, 2, 1), theta[:, 1:])[:, 0]

    def pull_back_(self, grad_coef: FloatArray, grad: FloatArray) -> None:
        """Fill grad (models, size, width) with the transpose of :meth:`write_`."""
        step_engine().multiply(self._back, grad_coef, self._back_spans, grad)
        grad[:, 1:] -= self._shift * grad_coef[:, :1]


class ConeCoordinates:
    """C_j = ± Σ_{i ≤ j} L_i L_iᵀ: the knots of a monotone column rise (or fall) by semidefinite steps."""

    def __init__(self, column: Column, sign: int, moments: Moments, dim: int) -> None:
        self._sign, self._dim, self._width = sign, dim, packed_size(dim)
        linear = column.kind == "linear"
        first = column.start if linear else column.start + 1
        self._place = slice(first, first + (1 if linear else column.n_ramps))
        self._mean = moments.mean[self._place].astype(np.float32)[None, :, None]
        self.size = self._place.stop - self._place.start

    def start(self, models: int, rng: np.random.Generator) -> FloatArray:
        """Parameters (models, size, D): steps near small multiples of the identity, not all alike."""
        theta = 0.1 * rng.standard_normal((models, self.size, self._width))
        theta[..., np.cumsum(np.arange(1, self._dim + 1)) - 1] += 1
        return np.asarray(np.sqrt(_START_RISE / max(self.size, 1)) * theta, np.float32)

    def write_(self, theta: FloatArray, coef: FloatArray) -> None:
        """Fill the column's rows of coef, and take their mean from the constant."""
        knots = np.cumsum(self._sign * Factor().forward(theta), axis=1)
        coef[:, self._place, : self._width] = knots
        coef[:, 0, : self._width] -= (self._mean * knots).sum(axis=1)

    def pull_back(self, theta: FloatArray, grad_coef: FloatArray) -> FloatArray:
        """The transpose of the derivative of :meth:`write_`."""
        knots = grad_coef[:, self._place, : self._width] - self._mean * grad_coef[:, :1, : self._width]
        steps = np.ascontiguousarray(np.cumsum(knots[:, ::-1], axis=1)[:, ::-1])
        return np.asarray(self._sign * Factor().vjp(theta, steps))


def _whiteners(covariance: Float64Array, owners: NDArray[np.intp], damping: Sequence[float]) -> Float64Array:
    """(Σ + ε s I)^{-1/2} for every ε, (models, p, p), block by block of equal owners."""
    result = np.zeros((len(damping), *covariance.shape))
    mean = np.trace(covariance) / max(len(covariance), 1)
    shift = np.asarray(damping)[:, None] * (mean if mean > _VARIES else 1.0)
    for owner in np.unique(owners):
        here = np.flatnonzero(owners == owner)
        values, basis = np.linalg.eigh(covariance[np.ix_(here, here)])
        root = 1 / np.sqrt(np.maximum(values, 0) + shift)  # (models, block)
        result[:, here[:, None], here] = basis * root[:, None, :] @ basis.T
    return result


def _spans(nonzero: NDArray[np.bool_]) -> NDArray[np.int32]:
    """First and one past the last non-zero column of every row."""
    width = nonzero.shape[1]
    spans = np.zeros((len(nonzero), 2), np.int32)
    some = nonzero.any(axis=1)
    spans[some, 0] = nonzero[some].argmax(axis=1)
    spans[some, 1] = width - nonzero[some, ::-1].argmax(axis=1)
    return spans
