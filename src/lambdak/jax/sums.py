r"""Sums of eigenvalues, Σ_j w_j λ_j(A), in JAX: see :mod:`lambdak.torch.sums` for what holds of them."""

from __future__ import annotations

from jax.typing import ArrayLike

from jax import Array
from lambdak._checks import check_dim, check_int
from lambdak.jax.eigen import eigenvalue
from lambdak.jax.packing import as_floats


def eigenvalue_sum(packed: ArrayLike, dim: int, weight: ArrayLike) -> Array:
    """Σ_j w_j λ_j of symmetric matrices in packed coordinates (..., D), of shape (...).

    ``weight`` (d,), or (..., d) for weights of their own, belongs to the eigenvalues in ascending order.

    >>> import jax, jax.numpy as jnp
    >>> jax.grad(eigenvalue_sum)(jnp.array([2.0, 0.0, 5.0]), 2, jnp.array([0.25, 0.75])).tolist()
    [0.25, 0.0, 0.75]
    """
    weights = as_floats(weight, "weight")
    if weights.ndim == 0 or weights.shape[-1] != check_dim(dim):
        raise ValueError(f"weight must have {dim} entries on its last axis; got shape {weights.shape}")
    return (eigenvalue(packed, dim, list(range(dim))) * weights).sum(-1)


def ky_fan_sum(packed: ArrayLike, dim: int, count: int) -> Array:
    """S_k(A) = λ_{d−k+1} + … + λ_d, the sum of the ``count`` largest, of packed coordinates (..., D): convex in them.

    >>> import jax.numpy as jnp
    >>> round(ky_fan_sum(jnp.array([2.0, 0.0, 5.0, 0.0, 0.0, -1.0]), 3, 2).item(), 4)
    7.0
    """
    largest = check_int(count, "count", 1, check_dim(dim) + 1)
    return eigenvalue(packed, dim, list(range(dim - largest, dim))).sum(-1)
