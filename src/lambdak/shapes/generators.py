r"""Generators of a cone {c : Q c ≥ 0}: from statements about numbers to the directions in which matrices may grow.

If Q V ≥ 0, then C = Σ_r V_r ⊗ G_r with G_r ⪰ 0 satisfies Σ_j Q_ij C_j ⪰ 0 for every statement i. Whatever Q is, the
extreme rays of the cone are the largest such V: no other has more matrices. They are exact where statements are
independent (V = Q⁺ reaches every C that satisfies them), and found one statement after the other (double description)
where they are few. Where they are many, as the corners of a cube are, vertices of linear programmes stand for them,
which span the same directions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space, qr
from scipy.optimize import linprog, nnls

from lambdak._types import Float64Array

_CLOSE = 1e-9  # a statement that others imply to this is left out of the generators: it is proven with the others
_SMALL = 1e-10  # of the largest singular value, or of the largest entry
_MOST_RAYS = 4  # for each dimension: more would make a fit slow, and are sampled
_MOST_COMPARED = 240  # statements of which implied ones are looked for: it bounds the time to a second
_MOST_PLACES = 12  # of a column, at which directions step: a programme takes milliseconds
_TILT = 1e-3  # of a random direction, in programmes: several corners are equally good without


def generators(statements: Float64Array, ends: Sequence[int]) -> Float64Array:
    """Return V (n, r): rays of {c : Q c ≥ 0} that, with its lineality, generate it or span as much.

    ``ends`` are where the coordinates of each column end, in their order along the column, after a zero.
    """
    kept = np.ascontiguousarray(statements[np.abs(statements).max(axis=1, initial=0.0) > 0], np.float64)
    return _generators(kept.tobytes(), kept.shape[1], tuple(ends)) if len(kept) else np.zeros((kept.shape[1], 0))


@lru_cache(maxsize=64)
def _generators(data: bytes, width: int, ends: tuple[int, ...]) -> Float64Array:
    statements = np.frombuffer(data).reshape(-1, width)
    if np.linalg.matrix_rank(statements) < len(statements):
        statements = without_implied(statements)
    if np.linalg.matrix_rank(statements) == len(statements):
        return _inverse(statements, ends[-1])
    return _rays(statements, ends)


def _inverse(statements: Float64Array, own: int) -> Float64Array:
    """Return V with Q V = I, without the coordinates from ``own`` on where that is possible: a basis is enough."""
    if np.linalg.matrix_rank(statements[:, :own]) < len(statements):
        return np.asarray(np.linalg.pinv(statements))
    return np.pad(np.linalg.pinv(statements[:, :own]), ((0, statements.shape[1] - own), (0, 0)))


def without_implied(factors: Float64Array) -> Float64Array:
    """Return the rows that are not sums of others times positive numbers; all of them, if they are many."""
    kept = [i for i, row in enumerate(factors) if row.any()]
    for i in list(kept) * (len(kept) <= _MOST_COMPARED):
        others = [j for j in kept if j != i]
        if others and nnls(factors[others].T, factors[i])[1] <= _CLOSE:
            kept = others
    return factors[kept]


def _rays(statements: Float64Array, ends: Sequence[int]) -> Float64Array:
    """Return rays (n, r) that span the cone, orthogonal to its lineality: all extreme ones if they are few."""
    _, sizes, right = np.linalg.svd(statements, full_matrices=False)
    basis = right[sizes > _SMALL * sizes[0]].T
    inner = statements @ basis
    found = _described(inner)
    return np.asarray(basis @ (_sampled(inner, _directions(basis, ends)) if found is None else found))


def _described(statements: Float64Array) -> Float64Array | None:
    """Return the extreme rays (n, r) of a pointed cone, one statement after the other; None if there are many."""
    dims = statements.shape[1]
    order = qr(statements.T, mode="r", pivoting=True)[1]
    rays = np.linalg.inv(statements[order[:dims]])
    tight = ~np.eye(dims, dtype=bool)  # (statements so far, rays): which of them a ray satisfies with equality
    for i in order[dims:]:
        values = statements[i] @ rays
        size = _CLOSE * np.abs(rays).max(axis=0)
        above, below, level = values > size, values < -size, np.abs(values) <= size
        new = [
            (one, other)
            for one in np.flatnonzero(above).tolist()
            for other in np.flatnonzero(below).tolist()
            if _adjacent(tight, one, other, dims)
        ]
        ones, others = (np.array([pair[k] for pair in new], np.intp) for k in (0, 1))
        between = rays[:, others] * values[ones] - rays[:, ones] * values[others]
        between /= np.maximum(np.abs(between).max(axis=0, initial=0.0), 1e-300)
        kept = above | level
        rays = np.concatenate([rays[:, kept], between], axis=1)
        meets = np.concatenate([level[kept], np.ones(len(new), bool)])
        tight = np.vstack([np.concatenate([tight[:, kept], tight[:, ones] & tight[:, others]], axis=1), meets])
        if rays.shape[1] > _MOST_RAYS * dims:
            return None
    return rays


def _adjacent(tight: NDArray[np.bool_], one: int, other: int, dims: int) -> bool:
    """Return whether no third ray satisfies with equality all that two rays both do."""
    both = tight[:, one] & tight[:, other]
    return bool(both.sum() >= dims - 2 and tight[both].all(axis=0).sum() == 2)


def _directions(basis: Float64Array, ends: Sequence[int]) -> Float64Array:
    """Return directions (n, r): up to a place of a column down, from there on up, or the other way; and up at one."""
    width, found = len(basis), []
    for first, last in pairwise(ends):
        places = np.arange(last - first)
        chosen = np.unique(np.linspace(0, last - first - 1, min(last - first, _MOST_PLACES)).astype(np.intp))[:, None]
        steps = np.where(places >= chosen, 1.0, -1.0)
        alone = np.where(places == chosen, 1.0, -1.0)
        found += [np.pad(own, ((0, 0), (first, width - last))) for own in (steps, -steps, alone)]
    directions = np.unique(np.concatenate(found), axis=0)
    tilt = np.random.default_rng(0).standard_normal(directions.shape)
    return np.asarray((directions + _TILT * tilt) @ basis)


def _sampled(statements: Float64Array, directions: Float64Array) -> Float64Array:
    """Return vertices (n, r) of a slice of a pointed cone, which span it: the furthest in these directions."""
    dims = statements.shape[1]
    rays = np.stack([_vertex(statements, own) for own in directions], axis=1)
    for _ in range(dims):  # what is not spanned yet, unless the cone lies in it
        missing = null_space(rays.T, rcond=1e-8)
        more = [ray for own in missing.T for ray in _first_beyond(statements, own)]
        if not more:
            break
        rays = np.column_stack([rays, *more])
    return rays


def _first_beyond(statements: Float64Array, direction: Float64Array) -> Iterator[Float64Array]:
    """Yield the vertex that is furthest in a direction, or else in the other one, if either is any way along it."""
    for own in (direction, -direction):
        ray = _vertex(statements, own)
        if own @ ray > _CLOSE * np.abs(ray).max(initial=_CLOSE):
            yield ray
            return


def _vertex(statements: Float64Array, direction: Float64Array) -> Float64Array:
    """Return the point of the slice {y : Q y ≥ 0, Σ Q y = 1} that is furthest in a direction; zero if there is none."""
    slice_ = statements.sum(axis=0, keepdims=True)
    found = linprog(
        -direction, -statements, np.zeros(len(statements)), slice_, [1.0], bounds=(None, None), method="highs-ds"
    )
    return np.zeros(len(direction)) if found.x is None else np.asarray(found.x)


def different(rays: Float64Array) -> Float64Array:
    """Return rays that are neither zero nor multiples of one before, without the rounding of zeros."""
    sizes = np.abs(rays).max(axis=0, initial=0.0)
    rays = rays[:, sizes > _SMALL] / sizes[sizes > _SMALL]
    rays = np.where(np.abs(rays) > _SMALL, rays, 0.0)
    _, first = np.unique(rays.round(9), axis=1, return_index=True)
    return rays[:, np.sort(first)]
