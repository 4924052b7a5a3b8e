r"""Proofs that many matrices are positive semidefinite, in float64, and still proofs.

Rump's test: if Cholesky's factorisation of H = A − c I runs to its end in floating-point arithmetic, then RᵀR = H + Δ
with ‖Δ‖₂ ≤ γ_{d+1} / (1 − γ_{d+1}) tr H, whatever the order of summation (Higham, Accuracy and Stability of Numerical
Algorithms, theorem 10.3). So A, and every matrix within e of it, is positive semidefinite if c exceeds that bound, what
rounding did to H, and e. A matrix for which the test fails may be semidefinite nevertheless:
:mod:`lambdak.pencil.exact` decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.eigen.packing import ROOT_HALF, packed_dim
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.pencil.spectrum import spectral_norm

UNIT = float(np.finfo(np.float64).eps) / 2  # of rounding: |fl(x) − x| ≤ UNIT |x|
SAFE = 1.01  # covers second-order terms, and the rounding of the bounds themselves

_TINY = 1e-290  # relative to the largest entry: covers what underflow can do
_NORMAL = float(np.finfo(np.float64).tiny)  # the smallest size that the bound on an eigenvalue's error is relative to
_BLOCK_FLOATS = 1 << 20


def frobenius(packed: Float64Array) -> Float64Array:
    """‖A‖_F of packed matrices (..., D), (...,), never too small.

    >>> float(frobenius(np.array([3.0, 0.0, 4.0]))) >= 5.0
    True
    """
    size = np.abs(packed).max(axis=-1, initial=0.0)
    unit = np.where(size > 0, size, 1.0)
    shares = packed / unit[..., None]
    return np.asarray(size * np.sqrt((shares * shares).sum(axis=-1)) * (1 + 4 * packed.shape[-1] * UNIT))


def norm_bound(packed: Float64Array) -> Float64Array:
    """At least ‖A‖₂ of packed matrices (..., D), and at most a few roundings more, (...,).

    >>> 3.0 <= float(norm_bound(np.array([3.0, 0.0, -1.0]))) < 3.0 + 1e-11
    True
    """
    error, size = eigenvalue_error(packed_dim(packed.shape[-1])), frobenius(packed)
    return np.asarray(spectral_norm(packed) + SAFE * error * np.maximum(size, _NORMAL * (size > 0)))


def proven_psd(packed: Float64Array, error: Float64Array) -> NDArray[np.bool_]:
    """Where every symmetric matrix within ``error`` (n,) of packed (n, D), in Frobenius norm, is proven semidefinite.

    >>> proven_psd(np.array([[1.0, 0.0, 1.0], [1.0, 2.0, 1.0], [0.0, 0.0, 0.0]]), np.zeros(3))
    array([ True, False,  True])
    """
    step = max(1, _BLOCK_FLOATS // packed_dim(packed.shape[-1]) ** 2)
    parts = [_proven(packed[i : i + step], error[i : i + step]) for i in range(0, len(packed), step)]
    return np.concatenate(parts) if parts else np.zeros(0, np.bool_)


def _proven(packed: Float64Array, error: Float64Array) -> NDArray[np.bool_]:
    size = np.abs(packed).max(axis=1)
    zero = (size == 0) & (error == 0)
    with np.errstate(all="ignore"):  # what overflows fails the comparisons below
        unit = np.ldexp(1.0, -np.frexp(np.where(size > 0, size, 1.0))[1])  # a power of two: scaling is exact
        matrices = _unpacked(packed * unit[:, None])
        trace = np.abs(np.einsum("nii->ni", matrices)).sum(axis=1)
        rounding = (len(matrices[0]) + 4) * UNIT * trace + UNIT * frobenius(packed * unit[:, None])
        shift = SAFE * (rounding + error * unit) + _TINY
        np.einsum("nii->ni", matrices)[...] -= shift[:, None]
        return np.asarray(zero | _cholesky_ends(matrices))


def _unpacked(packed: Float64Array) -> Float64Array:
    """Full matrices (n, d, d), off-diagonals rounded once."""
    dim = packed_dim(packed.shape[-1])
    rows, columns = np.tril_indices(dim)
    matrices = np.empty((len(packed), dim, dim))
    entries = packed * np.where(rows == columns, 1.0, ROOT_HALF)
    matrices[:, rows, columns] = matrices[:, columns, rows] = entries
    return matrices


def _cholesky_ends(matrices: Float64Array) -> NDArray[np.bool_]:
    """Whether every pivot of Cholesky's factorisation is positive; the matrices (n, d, d) are overwritten."""
    positive = np.ones(len(matrices), np.bool_)
    for k in range(matrices.shape[1]):
        pivot = matrices[:, k, k]
        positive &= pivot > 0
        column = matrices[:, k + 1 :, k] / np.sqrt(np.where(pivot > 0, pivot, 1.0))[:, None]
        matrices[:, k + 1 :, k + 1 :] -= column[:, :, None] * column[:, None, :]
    return positive
