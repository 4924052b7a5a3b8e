r"""Constraints by construction, as parametrisations for ``torch.nn.utils.parametrize``.

:class:`Definite` turns free parameters into coordinates of positive-semidefinite matrices and back, in one of the
ways that ``lambdak.pencil.constraints.SEMIDEFINITE`` names:

==============  ====================  ================================================================
"diagonal"      diag(squareplus(θ))   d parameters; for one monotone input the gauge makes it enough
"factor"        L Lᵀ                  L a lower triangle, or of two diagonals if A is tridiagonal
"root"          (L Lᵀ)^{1/2}          dense; steps in θ and in A have the same scale
"squareplus"    V squareplus(Λ) Vᵀ    dense; smooth everywhere
==============  ====================  ================================================================

The last two are operators of :mod:`lambdak.torch.spectral_maps`, which can be differentiated once, in reverse mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from torch.nn.utils import parametrize

import torch
from lambdak._checks import check_dim
from lambdak.pencil.constraints import SEMIDEFINITE
from lambdak.torch.autograd import spectral_norm
from lambdak.torch.inputs import check_tensor, is_autocast
from lambdak.torch.packing import sym, unsym, width
from lambdak.torch.spectral_maps import spectral_map, squareplus
from torch import Tensor, nn

_DENSE = tuple(SEMIDEFINITE)
_TRIDIAGONAL = tuple(name for name, family in SEMIDEFINITE.items() if family.allows_tridiagonal)


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
        allowed = _TRIDIAGONAL if tridiagonal else _DENSE
        if constraint not in allowed:
            kind = "tridiagonal" if tridiagonal else "dense"
            raise ValueError(f"constraint must be one of {allowed} for {kind} matrices; got {constraint!r}")
        self.constraint, self.dim, self.tridiagonal = constraint, check_dim(dim), tridiagonal
        self.size = dim if constraint == "diagonal" else width(dim, tridiagonal)

    def forward(self, theta: Tensor) -> Tensor:
        """Coordinates of the matrices."""
        check_tensor(theta, "theta")
        if theta.ndim == 0 or theta.shape[-1] != self.size:
            raise ValueError(f"theta must have {self.size} entries on its last axis; got shape {tuple(theta.shape)}")
        device = theta.device.type
        if is_autocast(device):
            with torch.autocast(device, enabled=False):  # a product in half precision would not be semidefinite
                return self._coords(theta)
        return self._coords(theta)

    def _coords(self, theta: Tensor) -> Tensor:
        if self.constraint == "diagonal":
            return unsym(torch.diag_embed(squareplus(theta)), self.tridiagonal)
        if self.constraint == "factor":
            lower = sym(theta, self.dim, self.tridiagonal).tril()
            return unsym(lower @ lower.mT, self.tridiagonal)
        return spectral_map(theta, self.constraint)  # type: ignore[no-any-return]

    def right_inverse(self, coords: Tensor) -> Tensor:
        """Parameters of these matrices, or of the nearest ones that there are.

        A tridiagonal matrix that is not semidefinite is shifted by a multiple of the identity until it is.
        """
        check_tensor(coords, "coords")
        if coords.is_meta:
            return coords.new_empty(*coords.shape[:-1], self.size)
        wanted = coords.detach().cpu().double()
        if self.constraint == "factor" and self.tridiagonal:
            theta = _bidiagonal_factor(wanted, self.dim)
        else:
            dense = unsym(sym(wanted, self.dim, True)) if self.tridiagonal else wanted
            theta = torch.from_numpy(SEMIDEFINITE[self.constraint].constraint.right_inverse(dense.numpy()))
            if self.constraint == "factor":  # in the coordinates of sym, which divides by √2 off the diagonal
                row, column = torch.tril_indices(self.dim, self.dim)
                theta = torch.where(row == column, theta, theta * sqrt(2.0))
        return theta.to(coords)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.constraint!r}, dim={self.dim}, tridiagonal={self.tridiagonal}"


def _bidiagonal_factor(coords: Tensor, dim: int) -> Tensor:
    """Cholesky's factor of tridiagonal matrices, in the coordinates of its two diagonals."""
    lowest = torch.linalg.eigvalsh(sym(coords, dim, True))[..., :1]
    diagonal, below = coords[..., :dim] - lowest.clamp_max(0), coords[..., dim:] * sqrt(0.5)
    lengths, links = [diagonal[..., 0].clamp_min(0).sqrt()], []
    for i in range(dim - 1):
        largest = diagonal[..., i + 1].clamp_min(0).sqrt()  # of a semidefinite matrix; rounding may exceed it
        links.append(torch.where(lengths[i] > 0, below[..., i] / lengths[i], 0).clamp(-largest, largest))
        lengths.append((diagonal[..., i + 1] - links[i] ** 2).clamp_min(0).sqrt())
    return torch.cat([torch.stack(lengths, -1), *([torch.stack(links, -1) * sqrt(2.0)] if links else [])], -1)


class SignedRows(nn.Module):
    """Weights (in_features, ..., width) whose rows are free, positive or negative semidefinite, by sign.

    A parametrisation of two tensors: the free rows, and the parameters of the others.
    """

    def __init__(self, signs: Sequence[int], definite: Definite) -> None:
        super().__init__()
        self.definite = definite
        self.free = [i for i, sign in enumerate(signs) if sign == 0]
        self.bound = [i for i, sign in enumerate(signs) if sign != 0]
        self.signs = tuple(signs)

    def forward(self, free: Tensor, bound: Tensor) -> Tensor:
        """All rows, in the order of the inputs."""
        return self.in_order(free, self._flipped(self.definite(bound)))

    def in_order(self, free: Tensor, bound: Tensor) -> Tensor:
        """What belongs to free rows and to the others, in the order of the inputs."""
        if not self.free:  # an empty tensor may have another dtype, where parameters are cast for a step
            return bound
        order = torch.tensor([*self.free, *self.bound], device=free.device).argsort()
        return torch.cat([free, bound]).index_select(0, order)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The free rows as they are, and the parameters of the nearest semidefinite ones."""
        check_tensor(weight, "weight")
        if len(weight) != len(self.signs):
            raise ValueError(f"weight must have {len(self.signs)} rows, one per input; got {len(weight)}")
        bound = self.definite.right_inverse(self._flipped(weight[self.bound]))
        return weight[self.free].clone(memory_format=torch.contiguous_format), bound.contiguous()

    def _flipped(self, rows: Tensor) -> Tensor:
        signs = torch.tensor([float(self.signs[i]) for i in self.bound], dtype=rows.dtype, device=rows.device)
        return rows * signs.reshape(-1, *[1] * (rows.ndim - 1))


def constrain_rows(module: nn.Module, rows: nn.Module) -> None:
    """Make the weight of a module one of constrained rows.

    Tensors without entries, as that of free rows where all are bound, are buffers: FSDP2 shards no empty parameter.
    """
    parametrize.register_parametrization(module, "weight", rows)
    originals = module.get_submodule("parametrizations.weight")
    for name, parameter in list(originals.named_parameters(recurse=False)):
        if not parameter.numel() and len(list(originals.parameters(recurse=False))) > 1:
            delattr(originals, name)
            originals.register_buffer(name, parameter.detach())


class Cap(nn.Module):
    """A min(1, cap / ‖A‖₂): whatever the parameters are, no row's spectral norm exceeds its cap.

    Scaling keeps semidefinite matrices semidefinite, so that it comes after :class:`SignedRows`.
    """

    def __init__(self, caps: Sequence[float], dim: int, tridiagonal: bool = False) -> None:
        super().__init__()
        self.caps, self.dim, self.tridiagonal = tuple(caps), dim, tridiagonal

    def forward(self, weight: Tensor) -> Tensor:
        """The rows, scaled where they are too large."""
        wide = weight if weight.dtype == torch.float64 else weight.float()
        norm = spectral_norm(wide, self.dim, self.tridiagonal)
        # Rounding must not lift a norm over its cap, neither here nor on the way back to half precision.
        margin = (1 - 8 * self.dim * torch.finfo(wide.dtype).eps) * (1 - torch.finfo(weight.dtype).eps)
        caps = norm.new_tensor(self.caps).mul(margin).reshape(-1, *[1] * (norm.ndim - 1))
        return (wide * (caps / torch.maximum(norm, caps)).unsqueeze(-1)).to(weight.dtype)

    def right_inverse(self, weight: Tensor) -> Tensor:
        """The rows themselves, scaled where they are too large."""
        check_tensor(weight, "weight")
        return self.forward(weight).contiguous()

    def extra_repr(self) -> str:
        """The caps."""
        return f"caps={list(self.caps)}"


class Diagonal(nn.Module):
    """Diagonals (..., d) to coordinates (..., width) of diagonal matrices."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = check_dim(dim)

    def forward(self, diagonal: Tensor) -> Tensor:
        """Coordinates of the matrices."""
        return unsym(torch.diag_embed(diagonal))

    def right_inverse(self, coords: Tensor) -> Tensor:
        """The diagonals of these matrices: what is nearest to them among diagonal ones."""
        return sym(coords, self.dim).diagonal(dim1=-2, dim2=-1).contiguous()


def check_diagonal_constant(structure: str, constraint: str | None) -> None:
    """Refuse a diagonal A_0 where no change of basis is left that would make it so."""
    if structure == "tridiagonal":
        raise ValueError('diagonal_constant needs structure="dense": no change of basis keeps matrices tridiagonal')
    if constraint == "diagonal":
        raise ValueError(
            'diagonal_constant needs another constraint than "diagonal", as a change of basis makes one matrix '
            'diagonal, not two: use constraint="factor"'
        )
