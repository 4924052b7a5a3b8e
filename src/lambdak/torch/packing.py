"""Symmetric matrices from coordinates and back, as differentiable functions of tensors.

Dense matrices have the isometric packed coordinates of :mod:`lambdak.eigen.packing`, D = d(d+1)/2 of them.
Tridiagonal ones have 2d − 1: the diagonal, then the sub-diagonal times √2, so that norms agree there too.
"""

from __future__ import annotations

from math import sqrt

import torch
from lambdak._checks import check_dim
from lambdak.eigen.packing import packed_size
from lambdak.torch.inputs import check_tensor
from torch import Tensor

STRUCTURES = ("dense", "tridiagonal")


def check_structure(structure: str) -> bool:
    """Whether the structure is tridiagonal; an unknown one is refused."""
    if structure not in STRUCTURES:
        raise ValueError(f"structure must be one of {STRUCTURES}; got {structure!r}")
    return structure == "tridiagonal"


def width(dim: int, tridiagonal: bool = False) -> int:
    """Coordinates of a d x d matrix.

    >>> width(5), width(5, tridiagonal=True)
    (15, 9)
    """
    return 2 * check_dim(dim) - 1 if tridiagonal else packed_size(dim)


def sym(coords: Tensor, dim: int, tridiagonal: bool = False) -> Tensor:
    """Symmetric matrices (..., d, d) from coordinates (..., width).

    >>> sym(torch.tensor([1.0, 2.0**0.5, 3.0]), 2)
    tensor([[1.0000, 1.0000],
            [1.0000, 3.0000]])
    """
    check_tensor(coords, "coords")
    if coords.ndim == 0 or coords.shape[-1] != width(dim, tridiagonal):
        wanted = width(dim, tridiagonal)
        raise ValueError(f"coords must have {wanted} entries on its last axis; got shape {tuple(coords.shape)}")
    i = torch.arange(dim, device=coords.device)
    low, high = torch.minimum(i, i[:, None]), torch.maximum(i, i[:, None])
    entry = torch.where(low == high, low, dim + low) if tridiagonal else high * (high + 1) // 2 + low
    factor = _off_diagonal(low == high, sqrt(0.5), coords)
    if tridiagonal:
        near = high - low <= 1
        entry, factor = torch.where(near, entry, 0), torch.where(near, factor, 0)
    return coords.index_select(-1, entry.flatten()).reshape(*coords.shape[:-1], dim, dim) * factor


def unsym(matrix: Tensor, tridiagonal: bool = False) -> Tensor:
    """Coordinates (..., width) of symmetric matrices (..., d, d): the adjoint of :func:`sym`.

    An unsymmetric matrix is symmetrised; of a matrix with more than three diagonals the tridiagonal part is taken.

    >>> unsym(torch.tensor([[1.0, 1.0], [1.0, 3.0]]))
    tensor([1.0000, 1.4142, 3.0000])
    """
    check_square(matrix)
    symmetric = (matrix + matrix.mT) / 2
    if tridiagonal:
        parts = symmetric.diagonal(dim1=-2, dim2=-1), symmetric.diagonal(-1, dim1=-2, dim2=-1) * sqrt(2.0)
        return torch.cat(parts, -1)
    dim = matrix.shape[-1]
    row, column = torch.tril_indices(dim, dim, device=matrix.device)
    factor = _off_diagonal(row == column, sqrt(2.0), matrix)
    return symmetric.flatten(-2).index_select(-1, row * dim + column) * factor


def check_square(matrix: Tensor) -> None:
    """Refuse what is no stack of square matrices."""
    check_tensor(matrix, "matrix")
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(f"matrix must have shape (..., d, d); got {tuple(matrix.shape)}")


def _off_diagonal(diagonal: Tensor, factor: float, like: Tensor) -> Tensor:
    """One on the diagonal and the factor elsewhere, in the precision of ``like``."""
    one = torch.ones((), dtype=like.dtype, device=like.device)
    return torch.where(diagonal, one, one * factor)
