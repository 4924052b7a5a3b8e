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
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak.eigen import eigenpair, eigenvalue
from lambdak.eigen.packing import packed_dim
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.optimize.axes import Axis
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
    def between(cls, axes: Sequence[Axis], low: Float64Array, high: Float64Array) -> Boxes:
        """The boxes with these ends."""
        own = (axis.vertices(low[:, i], high[:, i]) for i, axis in enumerate(axes))
        return cls(low, high, tuple(own))

    def __len__(self) -> int:
        return len(self.low)


@final
@dataclass(frozen=True, eq=False)
class Separable:
    """A function base + Σ_i ψ_i(x_i) on boxes, at the vertices.

    Attributes
    ----------
    base : array of shape (n,)
    parts : tuple of arrays of shape (n, J)
        The ψ_i.
    loose : array of shape (n, axes)
        Roughly how much of its distance to what it is a bound of comes from the width of each axis.
    """

    base: Float64Array
    parts: tuple[Float64Array, ...]
    loose: Float64Array

    def __add__(self, other: Separable) -> Separable:
        parts = tuple(a + b for a, b in zip(self.parts, other.parts, strict=True))
        return Separable(self.base + other.base, parts, self.loose + other.loose)

    def __mul__(self, factor: Float64Array) -> Separable:
        parts = tuple(part * factor[:, None] for part in self.parts)
        return Separable(self.base * factor, parts, self.loose * np.abs(factor)[:, None])

    def shifted(self, by: Float64Array) -> Separable:
        """The same plus a number for each box."""
        return replace(self, base=self.base + by)

    def lowest(self) -> Float64Array:
        """Its least value on each box, (n,)."""
        return np.asarray(self.base + sum(part.min(axis=1) for part in self.parts))


def linear(boxes: Boxes, constant: float, coefficients: Float64Array) -> Separable:
    """The function constant + Σ_i a_i x_i."""
    lines = tuple(a * own for a, own in zip(coefficients.tolist(), boxes.vertices, strict=True))
    return Separable(np.full(len(boxes), constant), lines, np.zeros(boxes.low.shape))


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
    loose = np.stack([-part.min(axis=1) for part in parts], axis=1)
    return Separable(base - _rounding(score, vectors), parts, loose)


def _part(score: Score, inner: Float64Array, changes: Float64Array, share: Float64Array) -> Float64Array:
    """ψ_i at the vertices, (n, J)."""
    packed = changes + (share[:, None] * inner)[:, :, None]
    rank = packed_dim(packed.shape[-1])
    return np.asarray(np.tensordot(score.weights, eigenvalue(packed, rank, 0), 1))


def _changes(score: Score, boxes: Boxes, compress: Float64Array) -> list[Float64Array]:
    """Uᵀ E_i U at the vertices of each axis, packed, (members, n, J, R)."""
    members, count, width, size = compress.shape
    turned = np.ascontiguousarray(compress.reshape(members, count * width, size).swapaxes(-1, -2))
    found = []
    for i, (axis, curve) in enumerate(zip(score.axes, score.curves, strict=True)):
        at_points = (curve @ turned).reshape(members, -1, count, width)
        middle = 0.5 * boxes.low[:, i] + 0.5 * boxes.high[:, i]
        own = _between(axis.piece(boxes.vertices[i]), at_points)
        own -= _between(axis.piece(middle[:, None]), at_points)
        found.append(own)
    return found


def _between(piece: tuple[NDArray[np.intp], Float64Array], at_points: Float64Array) -> Float64Array:
    """(members, n, J, R), from (members, points, n, R): affine between the points before and after."""
    before, share = piece
    rows = np.arange(len(before))[:, None]
    after = np.minimum(before + 1, at_points.shape[1] - 1)
    first, last = at_points[:, before, rows], at_points[:, after, rows]
    last -= first
    last *= share[..., None]
    last += first
    return np.asarray(last)


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
    a, b = vectors[..., rows] * np.where(rows == cols, 0.5, np.sqrt(0.5)), vectors[..., cols]
    found = a[..., first, :] * b[..., second, :]
    found += b[..., first, :] * a[..., second, :]
    found *= np.where(first == second, 1.0, np.sqrt(2.0))[:, None]
    return np.asarray(found)


@lru_cache(maxsize=64)
def _diagonal(dim: int) -> NDArray[np.intp]:
    """Where the diagonal is in packed coordinates."""
    return np.cumsum(np.arange(1, dim + 1)) - 1
