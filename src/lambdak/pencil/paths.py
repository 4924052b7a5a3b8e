r"""Attributions along a straight path: λ_k(A + Δ) − λ_k(A) = ⟨Δ, M⟩ with M = ∫₀¹ v(t) v(t)ᵀ dt, v of A + tΔ.

A sum Δ = Σ_i Δ_i is thereby shared out among its parts, ⟨Δ_i, M⟩ each: integrated gradients, for any split of Δ at the
price of one integral. Where eigenvalues come close v turns quickly, and where they cross it jumps: intervals are
halved until two rules agree and no crossing can hide between their points, or until what is left of a jump is too short
to matter. Where λ_k stays repeated v is any vector of its eigenspace, and the mean over all of them takes the place of
v vᵀ: V Vᵀ / m, m the multiplicity, which adds up to the same change and shares it out evenly. What is left of an error
is estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.eigen import eigenpair, eigenvalue, eigenvalue_vjp
from lambdak.eigen.packing import packed_dim
from lambdak.pencil.spectrum import extremes, spectral_norm
from lambdak.pencil.tolerances import rounding_tol

# The four points of Gauss's rule and the five that Kronrod adds: one set of values gives two integrals to compare.
_ADDED = (0.976560250737573111534505359369920, 0.640286217496309982089060245459)
_GAUSS_POINTS, _GAUSS_WEIGHTS = legendre.leggauss(4)
_NODES = np.sort([*_GAUSS_POINTS, *_ADDED, *np.negative(_ADDED), 0.0])
_GAUSS = np.where(np.arange(9) % 2, np.repeat(_GAUSS_WEIGHTS, 2)[np.minimum(np.arange(9) - 1, 7)], 0.0)
_KRONROD = np.linalg.solve(legendre.legvander(_NODES, 8).T, 2.0 * np.eye(9)[0])
_MIDDLE = 4
_SUM_TOL = 1e-7  # of the sum of attributions, in units of eigenvalues: the target's spread, or log-odds
PART_TOL = 1e-6  # of each attribution, in the same units, or relative to the largest part if that is larger
_MOST_HALVINGS = 45
_SHORT = 0.05  # intervals below this length are few, around near-crossings: each may have this share of the error
_SAME = 1 / 64  # of the tolerance: eigenvalues this close count as one, which costs a sum twice as much, below _SHORT
_MOST_OPEN = 16  # intervals of one path at a time, for each row of its matrices: crossings are fewer
_FEWEST_OPEN = 256  # the same for small matrices
_MOST_FLOATS = 1 << 18  # of the matrices that are in memory at once: they stay in cache


class MeanOuter(NamedTuple):
    """M of each path, (n, D), an estimate of the norm of its error, and what ⟨Δ, M⟩ misses of the change, each (n,)."""

    mean: Float64Array
    error: Float64Array
    missed: Float64Array


def mean_outer(
    start: Float64Array, delta: Float64Array, index: int, tol: float, size: Float64Array | None = None
) -> MeanOuter:
    """M = ∫₀¹ v vᵀ dt for paths from A to A + Δ, packed (n, D), so that ⟨Δ, M⟩ = λ_k(A + Δ) − λ_k(A) to ``tol``.

    ``size`` (n,) is the norm of the largest part of Δ, which is to be right to ``tol`` as well; without it that of Δ.
    """
    paths = _Paths.of(start, delta, index, tol, size)
    mean, error = np.zeros_like(start), np.zeros(len(start))
    ends = paths.ends()
    some = _Intervals(np.arange(len(start)), np.zeros(len(start)), np.ones(len(start)), ends)
    for left in reversed(range(_MOST_HALVINGS)):
        if not len(some.path):
            break
        rules = _rules(paths, some)
        done = paths.are_done(some, rules) | (left == 0)
        np.add.at(mean, some.path[done], rules.parts[done])
        np.add.at(error, some.path[done], rules.off[done])
        some = some.halved(~done, rules.values[:, _MIDDLE])
    change = np.einsum("nd,nd->n", delta, mean)
    return MeanOuter(mean, error, np.abs(change - (ends[:, 1] - ends[:, 0])))


def shared_out(
    first: Float64Array, delta: Float64Array, index: int, size: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """∫ v vᵀ of all paths (..., D), and the error of the largest part of each, of norm ``size``.

    A path whose parts are far larger than their sum is done again, with them in view.
    """
    shape, flat = first.shape, (-1, first.shape[-1])
    start, change, sizes = first.reshape(flat), delta.reshape(flat), size.ravel()
    found = mean_outer(start, change, index, _SUM_TOL)
    coarse = np.flatnonzero(_error(found, sizes) > PART_TOL * np.maximum(sizes, 1.0))
    if coarse.size:
        finer = mean_outer(start[coarse], change[coarse], index, _SUM_TOL, sizes[coarse])
        for part, better in zip(found, finer, strict=True):
            part[coarse] = better
    return found.mean.reshape(shape), _error(found, sizes).reshape(shape[:-1])


def _error(found: MeanOuter, size: Float64Array) -> Float64Array:
    return np.maximum(size * found.error, found.missed)


class _Intervals(NamedTuple):
    """Pieces of paths: which path (n,), from where to where, and λ_k at both ends, (n, 2)."""

    path: NDArray[np.intp]
    low: Float64Array
    high: Float64Array
    ends: Float64Array

    @property
    def length(self) -> Float64Array:
        return self.high - self.low

    def take(self, which: NDArray[np.intp] | slice) -> _Intervals:
        return _Intervals(self.path[which], self.low[which], self.high[which], self.ends[which])

    def halved(self, again: NDArray[np.bool_], middle: Float64Array) -> _Intervals:
        """The two halves of some intervals; ``middle`` is λ_k between them."""
        centre, halves, between = 0.5 * (self.low + self.high)[again], self.ends[again], middle[again]
        low, high = np.concatenate([self.low[again], centre]), np.concatenate([centre, self.high[again]])
        ends = np.concatenate([np.column_stack([halves[:, 0], between]), np.column_stack([between, halves[:, 1]])])
        return _Intervals(np.tile(self.path[again], 2), low, high, ends)


class _Rules(NamedTuple):
    """What two rules say about intervals."""

    parts: Float64Array  # (n, D): Kronrod's ∫ v vᵀ dt
    values: Float64Array  # (n, nodes): λ_k
    error: Float64Array  # an estimate of the error of ⟨Δ, ∫ v vᵀ⟩
    off: Float64Array  # and of the norm of that of ∫ v vᵀ
    slack: Float64Array  # what ⟨Δ, ∫ v vᵀ⟩ may miss because eigenvalues count as one
    crossed: NDArray[np.bool_]  # whether another eigenvalue may meet λ_k

    @classmethod
    def empty(cls, n: int, width: int) -> _Rules:
        parts, values = np.empty((n, width)), np.empty((n, len(_NODES)))
        return cls(parts, values, np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, bool))


@dataclass(frozen=True)
class _Paths:
    """Paths, and how exact they are to be."""

    start: Float64Array
    delta: Float64Array
    index: int
    tol: float
    reach: Float64Array  # how fast λ_k can change, or a part of the change
    size: Float64Array  # Frobenius norms of Δ, or of its largest part
    closing: Float64Array  # the most that two eigenvalues can approach each other in a unit of time
    rounding: Float64Array  # of λ_k

    @classmethod
    def of(cls, start: Float64Array, delta: Float64Array, index: int, tol: float, size: Float64Array | None) -> _Paths:
        low, high = extremes(delta)
        reach, norms = np.maximum(-low, high), _norms(delta)
        rounding = 4.0 * rounding_tol(packed_dim(start.shape[-1]), np.float64) * (spectral_norm(start) + reach)
        if size is not None:
            reach, norms = np.maximum(reach, size), np.maximum(norms, size)
        return cls(start, delta, index, tol, reach, norms, high - low, rounding)

    @property
    def dim(self) -> int:
        return packed_dim(self.start.shape[-1])

    @property
    def same(self) -> Float64Array:
        """(n,): the distance below which eigenvalues count as one."""
        return np.maximum(_SAME * self.tol, self.rounding)

    def ends(self) -> Float64Array:
        """λ_k at the start and at the end, (n, 2)."""
        both = (self.start, self.start + self.delta)
        return np.stack([eigenvalue(rows, self.dim, self.index) for rows in both], axis=1, dtype=float)

    def at(self, some: _Intervals, nodes: Float64Array) -> Float64Array:
        """A + tΔ at points of intervals, which are counted from −1 to 1: (n, nodes, D)."""
        times = 0.5 * (some.low + some.high)[:, None] + (0.5 * some.length)[:, None] * nodes
        rows = times[..., None] * self.delta[some.path, None]
        rows += self.start[some.path, None]
        return rows

    def matter(self, some: _Intervals) -> NDArray[np.bool_]:
        """Which intervals are long enough to change a sum or a part."""
        return some.length * self.reach[some.path] > _SHORT * self.tol

    def are_done(self, some: _Intervals, rules: _Rules) -> NDArray[np.bool_]:
        """Which intervals are exact enough, too short to matter, or more than crossings can cause."""
        enough = np.maximum(self.tol * np.maximum(some.length, _SHORT), self.rounding[some.path])
        most = max(_FEWEST_OPEN, _MOST_OPEN * self.dim)
        done = ((rules.error <= enough + rules.slack) & ~rules.crossed) | ~self.matter(some)
        return np.asarray(done | (np.bincount(some.path)[some.path] > most))


def _rules(paths: _Paths, some: _Intervals) -> _Rules:
    """What two rules say about all intervals, with v vᵀ, or with its mean where λ_k is repeated."""
    n, width = len(some.path), paths.start.shape[-1]
    rules = _Rules.empty(n, width)
    step = max(1, _MOST_FLOATS // (len(_NODES) * width))
    for begin in range(0, n, step):
        own = slice(begin, begin + step)
        block = some.take(own)
        values, vectors = eigenpair(paths.at(block, _NODES), paths.dim, paths.index)
        rules.values[own] = values
        _fill_(rules, own, paths, block, (np.asarray(vectors, np.float64), np.ones(values.shape)))
    for repeated in _repeated(paths, some, rules):
        _merge_(rules, repeated, paths, some.take(repeated))
    return rules


def _may_cross(paths: _Paths, some: _Intervals, gaps: Float64Array) -> NDArray[np.bool_]:
    """Whether gaps (n, nodes) to other eigenvalues may close between the nodes: each falls at most by ``closing``."""
    ways = (0.5 * some.length * paths.closing[some.path])[:, None]
    far = gaps - paths.rounding[some.path, None]
    between = (far[:, :-1] + far[:, 1:] <= ways * np.diff(_NODES)).any(axis=1)
    return np.asarray(between | (far[:, [0, -1]] <= ways * (1.0 + _NODES[0])).any(axis=1))


Weighted = tuple[Float64Array, Float64Array]  # vectors (n, nodes, [m,] d), and the weight of each


def _fill_(rules: _Rules, own: slice | NDArray[np.intp], paths: _Paths, some: _Intervals, points: Weighted) -> None:
    """Compare both rules, where Σ weight v vᵀ takes the place of v vᵀ."""
    vectors, weights = points
    half, delta = 0.5 * some.length, paths.delta[some.path]
    parts, differ = (_integral(vectors, weights, half[:, None] * rule) for rule in (_KRONROD, _KRONROD - _GAUSS))
    missed = np.abs(np.einsum("nd,nd->n", parts, delta) - (some.ends[:, 1] - some.ends[:, 0]))
    # Kronrod's rule is about as good as the square of its difference to Gauss's, relative to the length.
    apart = _norms(differ) / (2.0 * half)
    share = np.minimum(1.0, (10.0 * apart) ** 2)
    rules.parts[own], rules.off[own] = parts, 2.0 * half * share
    rules.error[own] = np.maximum(missed, 2.0 * half * paths.size[some.path] * share)


def _integral(vectors: Float64Array, weights: Float64Array, rule: Float64Array) -> Float64Array:
    """Σ rule weight v vᵀ over the points of each interval, (n, D)."""
    shares = weights * rule.reshape(*rule.shape, *[1] * (weights.ndim - 2))
    flat = vectors.reshape(len(vectors), -1, vectors.shape[-1])
    return np.asarray(eigenvalue_vjp(np.ascontiguousarray(flat), shares.reshape(len(flat), -1), sum_index=True))


def _repeated(paths: _Paths, some: _Intervals, rules: _Rules) -> list[NDArray[np.intp]]:
    """Intervals in whose middle λ_k is repeated, in pieces; those that another eigenvalue may cross are marked."""
    near = [i for i in (paths.index - 1, paths.index + 1) if 0 <= i < paths.dim]
    if not near or not len(some.path):
        return []
    others = eigenvalue(paths.at(some, _NODES[[_MIDDLE]])[:, 0], paths.dim, near)
    gap = np.abs(others - rules.values[:, [_MIDDLE]]).min(axis=1)
    close, matter = gap <= paths.same[some.path], paths.matter(some)
    doubtful = np.flatnonzero(gap - paths.rounding[some.path] <= 0.5 * some.length * paths.closing[some.path])
    for own in _pieces(doubtful[matter[doubtful]], paths.start.shape[-1]):
        block = some.take(own)
        others = eigenvalue(paths.at(block, _NODES), paths.dim, near)
        rules.crossed[own] = _may_cross(paths, block, np.abs(others - rules.values[own, :, None]).min(axis=-1))
    _blur_(rules, np.arange(len(gap)), paths, some, np.where(close & ~matter, 0.0, gap))
    return _pieces(np.flatnonzero(close & matter), paths.dim**2)


def _pieces(chosen: NDArray[np.intp], floats: int) -> list[NDArray[np.intp]]:
    """Intervals in pieces whose work arrays, of so many floats at each point, stay small."""
    step = max(1, _MOST_FLOATS // (len(_NODES) * floats))
    return [chosen[begin : begin + step] for begin in range(0, len(chosen), step)]


def _merge_(rules: _Rules, own: NDArray[np.intp], paths: _Paths, some: _Intervals) -> None:
    """Take the mean over the eigenspace of λ_k in intervals where it is repeated in every point."""
    values, vectors = eigenpair(paths.at(some, _NODES), paths.dim, range(paths.dim))
    distance = np.abs(values - values[..., [paths.index]])
    same = distance <= paths.same[some.path, None, None]
    every = np.flatnonzero((same.sum(axis=-1) > 1).all(axis=1))
    if every.size:
        mine, merged = own[every], some.take(every)
        weights = (same / same.sum(axis=-1, keepdims=True))[every]
        _fill_(rules, mine, paths, merged, (np.asarray(vectors[every], np.float64), weights))
        gaps = np.where(same, np.inf, distance)[every].min(axis=-1)
        _blur_(rules, mine, paths, merged, gaps[:, _MIDDLE])
        rules.slack[mine], rules.crossed[mine] = 2.0 * paths.same[merged.path], _may_cross(paths, merged, gaps)


def _blur_(rules: _Rules, own: NDArray[np.intp], paths: _Paths, some: _Intervals, gap: Float64Array) -> None:
    """Add what rounding does to eigenvectors at this distance from other eigenvalues."""
    turned = np.minimum(1.0, 0.25 * paths.rounding[some.path] / np.maximum(gap, np.finfo(np.float64).tiny))
    rules.off[own] = np.maximum(rules.off[own], np.sqrt(2.0) * some.length * turned)


def _norms(packed: Float64Array) -> Float64Array:
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", packed, packed)))
