r"""What every constraint offers: A = forward(θ) is a member of the set for every free parameter vector θ.

A constraint maps parameters (..., size) to packed matrices (..., D) and back, over any leading shape:

- ``forward(params)`` and its reverse derivative ``vjp(params, grad_packed)``, which is forward′(θ)ᵀ g;
- ``right_inverse(packed)``, with forward(right_inverse(A)) = A for members; of a matrix that is no member it
  takes the nearest member in the Frobenius norm, so that any wanted matrix can serve as a start;
- ``contains(packed)``, which tests a finished matrix without looking at parameters.

A matrix with nan yields nan for that matrix only, except in ``right_inverse``, which refuses it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_finite, check_floats, check_shape
from lambdak._types import FloatArray
from lambdak.eigen.packing import packed_dim, packed_size
from lambdak.pencil.tolerances import rounding_tol

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


def _packed_dim(packed: FloatArray) -> int:
    return packed_dim(packed.shape[-1] if packed.ndim else 0)
