r"""λ_k and v_k of many small symmetric matrices as JAX functions: by the compiled kernel, or in pure XLA.

On CPUs values and vectors come by ``jax.pure_callback`` from the kernel, one call for a whole batch, also under
``vmap``; elsewhere :mod:`lambdak.jax.device` computes them, see :func:`lambdak.jax.host_kernel`. Derivatives are
``jax.custom_jvp`` rules, so that forward and reverse mode, any nesting of them, ``jit`` and ``vmap`` work::

    dλ = vᵀ dA v        dv = R dA v        R = (λ − A)⁺

dλ exists whatever the gaps are (where λ_k is repeated it is a Clarke derivative). R h solves the linear system
(λ − A + v vᵀ) x = h − v vᵀh, which ``jax.lax.custom_linear_solve`` differentiates and transposes.

Arrays are float32, or float64 with ``jax.config.update("jax_enable_x64", True)``; half precision is computed in
float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import sqrt
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

import jax
from jax import Array
from lambdak import eigen
from lambdak._checks import check_dim, check_index
from lambdak._types import FloatArray
from lambdak.eigen.packing import sym as host_sym
from lambdak.jax.choice import is_host
from lambdak.jax.device import solve as device
from lambdak.jax.packing import as_floats, check_packed, layout, sym, unsym

_HALVES = (jnp.float16, jnp.bfloat16)
_Indices = tuple[int, ...]


class EigenPair(NamedTuple):
    """Eigenvalues (...) and unit eigenvectors (..., d); with several indices (..., m) and (..., m, d)."""

    value: Array
    vector: Array


def eigenvalue(packed: ArrayLike, dim: int, index: int | Sequence[int]) -> Array:
    """λ_k of symmetric matrices in packed coordinates (..., D), of shape (...) or, for m indices, (..., m).

    ``index`` is zero-based in ascending order; it and ``dim`` are Python numbers, not traced ones.

    >>> jax.grad(eigenvalue)(jnp.array([2.0, 0.0, 5.0]), 2, 1).tolist()
    [0.0, 0.0, 1.0]
    """
    return _value(packed, dim, index, False)


def eigenpair(packed: ArrayLike, dim: int, index: int | Sequence[int]) -> EigenPair:
    """λ_k and a unit eigenvector v_k of symmetric matrices in packed coordinates; see :func:`eigenvalue`.

    The sign of a vector is arbitrary but reproducible. Its derivative grows like 1/gap, and where λ_k is repeated to
    rounding it is finite but as arbitrary as the vector is.

    >>> value, vector = eigenpair(jnp.array([2.0, 0.0, 5.0]), 2, 1)
    >>> value.item(), abs(vector).tolist()
    (5.0, [0.0, 1.0])
    """
    return _pair(packed, dim, index, False)


def tridiagonal_eigenvalue(diagonal: ArrayLike, offdiagonal: ArrayLike, index: int | Sequence[int]) -> Array:
    """λ_k of symmetric tridiagonal matrices, in O(d) each, from diagonals (..., d) and off-diagonals (..., d − 1).

    d goes up to 512, as that of dense matrices does.

    >>> round(tridiagonal_eigenvalue(jnp.zeros(2), jnp.array([2.0]), 1).item(), 4)
    2.0
    """
    return _value(*_joined(diagonal, offdiagonal), index, True)


def tridiagonal_eigenpair(diagonal: ArrayLike, offdiagonal: ArrayLike, index: int | Sequence[int]) -> EigenPair:
    """λ_k and v_k of symmetric tridiagonal matrices; see :func:`tridiagonal_eigenvalue`."""
    return _pair(*_joined(diagonal, offdiagonal), index, True)


def spectral_norm(packed: ArrayLike, dim: int, tridiagonal: bool = False) -> Array:
    """‖A‖₂ = max(λ_d, −λ_1) of symmetric matrices in coordinates, (...), see :func:`lambdak.jax.sym`.

    >>> round(spectral_norm(jnp.array([2.0, 0.0, -5.0]), 2).item(), 4)
    5.0
    """
    values = _value(packed, dim, sorted({0, check_dim(dim) - 1}), tridiagonal)
    return jnp.maximum(values[..., -1], -values[..., 0])


def coordinate_eigenvalue(coords: Array, dim: int, index: int, tridiagonal: bool) -> Array:
    """λ_k from coordinates of either structure, (...)."""
    return _value(coords, dim, index, tridiagonal)


def coordinate_eigenpair(coords: Array, dim: int, index: int, tridiagonal: bool) -> EigenPair:
    """λ_k and v_k from coordinates of either structure, (...) and (..., d)."""
    return _pair(coords, dim, index, tridiagonal)


def _joined(diagonal: ArrayLike, offdiagonal: ArrayLike) -> tuple[Array, int]:
    """Coordinates of tridiagonal matrices, and their size."""
    first, second = as_floats(diagonal, "diagonal"), as_floats(offdiagonal, "offdiagonal")
    dim = first.shape[-1] if first.ndim else 0
    if first.shape[:-1] != second.shape[:-1] or second.shape[-1:] != (dim - 1,):
        raise ValueError(
            f"diagonal and offdiagonal must have shapes (..., d) and (..., d - 1); got {first.shape} and {second.shape}"
        )
    return jnp.concatenate([first, second * sqrt(2.0)], -1), dim


def _value(packed: ArrayLike, dim: int, index: int | Sequence[int], tridiagonal: bool) -> Array:
    coords, indices, single = _checked(packed, dim, index, tridiagonal)
    value = _values(_wide(coords), dim, indices, tridiagonal).astype(coords.dtype)
    return value[..., 0] if single else value


def _pair(packed: ArrayLike, dim: int, index: int | Sequence[int], tridiagonal: bool) -> EigenPair:
    coords, indices, single = _checked(packed, dim, index, tridiagonal)
    value, vector = (part.astype(coords.dtype) for part in _pairs(_wide(coords), dim, indices, tridiagonal))
    return EigenPair(value[..., 0], vector[..., 0, :]) if single else EigenPair(value, vector)


def _checked(
    packed: ArrayLike, dim: int, index: int | Sequence[int], tridiagonal: bool
) -> tuple[Array, _Indices, bool]:
    for name, number in (("dim", dim), ("index", index)):
        if isinstance(number, jax.core.Tracer):
            raise TypeError(f"{name} must be known when JAX traces; got a traced one: name it in jit's static_argnames")
    coords = as_floats(packed, "packed")
    check_packed(coords, check_dim(dim), tridiagonal)
    indices, single = check_index(index, dim)
    return coords, tuple(indices), single


def _wide(coords: Array) -> Array:
    return coords.astype(jnp.float32) if coords.dtype in _HALVES else coords


def _shaped(shape: tuple[int, ...], like: Array) -> Any:
    return jax.ShapeDtypeStruct(shape, like.dtype)  # type: ignore[no-untyped-call]


def _varying(result: Array, packed: Array) -> Array:
    """What a callback returned, with the mesh axes of ``jax.shard_map`` over which its argument varies.

    A callback's result has none of them. A choice between two equal arrays takes those of its condition, and costs
    nothing when compiled.
    """
    condition = jnp.isnan(packed[..., 0]).reshape(packed.shape[:-1] + (1,) * (result.ndim - packed.ndim + 1))
    return jnp.where(condition, result, result)


# Functions of (..., D) with results (..., m) and (..., m, d), and their derivatives.


@partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3))
def _values(packed: Array, dim: int, index: _Indices, tridiagonal: bool) -> Array:
    if not is_host():
        values: Array = device.solve(packed, dim, index, tridiagonal, False)[0]
        return values
    shape = _shaped((*packed.shape[:-1], len(index)), packed)

    def solve(rows: ArrayLike) -> FloatArray:
        if tridiagonal:
            return eigen.tridiagonal_eigenvalue(*_halves(rows, dim), index)
        return eigen.eigenvalue(np.asarray(rows), dim, index)

    return _varying(jax.pure_callback(solve, shape, packed, vmap_method="broadcast_all"), packed)


@_values.defjvp
def _values_jvp(
    dim: int, index: _Indices, tridiagonal: bool, primals: tuple[Array], tangents: tuple[Array]
) -> tuple[Array, Array]:
    value, vector = _pairs(primals[0], dim, index, tridiagonal)
    return value, _forms(vector, tangents[0], tridiagonal)


@partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3))
def _pairs(packed: Array, dim: int, index: _Indices, tridiagonal: bool) -> tuple[Array, Array]:
    if not is_host():
        value, vector = device.solve(packed, dim, index, tridiagonal, True)
        return value, vector
    value = _shaped((*packed.shape[:-1], len(index)), packed)
    vector = _shaped((*value.shape, dim), packed)

    def solve(rows: ArrayLike) -> tuple[FloatArray, FloatArray]:
        if tridiagonal:
            return eigen.tridiagonal_eigenpair(*_halves(rows, dim), index)
        return eigen.eigenpair(np.asarray(rows), dim, index)

    pair = jax.pure_callback(solve, (value, vector), packed, vmap_method="broadcast_all")
    return _varying(pair[0], packed), _varying(pair[1], packed)


@_pairs.defjvp
def _pairs_jvp(
    dim: int, index: _Indices, tridiagonal: bool, primals: tuple[Array], tangents: tuple[Array]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    value, vector = _pairs(primals[0], dim, index, tridiagonal)
    moved = vector @ sym(tangents[0], dim, tridiagonal)  # dA v_m in rows
    dense = unsym(sym(primals[0], dim, True)) if tridiagonal else primals[0]
    turned = _pseudo_inverse(dense, value, vector, moved)
    return (value, vector), (_forms(vector, tangents[0], tridiagonal), turned)


def _halves(coords: ArrayLike, dim: int) -> tuple[FloatArray, FloatArray]:
    """Diagonals and off-diagonals, from coordinates of tridiagonal matrices."""
    rows = np.asarray(coords)
    return np.ascontiguousarray(rows[..., :dim]), rows[..., dim:] * rows.dtype.type(sqrt(0.5))


def _forms(vector: Array, tangent: Array, tridiagonal: bool) -> Array:
    """v_mᵀ dA v_m, as products of coordinates."""
    row, column, factor = layout(vector.shape[-1], tridiagonal)
    outer = vector[..., row] * vector[..., column] * factor.astype(vector.dtype)
    return (outer * tangent[..., None, :]).sum(-1)


def _pseudo_inverse(packed: Array, value: Array, vector: Array, right: Array) -> Array:
    """R h for right-hand sides (..., m, d)."""
    dim = vector.shape[-1]
    matrix = sym(packed, dim)

    def matvec(x: Array) -> Array:
        return value[..., None] * x - x @ matrix + _along(vector, x)

    def solve(_: object, b: Array) -> Array:
        if not is_host():
            solved: Array = device.pseudo_inverse(packed, value, vector, b, dim)
            return solved + _along(vector, b)
        across: Array = jax.pure_callback(
            _host_pseudo_inverse, _shaped(b.shape, b), packed, value, vector, b,
            vmap_method="broadcast_all",
        )  # fmt: skip
        return across + _along(vector, b)

    orthogonal = right - _along(vector, right)
    return jax.lax.custom_linear_solve(matvec, orthogonal, solve, symmetric=True)  # type: ignore[no-any-return]


def _along(vector: Array, x: Array) -> Array:
    """The part of x along v, v vᵀ x, for vectors in rows."""
    return vector * (vector * x).sum(-1, keepdims=True)


def _host_pseudo_inverse(packed: ArrayLike, *parts: ArrayLike) -> FloatArray:
    """R h by the kernel: 2 S v with S the symmetric part of (R h) vᵀ, as R h is orthogonal to v."""
    value, vector, right = (np.asarray(part) for part in parts)
    rows = np.asarray(packed)[..., None, :]
    copies = np.broadcast_to(rows, (*value.shape, rows.shape[-1]))
    half = eigen.eigenpair_vjp(copies, vector.shape[-1], value, vector, 0.0, right)
    solved: FloatArray = 2 * (host_sym(half) @ vector[..., None])[..., 0]
    return solved
