r"""What training rows want of a model before it is trained: negative gradients, and which columns interact in them.

The strength of an interaction says which groups of columns are worth a term of their own. The negative gradients of
rows, where the loss wants the best constant to move, are taken less what an additive function explains of them. What is
left is summed in the cells of every two columns, which are cut into a few bins each: Σ S²/N over the cells, less the
same of the bins of each, is about χ² with (a − 1)(b − 1) degrees of freedom if two columns do not interact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.losses import Loss
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.training.rows import TrainingRows

# Relative to the mean variance of the columns: only keeps the system solvable where columns repeat each other.
_RIDGE = 1e-3
_MOST_REMOVED = 2_000  # design columns whose share is removed: the Gram matrix of these takes 32 MB
_MOST_ROWS = 100_000  # from which that share is estimated: fifty for each of the most columns
_MOST_ALONG = 40  # columns along which negative gradients may go: their sums are kept for every level


def negative_gradient(loss: Loss, rows: TrainingRows, start: Float64Array | None = None) -> Float64Array:
    """Return where each row wants to move raw scores from the best constant, or this ``start``, (rows, outputs)."""
    if start is None:
        start = loss.start(rows.y, rows.weight, rows.offset)
    raw = np.tile(start, (len(rows.y), 1))
    if rows.offset is not None:
        raw += rows.offset[:, None]
    slope = loss.gradient(raw if loss.n_outputs > 1 else raw[:, 0], rows.y)
    return np.asarray(-len(rows.y) * slope, np.float64).reshape(len(rows.y), -1)


def unexplained(gradient: Float64Array, design: Design, n_design: int, mass: Float64Array) -> Float64Array:
    """What design rows do not explain of the negative gradients, by least squares with a small ridge."""
    return less_explained(gradient, design, explained(gradient, design, n_design, mass))


def explained(gradient: Float64Array, design: Design, n_design: int, mass: Float64Array) -> Float64Array | None:
    """Return how design rows explain negative gradients, (n_design, outputs); None for too many design columns."""
    if n_design > _MOST_REMOVED:
        return None
    stride = max(len(gradient) // _MOST_ROWS, 1)
    some = design.take(slice(None, None, stride)).to_sparse(n_design).astype(np.float64)
    weighed = some.multiply(mass[::stride, None]).tocsr()
    gram = (weighed.T @ some).toarray()
    gram[np.diag_indices(n_design)] += _RIDGE * max(np.trace(gram) / n_design, 1e-300)
    return np.asarray(np.linalg.solve(gram, weighed.T @ gradient[::stride]))


def less_explained(gradient: Float64Array, design: Design, coef: Float64Array | None) -> Float64Array:
    """The negative gradients of rows without what their design explains."""
    if coef is None:
        return gradient
    return np.asarray(gradient - design.to_sparse(len(coef)).astype(np.float64) @ coef)


class _Height(NamedTuple):
    """A column of numbers by position among its knots: its first slot, and the mean and deviation of the position."""

    column: Column
    slot: int
    mean: float
    deviation: float


class Heights(NamedTuple):
    """Columns of numbers by position among their knots, in units of the rows from which they were learned."""

    columns: Sequence[_Height]

    @classmethod
    def of(cls, columns: Sequence[Column], design: Design, mass: Float64Array) -> Heights:
        """Heights of the first columns of numbers, of mean 0 and variance 1 on rows of these weights."""
        heights: list[_Height] = []
        slot = 1
        for column in columns:
            if column.is_number and len(heights) < _MOST_ALONG:
                heights.append(_height(column, design, slot, mass))
            slot += column.n_slots
        return cls(heights)

    def at(self, design: Design) -> Float64Array:
        """(rows, p): of these rows; a missing number is 0."""
        heights = np.zeros((len(design), len(self.columns)))
        for j, (column, slot, mean, deviation) in enumerate(self.columns):
            position, seen = _position(column, design, slot)
            heights[:, j] = np.where(seen, position - mean, 0.0) / deviation
        return heights


def _height(column: Column, design: Design, slot: int, mass: Float64Array) -> _Height:
    position, there = _position(column, design, slot)
    seen = mass * there
    mean = float(seen @ position / max(seen.sum(), 1e-300))
    left = np.where(seen > 0, position - mean, 0.0)
    return _Height(column, slot, mean, float(np.sqrt(max(mass @ left**2 / mass.sum(), 1e-300))))


def _position(column: Column, design: Design, slot: int) -> tuple[Float64Array, Float64Array]:
    """(rows,): position among the knots, and whether there is a number."""
    ids, weights = (part[:, slot : slot + column.n_slots] for part in (design.ids, design.weights))
    position = ((ids - column.start if column.n_ramps else 1) * weights.astype(np.float64)).sum(axis=1)
    return np.asarray(position), ids[:, 0] != column.missing


_BINS = 8  # of a column: sixty-four cells of a pair have hundreds of rows each
_SAMPLE = 20_000  # rows of a long table: every cell has hundreds of them
# Those with the largest effects of their own, where a table has more: it bounds the product of all bins.
_MOST_PAIRED = 64


def interaction_strengths(loss: Loss, columns: Sequence[Column], rows: TrainingRows) -> Float64Array:
    """(columns, columns): what pairs explain beyond chance, in units of the variance of a row; of one column, alone.

    On the diagonal are effects on how much the negative gradients vary, which matter for several quantiles.
    """
    some = rows.sampled(_SAMPLE)
    mass = np.ones(len(some.y)) if some.weight is None else np.asarray(some.weight, np.float64)
    n_design = max((column.stop for column in columns), default=1)
    gradient = unexplained(negative_gradient(loss, some), some.design, n_design, mass)
    codes = _codes(columns, some.design)
    strengths = np.zeros((len(columns), len(columns)))
    for left in _standard(gradient, mass).T:
        alone = _excess_alone(codes, _standard(left[:, None] ** 2, mass)[:, 0], mass)
        kept = np.argsort(-alone, kind="stable")[:_MOST_PAIRED]
        strengths[np.ix_(kept, kept)] += _excess_together(codes[:, kept], left, mass)
        strengths[np.diag_indices(len(columns))] += alone
    return strengths


def _standard(values: Float64Array, mass: Float64Array) -> Float64Array:
    """With mean 0 and variance 1; what never varies is zero."""
    share = mass / mass.sum()
    centred = values - share @ values
    spread = np.sqrt(share @ centred**2)
    return np.asarray(centred / np.where(spread > 0, spread, 1.0))


def _codes(columns: Sequence[Column], design: Design) -> NDArray[np.intp]:
    """(rows, columns): the bin of each cell."""
    if design.ids.shape[1] != 1 + sum(column.n_slots for column in columns):  # a sparse table, whose columns are linear
        matrix = design.to_sparse(columns[-1].stop).tocsc()
        return np.stack([matrix[:, [column.start]].toarray()[:, 0] != 0 for column in columns], axis=1).astype(np.intp)
    bins, slot = [], 1
    for column in columns:
        slots = slice(slot, slot + column.n_slots)
        bins.append(_bins(column, design.ids[:, slots], design.weights[:, slots].astype(np.float64)))
        slot += column.n_slots
    return np.stack(bins, axis=1) if bins else np.zeros((len(design), 0), np.intp)


def _bins(column: Column, ids: NDArray[np.int32], weights: Float64Array) -> NDArray[np.intp]:
    """Numbers in bins with as many rows each, missing ones in the last; levels by how frequent they are."""
    if not column.is_number:
        level = np.where(weights[:, 0] == 0, column.width, ids[:, 0] - column.start)
        rank = np.empty(column.width + 1, np.intp)
        rank[np.argsort(-np.bincount(level, minlength=column.width + 1), kind="stable")] = np.arange(column.width + 1)
        return np.asarray(np.minimum(rank[level], _BINS - 1), np.intp)
    height = ((ids - column.start if column.n_ramps else 1) * weights).sum(axis=1)
    missing = ids[:, 0] == column.missing
    seen = height[~missing] if not missing.all() else np.zeros(1)
    ends = np.unique(np.quantile(seen, np.linspace(0, 1, _BINS)[1:-1]))
    return np.where(missing, _BINS - 1, np.searchsorted(ends, height, side="right")).astype(np.intp)


def _excess_alone(codes: NDArray[np.intp], left: Float64Array, mass: Float64Array) -> Float64Array:
    """(columns,): what the bins of each column explain, beyond chance."""
    excess = []
    for bins in codes.T:
        sums, counts = (np.asarray(np.bincount(bins, weights, _BINS), np.float64) for weights in (mass * left, mass))
        excess.append(_explained(sums, counts).sum() / mass.mean() - (np.count_nonzero(counts) - 1))
    return np.asarray(excess, np.float64)


def _excess_together(codes: NDArray[np.intp], left: Float64Array, mass: Float64Array) -> Float64Array:
    """(columns, columns): what the cells of two columns explain more than their bins, beyond chance."""
    columns, every = codes.shape[1], np.arange(codes.shape[1])
    bins = np.zeros((len(codes), columns, _BINS), np.float32)
    bins[np.arange(len(codes))[:, None], every, codes] = 1.0
    flat = bins.reshape(len(codes), -1)
    sums, counts = (
        (flat.T @ (weights.astype(np.float32)[:, None] * flat))
        .astype(np.float64)
        .reshape(columns, _BINS, columns, _BINS)
        for weights in (mass * left / mass.mean(), mass / mass.mean())
    )
    cells, used = _explained(sums, counts).sum(axis=(1, 3)), (counts[every, :, every].sum(axis=2) > 0).sum(axis=1)
    alone = cells.diagonal()  # a column with itself has the cells of its bins
    excess = cells - alone[:, None] - alone - np.multiply.outer(used - 1, used - 1)
    return np.where(np.eye(columns, dtype=bool), 0.0, excess)


def _explained(sums: Float64Array, counts: Float64Array) -> Float64Array:
    """S²/N of each cell; of empty ones 0."""
    return np.where(counts > 0, sums**2 / np.where(counts > 0, counts, 1.0), 0.0)
