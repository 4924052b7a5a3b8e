"""The operators ``torch.ops.lambdak``: coordinates of matrices in, tensors out, by the kernel or ``torch.linalg.eigh``.

Values are (..., m) and vectors (..., m, d), for m increasing indices; coordinates are those of
:mod:`lambdak.torch.packing`. Nothing is checked here. Derivatives are registered in :mod:`lambdak.torch.autograd`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from lambdak import eigen
from lambdak.torch.packing import sym, unsym, width


@torch.library.custom_op("lambdak::eigenvalue", mutates_args=())
def eigenvalue(coords: Tensor, dim: int, index: Sequence[int], tridiagonal: bool) -> Tensor:
    """λ_k."""
    if not coords.is_cpu:
        return _full(coords, dim, tridiagonal)[0][..., list(index)]
    value = coords.new_empty((*coords.shape[:-1], len(index)))
    if tridiagonal:
        eigen.tridiagonal_eigenvalue(*_diagonals(coords, dim), list(index), out=value.numpy())
    else:
        eigen.eigenvalue(coords.detach().numpy(), dim, list(index), out=value.numpy())
    return value


@torch.library.custom_op("lambdak::eigenpair", mutates_args=())
def eigenpair(coords: Tensor, dim: int, index: Sequence[int], tridiagonal: bool) -> tuple[Tensor, Tensor]:
    """λ_k and v_k."""
    if not coords.is_cpu:
        values, vectors = _full(coords, dim, tridiagonal)
        return values[..., list(index)], vectors.mT[..., list(index), :].contiguous()
    value = coords.new_empty((*coords.shape[:-1], len(index)))
    vector = coords.new_empty((*value.shape, dim))
    out = value.numpy(), vector.numpy()
    if tridiagonal:
        eigen.tridiagonal_eigenpair(*_diagonals(coords, dim), list(index), out=out)
    else:
        eigen.eigenpair(coords.detach().numpy(), dim, list(index), out=out)
    return value, vector


@torch.library.custom_op("lambdak::eigenvalue_vjp", mutates_args=())
def eigenvalue_vjp(vector: Tensor, grad_value: Tensor, dim: int, tridiagonal: bool) -> Tensor:
    """Σ_m g_m v_m v_mᵀ in coordinates."""
    if not vector.is_cpu:
        return unsym(vector.mT @ (vector * grad_value[..., None]), tridiagonal)
    given = vector.detach().numpy(), grad_value.detach().numpy()
    grad = vector.new_empty((*vector.shape[:-2], width(dim, tridiagonal)))
    if tridiagonal:
        eigen.tridiagonal_eigenvalue_vjp(*given, sum_index=True, out=_split(grad, dim))
        grad[..., dim:] *= sqrt(0.5)
    else:
        eigen.eigenvalue_vjp(*given, sum_index=True, out=grad.numpy())
    return grad


@torch.library.custom_op("lambdak::eigenpair_vjp", mutates_args=())
def eigenpair_vjp(
    coords: Tensor,
    value: Tensor,
    vector: Tensor,
    grad_value: Tensor,
    grad_vector: Tensor,
    dim: int,
    tridiagonal: bool,
) -> Tensor:
    """Σ_m (g_m v_m + R_m h_m) v_mᵀ, symmetrised, in coordinates, with h the gradient of the vectors."""
    if not coords.is_cpu:
        solved = _pseudo_inverse(coords, value, grad_vector, tridiagonal)
        return unsym((grad_value[..., None] * vector + solved).mT @ vector, tridiagonal)
    given = [part.detach().numpy() for part in (value, vector, grad_value, grad_vector)]
    grad = torch.empty_like(coords, memory_format=torch.contiguous_format)
    if tridiagonal:
        eigen.tridiagonal_eigenpair_vjp(*_diagonals(coords, dim), *given, out=_split(grad, dim))
        grad[..., dim:] *= sqrt(0.5)
    else:
        eigen.eigenpair_vjp(coords.detach().numpy(), dim, *given, out=grad.numpy())
    return grad


def _diagonals(coords: Tensor, dim: int) -> tuple[Any, Any]:
    return coords[..., :dim].detach().numpy(), (coords[..., dim:] * sqrt(0.5)).detach().numpy()


def _split(grad: Tensor, dim: int) -> tuple[Any, Any]:
    return grad[..., :dim].numpy(), grad[..., dim:].numpy()


def _full(coords: Tensor, dim: int, tridiagonal: bool) -> tuple[Tensor, Tensor]:
    """All eigenvalues and eigenvectors, on any device."""
    return torch.linalg.eigh(sym(coords, dim, tridiagonal))  # type: ignore[no-any-return]


def _pseudo_inverse(coords: Tensor, value: Tensor, right: Tensor, tridiagonal: bool) -> Tensor:
    """R h = (λ − A)⁺ h for right-hand sides (..., m, d), on any device; equal eigenvalues count as the null space."""
    values, vectors = _full(coords, right.shape[-1], tridiagonal)
    gap = value[..., :, None] - values[..., None, :]  # (..., m, d)
    small = torch.finfo(gap.dtype).eps * 8 * values.abs().amax(-1)[..., None, None]
    inverse = torch.where(gap.abs() > small, 1 / torch.where(gap == 0, 1, gap), 0)
    return (right @ vectors * inverse) @ vectors.mT


# Shapes without numbers, which is what a compiler asks for.


@eigenvalue.register_fake
def _(coords: Tensor, dim: int, index: Sequence[int], tridiagonal: bool) -> Tensor:
    return coords.new_empty((*coords.shape[:-1], len(index)))


@eigenpair.register_fake
def _(coords: Tensor, dim: int, index: Sequence[int], tridiagonal: bool) -> tuple[Tensor, Tensor]:
    value = coords.new_empty((*coords.shape[:-1], len(index)))
    return value, coords.new_empty((*value.shape, dim))


@eigenvalue_vjp.register_fake
def _(vector: Tensor, grad_value: Tensor, dim: int, tridiagonal: bool) -> Tensor:
    return vector.new_empty((*vector.shape[:-2], width(dim, tridiagonal)))


@eigenpair_vjp.register_fake
def _(
    coords: Tensor,
    value: Tensor,
    vector: Tensor,
    grad_value: Tensor,
    grad_vector: Tensor,
    dim: int,
    tridiagonal: bool,
) -> Tensor:
    return torch.empty_like(coords, memory_format=torch.contiguous_format)
