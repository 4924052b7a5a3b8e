r"""How strongly columns interact, before any model is trained: which groups are worth a term of their own.

The pulls of rows, what the loss wants of the best constant, are taken less what an additive function explains of them.
What is left is summed in the cells of every two columns, which are cut into a few bins each: Σ S²/N over the cells,
less the same of the bins of each, is about χ² with (a − 1)(b − 1) degrees of freedom if two columns do not interact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.losses import Loss
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.training.pulls import pulls, unexplained
from lambdak.training.rows import TrainingRows

_BINS = 8
_SAMPLE = 20_000  # rows of a long table
_MOST_COLUMNS = 64  # those with the largest effects of their own, where a table has more


def interaction_strengths(loss: Loss, columns: Sequence[Column], rows: TrainingRows) -> Float64Array:
    """(columns, columns): what pairs explain beyond chance, in units of the variance of a row; of one column, alone.

    On the diagonal are effects on how much the pulls vary, which matter where several quantiles are predicted.
    """
    some = rows.sampled(_SAMPLE)
    mass = np.ones(len(some.y)) if some.weight is None else np.asarray(some.weight, np.float64)
    n_design = max((column.stop for column in columns), default=1)
    pull = unexplained(pulls(loss, some), some.design, n_design, mass)
    codes = _codes(columns, some.design)
    found = np.zeros((len(columns), len(columns)))
    for left in _standard(pull, mass).T:
        alone = _excess_alone(codes, _standard(left[:, None] ** 2, mass)[:, 0], mass)
        kept = np.argsort(-alone, kind="stable")[:_MOST_COLUMNS]
        found[np.ix_(kept, kept)] += _excess_together(codes[:, kept], left, mass)
        found[np.diag_indices(len(columns))] += alone
    return found


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
    found, slot = [], 1
    for column in columns:
        own = slice(slot, slot + column.n_slots)
        found.append(_bins(column, design.ids[:, own], design.weights[:, own].astype(np.float64)))
        slot += column.n_slots
    return np.stack(found, axis=1) if found else np.zeros((len(design), 0), np.intp)


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
    found = []
    for own in codes.T:
        sums, counts = (np.asarray(np.bincount(own, each, _BINS), np.float64) for each in (mass * left, mass))
        found.append(_explained(sums, counts).sum() / mass.mean() - (np.count_nonzero(counts) - 1))
    return np.asarray(found, np.float64)


def _excess_together(codes: NDArray[np.intp], left: Float64Array, mass: Float64Array) -> Float64Array:
    """(columns, columns): what the cells of two columns explain more than their bins, beyond chance."""
    columns, every = codes.shape[1], np.arange(codes.shape[1])
    bins = np.zeros((len(codes), columns, _BINS), np.float32)
    bins[np.arange(len(codes))[:, None], every, codes] = 1.0
    flat = bins.reshape(len(codes), -1)
    sums, counts = (
        (flat.T @ (each.astype(np.float32)[:, None] * flat)).astype(np.float64).reshape(columns, _BINS, columns, _BINS)
        for each in (mass * left / mass.mean(), mass / mass.mean())
    )
    cells, used = _explained(sums, counts).sum(axis=(1, 3)), (counts[every, :, every].sum(axis=2) > 0).sum(axis=1)
    alone = cells.diagonal()  # a column with itself has the cells of its bins
    excess = cells - alone[:, None] - alone - np.multiply.outer(used - 1, used - 1)
    return np.where(np.eye(columns, dtype=bool), 0.0, excess)


def _explained(sums: Float64Array, counts: Float64Array) -> Float64Array:
    """S²/N of each cell; of empty ones 0."""
    return np.where(counts > 0, sums**2 / np.where(counts > 0, counts, 1.0), 0.0)
