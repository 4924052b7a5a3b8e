r"""The spectral-norm group penalty Σ_i ‖A_i‖₂: a term of a loss, and the proximal step that makes inputs exactly zero.

The step solves min ½‖B − A‖_F² + t ‖B‖₂ for every matrix, over all B of its structure and sign:

- dense: the largest |λ_j| are lowered to a common level, by t in total; B is zero if and only if Σ |λ_j| ≤ t. Complex
  Hermitian matrices have the same solution, and that of a semidefinite matrix is semidefinite;
- tridiagonal: the dense solution would fill the matrix. With P the tridiagonal part, B = A − P(Z) for the Z in the ball
  ‖Z‖_* ≤ t whose P(Z) is nearest to A, which accelerated projected gradients find.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from lambdak.pencil.constraints import SEMIDEFINITE
from lambdak.torch.autograd import spectral_norm
from lambdak.torch.constraints import SignedRows
from lambdak.torch.generalized import GeneralizedSpectralNeuron
from lambdak.torch.hermitian import HermitianSpectralNeuron, hermitian, unhermitian
from lambdak.torch.hyper import HyperSpectralNeuron, Neurons
from lambdak.torch.modules import SpectralLayer, SpectralNeuron, _Spectral
from lambdak.torch.ordered import OrderedSpectralLayer
from lambdak.torch.packing import sym, unsym
from lambdak.torch.promised import part_of
from lambdak.torch.shaped import ShapedRows
from lambdak.torch.slopes import LipschitzCap, SlopeCaps
from lambdak.torch.sparse import SparseSpectralNeuron
from lambdak.torch.sums import SpectralMixture
from torch import Tensor, nn

Shrinkable = (
    SpectralNeuron | SpectralLayer | OrderedSpectralLayer
    | SpectralMixture | HermitianSpectralNeuron | SparseSpectralNeuron
)  # fmt: skip
_SHRUNK = (
    SpectralNeuron, SpectralLayer, OrderedSpectralLayer,
    SpectralMixture, HermitianSpectralNeuron, SparseSpectralNeuron,
)  # fmt: skip
# Constraints that can express a zero matrix.
_ZEROS = tuple(name for name, family in SEMIDEFINITE.items() if family.reaches_zero)
_CHUNK = 1 << 14  # matrices that are factorised at once
_STEPS, _CLOSE = 300, 1e-9  # of projected gradients at most, and when the last one counts as none


def spectral_penalty(network: nn.Module | Neurons) -> Tensor:
    """Σ_i ‖A_i‖₂ over the inputs of all neurons and layers in a network: an upper bound on their influence, to add.

    Where another bound holds, as for mixtures and generalised problems, it is the sum of that: of every ``norms``. The
    matrices of a :class:`lambdak.torch.HyperSpectralNeuron` depend on contexts: of the neurons ``hyper.at(contexts)``
    the penalty is the mean over contexts.

    >>> _ = torch.manual_seed(0)
    >>> neuron = SpectralNeuron(3, dim=5)
    >>> bool(torch.isclose(spectral_penalty(neuron), neuron.norms.sum()))
    True
    """
    if isinstance(network, Neurons):
        return spectral_norm(network.weight, network.dim, network.tridiagonal).sum(-1).mean()
    for module in penalised_modules(network):
        if isinstance(module, HyperSpectralNeuron):
            raise TypeError(
                "network must have matrices that do not depend on a context; got a HyperSpectralNeuron: "
                "add spectral_penalty(hyper.at(context)), the mean over the contexts"
            )
    norms: list[Any] = [module.norms for module in penalised_modules(network)]
    return torch.stack([norm.sum() for norm in norms]).sum()


def penalised_modules(network: nn.Module) -> list[nn.Module]:
    """All neurons and layers in a network, of any kind; none is an error."""
    if not isinstance(network, nn.Module):
        raise TypeError(f"network must be an nn.Module; got {type(network).__name__}")
    kinds = (_Spectral, SparseSpectralNeuron, HyperSpectralNeuron)
    modules: list[nn.Module] = [module for module in network.modules() if isinstance(module, kinds)]
    if not modules:
        raise ValueError(f"network must hold a spectral neuron or layer; got {type(network).__name__}")
    return modules


def shrink_(module: Shrinkable, threshold: float | Tensor) -> None:
    """The proximal step of threshold · Σ_i ‖A_i‖₂, in place: ‖A_i‖₂ falls, and small matrices become exactly zero.

    The largest singular values of a dense matrix are lowered to a common level, by ``threshold`` in total; a matrix
    whose nuclear norm is at most that becomes zero. A tridiagonal matrix stays tridiagonal, and a semidefinite one
    semidefinite. In a layer, the matrices of one input are treated neuron by neuron; of a mixture, the matrices are
    treated as those of a neuron are, whatever the weights of the eigenvalues. ``threshold`` is one for all matrices, or
    one each, in the shape of ``module.norms``. A matrix that is not finite is ignored, and a monotone input under the
    constraint "factor" does not come back from zero. The step is computed on the host, in float64;
    that of tridiagonal matrices is iterated until a round changes it by less than 1e-9 of them, 300 rounds at most.
    """
    check_shrinkable(module)
    with torch.no_grad():
        weight = module.weight.detach()
    matrices = weight.shape[:-1]
    thresholds = torch.as_tensor(threshold, dtype=torch.float64).detach().cpu()
    if thresholds.ndim and thresholds.shape != matrices:
        raise ValueError(
            f"threshold must be one number, or have shape {tuple(matrices)}; got {tuple(thresholds.shape)}"
        )
    if not (thresholds >= 0).all():
        raise ValueError(f"threshold must be at least 0; got {thresholds.min().item()}")
    thresholds = thresholds.expand(matrices)
    if isinstance(module, SparseSpectralNeuron):
        every = torch.arange(module.num_ids)
        shrink_rows_(module, every, thresholds)
    else:
        signs = torch.tensor(module.monotonic_cst).reshape(-1, *[1] * (len(matrices) - 1)).expand(matrices)
        module.set_weight_(_shrunk(weight, thresholds, signs, module).to(weight))


def shrink_rows_(module: SparseSpectralNeuron, ids: Tensor, thresholds: Tensor) -> None:
    """The proximal step on the matrices of some ids only, with a threshold each."""
    with torch.no_grad():
        for part, levels in zip(torch.split(ids, _CHUNK), torch.split(thresholds, _CHUNK), strict=True):
            rows = module.weight[part.to(module.weight.device)]
            shrunk = _shrunk(rows, levels, torch.zeros(len(part)), module)
            module.weight[part.to(module.weight.device)] = shrunk.to(rows)


def check_shrinkable(module: object) -> None:
    """Refuse modules without a proximal step, and settings under which no matrix can be zero."""
    if isinstance(module, GeneralizedSpectralNeuron):
        raise TypeError(
            "proximal steps of ‖A_i‖₂ do not fit a GeneralizedSpectralNeuron, whose influences are ‖L⁻¹ A_i L⁻ᵀ‖₂: "
            "add spectral_penalty to the loss"
        )
    if not isinstance(module, _SHRUNK):
        names = ", ".join(kind.__name__ for kind in _SHRUNK)
        raise TypeError(
            f"proximal steps are those of {names}; got {type(module).__name__}: "
            "give them a network without it, or add spectral_penalty to the loss"
        )
    parts = (part_of(module, kind) for kind in (ShapedRows, SlopeCaps, LipschitzCap))
    tied = next((part for part in parts if part is not None and not getattr(part, "is_separate", False)), None)
    if tied is not None:
        raise ValueError(
            f"proximal steps take one matrix at a time, and constraints bind several: {tied.extra_repr()}: add "
            "spectral_penalty to the loss"
        )
    constraint = getattr(module, "constraint", None)
    if constraint not in (None, *_ZEROS):
        raise ValueError(f"constraint must be one of {_ZEROS} for inputs to become exactly zero; got {constraint!r}")


def _shrunk(weight: Tensor, thresholds: Tensor, signs: Tensor, module: nn.Module) -> Tensor:
    """The proximal step on coordinates (..., width), in float64 on the host."""
    rows = weight.reshape(-1, weight.shape[-1]).cpu().double().clone()
    kept = rows.isfinite().all(-1)
    flat, wanted = thresholds.flatten()[kept], signs.flatten()[kept]
    rows[kept] = proximal(rows[kept], flat, wanted, *_coordinates(module))
    return rows.reshape(weight.shape)


_Map = Callable[[Tensor], Tensor]


def _coordinates(module: nn.Module) -> tuple[_Map, _Map, bool]:
    """From coordinates to matrices and back, and whether the matrices are dense."""
    dim: int = module.dim  # type: ignore[assignment]
    if isinstance(module, HermitianSpectralNeuron):
        return lambda rows: hermitian(rows, dim), unhermitian, True
    tridiagonal = getattr(module, "structure", "dense") == "tridiagonal"
    return lambda rows: sym(rows, dim, tridiagonal), lambda full: unsym(full, tridiagonal), not tridiagonal


def proximal(rows: Tensor, threshold: Tensor, signs: Tensor, matrices: _Map, back: _Map, is_dense: bool) -> Tensor:
    """Argmin ½‖B − A‖_F² + t ‖B‖₂ for coordinates (rows, width), thresholds (rows,) and signs of the matrices."""
    target = matrices(rows)
    if is_dense or not len(rows):
        return back(_dense(target, threshold, signs))
    ball = torch.zeros_like(target)
    ahead, momentum = ball, 1.0
    for _ in range(_STEPS):
        moved = ahead + target - matrices(back(ahead))
        lowered = _dense(moved, threshold, signs)
        last, ball = ball, moved - lowered  # by Moreau's decomposition the projection onto the ball
        momentum, before = (1 + (1 + 4 * momentum**2) ** 0.5) / 2, momentum
        ahead = ball + (before - 1) / momentum * (ball - last)
        if (ball - last).abs().amax() <= _CLOSE * target.abs().amax():
            break
    gone = (lowered == 0).all(-1).all(-1)[:, None]
    return torch.where(gone, 0, rows - back(ball))


def _dense(matrix: Tensor, threshold: Tensor, signs: Tensor) -> Tensor:
    """Argmin ½‖B − A‖_F² + t ‖B‖₂ over dense matrices (rows, d, d), or over the semidefinite ones of a sign."""
    values, basis = torch.linalg.eigh(matrix)
    flipped = values * torch.where(signs < 0, -1, 1)[:, None]
    sizes = torch.where(signs[:, None] == 0, flipped.abs(), flipped.clamp_min(0))
    level = _level(sizes, threshold)
    sizes = torch.minimum(sizes, level)
    shrunk: Tensor = basis * (sizes * values.sign()).unsqueeze(-2) @ basis.mH
    return torch.where((level > 0).unsqueeze(-1), shrunk, 0)


def _level(sizes: Tensor, threshold: Tensor) -> Tensor:
    """The c ≥ 0 for which min(sizes, c) is ``threshold`` less in total along the last axis, (..., 1)."""
    descending = sizes.sort(-1, descending=True).values
    counts = torch.arange(1, sizes.shape[-1] + 1)
    levels = (descending.cumsum(-1) - threshold.unsqueeze(-1)) / counts
    return levels.amax(-1, keepdim=True).clamp_min(0)


def signed_rows(module: nn.Module) -> SignedRows | None:
    """The parametrisation of monotone inputs, if there are any."""
    return part_of(module, SignedRows) if isinstance(module, _Spectral) else None
