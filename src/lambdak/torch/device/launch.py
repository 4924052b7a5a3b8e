"""Launching the device kernel: outputs, scratch memory, and as many programs as the device keeps busy."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from lambdak.eigen.guess import semicircle_guess
from lambdak.eigen.rounding import equal_within
from lambdak.torch.device.kernels import solve_kernel, vjp_kernel
from lambdak.torch.packing import width
from torch import Tensor

_PROGRAMS = 16  # per multiprocessor, of one warp each: what 128 registers a thread allow
_SCRATCH = 256 << 20  # bytes at most, unless one program needs more
# A program is one warp, whose threads have a matrix each; loops are not pipelined; a product may fuse with a sum.
OPTIONS = {"num_warps": 1, "num_stages": 1, "enable_fp_fusion": True}


def solve(coords: Tensor, dim: int, index: Sequence[int], tridiagonal: bool, vectors: bool) -> tuple[Tensor, Tensor]:
    """λ_k, (..., m), and unit vectors, (..., m, d), which are left unwritten unless they are wanted."""
    rows = _readable(coords).reshape(-1, coords.shape[-1])
    value = coords.new_empty((*coords.shape[:-1], len(index)))
    vector = coords.new_empty((*value.shape, dim) if vectors else (0,))
    whole = vectors and len(index) > 1
    slots = _slots(dim, tridiagonal) + len(index) * (dim + 1) + whole * 2 * dim * dim
    which, guess = _searches(tuple(index), dim, coords.dtype, coords.device)
    with _current(coords.device):
        programs, block = _grid(len(rows), slots, coords)
        if programs:
            scratch = coords.new_empty(programs * slots * block)
            solve_kernel[(programs,)](
                rows, which, guess, value, vector, scratch, len(rows), dim, len(index), slots, BLOCK=block,
                TRIDIAGONAL=tridiagonal, VECTORS=vectors, SEVERAL=whole, **OPTIONS,
            )  # fmt: skip
    return value, vector


def outer(vector: Tensor, grad_value: Tensor, dim: int, tridiagonal: bool) -> Tensor:
    """Σ_m g_m v_m v_mᵀ in coordinates."""
    grad = vector.new_empty((*vector.shape[:-2], width(dim, tridiagonal)))
    nothing = vector.new_empty(0)
    return _vjp((nothing, nothing, vector, grad_value, nothing), grad, dim, tridiagonal)


def vjp(
    coords: Tensor, pair: tuple[Tensor, Tensor], grads: tuple[Tensor, Tensor], dim: int, tridiagonal: bool
) -> Tensor:
    """Σ_m (g_m v_m + R_m h_m) v_mᵀ, symmetrised, in coordinates."""
    grad = torch.empty_like(coords, memory_format=torch.contiguous_format)
    return _vjp((coords, *pair, *grads), grad, dim, tridiagonal)


def _vjp(given: tuple[Tensor, ...], grad: Tensor, dim: int, tridiagonal: bool) -> Tensor:
    """Fill the gradient from matrices, pairs and their gradients; without matrices that of values alone."""
    count, pair = given[2].shape[-2], bool(given[0].numel())
    rows = grad.numel() // grad.shape[-1]
    slots = _slots(dim, tridiagonal) + 2 * dim + pair * (2 * dim * dim + dim)
    near = _near(dim, grad.dtype, grad.device)
    with _current(grad.device):
        programs, block = _grid(rows, slots, grad)
        if programs:
            scratch = grad.new_empty(programs * slots * block)
            vjp_kernel[(programs,)](
                *map(_readable, given), grad, scratch, near, rows, dim, count, slots, BLOCK=block,
                TRIDIAGONAL=tridiagonal, PAIR=pair, **OPTIONS,
            )  # fmt: skip
    return grad


def _readable(tensor: Tensor) -> Tensor:
    """The tensor in memory that a kernel can read: PyTorch leaves some negations and zeros undone."""
    if torch._is_zerotensor(tensor):
        return torch.zeros(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    return tensor.contiguous().resolve_neg()


def _slots(dim: int, tridiagonal: bool) -> int:
    """What every kernel keeps of a matrix: its packed entries, T, factors of reflectors, work and one vector."""
    return (0 if tridiagonal else width(dim)) + 9 * dim


def _grid(rows: int, slots: int, like: Tensor) -> tuple[int, int]:
    """How many programs, and of how many matrices each: no more than can run at a time, within the scratch memory."""
    busy, block = _capacity(like.device)
    room = _SCRATCH // (slots * block * like.element_size())
    return min(-(-rows // block), busy, max(room, 1)), block


@cache
def _capacity(device: torch.device) -> tuple[int, int]:
    """Programs that a device runs at a time, and the threads of one: a warp."""
    if device.type == "cpu":
        return 1, 64  # Triton's interpreter, in which a wide block costs as much as a narrow one
    found = torch.get_device_module(device).get_device_properties(device)
    units = getattr(found, "multi_processor_count", 0) or getattr(found, "gpu_subslice_count", 32)
    return _PROGRAMS * units, getattr(found, "warp_size", 32)


def _current(device: torch.device) -> AbstractContextManager[Any]:
    """The device of the tensors as the current one, on which Triton launches."""
    return nullcontext() if device.type == "cpu" else torch.get_device_module(device).device(device)


@cache
def _near(dim: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """The width within which eigenvalues count as equal, in units of the matrix's norm."""
    return torch.tensor([equal_within(dim, torch.finfo(dtype).eps)], dtype=dtype, device=device)


@cache
def _searches(index: tuple[int, ...], dim: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """The indices on the device, and where to look for each of them first."""
    guess = [semicircle_guess(k, dim) for k in index]
    return torch.tensor(index, dtype=torch.int32, device=device), torch.tensor(guess, dtype=dtype, device=device)
