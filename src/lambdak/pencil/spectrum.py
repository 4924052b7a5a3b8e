r"""What the spectrum of packed matrices says: norms, definiteness, repeated eigenvalues and gaps.

Everything here is float64, whatever the input, because these numbers are quoted as guarantees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen import eigenvalue
from lambdak.eigen.packing import packed_dim, unsym
from lambdak.pencil.tolerances import rounding_tol


def extremes(packed: FloatArray, n_jobs: int | None = None) -> tuple[Float64Array, Float64Array]:
    """(λ_1, λ_d) of packed matrices (..., D), each of shape (...,).

    >>> np.round(extremes(np.array([1.0, 0.0, -3.0])), 12)
    array([-3.,  1.])
    """
    dim = packed_dim(packed.shape[-1])
    ends = [0, dim - 1] if dim > 1 else [0]
    values = np.asarray(eigenvalue(packed.astype(np.float64), dim, ends, n_jobs=n_jobs), np.float64)  # (..., 1 or 2)
    return values[..., 0], values[..., -1]


def spectral_norm(packed: FloatArray, n_jobs: int | None = None) -> Float64Array:
    """‖A‖₂ = max(−λ_1, λ_d) of packed matrices (..., D), of shape (...,).

    >>> np.round(spectral_norm(np.array([[1.0, 0.0, -3.0]])), 12)
    array([3.])
    """
    low, high = extremes(packed, n_jobs)
    return np.asarray(np.maximum(-low, high))


def semidefinite_sign(packed: FloatArray, tol: float | None = None) -> NDArray[np.int8]:
    """+1 where λ_1 ≥ −tol ‖A‖₂ (PSD), −1 where λ_d ≤ tol ‖A‖₂ (NSD), 0 elsewhere.

    The zero matrix is both and yields +1; a matrix with nan yields 0. ``tol=None`` allows the rounding of the
    dtype the matrix is stored in.

    >>> semidefinite_sign(np.array([[1.0, 0.0, 2.0], [-1.0, 0.0, -2.0], [1.0, 0.0, -2.0]]))
    array([ 1, -1,  0], dtype=int8)
    """
    low, high = extremes(packed)
    slack = rounding_tol(packed_dim(packed.shape[-1]), packed.dtype) if tol is None else tol
    scale = slack * np.maximum(-low, high)
    return np.where(low >= -scale, 1, np.where(high <= scale, -1, 0)).astype(np.int8)


def repeated(values: Float64Array, index: int, tol: float) -> NDArray[np.bool_]:
    """Mask of the eigenvalues with |λ_j − λ_k| ≤ tol ‖A‖₂, from the whole spectrum (..., d).

    >>> repeated(np.array([0.0, 1.0, 1.0 + 1e-12, 2.0]), 1, 1e-8)
    array([False,  True,  True, False])
    """
    scale = np.abs(values).max(axis=-1, keepdims=True)
    return np.asarray(np.abs(values - values[..., index, None]) <= tol * scale)


def eigengap(values: Float64Array, index: int, tol: float) -> Float64Array:
    """γ_k = min |λ_j − λ_k| over the eigenvalues that differ from λ_k, infinite when none does.

    >>> float(eigengap(np.array([0.0, 1.0, 1.0, 4.0]), 1, 1e-8))
    1.0
    """
    distance = np.abs(values - values[..., index, None])
    return np.asarray(np.where(repeated(values, index, tol), np.inf, distance).min(axis=-1))


def eigenspace_norms(matrices: Float64Array, vectors: Float64Array, same: NDArray[np.bool_]) -> Float64Array:
    """‖Vᵀ A_i V‖₂, (rows, n): ``vectors`` (rows, d, d) hold eigenvectors in rows, V those marked by ``same``.

    Rows without a marked eigenvector (a spectrum of nan) yield nan.

    >>> swap = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    >>> eigenspace_norms(swap, np.eye(2)[None], np.array([[True, False]]))
    array([[0.]])
    >>> eigenspace_norms(swap, np.eye(2)[None], np.array([[True, True]]))
    array([[1.]])
    """
    norms = np.full((len(vectors), len(matrices)), np.nan)
    multiplicity = same.sum(axis=-1)
    first = same.argmax(axis=-1)
    for m in np.unique(multiplicity[multiplicity > 0]):
        rows = np.flatnonzero(multiplicity == m)
        basis = vectors[rows[:, None], first[rows, None] + np.arange(m)]  # (rows, m, d)
        norms[rows] = spectral_norm(unsym(_compress(matrices, basis)))
    return norms


def _compress(matrices: Float64Array, basis: Float64Array) -> Float64Array:
    """Vᵀ A_i V, (rows, n, m, m): one matrix product for all A_i V, then one small one per row."""
    (rows, m, dim), n = basis.shape, len(matrices)
    stacked = np.swapaxes(matrices, 0, 1).reshape(dim, n * dim)
    images = (basis.reshape(rows * m, dim) @ stacked).reshape(rows, m * n, dim)
    return np.swapaxes((images @ np.swapaxes(basis, 1, 2)).reshape(rows, m, n, m), 1, 2)
