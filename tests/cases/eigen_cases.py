"""Random packed matrices, and LAPACK's own test ratios."""

from __future__ import annotations

import numpy as np

from lambdak import sym

DTYPES = [np.float32, np.float64]


def packed_rows(rng, n, dim, dtype=np.float64):
    return rng.standard_normal((n, dim * (dim + 1) // 2)).astype(dtype)


def reference(packed):
    """The matrices in float64, scaled to entries of at most 1, with their eigenvalues, norm and scale."""
    full = sym(packed.astype(np.float64))
    scale = np.abs(full).max(axis=(-2, -1), initial=0)
    scale[scale == 0] = 1
    full = full / scale[:, None, None]
    values = np.linalg.eigvalsh(full)
    norm = np.abs(values).max(-1)
    return full, values, np.where(norm == 0, 1, norm), scale


def lapack_ratios(packed, dim, index, value, vector, oracle=None):
    """‖Av - λv‖/(‖A‖dε), |λ - λ_ref|/(‖A‖dε) and |‖v‖ - 1|/(dε): the largest of each over the batch."""
    full, values, norm, scale = oracle or reference(packed)
    unit = dim * np.finfo(packed.dtype).eps
    v = vector.astype(np.float64)
    lam = value.astype(np.float64) / scale[:, None]
    residual = np.linalg.norm(v @ full - lam[..., None] * v, axis=-1).max(-1) / norm
    error = np.abs(lam - values[:, index]).max(-1) / norm
    length = np.abs(np.linalg.norm(v, axis=-1) - 1)
    return np.array([residual.max() / unit, error.max() / unit, length.max() / unit])


def orthogonality_ratio(vector):
    dim = vector.shape[-1]
    v = vector.astype(np.float64)
    gram = v @ v.transpose(0, 2, 1) - np.eye(v.shape[1])
    return np.abs(gram).max() / (dim * np.finfo(vector.dtype).eps)
