r"""The largest distance in a set of cells, max Σ_m ‖A_m(b) − A_m(a)‖₂ over all pairs, without trying every pair.

A few ascents find a pair that is far apart. All others are bounded from above, and only those whose bound is larger
are tried, the most promising first: a pair is no further apart than its distances to a centre, taken together, and
‖A‖₂ ≤ |t|/d + √((1 − 1/d) ‖A − t I/d‖_F²), t the trace, of which one matrix product gives all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen import eigenpair, eigenvalue_vjp
from lambdak.eigen.packing import diagonal_indices, packed_dim
from lambdak.pencil.spectrum import spectral_norm

Pairs = NDArray[np.intp]

_STARTS = 16  # ascents of each set
_ROUNDS = 3  # of an ascent; few go further
_TILE = 512  # cells on each side of a block of upper bounds
_BLOCK = 1024  # pairs that are tried at a time
_MOST_PAIRS = 2_000_000  # that are tried; beyond, the upper bound of the others is returned
_SLACK = 1 + 1e-12  # upper bounds that rounding must not lower
_EPS = float(np.finfo(np.float64).eps)


class Diameter(NamedTuple):
    """A proven bound on all distances, and the pair that attains it (None: it is a relaxation)."""

    bound: float
    pair: tuple[int, int] | None


def diameter(
    matrices: Float64Array, weights: Float64Array, most: int = _MOST_PAIRS, n_jobs: int | None = None
) -> Diameter:
    """Max Σ_m w_m ‖A_m(b) − A_m(a)‖₂ over the pairs of cells of matrices (members, cells, D), none if it is not finite.

    If more than ``most`` pairs would have to be tried, the bound is a relaxation.

    >>> diameter(np.array([[[1.0], [5.0], [2.0]]]), np.ones(1))
    Diameter(bound=4.0, pair=(0, 1))
    """
    if matrices.shape[1] < 2:
        return Diameter(0.0, None)
    with np.errstate(over="ignore", invalid="ignore"):
        moves = weights[:, None, None] * (matrices - matrices[:, :1])
    unit = np.abs(moves).max(initial=0.0)
    if not (np.isfinite(unit) and unit):
        return Diameter(float(unit), None if unit else (0, 1))
    return _Search((matrices, weights), moves / unit, float(unit), n_jobs).run(most)


def far_pairs(moves: FloatArray, rounds: int = 1, n_jobs: int | None = None) -> Pairs:
    """Pairs of cells of moves (sets, members, cells, D) that are far apart, often the farthest among them.

    (sets, starts, 2). With eigenvectors v_m of a pair, Σ_m v_mᵀ A_m v_m orders the cells, and its first and last one
    are further apart than the pair was. It starts with the cells that are furthest from the mean.
    """
    centred = moves - moves.mean(axis=2, keepdims=True)
    spread = np.sqrt(np.einsum("smcd,smcd->smc", centred, centred)).sum(axis=1)  # (sets, cells)
    gap = _taken(centred, np.argpartition(-spread, min(_STARTS, spread.shape[1]) - 1, axis=1)[:, :_STARTS])
    for _ in range(rounds):
        height = (norms_and_slopes(gap, n_jobs)[1] @ np.swapaxes(centred, -1, -2)).sum(axis=1)  # (sets, starts, cells)
        first, second = height.argmin(axis=-1), height.argmax(axis=-1)
        gap = _taken(centred, second) - _taken(centred, first)
    return np.stack([first, second], axis=-1)


def _taken(moves: FloatArray, cells: Pairs) -> FloatArray:
    """The matrices of cells (sets, n), (sets, members, n, D)."""
    sets, members = np.ogrid[: moves.shape[0], : moves.shape[1]]
    return np.asarray(moves[sets[..., None], members[..., None], cells[:, None]])


def norms_and_slopes(packed: FloatArray, n_jobs: int | None = None) -> tuple[FloatArray, FloatArray]:
    """‖A‖₂ of packed matrices (..., D), (...,), and its derivative ± v vᵀ, v the eigenvector of the largest |λ|."""
    dim = packed_dim(packed.shape[-1])
    values, vectors = eigenpair(packed, dim, [0, dim - 1] if dim > 1 else [0], n_jobs=n_jobs)
    last = np.asarray(values[..., -1] >= -values[..., 0])
    vector = np.where(last[..., None], vectors[..., -1, :], vectors[..., 0, :])
    slopes = eigenvalue_vjp(vector, np.where(last, 1, -1).astype(packed.dtype), n_jobs=n_jobs)
    return np.where(last, values[..., -1], -values[..., 0]), slopes


class _Search:
    """Branch and bound; ``moves`` are the weighted matrices but for a constant, the largest number of which is one."""

    def __init__(
        self, weighted: tuple[Float64Array, Float64Array], moves: Float64Array, unit: float, n_jobs: int | None
    ) -> None:
        (self._matrices, self._weights), self._unit, self._n_jobs = weighted, unit, n_jobs
        pairs = far_pairs(moves[None], _ROUNDS, n_jobs)[0]
        distances = self._distances(pairs)
        self._best, self._pair = float(distances.max()), pairs[distances.argmax()]
        self._missed = 0.0  # the largest upper bound of a pair that is not tried
        self._bound_cells_(moves - moves.mean(axis=1, keepdims=True))

    def run(self, most: int) -> Diameter:
        """Try pairs in decreasing order of their upper bounds."""
        bounds, pairs = self._candidates(most)
        for first in range(0, len(pairs), _BLOCK):
            if bounds[first] <= self._best:
                break
            self._try_(pairs[first : first + _BLOCK])
        if self._missed > self._best:
            return Diameter(self._missed, None)
        first, second = sorted(self._pair.tolist())
        return Diameter(self._best, (first, second))

    def _try_(self, pairs: Pairs) -> None:
        distances = self._distances(pairs)
        worst = int(distances.argmax())
        if distances[worst] > self._best:
            self._best, self._pair = float(distances[worst]), pairs[worst]

    def _distances(self, pairs: Pairs) -> Float64Array:
        first, second = np.sort(pairs, axis=-1).T
        gaps = self._matrices[:, second] - self._matrices[:, first]
        return np.asarray(self._weights @ spectral_norm(gaps, self._n_jobs))

    def _bound_cells_(self, moves: Float64Array) -> None:
        """What the upper bounds need of each cell, of those that a pair as far apart as the best one can have."""
        radius = spectral_norm(moves, self._n_jobs).sum(axis=0)
        order = np.argsort(-radius, kind="stable")
        kept = order[(radius[order] + radius[order[0]]) * _SLACK * self._unit > self._best]
        dim, diagonal = packed_dim(moves.shape[-1]), diagonal_indices(packed_dim(moves.shape[-1]))
        self._cells, self._radius, rest = kept, radius[kept], moves[:, kept]
        self._trace = rest[..., diagonal].sum(axis=-1) / dim  # (members, cells)
        rest[..., diagonal] -= self._trace[..., None]
        self._rest, self._squares, self._share = rest, np.square(rest).sum(axis=-1), 1 - 1 / dim

    def _candidates(self, most: int) -> tuple[Float64Array, Pairs]:
        """The pairs that may be further apart than the best one, at most ``most``, and their bounds, decreasing."""
        bounds, pairs, waiting = np.empty(0), np.empty((0, 2), np.intp), 0
        parts = [(bounds, pairs)]
        for tile in self._tiles():
            parts.append(tile)
            waiting += len(tile[0])
            if waiting > most:
                parts, waiting = [self._largest(parts, most)], 0
        bounds, pairs = self._largest(parts, most)
        return bounds, self._cells[pairs]

    def _largest(self, parts: list[tuple[Float64Array, Pairs]], most: int) -> tuple[Float64Array, Pairs]:
        """The ``most`` largest bounds and their pairs; the next one is noted."""
        bounds, pairs = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        order = np.argsort(-bounds, kind="stable")
        self._missed = max([self._missed, *bounds[order[most : most + 1]].tolist()])
        return bounds[order[:most]], pairs[order[:most]]

    def _tiles(self) -> Iterator[tuple[Float64Array, Pairs]]:
        """Bounds and pairs, block by block; the cells' radii decrease, so that most blocks need no look."""
        starts = range(0, len(self._cells), _TILE)
        for i in starts:
            for j in starts[i // _TILE :]:
                if (self._radius[i] + self._radius[j]) * _SLACK * self._unit <= max(self._best, self._missed):
                    break
                yield self._tile(slice(i, i + _TILE), slice(j, j + _TILE))

    def _tile(self, rows: slice, cols: slice) -> tuple[Float64Array, Pairs]:
        """The pairs of a block whose upper bound exceeds the best distance."""
        bounds = np.minimum(self._radius[rows, None] + self._radius[cols], self._by_trace(rows, cols))
        bounds *= _SLACK * self._unit
        first, second = np.nonzero(bounds > max(self._best, self._missed))
        first, second = first + rows.start, second + cols.start
        above = first < second
        pairs = np.stack([first[above], second[above]], axis=-1)
        return bounds[pairs[:, 0] - rows.start, pairs[:, 1] - cols.start], pairs

    def _by_trace(self, rows: slice, cols: slice) -> Float64Array:
        """Upper bounds from traces and Frobenius norms, (rows, cols)."""
        total = np.zeros((len(self._radius[rows]), len(self._radius[cols])))
        for trace, rest, squares in zip(self._trace, self._rest, self._squares, strict=True):
            size = squares[rows, None] + squares[cols]
            apart = size * (1 + 4 * rest.shape[-1] * _EPS) - 2.0 * (rest[rows] @ rest[cols].T)
            total += np.abs(trace[rows, None] - trace[cols]) + np.sqrt(self._share * np.maximum(apart, 0.0))
        return total
