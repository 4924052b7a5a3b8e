"""Random pencils and rows."""

from __future__ import annotations

import numpy as np

from lambdak.eigen.packing import packed_size
from lambdak.pencil import Pencil

PAULI_X = np.array([[0.0, 1.0], [1.0, 0.0]])
PAULI_Z = np.array([[1.0, 0.0], [0.0, -1.0]])


def random_pencil(dim=5, n_features=3, eig_idx=None, seed=0, dtype=np.float64):
    packed = np.random.default_rng(seed).standard_normal((n_features + 1, packed_size(dim)))
    return Pencil(packed.astype(dtype), eig_idx)


def random_rows(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape)


def dense_values(f, Z):
    matrices = f.matrices.astype(np.float64)
    return np.linalg.eigvalsh(matrices[0] + np.tensordot(Z, matrices[1:], axes=1))


def certificates(f, Z):
    return f.influence_bound(Z), f.gap(Z), *f.change_bound(Z), *f.convex_parts(Z)


def cone(eig_idx):
    """λ(z) = ±√(z_0² + z_1²): a cone with its tip, a repeated eigenvalue, at zero."""
    return Pencil.from_matrices(np.array([np.zeros((2, 2)), PAULI_X, PAULI_Z]), eig_idx)
