r"""Eigenvalues as optimisation problems: Ky Fan's convex sums and the Courant–Fischer game, in float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen import eigenpair
from lambdak.eigen.packing import packed_dim, sym, unsym


class ConvexParts(NamedTuple):
    """f = plus − minus, both convex in z, each with a subgradient."""

    plus: Float64Array
    """Λ_k = λ_k + … + λ_d, (...,)."""
    minus: Float64Array
    """Λ_{k+1} = λ_{k+1} + … + λ_d, (...,); zero for the last eigenvalue."""
    plus_subgradient: Float64Array
    """tr(Uᵀ A_i U) over the eigenvectors k … d, (..., n)."""
    minus_subgradient: Float64Array
    """The same over the eigenvectors k+1 … d, (..., n)."""


class Game(NamedTuple):
    """An equilibrium of max_C min_u {uᵀ A(z) u : ‖u‖ = 1, C u = 0}."""

    C: Float64Array
    """The outer player's constraints, (k − 1, d): orthonormal rows."""
    u: Float64Array
    """The inner player's answer, (d,)."""
    value: float
    """uᵀ A(z) u = λ_k(A(z)), what the inner player pays."""


def ky_fan(rows: FloatArray, eig_idx: int, coefficients: FloatArray) -> ConvexParts:
    """Λ_k(A) = max_U {tr(Uᵀ A U) : Uᵀ U = I} and Λ_{k+1}(A) for packed rows (rows, D).

    The maximiser U gives the subgradient tr(Uᵀ A_i U); ``coefficients`` (n, D) are the packed A_i.
    """
    dim = packed_dim(rows.shape[-1])
    values, vectors = eigenpair(rows, dim, range(eig_idx, dim))  # (rows, m), (rows, m, d)
    first, upper = vectors[:, :1], vectors[:, 1:]
    minus = values[:, 1:].sum(axis=1)
    plus_slope, minus_slope = (_projector(part) @ coefficients.T for part in (first, upper))
    return ConvexParts(minus + values[:, 0], minus, minus_slope + plus_slope, minus_slope)


def courant_fischer(packed: FloatArray, eig_idx: int) -> Game:
    """λ_k(A) = max_C min_u {uᵀ A u : ‖u‖ = 1, C u = 0} for one packed matrix (D,).

    >>> game = courant_fischer(np.array([1.0, 0.0, 5.0]), 1)
    >>> np.abs(game.u).round(12), round(game.value, 12)
    (array([0., 1.]), 5.0)
    """
    dim = packed_dim(packed.shape[-1])
    _, vectors = eigenpair(packed, dim, range(eig_idx + 1))
    u = np.asarray(vectors[-1], np.float64)
    return Game(np.asarray(vectors[:-1], np.float64), u, float(u @ sym(packed) @ u))


def _projector(vectors: FloatArray) -> FloatArray:
    """U Uᵀ in packed coordinates, (rows, D), from orthonormal rows (rows, m, d)."""
    return unsym(np.swapaxes(vectors, 1, 2) @ vectors)
