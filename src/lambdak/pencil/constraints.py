r"""Constraints by construction, one class each, and the registry of those that keep a matrix semidefinite.

A new constraint is a class here, with the contract of :class:`Constraint`; a semidefinite one is also in the registry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray
from lambdak.eigen.packing import diagonal_indices, packed_dim, packed_size, sym, unsym
from lambdak.pencil.constraint_contract import Constraint, Mask
from lambdak.pencil.factors import (
    lower,
    lower_entries,
    lower_factor,
    singular_factors,
    spectral_factors,
    transpose,
)
from lambdak.pencil.spectrum import semidefinite_sign
from lambdak.pencil.squareplus import squareplus, squareplus_inverse, squareplus_slope

__all__ = [
    "DIAGONAL_NSD",
    "DIAGONAL_PSD",
    "FREE",
    "NSD",
    "PSD",
    "SEMIDEFINITE",
    "Constraint",
    "DiagonalPSD",
    "Factor",
    "Family",
    "Free",
    "Negative",
    "RootFactor",
    "SpectralSquareplus",
    "Tridiagonal",
]


class _Semidefinite(Constraint):
    """The part that all positive-semidefinite families share."""

    def _contains(self, packed: FloatArray, tol: float) -> Mask:
        return np.asarray(semidefinite_sign(packed, tol) == 1)


@final
@dataclass(frozen=True)
class Free(Constraint):
    """A = sym(θ): every symmetric matrix."""

    def _forward(self, theta: FloatArray) -> FloatArray:
        return theta.copy()

    def _vjp(self, theta: FloatArray, grad: FloatArray) -> FloatArray:
        return grad.copy()

    def _right_inverse(self, packed: FloatArray) -> FloatArray:
        return packed.copy()

    def _contains(self, packed: FloatArray, tol: float) -> Mask:
        return np.ones(packed.shape[:-1], np.bool_)


@final
@dataclass(frozen=True)
class Factor(_Semidefinite):
    """A = L Lᵀ ⪰ 0, with θ the entries of the lower triangle L, row by row.

    The derivative vanishes at L = 0: do not start there.

    >>> Factor().forward([2.0, 1.0, 3.0])  # L = [[2, 0], [1, 3]]
    array([ 4.        ,  2.82842712, 10.        ])
    """

    def _forward(self, theta: FloatArray) -> FloatArray:
        factor = lower(theta)
        return unsym(factor @ transpose(factor))

    def _vjp(self, theta: FloatArray, grad: FloatArray) -> FloatArray:
        return lower_entries(2 * sym(grad) @ lower(theta))

    def _right_inverse(self, packed: FloatArray) -> FloatArray:
        values, basis = spectral_factors(packed)
        # QR of √Λ Vᵀ instead of Cholesky, which a singular matrix stops.
        return lower_factor(np.sqrt(np.maximum(values, 0))[..., :, None] * transpose(basis))


@final
@dataclass(frozen=True)
class RootFactor(_Semidefinite):
    """A = (L Lᵀ)^{1/2} ⪰ 0, the polar factor U Σ Uᵀ of L = U Σ Wᵀ, with θ the lower triangle row by row.

    A is homogeneous of degree one in L, so steps in θ and in A have the same scale. A singular L is a kink,
    as 0 is of |x|: there ``vjp`` is the limit of the derivatives at L + t U Wᵀ, t → 0+, for the SVD found.

    >>> RootFactor().forward([-3.0])
    array([3.])
    """

    def _forward(self, theta: FloatArray) -> FloatArray:
        left, singular, _ = singular_factors(theta)
        return unsym(left * singular[..., None, :] @ transpose(left))

    def _vjp(self, theta: FloatArray, grad: FloatArray) -> FloatArray:
        left, singular, right = singular_factors(theta)
        total = singular[..., :, None] + singular[..., None, :]
        # The root's slope 1 / (σ_i + σ_j) times 2L: the product stays in [0, 2] where the slope explodes.
        ratio = np.divide(2 * singular[..., None, :], total, out=np.ones_like(total), where=total != 0)
        return lower_entries(left @ (transpose(left) @ sym(grad) @ left * ratio) @ right)

    def _right_inverse(self, packed: FloatArray) -> FloatArray:
        values, basis = spectral_factors(packed)
        # R of A = QR has RᵀR = A², so L = Rᵀ without squaring A.
        return lower_factor(basis * np.maximum(values, 0)[..., None, :] @ transpose(basis))


@final
@dataclass(frozen=True)
class SpectralSquareplus(_Semidefinite):
    """A = V squareplus(Λ) Vᵀ ≻ 0 for sym(θ) = V Λ Vᵀ: smooth in θ everywhere.

    A zero eigenvalue is reached in the limit only, and ``right_inverse`` raises eigenvalues to √ε / 2 times the
    largest, or times 1 if that is larger: a smaller one would need a parameter so large that its rounding spoils it.

    >>> SpectralSquareplus().forward([0.75, 0.0, 0.0])
    array([1. , 0. , 0.5])
    """

    def _forward(self, theta: FloatArray) -> FloatArray:
        values, basis = spectral_factors(theta)
        return unsym(basis * squareplus(values)[..., None, :] @ transpose(basis))

    def _vjp(self, theta: FloatArray, grad: FloatArray) -> FloatArray:
        values, basis = spectral_factors(theta)
        slope = squareplus_slope(values[..., :, None], values[..., None, :])  # Daleckii–Krein
        return unsym(basis @ (transpose(basis) @ sym(grad) @ basis * slope) @ transpose(basis))

    def _right_inverse(self, packed: FloatArray) -> FloatArray:
        values, basis = spectral_factors(packed)
        info = np.finfo(packed.dtype)
        floor = np.sqrt(info.eps) / 2 * np.clip(values[..., -1:], info.tiny / info.eps, 1)
        inverse = squareplus_inverse(np.maximum(values, floor).astype(packed.dtype))
        return unsym(basis * inverse[..., None, :] @ transpose(basis))


@final
@dataclass(frozen=True)
class DiagonalPSD(Constraint):
    """A = diag(squareplus(θ)) ≻ 0, d parameters: the gauge makes one monotone feature diagonal for free.

    A zero entry is reached in the limit only; ``right_inverse`` raises entries to the smallest normal number.

    >>> DiagonalPSD().forward([0.0, 0.75])
    array([0.5, 0. , 1. ])
    """

    def size(self, dim: int) -> int:
        """Return d."""
        return len(diagonal_indices(dim))

    def dim(self, size: int) -> int:
        """Return the size itself."""
        return len(diagonal_indices(size))

    def _forward(self, theta: FloatArray) -> FloatArray:
        return _scatter(squareplus(theta), diagonal_indices(theta.shape[-1]), theta.shape[-1])

    def _vjp(self, theta: FloatArray, grad: FloatArray) -> FloatArray:
        return grad[..., diagonal_indices(theta.shape[-1])] * squareplus_slope(theta, theta)

    def _right_inverse(self, packed: FloatArray) -> FloatArray:
        diagonal = packed[..., diagonal_indices(packed_dim(packed.shape[-1]))]
        return squareplus_inverse(np.maximum(diagonal, np.finfo(packed.dtype).tiny))

    def _contains(self, packed: FloatArray, tol: float) -> Mask:
        kept = diagonal_indices(packed_dim(packed.shape[-1]))
        return np.asarray(_only(packed, kept, tol) & (semidefinite_sign(packed, tol) == 1))


@final
@dataclass(frozen=True)
class Tridiagonal(Constraint):
    """A tridiagonal, 2d − 1 parameters: the diagonal, then the sub-diagonal times √2 (packed coordinates).

    >>> Tridiagonal().forward([1.0, 2.0, 3.0, 4.0, 5.0])
    array([1., 4., 2., 0., 5., 3.])
    """

    def size(self, dim: int) -> int:
        """Return 2d − 1."""
        return len(_tridiagonal_indices(dim))

    def dim(self, size: int) -> int:
        """Return (size + 1) / 2."""
        if size % 2 == 0:
            raise ValueError(f"params must have 2d - 1 entries on its last axis for some d; got {size}")
        return (size + 1) // 2

    def _forward(self, theta: FloatArray) -> FloatArray:
        dim = self.dim(theta.shape[-1])
        return _scatter(theta, _tridiagonal_indices(dim), dim)

    def _vjp(self, theta: FloatArray, grad: FloatArray) -> FloatArray:
        return grad[..., _tridiagonal_indices(self.dim(theta.shape[-1]))]

    def _right_inverse(self, packed: FloatArray) -> FloatArray:
        return packed[..., _tridiagonal_indices(packed_dim(packed.shape[-1]))]

    def _contains(self, packed: FloatArray, tol: float) -> Mask:
        return _only(packed, _tridiagonal_indices(packed_dim(packed.shape[-1])), tol)


@final
@dataclass(frozen=True)
class Negative(Constraint):
    """A = −B with B in ``constraint``: negative-semidefinite matrices from a positive-semidefinite family.

    >>> bool(NSD.contains([-1.0, 0.0, -2.0]))
    True
    """

    constraint: Constraint

    def size(self, dim: int) -> int:
        """Return the inner constraint's size."""
        return self.constraint.size(dim)

    def dim(self, size: int) -> int:
        """Return the inner constraint's dim."""
        return self.constraint.dim(size)

    def _forward(self, theta: FloatArray) -> FloatArray:
        return -self.constraint._forward(theta)

    def _vjp(self, theta: FloatArray, grad: FloatArray) -> FloatArray:
        return -self.constraint._vjp(theta, grad)

    def _right_inverse(self, packed: FloatArray) -> FloatArray:
        return self.constraint._right_inverse(-packed)

    def _contains(self, packed: FloatArray, tol: float) -> Mask:
        return self.constraint._contains(-packed, tol)


FREE = Free()
PSD = SpectralSquareplus()
NSD = Negative(PSD)
DIAGONAL_PSD = DiagonalPSD()
DIAGONAL_NSD = Negative(DIAGONAL_PSD)


@final
@dataclass(frozen=True)
class Family:
    """A way to keep a matrix positive semidefinite, and what distinguishes it from the others."""

    constraint: Constraint
    reaches_zero: bool  # whether the zero matrix is a member, not only a limit of members
    keeps_scale: bool  # whether steps in θ and in A have the same scale
    allows_tridiagonal: bool  # whether θ can be restricted so that A is tridiagonal


# By the names that the settings of modules and studies use.
SEMIDEFINITE = {
    "diagonal": Family(DIAGONAL_PSD, reaches_zero=False, keeps_scale=False, allows_tridiagonal=True),
    "factor": Family(Factor(), reaches_zero=True, keeps_scale=False, allows_tridiagonal=True),
    "root": Family(RootFactor(), reaches_zero=True, keeps_scale=True, allows_tridiagonal=False),
    "squareplus": Family(PSD, reaches_zero=False, keeps_scale=False, allows_tridiagonal=False),
}


def _tridiagonal_indices(dim: int) -> NDArray[np.intp]:
    diagonal = diagonal_indices(dim)
    return np.concatenate([diagonal, diagonal[1:] - 1])


def _scatter(entries: FloatArray, indices: NDArray[np.intp], dim: int) -> FloatArray:
    packed = np.zeros((*entries.shape[:-1], packed_size(dim)), entries.dtype)
    packed[..., indices] = entries
    return packed


def _only(packed: FloatArray, indices: NDArray[np.intp], tol: float) -> Mask:
    """Whether all but the entries at ``indices`` are negligible."""
    rest = np.delete(packed, indices, axis=-1)
    return np.asarray(np.abs(rest).max(axis=-1, initial=0.0) <= tol * np.abs(packed).max(axis=-1))
