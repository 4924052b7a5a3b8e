r"""Constraints by construction, as parametrisations for ``torch.nn.utils.parametrize``.

:class:`Definite` turns free parameters into coordinates of positive-semidefinite matrices and back, in one of four
ways:

==============  ====================  ==========================================================
"diagonal"      diag(squareplus(θ))   d parameters; for one monotone input the gauge makes it enough
"factor"        L Lᵀ                  L a lower triangle, or of two diagonals if A is tridiagonal
"root"          (L Lᵀ)^{1/2}          dense; steps in θ and in A have the same scale
"squareplus"    V squareplus(Λ) Vᵀ    dense; smooth everywhere
==============  ====================  ==========================================================

The last two are computed by :mod:`lambdak.constraints` and can be differentiated once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lambdak._checks import FloatArray
from lambdak.constraints import Constraint, DiagonalPSD, Factor, RootFactor, SpectralSquareplus
from lambdak.torch.autograd import spectral_norm
from lambdak.torch.packing import sym, unsym, width

_CORE: dict[str, Constraint] = {
    "diagonal": DiagonalPSD(),
    "factor": Factor(),
    "root": RootFactor(),
    "squareplus": SpectralSquareplus(),
}
_TRIDIAGONAL = ("diagonal", "factor")


def squareplus(x: Tensor) -> Tensor:
    """(x + √(1 + x²)) / 2, positive for every x.

    >>> squareplus(torch.tensor([0.0, 0.75]))
    tensor([0.5000, 1.0000])
    """
    large = (x.abs() + torch.hypot(x, torch.ones_like(x))) / 2
    return torch.where(x < 0, 0.25 / large, large)  # where the sum would cancel


class Definite(nn.Module):
    """Parameters (..., size) to coordinates (..., width) of positive-semidefinite matrices.

    Parameters
    ----------
    constraint
        "diagonal", "factor", "root" or "squareplus".
    dim
        Size d of the matrices.
    tridiagonal
        Whether the coordinates are those of tridiagonal matrices, which "diagonal" and "factor" have.
    """

    def __init__(self, constraint: str, dim: int, tridiagonal: bool = False) -> None:
        super().__init__()
        known = _TRIDIAGONAL if tridiagonal else tuple(_CORE)
        if constraint not in known:
            kind = "tridiagonal" if tridiagonal else "dense"
            raise ValueError(f"constraint must be one of {known} for {kind} matrices; got {constraint!r}")
        self.constraint, self.dim, self.tridiagonal = constraint, dim, tridiagonal
        self.size = dim if constraint == "diagonal" else width(dim, tridiagonal)

    def forward(self, theta: Tensor) -> Tensor:
        """Coordinates of the matrices."""
        if self.constraint == "diagonal":
            return unsym(torch.diag_embed(squareplus(theta)), self.tridiagonal)
        if self.constraint == "factor":
            lower = sym(theta, self.dim, self.tridiagonal).tril()
            return unsym(lower @ lower.mT, self.tridiagonal)
        return torch.ops.lambdak.constrain(theta, self.constraint)  # type: ignore[no-any-return]

    def right_inverse(self, coords: Tensor) -> Tensor:
        """Parameters of these matrices, or of the nearest ones that there are."""
        given = coords.detach().cpu().double()
        if self.constraint == "factor" and self.tridiagonal:
            found = _bidiagonal_factor(given, self.dim)
        else:
            dense = unsym(sym(given, self.dim, True)) if self.tridiagonal else given
            found = torch.from_numpy(_CORE[self.constraint].right_inverse(dense.numpy()))
            if self.constraint == "factor":  # in the coordinates of sym, which divides by √2 off the diagonal
                row, column = torch.tril_indices(self.dim, self.dim)
                found = torch.where(row == column, found, found * sqrt(2.0))
        return found.to(coords)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.constraint!r}, dim={self.dim}, tridiagonal={self.tridiagonal}"


def _bidiagonal_factor(coords: Tensor, dim: int) -> Tensor:
    """Cholesky's factor of tridiagonal matrices, in the coordinates of its two diagonals."""
    diagonal, below = coords[..., :dim], coords[..., dim:] * sqrt(0.5)
    lengths, links = [diagonal[..., 0].clamp_min(0).sqrt()], []
    for i in range(dim - 1):
        links.append(torch.where(lengths[i] > 0, below[..., i] / lengths[i], 0))
        lengths.append((diagonal[..., i + 1] - links[i] ** 2).clamp_min(0).sqrt())
    return torch.cat([torch.stack(lengths, -1), *([torch.stack(links, -1) * sqrt(2.0)] if links else [])], -1)


class Rows(nn.Module):
    """Weights (in_features, ..., width) whose rows are free, positive or negative semidefinite, by sign.

    A parametrisation of two tensors: the free rows, and the parameters of the others.
    """

    order: Tensor
    flips: Tensor

    def __init__(self, signs: Sequence[int], definite: Definite) -> None:
        super().__init__()
        self.definite = definite
        self.straight = [i for i, sign in enumerate(signs) if sign == 0]
        self.bent = [i for i, sign in enumerate(signs) if sign != 0]
        self.register_buffer("order", torch.tensor([*self.straight, *self.bent]).argsort(), persistent=False)
        self.register_buffer("flips", torch.tensor([float(signs[i]) for i in self.bent]), persistent=False)

    def forward(self, free: Tensor, bound: Tensor) -> Tensor:
        """All rows, in the order of the inputs."""
        return torch.cat([free, self._flipped(self.definite(bound))]).index_select(0, self.order)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The free rows as they are, and the parameters of the nearest semidefinite ones."""
        return weight[self.straight].clone(), self.definite.right_inverse(self._flipped(weight[self.bent]))

    def _flipped(self, rows: Tensor) -> Tensor:
        return rows * self.flips.to(rows.dtype).reshape(-1, *[1] * (rows.ndim - 1))


class Cap(nn.Module):
    """A min(1, cap / ‖A‖₂): whatever the parameters are, no row's spectral norm exceeds its cap.

    Scaling keeps semidefinite matrices semidefinite, so that it comes after :class:`Rows`.
    """

    caps: Tensor

    def __init__(self, caps: Sequence[float], dim: int, tridiagonal: bool = False) -> None:
        super().__init__()
        self.dim, self.tridiagonal = dim, tridiagonal
        self.register_buffer("caps", torch.tensor(caps, dtype=torch.float64), persistent=False)

    def forward(self, weight: Tensor) -> Tensor:
        """The rows, scaled where they are too large."""
        norm = spectral_norm(weight, self.dim, self.tridiagonal)
        margin = 1 - 8 * self.dim * torch.finfo(weight.dtype).eps  # rounding must not lift a norm over its cap
        caps = (self.caps * margin).to(weight.dtype).reshape(-1, *[1] * (norm.ndim - 1))
        factor = torch.where(norm > caps, caps / norm.clamp_min(torch.finfo(weight.dtype).tiny), 1)
        return weight * factor.unsqueeze(-1)

    def right_inverse(self, weight: Tensor) -> Tensor:
        """The rows themselves, scaled where they are too large."""
        return self.forward(weight)


# The core's constraints as an operator.


@torch.library.custom_op("lambdak::constrain", mutates_args=())
def constrain(theta: Tensor, constraint: str) -> Tensor:
    """forward(θ) of one of the core's constraints."""
    return _through_numpy(_CORE[constraint].forward, theta)


@torch.library.custom_op("lambdak::constrain_vjp", mutates_args=())
def constrain_vjp(theta: Tensor, grad: Tensor, constraint: str) -> Tensor:
    """Its transposed derivative applied to a gradient."""
    return _through_numpy(_CORE[constraint].vjp, theta, grad)


def _through_numpy(function: Any, *tensors: Tensor) -> Tensor:
    given: list[FloatArray] = [tensor.detach().cpu().numpy() for tensor in tensors]
    return torch.from_numpy(np.ascontiguousarray(function(*given))).to(tensors[0].device)


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
    return torch.ops.lambdak.constrain_vjp(ctx.saved_tensors[0], grad, ctx.constraint), None


constrain.register_autograd(_backward, setup_context=_keep)
for _operator in (constrain, constrain_vjp):
    for _device in ("cpu", "cuda"):
        _operator.register_autocast(_device, torch.float32)
