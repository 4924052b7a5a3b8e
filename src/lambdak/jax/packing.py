"""Symmetric matrices from the isometric packed coordinates of :mod:`lambdak.eigen.packing` and back, in JAX."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from numpy.typing import NDArray

from jax import Array
from lambdak._checks import check_dim
from lambdak.eigen.packing import packed_size


def sym(packed: ArrayLike, dim: int) -> Array:
    """Symmetric matrices (..., d, d) from packed coordinates (..., D).

    >>> sym(jnp.array([1.0, 2.0**0.5, 3.0]), 2).round(4).tolist()
    [[1.0, 1.0], [1.0, 3.0]]
    """
    coords = jnp.asarray(packed)
    check_packed(coords, dim)
    row, column, factor = layout(dim)
    entry = np.zeros((dim, dim), np.intp)
    entry[row, column] = entry[column, row] = np.arange(len(row))
    return coords[..., entry] / factor[entry].astype(coords.dtype)


def unsym(matrix: ArrayLike) -> Array:
    """Packed coordinates (..., D) of symmetric matrices (..., d, d); an unsymmetric one is symmetrised.

    >>> unsym(jnp.array([[1.0, 1.0], [1.0, 3.0]]))
    Array([1.       , 1.4142135, 3.       ], dtype=float32)
    """
    full = jnp.asarray(matrix)
    if full.ndim < 2 or full.shape[-1] != full.shape[-2]:
        raise ValueError(f"matrix must have shape (..., d, d); got {full.shape}")
    _check_floats(full, "matrix")
    row, column, factor = layout(check_dim(full.shape[-1]))
    return (full[..., row, column] + full[..., column, row]) * (factor / 2).astype(full.dtype)


def check_packed(coords: Array, dim: int) -> None:
    """Refuse what is no array of floats with D entries on its last axis."""
    if coords.ndim == 0 or coords.shape[-1] != packed_size(dim):
        wanted = packed_size(dim)
        raise ValueError(f"packed must have {wanted} entries on its last axis for dim={dim}; got shape {coords.shape}")
    _check_floats(coords, "packed")


def _check_floats(array: Array, name: str) -> None:
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise TypeError(f"{name} must be an array of floats; got {array.dtype}: use .astype(float)")


def layout(dim: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Row and column of every packed coordinate, and the factor √2 or 1 it carries."""
    row, column = np.tril_indices(dim)
    return row, column, np.where(row == column, 1.0, np.sqrt(2.0))
