r"""What the rows of each level of a category want of a model: means of the loss's slope, shrunken like random effects.

t(level) = Σ w r / (Σ w + k) over its rows, where r is the negative gradient of the loss at the best constant, less what
other columns explain of it. k is the variance of r within levels over that between levels, so that the mean of a rare
level is near zero. Where levels also differ in how r goes along with other columns, u(level) = Σ w (r − t) z /
(Σ w z² + k) is a further mean, z being the combination of these columns along which levels differ most.

A training row gets the means without its fold: its own target must not tell what it wants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak.pencil.spectrum import Float64Array

Codes = NDArray[np.intp]

_MOST_MEANS = 3  # of a level, where a model has several outputs
_MOST_SLOPES = 2  # of a level along other columns
_SMALLEST = 1e-12  # share of a direction in the variance of all means that is rounding
_LEAST_SHARE = 1e-3  # of the variance between levels in that within: less counts as this
_CERTAIN = 5.0  # standard errors by which slopes must differ between levels


class LevelMeans(NamedTuple):
    """Of each level, and at last of an unseen one, (levels + 1, n); and of each row without its fold, (rows, n)."""

    whole: Float64Array
    unseen: Float64Array


@dataclass(frozen=True)
class Grouped:
    """Rows with their levels, folds and weights; the level ``levels`` stands for an unseen one, whose means are 0."""

    codes: Codes
    levels: int
    fold: Codes
    mass: Float64Array

    def means(self, pull: Float64Array, along: Float64Array) -> LevelMeans:
        """Shrunken means of the pulls (rows, outputs), and of how they go along with other columns (rows, p)."""
        pull = pull - self.mass @ pull / self.mass.sum()
        pull = pull @ self._directions(pull)
        sums, counts = self._sums(pull), self._sums(np.ones((len(pull), 1)))
        prior = self._prior(sums.whole[:-1], counts.whole[:-1], pull)
        levels = LevelMeans(*(_over(sum_, count + prior) for sum_, count in zip(sums, counts, strict=True)))
        slopes = self._slopes(pull[:, :1], LevelMeans(*(part[:, :1] for part in levels)), along)
        whole, unseen = (np.hstack(parts) for parts in zip(levels, slopes, strict=True))
        whole[-1] = unseen[self.codes == self.levels] = 0.0
        return LevelMeans(whole, unseen)

    def _sums(self, values: Float64Array) -> LevelMeans:
        """Σ w x of every level, (levels + 1, n), and of the level of every row without its fold, (rows, n)."""
        folds = int(self.fold.max()) + 1
        own = self.codes * folds + self.fold
        size = (self.levels + 1) * folds
        parts = np.empty((size, values.shape[1]))
        for j, some in enumerate(values.T):
            parts[:, j] = np.bincount(own, self.mass * some, size)
        whole = parts.reshape(self.levels + 1, folds, -1).sum(axis=1)
        return LevelMeans(whole, whole[self.codes] - parts[own])

    def _directions(self, pull: Float64Array) -> Float64Array:
        """(outputs, n): those in which the levels differ most; a single output is its own."""
        if pull.shape[1] == 1:
            return np.ones((1, 1))
        sums, count = self._sums(pull).whole, self._sums(np.ones((len(pull), 1))).whole
        root = sums / np.sqrt(np.maximum(count, 1e-300))
        values, basis = np.linalg.eigh(root.T @ root)
        kept = np.flatnonzero(values > _SMALLEST * values.sum())[::-1][:_MOST_MEANS]
        return np.asarray(basis[:, kept] if kept.size else basis[:, -1:])

    def _prior(self, sums: Float64Array, count: Float64Array, pull: Float64Array) -> Float64Array:
        """K (n,): the variance within levels over that between them, by the method of moments."""
        rows, levels = count.sum(), np.count_nonzero(count)
        between = (sums**2 / np.maximum(count, 1e-300)).sum(axis=0)
        within = np.maximum(self.mass @ pull**2 - between, 0.0) / max(rows - levels, 1.0)
        spread = max(rows - (count**2).sum() / rows, 1e-300)
        return _ratio(within, (between - (levels - 1) * within) / spread)

    def _slopes(self, pull: Float64Array, levels: LevelMeans, along: Float64Array) -> LevelMeans:
        """Shrunken slopes of the pulls along the directions in which levels differ for certain, less their means."""
        z, prior = self._steepest(pull - levels.whole[self.codes], along)
        product, plain, square = self._sums(z * pull), self._sums(z), self._sums(z**2)
        parts = zip(product, plain, square, levels, strict=True)
        return LevelMeans(*(_over(both - mean * some, size + prior) for both, some, size, mean in parts))

    def _steepest(self, left: Float64Array, along: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Combinations z (rows, n) of other columns along which the slopes of levels differ most, and k of each."""
        if not along.shape[1]:
            return np.zeros((len(left), 0)), np.zeros(0)
        count = np.bincount(self.codes, self.mass, self.levels + 1)
        both = left * along
        sums = self._sums(both).whole / np.sqrt(np.maximum(count, 1e-300))[:, None]
        # Σ over pairs of different rows of a level, per row: what chance does to it is zero on average.
        own = (self.mass**2 / np.maximum(count, 1e-300)[self.codes])[:, None] * both
        pairs = max(count.sum() - np.count_nonzero(count), 1.0)
        values, basis = np.linalg.eigh((sums.T @ sums - own.T @ both) / pairs)
        within = float(self.mass @ left[:, 0] ** 2) / count.sum()
        error = within * np.sqrt(2.0 * np.count_nonzero(count)) / pairs
        kept = np.flatnonzero(values > _CERTAIN * error)[::-1][:_MOST_SLOPES]
        return along @ basis[:, kept], _ratio(np.full(len(kept), within), values[kept])


def _over(sums: Float64Array, sizes: Float64Array) -> Float64Array:
    """Quotients; zero where nothing was counted."""
    return np.asarray(sums / np.maximum(sizes, 1e-300))


def _ratio(within: Float64Array, between: Float64Array) -> Float64Array:
    return np.asarray(within / np.maximum(np.maximum(between, _LEAST_SHARE * within), 1e-300))
