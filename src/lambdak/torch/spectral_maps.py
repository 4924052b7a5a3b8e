r"""The constraints "root" and "squareplus" as operators that work on any device: matrix functions of L and of sym(θ).

Formulas are those of :mod:`lambdak.pencil.constraints`, whose arrays they agree with to rounding. The derivatives are
written down rather than those of the factorisations, which divide by gaps; they exist once, in reverse mode. A matrix
with nan or infinity yields nan for itself only.
"""

from __future__ import annotations

from typing import Any

import torch
from lambdak.eigen.packing import packed_dim
from lambdak.torch.dispatch import differentiable
from lambdak.torch.inputs import widened
from lambdak.torch.packing import sym, unsym
from torch import Tensor


def squareplus(x: Tensor) -> Tensor:
    """(x + √(1 + x²)) / 2, positive for every x.

    >>> squareplus(torch.tensor([0.0, 0.75]))
    tensor([0.5000, 1.0000])
    """
    size = torch.where(x < 0, -x, x)  # whose derivative at 0 is 1, where that of x.abs() is 0
    large = size / 2 + torch.hypot(x, torch.ones_like(x)) / 2  # halves first: the sum may overflow
    return torch.where(x < 0, 0.25 / large, large)  # where the sum would cancel


@torch.library.custom_op("lambdak::constrain", mutates_args=())
def constrain(theta: Tensor, constraint: str) -> Tensor:
    """Packed coordinates of (L Lᵀ)^{1/2} or V squareplus(Λ) Vᵀ."""
    wide = widened(theta.detach())
    if constraint == "root":
        basis, values, _ = _singular(wide)
    elif constraint == "squareplus":
        values, basis = _spectral(wide)
        values = squareplus(values)
    else:
        raise NotImplementedError(f"the constraint {constraint!r} has no operator: write it in torch/spectral_maps.py")
    return unsym(basis * values.unsqueeze(-2) @ basis.mT).to(theta.dtype)


@torch.library.custom_op("lambdak::constrain_vjp", mutates_args=())
def constrain_vjp(theta: Tensor, grad: Tensor, constraint: str) -> Tensor:
    """The transposed derivative of :func:`constrain` applied to a gradient."""
    wide, right = widened(theta.detach()), widened(grad.detach())
    dim = packed_dim(theta.shape[-1])
    if constraint == "root":
        slope = _root_vjp(wide, sym(right, dim))
    else:
        values, basis = _spectral(wide)
        across = basis.mT @ sym(right, dim) @ basis
        slope = unsym(basis @ (across * _squareplus_slope(values)) @ basis.mT)
    return slope.to(theta.dtype)


def _root_vjp(theta: Tensor, grad: Tensor) -> Tensor:
    """Entries of U (Uᵀ G U ∘ 2σ_j / (σ_i + σ_j)) Wᵀ in the lower triangle, for L = U Σ Wᵀ.

    A singular L is a kink, as 0 is of |x|: this is the limit of the derivatives at L + t U Wᵀ, t → 0+.
    """
    left, values, right = _singular(theta)
    total = values.unsqueeze(-1) + values.unsqueeze(-2)
    ratio = torch.where(total == 0, 1, 2 * values.unsqueeze(-2) / torch.where(total == 0, 1, total))
    full = left @ (left.mT @ grad @ left * ratio) @ right
    row, column = torch.tril_indices(grad.shape[-1], grad.shape[-1], device=grad.device)
    return full[..., row, column]


def _squareplus_slope(values: Tensor) -> Tensor:
    """(s(a) − s(b)) / (a − b) for all pairs, by Daleckii and Krein; s′(a) where a = b."""
    half, root = squareplus(values) / 2, torch.hypot(values, torch.ones_like(values)) / 2
    above, below = (part.unsqueeze(-1) + part.unsqueeze(-2) for part in (half, root))
    return above / below


def _spectral(packed: Tensor) -> tuple[Tensor, Tensor]:
    """Λ (..., d) and V (..., d, d) of sym(packed) = V Λ Vᵀ."""
    finite = packed.isfinite().all(-1, keepdim=True)
    values, basis = torch.linalg.eigh(sym(torch.where(finite, packed, 0), packed_dim(packed.shape[-1])))
    return torch.where(finite, values, torch.nan), basis


def _singular(entries: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """U, Σ and Wᵀ of the lower triangle with these entries (..., D), row by row."""
    dim = packed_dim(entries.shape[-1])
    finite = entries.isfinite().all(-1, keepdim=True)
    row, column = torch.tril_indices(dim, dim, device=entries.device)
    flat = entries.new_zeros(*entries.shape[:-1], dim * dim)
    flat = flat.index_copy(-1, row * dim + column, torch.where(finite, entries, 0))
    left, values, right = torch.linalg.svd(flat.reshape(*entries.shape[:-1], dim, dim))
    return left, torch.where(finite, values, torch.nan), right


@constrain.register_fake
def _(theta: Tensor, constraint: str) -> Tensor:
    return torch.empty_like(theta, memory_format=torch.contiguous_format)


@constrain_vjp.register_fake
def _(theta: Tensor, grad: Tensor, constraint: str) -> Tensor:
    return torch.empty_like(theta, memory_format=torch.contiguous_format)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.constraint = inputs[1]
    ctx.save_for_backward(inputs[0])


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
    return _constrain_vjp(ctx.saved_tensors[0], grad, ctx.constraint), None


def _refuse(ctx: Any, *_: Any) -> Any:
    raise NotImplementedError(
        "the constraints 'root' and 'squareplus' can be differentiated once, in reverse mode: choose 'factor'"
    )


spectral_map = differentiable(constrain, _keep, _backward, _refuse)
_constrain_vjp = differentiable(constrain_vjp, lambda ctx, inputs, output: None, _refuse, _refuse)
