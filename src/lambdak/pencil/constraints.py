r"""Constraints by construction: A = forward(θ) is a member of the set for every free parameter vector θ.

Every constraint maps parameters (..., size) to packed matrices (..., D) and back, over any leading shape:

- ``forward(params)`` and its reverse derivative ``vjp(params, grad_packed)``, which is forward′(θ)ᵀ g;
- ``right_inverse(packed)``, with forward(right_inverse(A)) = A for members; of a matrix that is no member it
  takes the nearest member in the Frobenius norm, so that any wanted matrix can serve as a start;
- ``contains(packed)``, which tests a finished matrix without looking at parameters.

A matrix with nan yields nan for that matrix only, except in ``right_inverse``, which refuses it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import FloatArray, check_finite, check_floats, check_shape
from lambdak.eigen.packing import diagonal_indices, packed_dim, packed_size, sym, unsym
from lambdak.pencil.factors import (
    lower,
    lower_entries,
    lower_factor,
    singular_factors,
    spectral_factors,
    transpose,
)
from lambdak.pencil.spectrum import rounding_tol, semidefinite_sign
from lambdak.pencil.squareplus import squareplus, squareplus_inverse, squareplus_slope

Mask = NDArray[np.bool_]


class Constraint(ABC):
    """A = forward(θ): a set of symmetric matrices that is the image of a vector space."""

    def size(self, dim: int) -> int:
        """Return the number of free parameters of a d x d matrix; D unless the set is thinner."""
        return packed_size(dim)

    def dim(self, size: int) -> int:
        """Return the d that has ``size`` free parameters."""
        return packed_dim(size)

    def forward(self, params: ArrayLike) -> FloatArray:
        """A(θ) in packed coordinates (..., D), from parameters (..., size)."""
        return self._forward(self._check_params(params))

    def vjp(self, params: ArrayLike, grad_packed: ArrayLike) -> FloatArray:
        """(∂A/∂θ)ᵀ g, (..., size), for a gradient g (..., D) with respect to forward(params)."""
        theta = self._check_params(params)
        width = packed_size(self.dim(theta.shape[-1]))
        grad = check_floats(grad_packed, "grad_packed", theta.dtype)
        return self._vjp(theta, check_shape(grad, "grad_packed", (*theta.shape[:-1], width)))

    def right_inverse(self, packed: ArrayLike) -> FloatArray:
        """θ (..., size) with forward(θ) = A for a member A (..., D), and the nearest member otherwise."""
        array = check_finite(check_floats(packed, "packed"), "packed")
        _packed_dim(array)
        return self._right_inverse(array)

    def contains(self, packed: ArrayLike, tol: float | None = None) -> Mask:
        """Return whether A is a member, (...,), up to ``tol`` relative to its norm; None allows rounding."""
        array = check_floats(packed, "packed")
        slack = rounding_tol(_packed_dim(array), array.dtype) if tol is None else tol
        return np.isfinite(array).all(axis=-1) & self._contains(array, slack)

    def _check_params(self, params: ArrayLike) -> FloatArray:
        theta = check_floats(params, "params")
        self.dim(theta.shape[-1] if theta.ndim else 0)
        return theta

    @abstractmethod
    def _forward(self, theta: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _vjp(self, theta: FloatArray, grad: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _right_inverse(self, packed: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _contains(self, packed: FloatArray, tol: float) -> Mask: ...


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


def _packed_dim(packed: FloatArray) -> int:
    return packed_dim(packed.shape[-1] if packed.ndim else 0)


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
