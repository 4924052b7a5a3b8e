r"""Batched factorisations behind the constraints: V Λ Vᵀ, U Σ Wᵀ and lower triangles.

A matrix with nan or infinity gets the values nan, where LAPACK would refuse the whole batch.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray
from lambdak.eigen.packing import packed_dim, sym


def spectral_factors(packed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Λ (..., d) and V (..., d, d) of sym(packed) = V diag(Λ) Vᵀ."""
    finite = np.isfinite(packed).all(axis=-1, keepdims=True)
    matrix: FloatArray = sym(np.where(finite, packed, 0).astype(packed.dtype))
    values, basis = np.linalg.eigh(matrix)
    return np.where(finite, values, np.nan).astype(packed.dtype), basis


def singular_factors(entries: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """U, Σ and Wᵀ of the lower triangle L = U diag(Σ) Wᵀ with these entries (..., D)."""
    finite = np.isfinite(entries).all(axis=-1, keepdims=True)
    matrix = lower(np.where(finite, entries, 0).astype(entries.dtype))
    left, values, right = np.linalg.svd(matrix)
    return left, np.where(finite, values, np.nan).astype(entries.dtype), right


def transpose(matrix: FloatArray) -> FloatArray:
    """Mᵀ over the last two axes."""
    return np.swapaxes(matrix, -1, -2)


def lower(entries: FloatArray) -> FloatArray:
    """L (..., d, d) from the entries (..., D) of its lower triangle, row by row.

    >>> lower(np.array([1.0, 2.0, 3.0]))
    array([[1., 0.],
           [2., 3.]])
    """
    dim = packed_dim(entries.shape[-1])
    matrix = np.zeros((*entries.shape[:-1], dim, dim), entries.dtype)
    matrix[..., *_lower_indices(dim)] = entries
    return matrix


def lower_entries(matrix: FloatArray) -> FloatArray:
    """Entries (..., D) of the lower triangle, row by row; the rest is dropped."""
    return matrix[..., *_lower_indices(matrix.shape[-1])]


@lru_cache(maxsize=64)
def _lower_indices(dim: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of a lower triangle, kept: training asks for them in every step."""
    rows, columns = np.tril_indices(dim)
    for array in (rows, columns):
        array.flags.writeable = False
    return rows, columns


def lower_factor(matrix: FloatArray) -> FloatArray:
    """Entries of L with L Lᵀ = Mᵀ M and a diagonal ≥ 0, as L = Rᵀ from M = Q R.

    >>> lower_factor(np.array([[-2.0, 1.0], [0.0, 3.0]]))
    array([ 2., -1.,  3.])
    """
    _, upper = np.linalg.qr(matrix)
    diagonal = np.diagonal(upper, axis1=-2, axis2=-1)
    signs = np.where(diagonal < 0, -1, 1).astype(matrix.dtype)
    return lower_entries(transpose(upper * signs[..., :, None]))
