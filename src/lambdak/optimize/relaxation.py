r"""Lower bounds of a raw score on boxes, one sum over columns each: s(x) ≥ base + Σ_i ψ_i(x_i).

For any U with orthonormal columns, d − k of them, λ_k(A) ≥ λ_min(Uᵀ A U) (Courant and Fischer): an interior eigenvalue
is never below an extreme one of a smaller matrix, which is concave in A. U are the eigenvectors of λ_k, …, λ_{d−1} in
the middle of the box, where the two are equal. With M the matrix there, E_i what column i adds to it, c = λ_k(M), and
shares θ_i that sum up to one,

    λ_min(Uᵀ(M + Σ_i E_i) U) ≥ c + Σ_i λ_min(θ_i (Uᵀ M U − c I) + Uᵀ E_i U) = c + Σ_i ψ_i.

ψ_i is concave wherever A_i is affine, so that between two vertices it is above the straight line. Nothing in it grows
with more than the number of columns times their points, and its distance to s shrinks with the square of the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak.eigen import eigenpair, eigenvalue
from lambdak.eigen.packing import packed_dim
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.optimize.scores import Score
from lambdak.pencil.definite import SAFE, UNIT
from lambdak.pencil.spectrum import Float64Array

_NOTHING = 1e-300  # replaces a sum of sizes of zero


@final
@dataclass(frozen=True, eq=False)
class Boxes:
    """Sub-boxes of the free columns: low and high ends (n, axes), and the vertices (n, J) of each axis."""

    low: Float64Array
    high: Float64Array
    vertices: tuple[Float64Array, ...]

    @classmethod
    def between(cls, score: Score, low: Float64Array, high: Float64Array) -> Boxes:
        """The boxes with these ends."""
        own = (axis.vertices(low[:, i], high[:, i]) for i, axis in enumerate(score.axes))
        return cls(low, high, tuple(own))

    def __len__(self) -> int:
        return len(self.low)


@final
@dataclass(frozen=True, eq=False)
class Separable:
    """A function base + Σ_i ψ_i(x_i) on boxes, at the vertices: base (n,), and ψ_i (n, J) of each axis."""

    base: Float64Array
    parts: tuple[Float64Array, ...]

    def __add__(self, other: Separable) -> Separable:
        parts = zip(self.parts, other.parts, strict=True)
        return Separable(self.base + other.base, tuple(a + b for a, b in parts))

    def __mul__(self, factor: Float64Array) -> Separable:
        return Separable(self.base * factor, tuple(part * factor[:, None] for part in self.parts))

    def lowest(self) -> Float64Array:
        """Its least value on each box, (n,)."""
        return np.asarray(self.base + sum(part.min(axis=1) for part in self.parts))


def zero(boxes: Boxes) -> Separable:
    """Nothing."""
    return Separable(np.zeros(len(boxes)), tuple(np.zeros(own.shape) for own in boxes.vertices))


def relax(score: Score, boxes: Boxes) -> Separable:
    """A lower bound of the score on each box that no rounding breaks."""
    middle = score.packed(0.5 * boxes.low + 0.5 * boxes.high)
    found = eigenpair(middle, score.dim, tuple(range(score.index, score.dim)))
    c, vectors = np.asarray(found[0][..., 0], np.float64), np.asarray(found[1], np.float64)  # (members, n), (…, r, d)
    compress = _compression(vectors)
    inner = np.matmul(compress, middle[..., None])[..., 0]  # Uᵀ M U, packed
    inner[..., _diagonal(vectors.shape[-2])] -= c[..., None]
    changes = _changes(score, boxes, compress)
    shares = _shares(changes)
    parts = tuple(_part(score, inner, own, share) for own, share in zip(changes, shares, strict=True))
    base = np.asarray(score.weights @ c) + score.start
    return Separable(base - _rounding(score, vectors), parts)


def _part(score: Score, inner: Float64Array, changes: Float64Array, share: Float64Array) -> Float64Array:
    """ψ_i at the vertices, (n, J)."""
    packed = changes + (share[:, None] * inner)[:, :, None]
    rank = packed_dim(packed.shape[-1])
    return np.asarray(np.tensordot(score.weights, eigenvalue(packed, rank, 0), 1))


def _changes(score: Score, boxes: Boxes, compress: Float64Array) -> list[Float64Array]:
    """Uᵀ E_i U at the vertices of each axis, packed, (members, n, J, R)."""
    found = []
    for i, (axis, curve) in enumerate(zip(score.axes, score.curves, strict=True)):
        at_points = np.matmul(curve[:, None], compress.swapaxes(-1, -2))  # (members, n, points, R)
        middle = 0.5 * boxes.low[:, i] + 0.5 * boxes.high[:, i]
        own = _between(axis.piece(boxes.vertices[i]), at_points)
        found.append(own - _between(axis.piece(middle[:, None]), at_points))
    return found


def _between(piece: tuple[NDArray[np.intp], Float64Array], at_points: Float64Array) -> Float64Array:
    """(members, n, J, R): affine between the points before and after."""
    before, share = piece
    rows = np.arange(len(before))[:, None]
    after = np.minimum(before + 1, at_points.shape[2] - 1)
    first, last = at_points[:, rows, before], at_points[:, rows, after]
    return np.asarray(first + share[..., None] * (last - first))


def _shares(changes: Sequence[Float64Array]) -> Float64Array:
    """θ_i, (axes, n): as large as what a column does."""
    size = np.stack([np.sqrt((own * own).sum(axis=-1)).max(axis=-1).mean(axis=0) for own in changes])
    return np.asarray((size + _NOTHING) / (size + _NOTHING).sum(axis=0))


def _rounding(score: Score, vectors: Float64Array) -> Float64Array:
    """What rounding, and vectors that are not quite orthonormal, can do to the bound, (n,)."""
    rank, terms = vectors.shape[-2], len(score.curves) + 2
    skew = np.abs(vectors @ vectors.swapaxes(-1, -2) - np.eye(rank)).sum(axis=-1).max(axis=-1)  # (members, n)
    products = 8 * (score.constant.shape[-1] + 8) * UNIT * rank
    relative = terms * (eigenvalue_error(rank) + products) + 2 * skew
    return np.asarray(SAFE * ((np.abs(score.weights) * score.size) @ relative + score.error))


def _compression(vectors: Float64Array) -> Float64Array:
    """(…, R, D): the map from packed A to packed Uᵀ A U, for vectors (…, r, d)."""
    rank, dim = vectors.shape[-2:]
    first, second = np.tril_indices(rank)
    rows, cols = np.tril_indices(dim)
    a, b = vectors[..., first, :], vectors[..., second, :]
    factor = np.where(rows == cols, 0.5, np.sqrt(0.5)) * np.where(first == second, 1.0, np.sqrt(2.0))[:, None]
    return np.asarray((a[..., rows] * b[..., cols] + a[..., cols] * b[..., rows]) * factor)


@lru_cache(maxsize=64)
def _diagonal(dim: int) -> NDArray[np.intp]:
    """Where the diagonal is in packed coordinates."""
    return np.cumsum(np.arange(1, dim + 1)) - 1
