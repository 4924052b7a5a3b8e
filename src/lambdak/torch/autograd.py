r"""λ_k and v_k of many small symmetric matrices as PyTorch operators, differentiable as often as one likes.

On the CPU the compiled kernel works on the tensors' own memory; elsewhere ``torch.linalg.eigh`` does. The derivative
of the value is v vᵀ, which exists whatever the gaps are (where λ_k is repeated it is a Clarke subgradient), and that of
the vector is a solve with the pseudo-inverse R = (λ − A)⁺::

    dλ = vᵀ dA v        dv = R dA v        dR = R dA R − dλ R² − R² dA vvᵀ − vvᵀ dA R²

so backward passes are made of the same operators. ``torch.compile``, ``torch.export``, reverse-mode ``torch.func`` and
autocast (which computes in float32) know them; they are in the namespace ``torch.ops.lambdak``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any, NamedTuple

from torch.autograd import forward_ad

import torch
from lambdak._checks import check_dim, check_index
from lambdak.torch import operators
from lambdak.torch.packing import sym, unsym, width
from torch import Tensor

_HALVES = (torch.float16, torch.bfloat16)
_PLAIN = (Tensor, torch.nn.Parameter)


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


def coordinate_eigenvalue(coords: Tensor, dim: int, index: int, tridiagonal: bool) -> Tensor:
    """λ_k from coordinates of either structure, see :mod:`lambdak.torch.packing`; nothing is checked."""
    return _solve_checked(coords, dim, [index], tridiagonal, False)[0].squeeze(-1)


def coordinate_eigenpair(coords: Tensor, dim: int, index: int, tridiagonal: bool) -> EigenPair:
    """λ_k and v_k from coordinates of either structure; nothing is checked."""
    value, vector = _solve_checked(coords, dim, [index], tridiagonal, True)
    return EigenPair(value.squeeze(-1), vector.squeeze(-2))


def _joined(diagonal: Tensor, offdiagonal: Tensor) -> Tensor:
    for name, tensor in (("diagonal", diagonal), ("offdiagonal", offdiagonal)):
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
    wanted = width(check_dim(dim), tridiagonal)
    if coords.ndim == 0 or coords.shape[-1] != wanted:
        raise ValueError(
            f"packed must have {wanted} entries on its last axis for dim={dim}; got shape {tuple(coords.shape)}"
        )
    if not coords.is_floating_point():
        raise TypeError(f"packed must be a tensor of floats; got {coords.dtype}")
    indices, single = check_index(index, dim)
    found = _solve_checked(coords, dim, list(indices), tridiagonal, want_vector)
    return tuple(part.squeeze(axis) for part, axis in zip(found, (-1, -2), strict=False)) if single else found


def _solve_checked(
    coords: Tensor, dim: int, index: list[int], tridiagonal: bool, want_vector: bool
) -> tuple[Tensor, ...]:
    if coords.dtype in _HALVES:
        found = _solve_checked(coords.float(), dim, index, tridiagonal, want_vector)
        keep = torch.is_autocast_enabled(coords.device.type)  # its rule for functions that need float32
        return found if keep else tuple(part.to(coords.dtype) for part in found)
    if want_vector or (coords.requires_grad and torch.is_grad_enabled()):  # the derivative needs the vector
        return tuple(_eigenpair(coords, dim, index, tridiagonal))
    return (_eigenvalue(coords, dim, index, tridiagonal),)


# Derivatives.


def _keep_pair(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.form = inputs[1], inputs[3]
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(inputs[0], *output)


def _backward_pair(ctx: Any, grad_value: Tensor | None, grad_vector: Tensor | None) -> tuple[Tensor | None, ...]:
    coords, value, vector = ctx.saved_tensors
    if grad_value is None and grad_vector is None:
        return None, None, None, None
    if grad_value is None:
        grad_value = torch.zeros_like(value)
    if grad_vector is None:
        grad = _eigenvalue_vjp(vector, grad_value, *ctx.form)
    else:
        grad = _eigenpair_vjp(coords, value, vector, grad_value, grad_vector, *ctx.form)
    return grad, None, None, None


def _keep_value(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, *ctx.arguments = inputs
    ctx.save_for_backward(inputs[0])


def _backward_value(ctx: Any, grad_value: Tensor) -> tuple[Tensor | None, ...]:
    (coords,) = ctx.saved_tensors
    dim, _, tridiagonal = ctx.arguments
    vector = _eigenpair(coords, *ctx.arguments)[1]
    return _eigenvalue_vjp(vector, grad_value, dim, tridiagonal), None, None, None


def _keep_value_vjp(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.form = inputs[2:]
    ctx.save_for_backward(*inputs[:2])


def _backward_value_vjp(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    vector, grad_value = ctx.saved_tensors
    moved = vector @ sym(grad, *ctx.form)  # S v_m in rows
    return 2 * grad_value[..., None] * moved, (vector * moved).sum(-1), None, None


def _keep_pair_vjp(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.form = inputs[5:]
    ctx.save_for_backward(*inputs[:5])


def _backward_pair_vjp(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    coords, value, vector, grad_value, right = ctx.saved_tensors

    def solve(h: Tensor) -> Tensor:
        return _resolve(coords, value, vector, h, *ctx.form)

    matrix = sym(grad, *ctx.form)
    moved = vector @ matrix  # S v_m in rows
    solved, answered = solve(right), solve(moved)  # R h and R S v
    along, across = ((vector * part).sum(-1, keepdim=True) for part in (right, moved))
    twice = along * solve(answered) + across * solve(solved) + (solved * answered).sum(-1, keepdim=True) * vector
    grad_coords = unsym(answered.mT @ solved - twice.mT @ vector, ctx.form[1])
    grad_vector = 2 * grad_value[..., None] * moved + solved @ matrix
    return grad_coords, None, grad_vector, across.squeeze(-1), answered, None, None


def _resolve(coords: Tensor, value: Tensor, vector: Tensor, right: Tensor, dim: int, tridiagonal: bool) -> Tensor:
    """R h for right-hand sides (..., m, d): S v with S = (R h) vᵀ + v (R h)ᵀ, as R h is orthogonal to v."""
    dense = unsym(sym(coords, dim, True)) if tridiagonal else coords
    each = dense.unsqueeze(-2).expand(*value.shape, dense.shape[-1])
    value, vector, right = value.unsqueeze(-1), vector.unsqueeze(-2), right.unsqueeze(-2)
    half = _eigenpair_vjp(each, value, vector, torch.zeros_like(value), right, dim, False)
    return 2 * (vector @ sym(half, dim)).squeeze(-2)


# Every operator takes any leading shape, so that a mapped axis becomes one more.


def differentiable(operator: Any, keep: Callable[..., None], backward: Callable[..., Any]) -> Callable[..., Any]:
    """Register how an operator is differentiated, mapped and autocast, and return the function to call.

    Compilers see the registered operator. What nobody watches takes a shorter way with the same formulas: the
    operator's own function, or an ``autograd.Function`` around it, which can be nested if ``torch.func`` is at work.
    """
    function = operator._init_fn

    def mapped(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        found = call(*(_with_axis(arg, axis, info.batch_size) for arg, axis in zip(args, in_dims, strict=True)))
        return found, (0, 0) if isinstance(found, tuple) else 0

    def forward(ctx: Any, *args: Any) -> Any:
        found = function(*args)
        keep(ctx, args, found)
        return found

    operator.register_autograd(backward, setup_context=keep)
    operator.register_vmap(mapped)
    for device in ("cpu", "cuda"):
        operator.register_autocast(device, torch.float32)
    short = _function(forward=forward, backward=backward)
    nested = _function(forward=function, setup_context=keep, backward=backward, vmap=mapped)

    def call(*args: Any) -> Any:
        if _is_watched(args):
            return operator(*args)
        if torch._C._are_functorch_transforms_active():
            return nested.apply(*args)
        return short.apply(*args) if torch.is_grad_enabled() or forward_ad._current_level >= 0 else function(*args)

    return call


def _with_axis(arg: Any, axis: int | None, size: int) -> Any:
    """A tensor with the mapped axis first, and anything else as it is."""
    if not isinstance(arg, Tensor):
        return arg
    return arg.expand(size, *arg.shape) if axis is None else arg.movedim(axis, 0)


def _function(**parts: Callable[..., Any]) -> Any:
    return type("Eigen", (torch.autograd.Function,), {name: staticmethod(part) for name, part in parts.items()})


def _is_watched(args: tuple[Any, ...]) -> bool:
    """Whether a compiler, a tracer, or a mode such as that of fake tensors wants to see which operators are called."""
    if torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() > 0 or torch._C._is_tracing():
        return True
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    legacy = torch._C._functorch.is_legacy_batchedtensor  # of autograd.grad(..., is_grads_batched=True)
    return any(type(tensor) not in _PLAIN or legacy(tensor) for tensor in tensors)


_eigenvalue = differentiable(operators.eigenvalue, _keep_value, _backward_value)
_eigenpair = differentiable(operators.eigenpair, _keep_pair, _backward_pair)
_eigenvalue_vjp = differentiable(operators.eigenvalue_vjp, _keep_value_vjp, _backward_value_vjp)
_eigenpair_vjp = differentiable(operators.eigenpair_vjp, _keep_pair_vjp, _backward_pair_vjp)
