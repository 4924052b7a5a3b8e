"""The operators ``torch.ops.lambdak``: coordinates of matrices in, tensors out, by a kernel or ``torch.linalg.eigh``.

On the CPU that is the compiled kernel, elsewhere the one of :mod:`lambdak.torch.device` where it is chosen.

Values are (..., m) and vectors (..., m, d), for m increasing indices; coordinates are those of
:mod:`lambdak.torch.packing`. Nothing is checked here. Derivatives are registered in :mod:`lambdak.torch.derivatives`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

import torch
from lambdak.eigen.engine import EigenEngine, Gradient, Matrices
from lambdak.eigen.rounding import equal_within
from lambdak.eigen.runtime import engine
from lambdak.torch.device.choice import chosen
from lambdak.torch.dispatch import refuse_onnx
from lambdak.torch.packing import sym, unsym, width
from torch import Tensor

_DTYPES = {torch.float32: np.float32, torch.float64: np.float64}
_THREADS = 0  # the process's setting: an operator of PyTorch has no argument for it


@torch.library.custom_op("lambdak::eigenvalue", mutates_args=())
def eigenvalue(coords: Tensor, dim: int, index: Sequence[int], tridiagonal: bool) -> Tensor:
    """λ_k."""
    if not coords.is_cpu:
        if launch := chosen(coords, dim):
            return launch.solve(coords, dim, index, tridiagonal, False)[0]  # type: ignore[no-any-return]
        matrix, finite = _finite(coords, dim, tridiagonal)
        return torch.where(finite, torch.linalg.eigvalsh(matrix)[..., list(index)], torch.nan)
    value = coords.new_empty((*coords.shape[:-1], len(index)))
    out = _rows(value, len(index)), None
    _engine(dim, tridiagonal).solve(_matrices(coords, dim, tridiagonal), list(index), out, _THREADS)
    return value


@torch.library.custom_op("lambdak::eigenpair", mutates_args=())
def eigenpair(coords: Tensor, dim: int, index: Sequence[int], tridiagonal: bool) -> tuple[Tensor, Tensor]:
    """λ_k and v_k."""
    if not coords.is_cpu:
        if launch := chosen(coords, dim):
            return launch.solve(coords, dim, index, tridiagonal, True)  # type: ignore[no-any-return]
        values, vectors = _full(coords, dim, tridiagonal)
        return values[..., list(index)].contiguous(), vectors.mT[..., list(index), :].contiguous()
    value = coords.new_empty((*coords.shape[:-1], len(index)))
    vector = coords.new_empty((*value.shape, dim))
    out = _rows(value, len(index)), _rows(vector, len(index), dim)
    _engine(dim, tridiagonal).solve(_matrices(coords, dim, tridiagonal), list(index), out, _THREADS)
    return value, vector


@torch.library.custom_op("lambdak::eigenvalue_vjp", mutates_args=())
def eigenvalue_vjp(vector: Tensor, grad_value: Tensor, dim: int, tridiagonal: bool) -> Tensor:
    """Σ_m g_m v_m v_mᵀ in coordinates."""
    if not vector.is_cpu:
        if launch := chosen(vector, dim):
            return launch.outer(vector, grad_value, dim, tridiagonal)  # type: ignore[no-any-return]
        return unsym(vector.mT @ (vector * grad_value[..., None]), tridiagonal)
    grad = vector.new_empty((*vector.shape[:-2], width(dim, tridiagonal)))
    m = vector.shape[-2]
    out = _outputs(grad, dim, tridiagonal)
    _engine(dim, tridiagonal).outer(_rows(vector, m, dim), _rows(grad_value, m), out, _THREADS)
    return _scaled(grad, dim, tridiagonal)


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
        if launch := chosen(coords, dim):
            return launch.vjp(  # type: ignore[no-any-return]
                coords, (value, vector), (grad_value, grad_vector), dim, tridiagonal
            )
        solved = _pseudo_inverse(coords, vector, grad_vector, tridiagonal)
        return unsym((grad_value[..., None] * vector + solved).mT @ vector, tridiagonal)
    m, grad = vector.shape[-2], torch.empty_like(coords, memory_format=torch.contiguous_format)
    pair, grads = (_rows(value, m), _rows(vector, m, dim)), (_rows(grad_value, m), _rows(grad_vector, m, dim))
    near, out = equal_within(dim, torch.finfo(coords.dtype).eps), _outputs(grad, dim, tridiagonal)
    _engine(dim, tridiagonal).vjp(_matrices(coords, dim, tridiagonal), pair, grads, near, out, _THREADS)
    return _scaled(grad, dim, tridiagonal)


def _engine(dim: int, tridiagonal: bool) -> EigenEngine:
    return engine("auto", dim, tridiagonal)


def _rows(tensor: Tensor, *tail: int) -> Any:
    """The tensor's own memory as (rows, *tail), or a copy if it is scattered.

    ``Tensor.numpy`` would forbid for ever that the memory is freed before the tensor is, as FSDP does with parameters.
    """
    shape = tensor.shape[: tensor.ndim - len(tail)].numel(), *tail
    whole = tensor.detach().contiguous().resolve_neg()
    if not whole.numel():
        return np.empty(shape, _DTYPES[whole.dtype])
    address = whole.data_ptr()
    if not address:
        return _without_memory(whole, shape)
    size = whole.numel() * whole.element_size()  # nbytes cannot be traced where sizes are symbols
    memory: Any = (ctypes.c_char * size).from_address(address)
    memory.owner = whole  # a copy lives as long as its array
    return np.ndarray(shape, _DTYPES[whole.dtype], memory)


def _without_memory(tensor: Tensor, shape: tuple[int, ...]) -> Any:
    """Zeros for the zeros that PyTorch's derivatives leave unwritten; a tensor whose memory was freed is an error."""
    if torch._is_zerotensor(tensor):
        return np.zeros(shape, _DTYPES[tensor.dtype])
    raise RuntimeError(
        f"the memory of a tensor of shape {tuple(tensor.shape)} was freed, as FSDP does with parameters between their "
        "uses: call the module that holds them, not its functions, or gather them first"
    )


def _matrices(coords: Tensor, dim: int, tridiagonal: bool) -> Matrices:
    """Packed rows and None, or diagonals and off-diagonals."""
    if not tridiagonal:
        return _rows(coords, coords.shape[-1]), None, dim
    return _rows(coords[..., :dim], dim), _rows(coords[..., dim:] * sqrt(0.5), dim - 1), dim


def _outputs(grad: Tensor, dim: int, tridiagonal: bool) -> Gradient:
    """Where an engine writes packed rows, or diagonals and off-diagonals."""
    rows = _rows(grad, grad.shape[-1])
    return (rows[:, :dim], rows[:, dim:]) if tridiagonal else (rows, None)


def _scaled(grad: Tensor, dim: int, tridiagonal: bool) -> Tensor:
    """Gradient with respect to coordinates, whose off-diagonal is √2 times that of a tridiagonal matrix."""
    if tridiagonal:
        grad[..., dim:] *= sqrt(0.5)
    return grad


def _finite(coords: Tensor, dim: int, tridiagonal: bool) -> tuple[Tensor, Tensor]:
    """Matrices with zeros for those that are not finite, of which one fails a whole batch, and which ones are."""
    finite = coords.isfinite().all(-1, keepdim=True)
    return sym(torch.where(finite, coords, 0), dim, tridiagonal), finite


def _full(coords: Tensor, dim: int, tridiagonal: bool) -> tuple[Tensor, Tensor]:
    """All eigenvalues and eigenvectors, on any device; NaN for a matrix that is not finite."""
    matrix, finite = _finite(coords, dim, tridiagonal)
    values, vectors = torch.linalg.eigh(matrix)
    return torch.where(finite, values, torch.nan), torch.where(finite.unsqueeze(-1), vectors, torch.nan)


def _pseudo_inverse(coords: Tensor, vector: Tensor, right: Tensor, tridiagonal: bool) -> Tensor:
    """R h = (λ − A)⁺ h for right-hand sides (..., m, d), on any device; equal eigenvalues count as the null space."""
    dim = right.shape[-1]
    values, vectors = _full(coords, dim, tridiagonal)
    here = (vector @ vectors).abs().argmax(-1)  # which one each vector is, (..., m)
    gap = values.gather(-1, here)[..., None] - values[..., None, :]  # (..., m, d)
    largest = values.abs().amax(-1, keepdim=True).clamp_min(torch.finfo(gap.dtype).tiny)
    norm = largest * (values / largest).norm(dim=-1, keepdim=True)  # squares alone might overflow
    apart = gap.abs() > equal_within(dim, torch.finfo(gap.dtype).eps) * norm[..., None]
    return (right @ vectors * torch.where(apart, 1 / torch.where(apart, gap, 1), 0)) @ vectors.mT


# Shapes without numbers, which is what a compiler needs.


@eigenvalue.register_fake
def _(coords: Tensor, dim: int, index: Sequence[int], tridiagonal: bool) -> Tensor:
    refuse_onnx()
    return coords.new_empty((*coords.shape[:-1], len(index)))


@eigenpair.register_fake
def _(coords: Tensor, dim: int, index: Sequence[int], tridiagonal: bool) -> tuple[Tensor, Tensor]:
    refuse_onnx()
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
