"""Symmetric matrices from the isometric packed coordinates of :mod:`lambdak.eigen.packing` and back, in JAX."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from numpy.typing import NDArray

from jax import Array
from lambdak._checks import check_dim
from lambdak.eigen.packing import packed_size


def sym(packed: ArrayLike, dim: int, tridiagonal: bool = False) -> Array:
    """Symmetric matrices (..., d, d) from packed coordinates (..., D), or from the 2d − 1 of tridiagonal ones.

    Those are the diagonal, then the sub-diagonal times √2, as in :mod:`lambdak.torch.packing`.

    >>> sym(jnp.array([1.0, 2.0**0.5, 3.0]), 2).round(4).tolist()
    [[1.0, 1.0], [1.0, 3.0]]
    """
    coords = as_floats(packed, "packed")
    check_packed(coords, dim, tridiagonal)
    row, column, factor = layout(dim, tridiagonal)
    entry, scale = np.zeros((dim, dim), np.intp), np.zeros((dim, dim))
    entry[row, column] = entry[column, row] = np.arange(len(row))
    scale[row, column] = scale[column, row] = 1 / factor
    return coords[..., entry] * scale.astype(coords.dtype)


def unsym(matrix: ArrayLike) -> Array:
    """Packed coordinates (..., D) of symmetric matrices (..., d, d); an unsymmetric one is symmetrised.

    >>> unsym(jnp.array([[1.0, 1.0], [1.0, 3.0]]))
    Array([1.       , 1.4142135, 3.       ], dtype=float32)
    """
    full = as_floats(matrix, "matrix")
    if full.ndim < 2 or full.shape[-1] != full.shape[-2]:
        raise ValueError(f"matrix must have shape (..., d, d); got {full.shape}")
    row, column, factor = layout(check_dim(full.shape[-1]))
    return (full[..., row, column] + full[..., column, row]) * (factor / 2).astype(full.dtype)


def check_packed(coords: Array, dim: int, tridiagonal: bool = False) -> None:
    """Refuse what has not the coordinates of one matrix on its last axis."""
    wanted = 2 * check_dim(dim) - 1 if tridiagonal else packed_size(dim)
    if coords.ndim == 0 or coords.shape[-1] != wanted:
        raise ValueError(f"packed must have {wanted} entries on its last axis for dim={dim}; got shape {coords.shape}")


def as_floats(values: ArrayLike, name: str) -> Array:
    """An array of floats; what cannot be one is refused by name."""
    try:
        array = jnp.asarray(values)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of floats; got {type(values).__name__}: use jnp.asarray") from None
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise TypeError(f"{name} must be an array of floats; got {array.dtype}: use .astype(float)")
    return array


def layout(dim: int, tridiagonal: bool = False) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Row and column of every coordinate, and the factor √2 or 1 it carries."""
    if tridiagonal:
        i = np.arange(dim)
        row, column = np.concatenate([i, i[1:]]), np.concatenate([i, i[:-1]])
    else:
        row, column = np.tril_indices(dim)
    return row, column, np.where(row == column, 1.0, np.sqrt(2.0))
