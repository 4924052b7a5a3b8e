r"""Attributions along a straight path: λ_k(A + Δ) − λ_k(A) = ⟨Δ, M⟩ with M = ∫₀¹ v(t) v(t)ᵀ dt, v of A + tΔ.

A sum Δ = Σ_i Δ_i is thereby shared out among its parts, ⟨Δ_i, M⟩ each: integrated gradients, for any split of Δ at the
price of one integral. Where eigenvalues come close v turns quickly, and where they cross it jumps: intervals are
halved until two rules agree, or until what is left of a jump is too short to matter. Where it stays repeated v is any
vector of a plane, and no halving helps: a path with more open intervals than crossings can cause is left as it is.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from lambdak.eigen import eigenpair, eigenvalue, eigenvalue_vjp
from lambdak.eigen.packing import packed_dim
from lambdak.pencil.spectrum import Float64Array, spectral_norm
from lambdak.pencil.tolerances import rounding_tol

# The four points of Gauss's rule and the five that Kronrod adds: one set of values gives two integrals to compare.
_ADDED = (0.976560250737573111534505359369920, 0.640286217496309982089060245459)
_GAUSS_POINTS, _GAUSS_WEIGHTS = legendre.leggauss(4)
_NODES = np.sort([*_GAUSS_POINTS, *_ADDED, *np.negative(_ADDED), 0.0])
_GAUSS = np.where(np.arange(9) % 2, np.repeat(_GAUSS_WEIGHTS, 2)[np.minimum(np.arange(9) - 1, 7)], 0.0)
_KRONROD = np.linalg.solve(legendre.legvander(_NODES, 8).T, 2.0 * np.eye(9)[0])
_MIDDLE = 4
_MOST_HALVINGS = 45
_SHORT = 0.05  # intervals below this length are few, around near-crossings: each may have this share of the error
_MOST_OPEN = 256  # intervals of one path at a time: crossings are fewer, so v has no limit there
_MOST_FLOATS = 1 << 18  # of the matrices that are in memory at once: they stay in cache


def mean_outer(start: Float64Array, delta: Float64Array, index: int, tol: float) -> Float64Array:
    """M = ∫₀¹ v vᵀ dt for paths from A to A + Δ, packed (n, D), so that ⟨Δ, M⟩ = λ_k(A + Δ) − λ_k(A) to ``tol``."""
    dim = packed_dim(start.shape[-1])
    mean = np.zeros_like(start)
    path = np.arange(len(start))
    reach = spectral_norm(delta)
    rounding = 4.0 * rounding_tol(dim, np.float64) * (spectral_norm(start) + reach)
    low, high = np.zeros(len(start)), np.ones(len(start))
    ends: Float64Array = np.stack(
        [eigenvalue(rows, dim, index) for rows in (start, start + delta)], axis=1, dtype=float
    )
    for _ in range(_MOST_HALVINGS):
        if not len(path):
            break
        parts, middle, error = _rules(start, delta, index, path, low, high, ends)
        length = high - low
        done = error <= np.maximum(tol * np.maximum(length, _SHORT), rounding[path])
        done |= length * reach[path] <= _SHORT * tol
        done |= np.bincount(path)[path] > _MOST_OPEN
        np.add.at(mean, path[done], parts[done])
        again = ~done
        path, centre = np.tile(path[again], 2), 0.5 * (low + high)[again]
        low, high = np.concatenate([low[again], centre]), np.concatenate([centre, high[again]])
        halves = ends[again]
        ends = np.concatenate([
            np.column_stack([halves[:, 0], middle[again]]), np.column_stack([middle[again], halves[:, 1]])
        ])  # fmt: skip
    return mean


def _rules(
    start: Float64Array,
    delta: Float64Array,
    index: int,
    path: NDArray[np.intp],
    low: Float64Array,
    high: Float64Array,
    ends: Float64Array,
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Kronrod's ∫ v vᵀ dt over intervals (n, D), λ_k in their middle, and an estimate of the error of ⟨Δ, ∫ v vᵀ⟩."""
    dim, width = packed_dim(start.shape[-1]), start.shape[-1]
    parts, middle, error = np.empty((len(path), width)), np.empty(len(path)), np.empty(len(path))
    step = max(1, _MOST_FLOATS // (len(_NODES) * width))
    for begin in range(0, len(path), step):
        some = slice(begin, begin + step)
        own, half = path[some], 0.5 * (high - low)[some]
        times = 0.5 * (low + high)[some, None] + half[:, None] * _NODES
        rows = times[..., None] * delta[own, None]
        rows += start[own, None]
        values, vectors = eigenpair(rows, dim, index)
        parts[some] = eigenvalue_vjp(vectors, half[:, None] * _KRONROD, sum_index=True)
        differ = eigenvalue_vjp(vectors, half[:, None] * (_KRONROD - _GAUSS), sum_index=True)
        middle[some] = values[:, _MIDDLE]
        missed = np.abs(np.einsum("nd,nd->n", parts[some], delta[own]) - (ends[some, 1] - ends[some, 0]))
        # Kronrod's rule is about as good as the square of its difference to Gauss's, relative to the length.
        apart = np.sqrt(np.einsum("nd,nd->n", differ, differ)) / (2.0 * half)
        size = np.sqrt(np.einsum("nd,nd->n", delta[own], delta[own]))
        error[some] = np.maximum(missed, 2.0 * half * size * np.minimum(1.0, (10.0 * apart) ** 2))
    return parts, middle, error
