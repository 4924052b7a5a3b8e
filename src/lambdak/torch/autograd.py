r"""λ_k and v_k of many small symmetric matrices as PyTorch operators, differentiable as often as one likes.

On the CPU the compiled kernel works on the tensors' own memory; elsewhere ``torch.linalg.eigh`` does. The derivative
of the value is v vᵀ, which exists whatever the gaps are (where λ_k is repeated it is a Clarke subgradient), and that of
the vector is a solve with the pseudo-inverse of λ − A, see :mod:`lambdak.torch.derivatives`. ``torch.compile``,
``torch.export``, ``torch.func`` and autocast (which computes in float32) know the operators; they are in the namespace
``torch.ops.lambdak``. Forward mode works outside compiled code.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import torch
from lambdak._checks import check_dim, check_index
from lambdak.torch import derivatives
from lambdak.torch.dispatch import is_tracing
from lambdak.torch.inputs import HALVES, check_tensor, narrowed
from lambdak.torch.packing import width
from torch import Tensor


class EigenPair(NamedTuple):
    """Eigenvalues (...) and unit eigenvectors (..., d); with several indices (..., m) and (..., m, d)."""

    value: Tensor
    vector: Tensor


def eigenvalue(packed: Tensor, dim: int, index: int | Sequence[int]) -> Tensor:
    """λ_k of symmetric matrices in packed coordinates (..., D), of shape (...) or, for m indices, (..., m).

    ``index`` is zero-based in ascending order. Half precision is computed in float32, and under autocast stays there.

    >>> packed = torch.tensor([2.0, 0.0, 5.0], requires_grad=True)
    >>> eigenvalue(packed, dim=2, index=1).backward()
    >>> packed.grad
    tensor([0., 0., 1.])
    """
    return _solve(packed, dim, index, False, False)[0]


def eigenpair(packed: Tensor, dim: int, index: int | Sequence[int]) -> EigenPair:
    """λ_k and a unit eigenvector v_k of symmetric matrices in packed coordinates; see :func:`eigenvalue`.

    The sign of a vector is arbitrary but reproducible. Its derivative grows like 1/gap. Eigenvalues within
    :func:`lambdak.eigen.rounding.equal_within` times ‖A‖_F of λ_k count as equal to it: their directions are left out
    of the derivative, which stays finite but is as arbitrary as the vector is.
    """
    return EigenPair(*_solve(packed, dim, index, False, True))


def tridiagonal_eigenvalue(diagonal: Tensor, offdiagonal: Tensor, index: int | Sequence[int]) -> Tensor:
    """λ_k of symmetric tridiagonal matrices, in O(d) each, from diagonals (..., d) and off-diagonals (..., d − 1).

    d goes up to 512, as that of dense matrices does.

    >>> tridiagonal_eigenvalue(torch.zeros(2), torch.tensor([2.0]), index=1).round(decimals=4)
    tensor(2.)
    """
    return _solve(_joined(diagonal, offdiagonal), diagonal.shape[-1], index, True, False)[0]


def tridiagonal_eigenpair(diagonal: Tensor, offdiagonal: Tensor, index: int | Sequence[int]) -> EigenPair:
    """λ_k and v_k of symmetric tridiagonal matrices; see :func:`tridiagonal_eigenvalue`."""
    return EigenPair(*_solve(_joined(diagonal, offdiagonal), diagonal.shape[-1], index, True, True))


def spectral_norm(coords: Tensor, dim: int, tridiagonal: bool = False) -> Tensor:
    """‖A‖₂ = max(λ_d, −λ_1) of matrices of either structure, see :mod:`lambdak.torch.packing`; shape (...).

    >>> round(spectral_norm(torch.tensor([2.0, 0.0, -5.0]), dim=2).item(), 4)
    5.0
    """
    ends = sorted({0, dim - 1})
    (values, *_) = _solve(coords, dim, ends, tridiagonal, False)
    return torch.maximum(values[..., -1], -values[..., 0])


def coordinate_eigenvalues(coords: Tensor, dim: int, index: Sequence[int], tridiagonal: bool) -> Tensor:
    """Several λ_j, (..., m), from coordinates of either structure (:mod:`lambdak.torch.packing`), unchecked."""
    return _solve_checked(coords, dim, list(index), tridiagonal, False)[0]


def coordinate_eigenpairs(coords: Tensor, dim: int, index: Sequence[int], tridiagonal: bool) -> EigenPair:
    """Several λ_j and v_j, (..., m) and (..., m, d), from coordinates of either structure; nothing is checked."""
    return EigenPair(*_solve_checked(coords, dim, list(index), tridiagonal, True))


def coordinate_eigenvalue(coords: Tensor, dim: int, index: int, tridiagonal: bool) -> Tensor:
    """λ_k from coordinates of either structure; nothing is checked."""
    return coordinate_eigenvalues(coords, dim, (index,), tridiagonal).squeeze(-1)


def coordinate_eigenpair(coords: Tensor, dim: int, index: int, tridiagonal: bool) -> EigenPair:
    """λ_k and v_k from coordinates of either structure; nothing is checked."""
    value, vector = coordinate_eigenpairs(coords, dim, (index,), tridiagonal)
    return EigenPair(value.squeeze(-1), vector.squeeze(-2))


def _joined(diagonal: Tensor, offdiagonal: Tensor) -> Tensor:
    for name, tensor in (("diagonal", diagonal), ("offdiagonal", offdiagonal)):
        check_tensor(tensor, name)
        if not tensor.is_floating_point():
            raise TypeError(f"{name} must be a tensor of floats; got {tensor.dtype}")
    dim = diagonal.shape[-1] if diagonal.ndim else 0
    if diagonal.shape[:-1] != offdiagonal.shape[:-1] or offdiagonal.shape[-1:] != (dim - 1,):
        raise ValueError(
            f"diagonal and offdiagonal must have shapes (..., d) and (..., d - 1); "
            f"got {tuple(diagonal.shape)} and {tuple(offdiagonal.shape)}"
        )
    return torch.cat([diagonal, offdiagonal * sqrt(2.0)], -1)


def _solve(
    coords: Tensor, dim: int, index: int | Sequence[int], tridiagonal: bool, want_vector: bool
) -> tuple[Tensor, ...]:
    """Check, and give a single index no axis of its own."""
    check_tensor(coords, "packed")
    wanted = width(check_dim(dim), tridiagonal)
    if coords.ndim == 0 or coords.shape[-1] != wanted:
        raise ValueError(
            f"packed must have {wanted} entries on its last axis for dim={dim}; got shape {tuple(coords.shape)}"
        )
    if not coords.is_floating_point():
        raise TypeError(f"packed must be a tensor of floats; got {coords.dtype}")
    indices, single = check_index(index, dim)
    parts = _solve_checked(coords, dim, list(indices), tridiagonal, want_vector)
    return tuple(part.squeeze(axis) for part, axis in zip(parts, (-1, -2), strict=False)) if single else parts


def _solve_checked(
    coords: Tensor, dim: int, index: list[int], tridiagonal: bool, want_vector: bool
) -> tuple[Tensor, ...]:
    if coords.dtype in HALVES:
        found = _solve_checked(coords.float(), dim, index, tridiagonal, want_vector)
        return tuple(narrowed(part, coords) for part in found)
    if want_vector or (coords.requires_grad and torch.is_grad_enabled() and not _is_recorded()):
        return tuple(derivatives.eigenpair(coords, dim, index, tridiagonal))  # the derivative needs the vector
    return (derivatives.eigenvalue(coords, dim, index, tridiagonal),)


def _is_recorded() -> bool:
    """Whether a program is recorded that will mostly be run without derivatives, which it can have all the same."""
    return is_tracing() or torch.compiler.is_exporting()
