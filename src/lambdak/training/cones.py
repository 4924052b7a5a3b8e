r"""The coordinates in which monotone and convex columns are trained: C = M (± L Lᵀ), whose steps are semidefinite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.engine import Cones, Ids
from lambdak.eigen.packing import diagonal_indices, packed_size
from lambdak.pencil.constraints import Factor
from lambdak.training.coordinates import Moments

# How far all steps of a constrained column rise together at the start, in units of the target's scale.
_START_RISE = 0.3


@dataclass(frozen=True)
class Cone:
    """Design columns that move by semidefinite matrices, spread over them by V: see :mod:`lambdak.shapes.spreads`.

    Monotone: knot j is the sum of the first j steps. Convex: step i is a hinge (x − κ_i)₊ beside a free slope; both
    together: hinges that all rise, or all fall.
    """

    first: int  # design column
    spread: Float64Array  # V, (design columns, matrices)
    rises: Float64Array | None = None  # how far each matrix goes at the start, if that is known

    @property
    def size(self) -> int:
        """Number of semidefinite matrices."""
        return int(self.spread.shape[1])

    @property
    def span(self) -> slice:
        """The design columns that they move."""
        return slice(self.first, self.first + len(self.spread))

    def weights(self) -> Float64Array:
        """V as it is trained: what the squares of the parameters contribute to each design column.

        Divided by their number, all steps of a column together move it as far as one free parameter would. Otherwise a
        step of Adam is larger than the roots themselves, and roots that jitter rise, whatever the data say.
        """
        share = 1 / max(self.size, 1) if self.rises is None else 1.0
        return share * self.spread

    def start(self) -> Float64Array:
        """(steps,): the squares of the parameters at the start."""
        return np.full(self.size, _START_RISE) if self.rises is None else self.rises


class ConeCoordinates:
    """C = M (± L Lᵀ) of all constrained columns of a stack of models; θ holds the triangles L, column by column."""

    def __init__(self, cones: Sequence[Cone], moments: Moments, dim: int) -> None:
        self._dim, self._width = dim, packed_size(dim)
        ends = list(accumulate((cone.size for cone in cones), initial=0))
        self.size = ends[-1]
        self._own = [slice(*pair) for pair in pairwise(ends)]  # of θ
        self._spans = [cone.span for cone in cones]
        self._weights = [cone.weights() for cone in cones]
        self._means = [moments.mean[cone.span] for cone in cones]
        self._roots = np.sqrt(np.concatenate([cone.start() for cone in cones]))

    def start(self, models: int, rng: np.random.Generator) -> FloatArray:
        """Parameters (models, size, D): steps near small multiples of the identity, not all equal."""
        theta = 0.1 * rng.standard_normal((models, self.size, self._width))
        theta[..., diagonal_indices(self._dim)] += 1
        return np.asarray(self._roots[:, None] * theta, np.float32)

    def add_(self, theta: FloatArray, coef: FloatArray) -> None:
        """Add to the columns' rows of coef, and subtract their means from the constant."""
        steps = Factor().forward(theta)
        for own, span, weights, mean in self._columns(theta.dtype):
            knots = weights @ steps[:, own]
            coef[:, span, : self._width] += knots
            coef[:, 0, : self._width] -= mean @ knots

    def pull_back(self, theta: FloatArray, grad_coef: FloatArray) -> FloatArray:
        """The transpose of the derivative of :meth:`add_`."""
        steps = np.empty(theta.shape, theta.dtype)
        for own, span, weights, mean in self._columns(theta.dtype):
            knots = grad_coef[:, span, : self._width] - mean[:, None] * grad_coef[:, :1, : self._width]
            np.matmul(weights.T, knots, out=steps[:, own])
        return Factor().vjp(theta, steps)

    def compiled(self, state: tuple[FloatArray, FloatArray, FloatArray], n_design: int, share: float) -> Cones:
        """What the kernel needs to take steps: θ and its moments, M of all columns, and the share of the decay."""
        spread, spans = _banded(n_design, self._spans, self._own, self._weights)
        back, back_spans = _banded(self.size, self._own, self._spans, [weights.T for weights in self._weights])
        constant = np.concatenate([-mean @ weights for mean, weights in zip(self._means, self._weights, strict=True)])
        return Cones(*state, spread, spans, back, back_spans, constant.astype(np.float32), share)

    def _columns(self, dtype: np.dtype[np.floating]) -> Iterator[tuple[slice, slice, FloatArray, FloatArray]]:
        """Rows of θ, design columns, ± M and means of the design columns, constrained column by column."""
        for own, span, weights, mean in zip(self._own, self._spans, self._weights, self._means, strict=True):
            yield own, span, weights.astype(dtype), mean.astype(dtype)


def _banded(
    rows: int, spans: Sequence[slice], columns: Sequence[slice], blocks: Sequence[Float64Array]
) -> tuple[FloatArray, Ids]:
    """A matrix of blocks as the kernel's products take it: the rows of each block, and their first and last columns."""
    first, last = np.full(rows, np.iinfo(np.int32).max), np.zeros(rows, np.int64)
    for span, own in zip(spans, columns, strict=True):  # blocks of several columns may overlap
        first[span], last[span] = np.minimum(first[span], own.start), np.maximum(last[span], own.stop)
    first = np.where(last == 0, 0, first)
    matrix = np.zeros((rows, int((last - first).max(initial=0))), np.float32)
    for span, own, block in zip(spans, columns, blocks, strict=True):
        for offset in np.unique(first[span]):
            at = np.flatnonzero(first[span] == offset)
            matrix[span.start + at, own.start - offset : own.stop - offset] = block[at]
    return matrix, np.column_stack([first, last]).astype(np.int32)
