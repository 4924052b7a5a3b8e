r"""Symmetric matrices as vectors: the isometric packed coordinates.

``sym(v)`` reads the lower triangle row by row, (0,0), (1,0), (1,1), (2,0), …, and divides off-diagonals by
√2, so that ‖v‖₂ = ‖sym(v)‖_F and ⟨v, w⟩ = tr(sym(v) sym(w)). ``unsym`` is its inverse and its adjoint.

√2 is irrational, and what is proven about stored numbers must be about rational matrices: the function that a stored
model stands for multiplies packed off-diagonals by the dyadic number :data:`ROOT_HALF`, by which the kernel unpacks
them in float64. Everything that is called exact means that function.
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt, prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import MAX_DIM, check_dim, check_floats
from lambdak._types import FloatArray

ROOT_HALF = 0.7071067811865476  # 6369051672525773 / 2**53, the float64 next to 1/√2
_LINE = 64  # bytes of a cache line
PAD = 16  # the kernel reads rows of coefficients in whole vectors, of at most this many numbers


def packed_size(dim: int) -> int:
    """D = d(d+1)/2, the number of packed coordinates of a d x d symmetric matrix.

    >>> packed_size(5)
    15
    """
    dim = check_dim(dim)
    return dim * (dim + 1) // 2


def padded_width(width: int) -> int:
    """The width rounded up to whole vectors: what a row of coefficients takes in memory.

    >>> padded_width(15), padded_width(16)
    (16, 16)
    """
    return -(-width // PAD) * PAD


def padded_size(dim: int) -> int:
    """Return :func:`packed_size`, rounded up to whole vectors.

    >>> padded_size(5), padded_size(7)
    (16, 32)
    """
    return padded_width(packed_size(dim))


def packed_dim(size: int) -> int:
    """Return d such that d(d+1)/2 == size.

    >>> packed_dim(15)
    5
    """
    dim = (isqrt(8 * size + 1) - 1) // 2
    if dim > MAX_DIM:
        raise ValueError(f"packed width must be at most {packed_size(MAX_DIM)} (d={MAX_DIM}); got {size}")
    if size < 1 or dim * (dim + 1) // 2 != size:
        below = min(max(dim, 1), MAX_DIM - 1)
        raise ValueError(
            f"packed width must be d(d+1)/2 for some d, such as {packed_size(below)} (d={below}) or "
            f"{packed_size(below + 1)} (d={below + 1}); got {size}"
        )
    return dim


@lru_cache(maxsize=64)
def _layout(dim: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Row and column of every packed coordinate, and the factor √2 or 1 it carries."""
    rows, cols = np.tril_indices(dim)
    weight = np.where(rows == cols, 1.0, np.sqrt(2.0))
    for array in (rows, cols, weight):
        array.flags.writeable = False
    return rows, cols, weight


def diagonal_indices(dim: int) -> NDArray[np.intp]:
    """Positions of the diagonal entries among the packed coordinates.

    >>> diagonal_indices(3)
    array([0, 2, 5])
    """
    steps = np.arange(check_dim(dim))
    return steps * (steps + 3) // 2


def sym(packed: ArrayLike) -> FloatArray:
    """Symmetric matrices (..., d, d) from packed coordinates (..., D).

    >>> sym([1.0, np.sqrt(2.0), 3.0])
    array([[1., 1.],
           [1., 3.]])
    """
    vector = check_floats(packed, "packed")
    dim = packed_dim(vector.shape[-1] if vector.ndim else 0)
    rows, cols, weight = _layout(dim)
    entries = vector / weight.astype(vector.dtype)
    matrix = np.empty((*vector.shape[:-1], dim, dim), vector.dtype)
    matrix[..., rows, cols] = entries
    matrix[..., cols, rows] = entries
    return matrix


def unsym(matrix: ArrayLike) -> FloatArray:
    """Packed coordinates (..., D) of symmetric matrices (..., d, d); an unsymmetric one is symmetrised.

    >>> unsym([[1.0, 1.0], [1.0, 3.0]])
    array([1.        , 1.41421356, 3.        ])
    """
    full = check_floats(matrix, "matrix")
    if full.ndim < 2 or full.shape[-1] != full.shape[-2]:
        raise ValueError(f"matrix must have shape (..., d, d); got {full.shape}")
    rows, cols, weight = _layout(full.shape[-1])
    return (full[..., rows, cols] + full[..., cols, rows]) * (weight / 2).astype(full.dtype)


def aligned_zeros(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Zeros that begin at a cache line: the kernel's vectors then never cross one, which costs up to half of the time.

    >>> aligned_zeros((3, 5)).ctypes.data % 64
    0
    """
    size = prod(shape)
    space = np.zeros(size + _LINE // 4, np.float32)
    first = -space.ctypes.data % _LINE // 4
    return space[first : first + size].reshape(shape)
