r"""What the rows of each level of a category want of a model: means of the loss's slope, shrunken like random effects.

t(level) = Σ w r / (Σ w + k) over its rows, where r is the negative gradient of the loss at the best constant, less what
other columns explain of it. k is the variance of r within levels over that between levels, so that the mean of a rare
level is near zero. Where levels also differ in how r goes along with other columns, u(level) = Σ w (r − t) z /
(Σ w z² + k) is a further mean, z being the combination of these columns along which levels differ most.

A training row gets the means without its fold: its own target must not tell what it wants.

All of this follows from a few sums over rows, wherever these are: :func:`level_means` says what to sum up.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array

Codes = NDArray[np.intp]

FOLDS = 10  # of the rows, for means without their own targets: each mean still has nine tenths of the rows
_MOST_MEANS = 3  # of a level, where a model has several outputs: each costs a curve; no study of its own
# Of a level along other columns: each costs a curve; no study of its own (benchmarks/levels.py measures the whole).
_MOST_SLOPES = 2
_SMALLEST = 1e-12  # share of a direction in the variance of all means that is rounding
# Of the variance between levels in that within: less counts as this, so that no mean is divided by zero.
_LEAST_SHARE = 1e-3
# Standard errors by which slopes must differ between levels: the best of many directions is several off by chance.
_CERTAIN = 5.0


class LevelMeans(NamedTuple):
    """Means of levels, at last of an unseen one, (levels + 1, n); and without one fold, (levels + 1, FOLDS, n).

    ``rows`` (levels + 1, FOLDS) is how many rows there are of each.
    """

    whole: Float64Array
    unseen: Float64Array
    rows: Float64Array


class LevelRows(NamedTuple):
    """Rows by their levels in one category, the number of levels standing for an unseen one, and by their folds."""

    codes: Codes
    fold: Codes
    mass: Float64Array
    gradient: Float64Array  # (rows, outputs)
    along: Float64Array  # (rows, p): other columns


Sums = tuple[Float64Array, ...]
Measure = Callable[[LevelRows], Sums]  # of some rows; that of all rows is their sum
Measures = Mapping[int, Measure]  # by category


def all_level_means(
    levels: Mapping[int, int], total: Callable[[Measures], Mapping[int, Sums]]
) -> dict[int, LevelMeans]:
    """The means of several categories with so many levels; ``total`` sums measures up over all rows, in one pass."""
    means: dict[int, LevelMeans] = {}
    running = {i: level_means(n) for i, n in levels.items()}
    wanted = {i: next(one) for i, one in running.items()}
    while wanted:
        sums = total(wanted)
        for i in list(wanted):
            try:
                wanted[i] = running[i].send(sums[i])
            except StopIteration as end:
                means[i] = end.value
                del wanted[i]
    return means


def level_means(levels: int) -> Generator[Measure, Sums, LevelMeans]:
    """Return shrunken means of negative gradients, and of how they go along with other columns.

    Yields measures, and is sent their sums.
    """
    count, sums, squares = yield partial(_by_level, levels)
    first = _First.of(count, sums, squares)
    *parts, rows, sums, by_chance, within = yield partial(_by_fold, levels, first)
    mass, gradients = (_Folded.of(part) for part in parts)
    means = [_over(gradient, size[..., None] + first.prior) for gradient, size in zip(gradients, mass, strict=True)]
    basis, prior = _steepest(sums, by_chance, float(within[0]), count)
    if basis.shape[1]:
        product, plain, square = map(_Folded.of, (yield partial(_along, levels, first, basis)))
        slopes = zip(product, plain, square, means, strict=True)
        means = [
            np.concatenate([mean, _over(both - mean[..., :1] * some, size + prior)], axis=-1)
            for both, some, size, mean in slopes
        ]
    whole, unseen = means
    whole[-1] = unseen[-1] = 0.0
    return LevelMeans(whole, unseen, rows)


class _Folded(NamedTuple):
    """Sums of every level, (levels + 1, …), and of every level without each fold, (levels + 1, FOLDS, …)."""

    whole: Float64Array
    unseen: Float64Array

    @classmethod
    def of(cls, parts: Float64Array) -> _Folded:
        whole = parts.sum(axis=1)
        return cls(whole, whole[:, None] - parts)


@dataclass(frozen=True)
class _First:
    """What the sums of levels say: mean negative gradient, directions in which levels differ most, k, level means."""

    mean: Float64Array  # (outputs,)
    basis: Float64Array  # (outputs, n)
    prior: Float64Array  # (n,)
    count: Float64Array  # (levels + 1,)
    level: Float64Array  # (levels + 1,), in the first direction

    @classmethod
    def of(cls, count: Float64Array, pulled: Float64Array, squares: Float64Array) -> _First:
        rows = count.sum()
        mean = pulled.sum(axis=0) / rows
        centred = pulled - count[:, None] * mean
        basis = _directions(centred, count)
        sums = centred @ basis
        squared = np.einsum("in,ij,jn->n", basis, squares - rows * np.outer(mean, mean), basis)
        prior = _prior(sums[:-1], count[:-1], squared)
        return cls(mean, basis, prior, count, _over(sums, count[:, None] + prior)[:, 0])

    def turned(self, gradient: Float64Array) -> Float64Array:
        """(rows, n): negative gradients in these directions."""
        return np.asarray((gradient - self.mean) @ self.basis)


def _by_level(levels: int, rows: LevelRows) -> Sums:
    """Σ w and Σ w r of every level, and Σ w r rᵀ."""
    sums = _sums(rows.codes, rows.mass[:, None] * rows.gradient, levels + 1)
    return _counts(rows.codes, rows.mass, levels + 1), sums, (rows.mass * rows.gradient.T) @ rows.gradient


def _by_fold(levels: int, first: _First, rows: LevelRows) -> Sums:
    """Σ w, Σ w r and rows of every level and fold; of r − t how it goes along with columns, and what chance does."""
    place, size = rows.codes * FOLDS + rows.fold, (levels + 1) * FOLDS
    shape = levels + 1, FOLDS
    gradient = first.turned(rows.gradient)
    left = gradient[:, 0] - first.level[rows.codes]
    both = left[:, None] * rows.along
    # Σ over pairs of different rows of a level, per row: what chance does to it is zero on average.
    by_chance = (rows.mass**2 / np.maximum(first.count, 1e-300)[rows.codes])[:, None] * both
    return (
        _counts(place, rows.mass, size).reshape(shape),
        _sums(place, rows.mass[:, None] * gradient, size).reshape(*shape, -1),
        _counts(place, np.ones(len(place)), size).reshape(shape),
        _sums(rows.codes, rows.mass[:, None] * both, levels + 1),
        by_chance.T @ both,
        np.array([rows.mass @ left**2]),
    )


def _along(levels: int, first: _First, basis: Float64Array, rows: LevelRows) -> Sums:
    """Σ w z r, Σ w z and Σ w z² of every level and fold, where z are combinations of other columns."""
    place, size = rows.codes * FOLDS + rows.fold, (levels + 1) * FOLDS
    z, mass = rows.along @ basis, rows.mass[:, None]
    parts = (mass * z * first.turned(rows.gradient)[:, :1], mass * z, mass * z**2)
    return tuple(_sums(place, part, size).reshape(levels + 1, FOLDS, -1) for part in parts)


def _counts(place: Codes, mass: Float64Array, size: int) -> Float64Array:
    return np.asarray(np.bincount(place, mass, size), np.float64)


def _sums(place: Codes, values: Float64Array, size: int) -> Float64Array:
    """(size, n): sums of the values (rows, n) at each place."""
    sums = np.empty((size, values.shape[1]))
    for j, some in enumerate(values.T):
        sums[:, j] = np.bincount(place, some, size)
    return sums


def _directions(sums: Float64Array, count: Float64Array) -> Float64Array:
    """(outputs, n): those in which the levels differ most; a single output is its own."""
    if sums.shape[1] == 1:
        return np.ones((1, 1))
    root = sums / np.sqrt(np.maximum(count, 1e-300))[:, None]
    values, basis = np.linalg.eigh(root.T @ root)
    kept = np.flatnonzero(values > _SMALLEST * values.sum())[::-1][:_MOST_MEANS]
    return np.asarray(basis[:, kept] if kept.size else basis[:, -1:])


def _prior(sums: Float64Array, count: Float64Array, squares: Float64Array) -> Float64Array:
    """K (n,): the variance within levels over that between them, by the method of moments."""
    rows, levels = count.sum(), np.count_nonzero(count)
    between = (sums**2 / np.maximum(count, 1e-300)[:, None]).sum(axis=0)
    within = np.maximum(squares - between, 0.0) / max(rows - levels, 1.0)
    spread = max(rows - (count**2).sum() / max(rows, 1e-300), 1e-300)
    return _ratio(within, (between - (levels - 1) * within) / spread)


def _steepest(
    sums: Float64Array, by_chance: Float64Array, squares: float, count: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Combinations (p, n) of columns along which levels differ for certain, and most, in their slopes; k of each."""
    if not sums.shape[1]:
        return np.zeros((0, 0)), np.zeros(0)
    root = sums / np.sqrt(np.maximum(count, 1e-300))[:, None]
    pairs = max(count.sum() - np.count_nonzero(count), 1.0)
    values, basis = np.linalg.eigh((root.T @ root - by_chance) / pairs)
    within = squares / count.sum()
    error = within * np.sqrt(2.0 * np.count_nonzero(count)) / pairs
    kept = np.flatnonzero(values > _CERTAIN * error)[::-1][:_MOST_SLOPES]
    return basis[:, kept], _ratio(np.full(len(kept), within), values[kept])


def _over(sums: Float64Array, sizes: Float64Array) -> Float64Array:
    """Quotients; zero where nothing was counted."""
    return np.asarray(sums / np.maximum(sizes, 1e-300))


def _ratio(within: Float64Array, between: Float64Array) -> Float64Array:
    return np.asarray(within / np.maximum(np.maximum(between, _LEAST_SHARE * within), 1e-300))
