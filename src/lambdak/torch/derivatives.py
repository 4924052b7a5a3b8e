r"""Derivatives of λ_k and v_k in both modes, and derivatives of these, made of the same operators.

With the pseudo-inverse R = (λ − A)⁺::

    dλ = vᵀ dA v        dv = R dA v        dR = R dA R − dλ R² − R² dA vvᵀ − vvᵀ dA R²

Reverse mode needs the transposes, which are operators of their own: ``eigenvalue_vjp`` is Σ_m g_m v_m v_mᵀ, and
``eigenpair_vjp`` is Σ_m (g_m v_m + R_m h_m) v_mᵀ, symmetrised, for gradients g of the values and h of the vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from lambdak.torch import operators
from lambdak.torch.dispatch import differentiable, save
from lambdak.torch.packing import sym, unsym
from torch import Tensor

# The pair.


def _keep_pair(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.form = inputs[1], inputs[3]
    ctx.set_materialize_grads(False)
    save(ctx, inputs[0], *output)


def _backward_pair(ctx: Any, grad_value: Tensor | None, grad_vector: Tensor | None) -> tuple[Tensor | None, ...]:
    coords, value, vector = ctx.saved_tensors
    if grad_value is None and grad_vector is None:
        return None, None, None, None
    if grad_value is None:
        grad_value = torch.zeros_like(value)
    if grad_vector is None:
        grad = eigenvalue_vjp(vector, grad_value, *ctx.form)
    else:
        grad = eigenpair_vjp(coords, value, vector, grad_value, grad_vector, *ctx.form)
    return grad, None, None, None


def _forward_pair(ctx: Any, saved: Sequence[Tensor], tangent: Tensor, *_: None) -> tuple[Tensor, Tensor]:
    coords, value, vector = saved
    moved = vector @ sym(tangent, *ctx.form)  # dA v_m in rows
    return (vector * moved).sum(-1), _resolve(coords, value, vector, moved, *ctx.form)


# The value alone.


def _keep_value(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, *ctx.arguments = inputs
    save(ctx, inputs[0])


def _backward_value(ctx: Any, grad_value: Tensor) -> tuple[Tensor | None, ...]:
    (coords,) = ctx.saved_tensors
    dim, _, tridiagonal = ctx.arguments
    vector = eigenpair(coords, *ctx.arguments)[1]
    return eigenvalue_vjp(vector, grad_value, dim, tridiagonal), None, None, None


def _forward_value(ctx: Any, saved: Sequence[Tensor], tangent: Tensor, *_: None) -> Tensor:
    (coords,) = saved
    dim, _, tridiagonal = ctx.arguments
    vector: Tensor = eigenpair(coords, *ctx.arguments)[1]
    return (vector * (vector @ sym(tangent, dim, tridiagonal))).sum(-1)


# The transposed derivative of the value.


def _keep_value_vjp(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.form = inputs[2:]
    save(ctx, *inputs[:2])


def _backward_value_vjp(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    vector, grad_value = ctx.saved_tensors
    moved = vector @ sym(grad, *ctx.form)  # S v_m in rows
    return 2 * grad_value[..., None] * moved, (vector * moved).sum(-1), None, None


def _forward_value_vjp(ctx: Any, saved: Sequence[Tensor], *tangents: Tensor | None) -> Tensor:
    vector, grad_value = saved
    by_vector, by_value = _filled(tangents, saved)
    across = (2 * grad_value[..., None] * by_vector).mT @ vector  # symmetrised below
    return unsym(across, ctx.form[1]) + eigenvalue_vjp(vector, by_value, *ctx.form)  # type: ignore[no-any-return]


# The transposed derivative of the pair; the eigenvalue in it depends on the matrix, not the other way round.


def _keep_pair_vjp(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.form = inputs[5:]
    save(ctx, *inputs[:5])


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


def _forward_pair_vjp(ctx: Any, saved: Sequence[Tensor], *tangents: Tensor | None) -> Tensor:
    coords, value, vector, grad_value, right = saved
    by_coords, _, by_vector, by_value, by_right = _filled(tangents, saved)

    def solve(h: Tensor) -> Tensor:
        return _resolve(coords, value, vector, h, *ctx.form)

    matrix = sym(by_coords, *ctx.form)
    moved = vector @ matrix  # dA v_m in rows
    solved, answered = solve(right), solve(moved)  # R h and R dA v
    along, across = ((vector * part).sum(-1, keepdim=True) for part in (right, moved))
    rows = solve(solved @ matrix - across * solved - along * answered + by_right)  # dR h + R dh, but for its part in v
    rows = rows + (by_value[..., None] - (solved * answered).sum(-1, keepdim=True)) * vector
    rows = rows + grad_value[..., None] * by_vector
    return unsym(rows.mT @ vector + (grad_value[..., None] * vector + solved).mT @ by_vector, ctx.form[1])


def _filled(tangents: tuple[Tensor | None, ...], like: Sequence[Tensor]) -> list[Tensor]:
    """Tangents of tensors, with zeros for those that have none."""
    pairs = zip(tangents, like, strict=False)
    return [torch.zeros_like(tensor) if tangent is None else tangent for tangent, tensor in pairs]


def _resolve(coords: Tensor, value: Tensor, vector: Tensor, right: Tensor, dim: int, tridiagonal: bool) -> Tensor:
    """R h for right-hand sides (..., m, d): S v with S = (R h) vᵀ + v (R h)ᵀ, as R h is orthogonal to v."""
    dense = unsym(sym(coords, dim, True)) if tridiagonal else coords
    copies = dense.unsqueeze(-2).expand(*value.shape, dense.shape[-1])
    value, vector, right = value.unsqueeze(-1), vector.unsqueeze(-2), right.unsqueeze(-2)
    half = eigenpair_vjp(copies, value, vector, torch.zeros_like(value), right, dim, False)
    return 2 * (vector @ sym(half, dim)).squeeze(-2)


# Every operator takes any leading shape, so that a mapped axis becomes one more.

eigenvalue = differentiable(operators.eigenvalue, _keep_value, _backward_value, _forward_value)
eigenpair = differentiable(operators.eigenpair, _keep_pair, _backward_pair, _forward_pair)
eigenvalue_vjp = differentiable(operators.eigenvalue_vjp, _keep_value_vjp, _backward_value_vjp, _forward_value_vjp)
eigenpair_vjp = differentiable(operators.eigenpair_vjp, _keep_pair_vjp, _backward_pair_vjp, _forward_pair_vjp)
