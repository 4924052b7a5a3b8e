r"""Proximal steps after the steps of an optimiser: a Lasso over inputs, with exact zeros.

The parameters of a matrix are its coordinates, or those of L in A = (L Lᵀ)^{1/2} ("root"): steps in parameters and in A
have one scale, and the proximal step of :mod:`lambdak.torch.shrink` follows them. Under "factor", A = L Lᵀ, a step in θ
moves A in proportion to A, so that no matrix would ever be exactly zero. There the penalty takes an implicit gradient
step in θ, whose stationary points are those of loss plus penalty. A matrix becomes zero when two things hold: a step of
plain coordinates would remove it; and along its own ray, t A for t in [0, 1], the loss gains less than half of what the
penalty costs. The latter is known exactly: ⟨∂loss/∂A, A⟩ = ½ ⟨∂loss/∂θ, θ⟩, as A is quadratic in θ.
"""

from __future__ import annotations

from typing import Any

from torch.nn.utils import parametrize
from torch.utils.hooks import RemovableHandle

import torch
from lambdak._checks import check_positive
from lambdak.torch.autograd import spectral_norm
from lambdak.torch.hermitian import HermitianSpectralNeuron, real_form
from lambdak.torch.hyper import HyperSpectralNeuron
from lambdak.torch.shrink import check_shrinkable, penalised_modules, shrink_, shrink_rows_, signed_rows
from lambdak.torch.sparse import SparseSpectralNeuron
from torch import Tensor, nn

_KNOWN = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.SparseAdam)


def add_proximal_step(optimizer: torch.optim.Optimizer, network: nn.Module, alpha: float) -> RemovableHandle:
    """Follow every step of an optimiser by the proximal step of alpha · Σ_i ‖A_i‖₂.

    The threshold is alpha times the length of a step per unit of gradient. With SGD it leads to the minimum of loss
    plus penalty. Adam's steps have a length of their own for every number of a matrix, of which the mean is taken:
    zeros are exact there too, but alpha is a rule of thumb. A hook of the optimiser does it, which no state dict holds.
    A monotone input under the constraint "factor" does not come back from zero; under "root" it does.

    Parameters
    ----------
    optimizer
        SGD, Adam, AdamW or SparseAdam; schedulers and closures work as before.
    network
        Its neurons and layers whose weights the optimiser has are shrunk. Of a sparse neuron with sparse gradients
        only the rows of a step are: a rare id is penalised as rarely as it is seen.
    alpha
        Strength of the penalty.

    Returns
    -------
    handle whose ``remove()`` ends it

    Examples
    --------
    >>> from lambdak.torch import SpectralNeuron
    >>> _ = torch.manual_seed(0)
    >>> x = torch.randn(256, 3)
    >>> neuron = SpectralNeuron(3, dim=3)
    >>> optimizer = torch.optim.SGD(neuron.parameters(), lr=0.1)
    >>> _ = add_proximal_step(optimizer, neuron, alpha=0.05)
    >>> for _ in range(200):
    ...     optimizer.zero_grad()
    ...     (neuron(x) - 2 * x[:, 0]).square().mean().backward()
    ...     _ = optimizer.step()
    >>> (neuron.norms == 0).tolist()
    [False, True, True]
    """
    strength = check_positive(alpha, "alpha")
    if not isinstance(optimizer, _KNOWN):
        allowed = ", ".join(kind.__name__ for kind in _KNOWN)
        raise TypeError(f"optimizer must be one of {allowed}, whose steps are known; got {type(optimizer).__name__}")
    trained = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    shrunk: list[Any] = [
        module for module in penalised_modules(network) if all(id(part) in trained for part in _weights(module))
    ]
    if not shrunk:
        raise ValueError("optimizer must have parameters of the network's neurons or layers; got none of them")
    for module in shrunk:
        check_shrinkable(module)

    steps = _Steps(optimizer)

    def follow(*_: Any) -> None:
        for module in shrunk:
            if any(part.grad is not None for part in _weights(module)):
                _follow(module, strength, steps)

    return optimizer.register_step_post_hook(follow)


class _Steps:
    """How far the steps of an optimiser go."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer

    def adapts(self, parameter: Tensor) -> bool:
        """Whether the length of a step does not depend on that of the gradient, as with Adam."""
        return "exp_avg_sq" in self._optimizer.state[parameter]

    def rates(self, parameter: Tensor) -> Tensor:
        """How far a step goes per unit of gradient, for every matrix."""
        groups: Any = self._optimizer.param_groups
        group = next(group for group in groups if any(part is parameter for part in group["params"]))
        state = self._optimizer.state[parameter]
        rate = float(group["lr"]) / (1 - group.get("momentum", 0.0))
        if "exp_avg_sq" not in state:
            return torch.full(parameter.shape[:-1], rate, dtype=torch.float64)
        seen = state["max_exp_avg_sq"] if group.get("amsgrad") else state["exp_avg_sq"]
        size: Tensor = (seen.double() / (1 - group["betas"][1] ** float(state["step"]))).sqrt().mean(-1).cpu()
        lengths: Tensor = rate / (size + group["eps"])
        return lengths


def _follow(module: Any, alpha: float, steps: _Steps) -> None:
    """What follows a step on one module."""
    weights, rows = _weights(module), signed_rows(module)
    if isinstance(module, SparseSpectralNeuron):
        _follow_sparse(module, alpha * steps.rates(weights[0]))
    elif rows is None:
        shrink_(module, alpha * steps.rates(weights[0]))
    elif module.constraint == "root":
        shrink_(module, alpha * rows.in_order(steps.rates(weights[0]), steps.rates(weights[-1])))
    else:
        free, bound = weights[0], weights[-1]
        if rows.free and free.grad is not None:
            none = torch.zeros(bound.shape[:-1], dtype=torch.float64)
            _shrink_free_(module, alpha * rows.in_order(steps.rates(free), none))
        if bound.grad is not None:
            _shrink_factors_(module, bound, alpha, steps)


def _follow_sparse(module: SparseSpectralNeuron, thresholds: Tensor) -> None:
    """Shrink all rows, or those of a sparse gradient."""
    gradient, ids = module.weight.grad, torch.arange(module.num_ids)
    if gradient is not None and gradient.is_sparse:
        ids = gradient.coalesce().indices()[0].cpu()
    shrink_rows_(module, ids, thresholds[ids])


def _shrink_free_(module: Any, thresholds: Tensor) -> None:
    """The proximal step on free rows, which leaves the parameters of the others as they are, to the last bit."""
    bound = _weights(module)[-1]
    kept = bound.detach().clone()
    shrink_(module, thresholds)
    with torch.no_grad():
        bound.copy_(kept)


def _shrink_factors_(module: Any, theta: Tensor, alpha: float, steps: _Steps) -> None:
    """A gradient step of the penalty on the parameters of A = L Lᵀ, and exact zeros where they are due."""
    rows: Any = signed_rows(module)
    leaf, gradient = theta.detach().clone().requires_grad_(), theta.grad
    with torch.enable_grad():
        norms = _norms(module, rows.definite(leaf))
        (slope,) = torch.autograd.grad(norms.sum(), leaf)
    leaf, sizes = leaf.detach(), norms.detach().cpu().double()
    step = alpha * steps.rates(theta)
    # Per unit of ∂loss/∂A, of which ∂loss/∂θ is about 2 √‖A‖ times the size: Adam divides by that of ∂loss/∂θ.
    plain = step * 2 * sizes.sqrt() if steps.adapts(theta) else step
    trace = leaf.square().sum(-1).cpu().double()  # at least tr L Lᵀ, the nuclear norm
    pull = torch.zeros_like(trace) if gradient is None else (gradient * leaf).sum(-1).cpu().double() / 2
    gone = (trace <= plain) & (pull + alpha * sizes / 2 > 0)
    with torch.no_grad():
        # Implicit, as the slope along the first direction is 2 L: an explicit step would miss the minimum.
        moved = leaf - (step / (1 + 2 * step)).unsqueeze(-1).to(leaf) * slope
        theta.copy_(torch.where(gone.unsqueeze(-1).to(leaf.device), 0, moved))


def _norms(module: Any, coords: Tensor) -> Tensor:
    """‖A‖₂ of matrices in the coordinates of a module."""
    if isinstance(module, HermitianSpectralNeuron):
        return spectral_norm(real_form(coords, module.dim), 2 * module.dim)
    return spectral_norm(coords, module.dim, module.structure == "tridiagonal")


def _weights(module: nn.Module) -> list[Tensor]:
    """The tensors that an optimiser has for a module's weight: all rows, or free ones and parameters of the others.

    If there are no free rows, only the latter.
    """
    if isinstance(module, HyperSpectralNeuron):
        return [module.bias]  # of which the matrices are made; it is refused with its name
    if not parametrize.is_parametrized(module, "weight"):
        return [module.weight]  # type: ignore[list-item]
    return list(module.get_submodule("parametrizations.weight").parameters())
