r"""Lower bounds of a raw score on boxes, one sum over columns each: s(x) ≥ base + Σ_i ψ_i(x_i).

For any U with orthonormal columns, d − k of them, λ_k(A) ≥ λ_min(Uᵀ A U) (Courant and Fischer): an interior eigenvalue
is never below an extreme one of a smaller matrix, which is concave in A. U are the eigenvectors of λ_k, …, λ_{d−1} in
the middle of the box, where the two are equal. With M the matrix there, E_i what column i adds to it, c = λ_k(M), and
shares θ_i that sum up to one,

    λ_min(Uᵀ(M + Σ_i E_i) U) ≥ c + Σ_i λ_min(θ_i (Uᵀ M U − c I) + Uᵀ E_i U) = c + Σ_i ψ_i.

Instead of θ_i (Uᵀ M U − c I) any matrices with the same sum will do: a few steps of ascent halve the distance to s.
ψ_i is concave wherever A_i is affine, so that between two vertices it is above the straight line. Nothing in it grows
with more than the number of columns times their points, and its distance to s shrinks with the square of the box. On
boxes with few vertices λ_min(Uᵀ A U) itself, at every combination of them (``joint``), is three to five times closer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.eigen import eigenpair, eigenvalue
from lambdak.eigen.lazy import cached_property
from lambdak.eigen.packing import packed_dim
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.optimize.axes import Axis
from lambdak.optimize.scores import Score, outer
from lambdak.pencil.definite import SAFE, UNIT, frobenius

_NOTHING = 1e-300  # replaces a sum of sizes of zero
_AT_ONCE = 1 << 18  # floats, so that work arrays stay in the cache
STEPS = 3  # to better shares
MOST_STEPS = 96  # where a search begins: the first boxes are few and wide
_STEPS_EACH, _LEAST_GAIN = 8, 2e-3  # steps in which the bound must rise by so much of itself
_AIM = 0.25  # of the distance to the value in the middle, which a step tries to gain
_LONGER, _SHORTER = 1.3, 0.6  # after a step that raised the bound of a box, and one that did not

Parts = tuple[Float64Array, ...]


@final
@dataclass(frozen=True, eq=False)
class Boxes:
    """Sub-boxes of the free columns.

    Attributes
    ----------
    low, high : arrays of shape (n, axes)
    vertices : tuple of arrays of shape (n, J)
        Of each axis: the ends, and the points between.
    joint : bool
        Whether functions on them are known at all combinations of vertices, rather than axis by axis.
    """

    low: Float64Array
    high: Float64Array
    vertices: tuple[Float64Array, ...]
    joint: bool = False

    @classmethod
    def between(cls, axes: Sequence[Axis], low: Float64Array, high: Float64Array, joint: bool = False) -> Boxes:
        """The boxes with these ends."""
        ends = (axis.vertices(low[:, i], high[:, i]) for i, axis in enumerate(axes))
        return cls(low, high, tuple(ends), joint)

    def __len__(self) -> int:
        return len(self.low)

    @cached_property
    def coordinates(self) -> tuple[Float64Array, ...]:
        """Coordinates (n, J) along the axes at which functions are evaluated; of joint boxes all combinations."""
        if not self.joint:
            return self.vertices
        sizes = [vertex.shape[1] for vertex in self.vertices]
        places = np.indices(sizes).reshape(len(sizes), -1)
        return tuple(vertices[:, at] for vertices, at in zip(self.vertices, places, strict=True))

    def part(self, axis: int) -> int:
        """The part of a function that depends on an axis."""
        return 0 if self.joint else axis

    def points(self, places: Sequence[NDArray[np.intp]]) -> Float64Array:
        """Points (n, axes) from positions within each part, (n,) each."""
        rows = np.arange(len(self))
        points = [x[rows, places[self.part(i)]] for i, x in enumerate(self.coordinates)]
        return np.stack(points, axis=1)

    def take(self, rows: slice) -> Boxes:
        """Boxes in a slice of these."""
        return Boxes(self.low[rows], self.high[rows], tuple(vertex[rows] for vertex in self.vertices), self.joint)


@final
@dataclass(frozen=True, eq=False)
class Separable:
    """A function base + Σ_i ψ_i(x_i) on boxes, at the vertices; on joint boxes base + ψ(x).

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
        """The function plus one number per box, (n,)."""
        return replace(self, base=self.base + by)

    def size(self) -> Float64Array:
        """At least the size of what is added up anywhere on each box, (n,)."""
        return np.asarray(np.abs(self.base) + sum(np.abs(part).max(axis=1) for part in self.parts))

    def lowest(self) -> Float64Array:
        """Least value of the function on every box, (n,)."""
        return np.asarray(self.base + sum(part.min(axis=1) for part in self.parts))


def linear(boxes: Boxes, constant: float, coefficients: Float64Array) -> Separable:
    """The function constant + Σ_i a_i x_i."""
    lines = tuple(a * coordinate for a, coordinate in zip(coefficients.tolist(), boxes.coordinates, strict=True))
    parts = (np.sum(lines, axis=0),) if boxes.joint else lines
    return Separable(np.full(len(boxes), constant), parts, np.zeros(boxes.low.shape))


def relax(score: Score, boxes: Boxes, steps: int = STEPS) -> Separable:
    """A lower bound of the score on each box that no rounding breaks; ``steps`` of ascent make its minimum higher.

    Of many steps only those are taken that gain something.
    """
    vertices = boxes.coordinates[0].shape[1] if boxes.joint else sum(vertex.shape[1] for vertex in boxes.vertices)
    step = max(1, _AT_ONCE // (len(score.weights) * vertices * score.constant.shape[-1]))
    found = [_relax(score, boxes.take(slice(i, i + step)), steps) for i in range(0, len(boxes), step)]
    parts = zip(*(part.parts for part in found), strict=True)
    return Separable(
        np.concatenate([part.base for part in found]),
        tuple(map(np.concatenate, parts)),
        np.concatenate([part.loose for part in found]),
    )


def _relax(score: Score, boxes: Boxes, steps: int) -> Separable:
    """A lower bound of the score on boxes that fit into the cache; see :func:`relax`."""
    centers = _centers(score, boxes)
    middle = score.constant[:, None] + np.sum(centers, axis=0)
    found = eigenpair(middle, score.dim, tuple(range(score.index, score.dim)))
    c, vectors = np.asarray(found[0][..., 0], np.float64), np.asarray(found[1], np.float64)  # (members, n), (…, r, d)
    compress = compression(vectors)
    inner = np.matmul(compress, middle[..., None])[..., 0]  # Uᵀ M U, packed
    inner[..., _diagonal(vectors.shape[-2])] -= c[..., None]
    changes = _changes(score, boxes, compress, centers)
    base = np.asarray(score.weights @ c) + score.start - _rounding(score, vectors)
    if boxes.joint:
        return Separable(base, (_lowest(score, _combined(inner, changes)),), np.zeros(boxes.low.shape))
    parts, loose = _shared_out(score, changes, inner, steps if len(changes) > 1 else 0)
    return Separable(base, parts, loose)


def _shared_out(
    score: Score, changes: Sequence[Float64Array], inner: Float64Array, steps: int
) -> tuple[Parts, Float64Array]:
    """ψ_i with the best shares that some steps of ascent find, and how much each lowers the bound at first.

    A step that does not raise the bound of a box is taken back, and the next one is shorter.
    """
    shares = _shares(changes)[:, None, :, None] * inner  # (axes, members, n, R)
    tried = parts = _parts(score, changes, shares)
    loose = np.stack([-part.min(axis=1) for part in parts], axis=1)
    best, aim, gained = -loose.sum(axis=1), np.full(inner.shape[1], _AIM), -loose.sum(axis=1)
    for step in range(steps):
        further = shares + _ascent(score, changes, shares, tried, aim)
        new = _parts(score, changes, further)
        missing = score.weights @ _missing(further, inner)
        parts, found, better = _better(parts, best, new, missing)
        shares = np.where(better[None, None, :, None], further, shares)
        tried = tuple(np.where(better[:, None], a, b) for a, b in zip(new, tried, strict=True))
        aim, best = aim * np.where(better, _LONGER, _SHORTER), found
        if step % _STEPS_EACH == _STEPS_EACH - 1:
            if (best - gained <= _LEAST_GAIN * np.abs(best)).all():
                break
            gained = best
    return parts, loose


def _centers(score: Score, boxes: Boxes) -> list[Float64Array]:
    """What each column has in the middle of boxes, (members, n, D): where it jumps, the mean over its vertices."""
    found = []
    for i, (axis, curve) in enumerate(zip(score.axes, score.curves, strict=True)):
        if axis.jumps is None:
            found.append(score.curve_at(i, 0.5 * boxes.low[:, i] + 0.5 * boxes.high[:, i]))
            continue
        before, share = axis.piece(boxes.vertices[i])
        rows, weights = np.arange(len(before))[:, None], np.zeros((len(before), curve.shape[1]))
        np.add.at(weights, (rows, before), (1.0 - share) / before.shape[1])
        np.add.at(weights, (rows, np.minimum(before + 1, curve.shape[1] - 1)), share / before.shape[1])
        found.append(weights @ curve)
    return found


def _parts(score: Score, changes: Sequence[Float64Array], shares: Float64Array) -> Parts:
    """ψ_i at the vertices of each axis, (n, J)."""
    return tuple(_lowest(score, change + share[:, :, None]) for change, share in zip(changes, shares, strict=True))


def _ascent(
    score: Score, changes: Sequence[Float64Array], shares: Float64Array, parts: Parts, aim: Float64Array
) -> Float64Array:
    """A step of Polyak's to shares with a higher bound: along u uᵀ at the lowest vertices, less their mean."""
    rows = np.arange(shares.shape[2])
    at = [change[:, rows, part.argmin(axis=1)] for change, part in zip(changes, parts, strict=True)]
    _, vectors = eigenpair(np.stack(at) + shares, packed_dim(shares.shape[-1]), 0)
    slope = outer(np.asarray(vectors, np.float64)) * score.weights[:, None, None]
    slope -= slope.mean(axis=0)
    room = -aim * np.sum([part.min(axis=1) for part in parts], axis=0)
    step = np.maximum(room, 0.0) / np.maximum((slope * slope).sum(axis=(0, 1, 3)), _NOTHING)
    return np.asarray(step[:, None] * slope)


def _missing(shares: Float64Array, inner: Float64Array) -> Float64Array:
    """How far the sum of the shares is from what it must be, and what their size does to eigenvalues, (members, n)."""
    relative = eigenvalue_error(packed_dim(shares.shape[-1])) + 2 * (len(shares) + 1) * UNIT
    return np.asarray(frobenius(shares.sum(axis=0) - inner) + relative * frobenius(shares).sum(axis=0))


def _better(
    old: Parts, best: Float64Array, new: Parts, missing: Float64Array
) -> tuple[Parts, Float64Array, NDArray[np.bool_]]:
    """The parts with the higher bound, box by box, that bound, and where it is that of the new ones."""
    found = np.sum([part.min(axis=1) for part in new], axis=0) - missing
    is_better = found > best
    first = tuple(np.where(is_better[:, None], b, a) for a, b in zip(old, new, strict=True))
    lowered = first[0] - np.where(is_better, missing, 0.0)[:, None]
    return (lowered, *first[1:]), np.maximum(found, best), np.asarray(is_better)


def _lowest(score: Score, packed: Float64Array) -> Float64Array:
    """Σ_m w_m λ_min of compressed matrices (members, n, J, R), (n, J)."""
    rank = packed_dim(packed.shape[-1])
    return np.asarray(np.tensordot(score.weights, eigenvalue(packed, rank, 0), 1))


def _combined(inner: Float64Array, changes: Sequence[Float64Array]) -> Float64Array:
    """Uᵀ(M + Σ_i E_i) U − c I at all combinations of vertices, (members, n, V, R)."""
    total = inner[:, :, None]
    for change in changes:
        total = (total[:, :, :, None] + change[:, :, None]).reshape(*inner.shape[:2], -1, inner.shape[-1])
    return total


def _changes(score: Score, boxes: Boxes, compress: Float64Array, centers: Sequence[Float64Array]) -> list[Float64Array]:
    """Uᵀ E_i U at the vertices of each axis, packed, (members, n, J, R)."""
    members, count, width, size = compress.shape
    turned = np.ascontiguousarray(compress.reshape(members, count * width, size).swapaxes(-1, -2))
    found = []
    for i, (axis, curve) in enumerate(zip(score.axes, score.curves, strict=True)):
        at_points = (curve @ turned).reshape(members, -1, count, width)
        changes = _between(axis.piece(boxes.vertices[i]), at_points)
        changes -= np.matmul(compress, centers[i][..., None])[..., 0][:, :, None]
        found.append(changes)
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
    size = np.stack([np.sqrt((change * change).sum(axis=-1)).max(axis=-1).mean(axis=0) for change in changes])
    return np.asarray((size + _NOTHING) / (size + _NOTHING).sum(axis=0))


def _rounding(score: Score, vectors: Float64Array) -> Float64Array:
    """What rounding, and vectors that are not quite orthonormal, can do to the bound, (n,)."""
    rank = vectors.shape[-2]
    skew = np.abs(vectors @ vectors.swapaxes(-1, -2) - np.eye(rank)).sum(axis=-1).max(axis=-1)  # (members, n)
    relative = _relative(score, rank) + 2 * skew
    return np.asarray(SAFE * ((np.abs(score.weights) * score.size) @ relative + score.error))


def _relative(score: Score, rank: int) -> float:
    """What rounding does, relative to the size of the matrices."""
    products = 8 * (score.constant.shape[-1] + 8) * UNIT * rank
    return float((len(score.curves) + 2) * (eigenvalue_error(rank) + products))


def slack(score: Score) -> float:
    """About how far a bound on the smallest box is from the score, in units of its ``error``: by rounding alone."""
    rank = score.dim - score.index
    relative = (_relative(score, rank) + 64 * rank * UNIT) * float(np.abs(score.weights) @ score.size)
    return 1.0 + float(relative / score.error)


def compression(vectors: Float64Array) -> Float64Array:
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
