r"""The coordinates in which free columns are trained, C = B θ; cones.py has those of monotone and convex ones.

Free columns are described by ramps (the increments of a curve from knot to knot), levels and slopes, all centred, and
whitened with damping: B = T (Σ + ε s I)^{-1/2}, where Σ is the covariance of the ramps, s its mean eigenvalue and T
turns ramps into the matrices at the knots. Weight decay on θ then penalises the variance of what a column contributes,
plus ε times its roughness. Design column 0, the constant, is θ's first row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lambdak._checks import FloatArray
from lambdak.eigen.steps import step_engine
from lambdak.pencil.spectrum import Float64Array
from lambdak.table.column_contract import Column
from lambdak.table.design import Design

# Up to this many ramps the whitening is joint; beyond, column by column: its cost grows with the square.
JOINT_RAMPS = 700

# Beyond this many design columns no covariance is formed: every ramp is scaled by itself.
MOST_COVARIANCES = 2500

# Moments only precondition: for a longer table a sample of this size is enough.
_SAMPLE = 16_000
_AT_ONCE = 4_000

# A mean variance below this is the rounding of a table that never varies.
_VARIES = 1e-12


@dataclass(frozen=True)
class Moments:
    """Mean (P,) and covariance (P, P) of the design columns; of many columns only the variances (P,)."""

    mean: Float64Array
    covariance: Float64Array

    def block(self, rows: slice) -> Float64Array:
        """The covariance of neighbouring design columns; diagonal where only variances are known."""
        if self.covariance.ndim == 1:
            return np.diag(self.covariance[rows])
        return self.covariance[rows, rows]


def design_moments(design: Design, n_design: int, weight: FloatArray | None = None) -> Moments:
    """Mean and covariance of the design columns over the (weighted) rows, or over a sample of a long table."""
    stride = max(len(design) // _SAMPLE, 1)
    sample = design.take(np.arange(0, len(design), stride)) if stride > 1 else design
    mass = np.ones(len(sample)) if weight is None else weight[::stride][: len(sample)].astype(np.float64)
    if not mass.any():
        mass = np.ones(len(sample))
    rows = mass / mass.sum()
    matrix = sample.to_sparse(n_design).astype(np.float64)
    mean = np.asarray(matrix.T @ rows).ravel()
    if n_design > MOST_COVARIANCES:
        return Moments(mean, np.asarray(matrix.power(2).T @ rows).ravel() - mean**2)
    dtype = np.float64 if len(sample) <= _AT_ONCE else np.float32  # single precision is enough where it saves time
    matrix, rows = matrix.astype(dtype), rows.astype(dtype)[:, None]
    second = np.zeros((n_design, n_design), dtype)
    for first in range(0, len(sample), _AT_ONCE):
        dense = matrix[first : first + _AT_ONCE].toarray()
        second += (rows[first : first + _AT_ONCE] * dense).T @ dense
    return Moments(mean, second - np.outer(mean, mean))


@dataclass(frozen=True)
class Block:
    """T of one column: what its ramps, levels and slopes, ``cols`` of θ, contribute to its design columns ``rows``."""

    owner: int  # position in the list of columns
    rows: slice
    cols: slice
    ramps: Float64Array


def free_blocks(
    columns: Sequence[Column], constrained: Sequence[int], linear: Sequence[int] = (), dropped: Collection[int] = ()
) -> list[Block]:
    """Ramps of the free columns; of a constrained one only missing values are free, and of a ``linear`` one its slope.

    A ``dropped`` column has none.

    θ's first row is the constant, so the first block starts at row 1.
    """
    blocks, first = [], 1
    for position, column in enumerate(columns):
        if position in dropped:
            continue
        ramps = _ramps(column, position in constrained, position in linear)
        if ramps.shape[1]:
            cols = slice(first, first + ramps.shape[1])
            blocks.append(Block(position, slice(column.start, column.stop), cols, ramps))
            first += ramps.shape[1]
    return blocks


def _ramps(column: Column, constrained: bool, linear: bool) -> Float64Array:
    if linear:
        return column.straight()
    if not constrained:
        return column.ramps()
    own = np.eye(column.width)
    return own[:, [column.missing - column.start]] if column.missing >= 0 else own[:, :0]


class Whitening:
    """The covariance of the ramps, jointly if there are few, column by column if there are many or ``apart``."""

    def __init__(self, blocks: Sequence[Block], moments: Moments, apart: bool = False) -> None:
        self.size, self.mean = blocks[-1].cols.stop if blocks else 1, moments.mean
        joint = 1 < self.size <= JOINT_RAMPS and not apart and moments.covariance.ndim == 2
        self.groups = _join(blocks, len(self.mean)) if joint else blocks
        covariances = [g.ramps.T @ moments.block(g.rows) @ g.ramps for g in self.groups]
        self._spectra = [_eigh(covariance) for covariance in covariances]
        mean = sum(np.trace(covariance) for covariance in covariances) / max(self.size - 1, 1)
        self._unit = mean if mean > _VARIES else 1.0

    def bases(self, damping: Sequence[float]) -> Iterator[tuple[Block, Float64Array]]:
        """T (Σ + ε s I)^{-1/2} of every group, (dampings, rows, cols)."""
        ridge = np.asarray(damping)[:, None] * self._unit
        for group, (values, basis) in zip(self.groups, self._spectra, strict=True):
            root = 1 / np.sqrt(np.maximum(values, 0) + ridge)  # (dampings, cols)
            yield group, (group.ramps @ basis) * root[:, None, :] @ basis.T


class FreeCoordinates:
    """C = B θ: the coefficients of the free columns of a stack of models, each with its own damping ε."""

    def __init__(self, whitening: Whitening, damping: Sequence[float]) -> None:
        kinds, which = np.unique(np.asarray(damping, float), return_inverse=True)
        self._whitening, self._kinds, self._which = whitening, kinds.tolist(), which.tolist()
        self.size, self.n_design = whitening.size, len(whitening.mean)
        reach, back = (max((_width(span) for span in spans), default=1) for spans in _spans(whitening))
        self._left = np.zeros((len(kinds), self.n_design, reach), np.float32)
        self._back = np.zeros((len(kinds), self.size, back), np.float32)
        self._left_spans = np.zeros((self.n_design, 2), np.int32)
        self._back_spans = np.zeros((self.size, 2), np.int32)
        centre = np.zeros((len(kinds), self.size - 1, 1), np.float32)
        for group, basis in whitening.bases(self._kinds):
            self._left[:, group.rows, : basis.shape[2]] = basis
            self._back[:, group.cols, : basis.shape[1]] = basis.transpose(0, 2, 1)
            self._left_spans[group.rows] = group.cols.start, group.cols.stop
            self._back_spans[group.cols] = group.rows.start, group.rows.stop
            centre[:, group.cols.start - 1 : group.cols.stop - 1, 0] = whitening.mean[group.rows] @ basis
        self._left[:, 0, 0] = self._back[:, 0, 0] = 1
        self._left_spans[0] = self._back_spans[0] = 0, 1
        self._centre = centre[which]

    def write_(self, theta: FloatArray, coef: FloatArray, threads: int = 0) -> None:
        """Fill coef (models, P, width) from θ (models, size, width)."""
        step_engine().multiply(self._left, self._which, theta, self._left_spans, coef, threads)
        coef[:, 0] -= np.matmul(self._centre.transpose(0, 2, 1), theta[:, 1:])[:, 0]

    def exact(self, theta: Float64Array) -> Float64Array:
        """What :meth:`write_` writes, in float64 throughout."""
        coef = np.zeros((len(theta), self.n_design, theta.shape[-1]))
        coef[:, 0] = theta[:, 0]
        for group, basis in self._whitening.bases(self._kinds):
            rows = basis[self._which] @ theta[:, group.cols]
            coef[:, group.rows] = rows
            coef[:, 0] -= np.einsum("p,mpw->mw", self._whitening.mean[group.rows], rows)
        return coef

    def pull_back_(self, grad_coef: FloatArray, grad: FloatArray, threads: int = 0) -> None:
        """Fill grad (models, size, width) with the transpose of :meth:`write_`."""
        step_engine().multiply(self._back, self._which, grad_coef, self._back_spans, grad, threads)
        grad[:, 1:] -= self._centre * grad_coef[:, :1]


def _join(blocks: Sequence[Block], n_design: int) -> list[Block]:
    """All blocks as one."""
    last = blocks[-1].cols.stop
    ramps = np.zeros((n_design - 1, last - 1))
    for block in blocks:
        ramps[block.rows.start - 1 : block.rows.stop - 1, block.cols.start - 1 : block.cols.stop - 1] = block.ramps
    return [Block(-1, slice(1, n_design), slice(1, last), ramps)]


def _width(span: slice) -> int:
    return int(span.stop - span.start)


def _spans(whitening: Whitening) -> tuple[list[slice], list[slice]]:
    return [group.cols for group in whitening.groups], [group.rows for group in whitening.groups]


def _eigh(covariance: Float64Array) -> tuple[Float64Array, Float64Array]:
    if len(covariance) == 1:
        return covariance[0], np.ones((1, 1))
    values, basis = np.linalg.eigh(covariance)
    return values, basis
