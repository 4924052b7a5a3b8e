r"""The spectral-norm group penalty Σ_i ‖A_i‖₂: a term of a loss, and a proximal step that makes inputs exactly zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch.nn.utils import parametrize
from torch.utils.hooks import RemovableHandle

import torch
from lambdak._checks import check_positive
from lambdak.pencil.constraints import SEMIDEFINITE
from lambdak.torch.modules import SpectralLayer, SpectralNeuron, _Spectral
from lambdak.torch.ordered import OrderedSpectralLayer
from lambdak.training.shrink import prox
from torch import Tensor, nn

# Constraints that can express a zero matrix, and those of them whose steps in parameters and matrices have one scale.
_ZEROS = (None, *(name for name, own in SEMIDEFINITE.items() if own.reaches_zero))
_SCALED = (None, *(name for name, own in SEMIDEFINITE.items() if own.reaches_zero and own.keeps_scale))
_SHRUNK = (SpectralNeuron, SpectralLayer, OrderedSpectralLayer)  # whose bound is ‖A_i‖₂ of the matrices themselves
_KNOWN = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW)


def spectral_penalty(network: nn.Module) -> Tensor:
    """Σ_i ‖A_i‖₂ over the inputs of all neurons and layers in a network: an upper bound on their influence, to add.

    Where another bound holds, as for mixtures and generalised problems, it is the sum of that: of every ``norms``.

    >>> _ = torch.manual_seed(0)
    >>> neuron = SpectralNeuron(3, dim=5)
    >>> bool(torch.isclose(spectral_penalty(neuron), neuron.norms.sum()))
    True
    """
    return torch.stack([module.norms.sum() for module in _spectral_modules(network)]).sum()


def _spectral_modules(network: nn.Module) -> list[_Spectral]:
    """All neurons and layers in a network, of any kind; none is an error."""
    found = [module for module in network.modules() if isinstance(module, _Spectral)]
    if not found:
        raise ValueError(f"network must hold a spectral neuron or layer; got {type(network).__name__}")
    return found


def shrink_(module: SpectralNeuron | SpectralLayer | OrderedSpectralLayer, threshold: float | Tensor) -> None:
    """The proximal step of threshold · Σ_i ‖A_i‖₂, in place: ‖A_i‖₂ falls, and small matrices become exactly zero.

    The largest singular values of a matrix are lowered to a common level, by ``threshold`` in total; a matrix whose
    nuclear norm is at most that becomes zero. In a layer, the matrices of one input are treated neuron by neuron.
    ``threshold`` is one for all matrices, or one each, in the shape of ``module.norms``. A matrix that is not finite
    is ignored, and a monotone input under the constraint "factor" does not come back from zero.
    """
    _check_zeros(module, _ZEROS)
    thresholds = torch.as_tensor(threshold, dtype=torch.float64).detach().cpu()
    if thresholds.ndim and thresholds.shape != module.norms.shape:
        shape = tuple(module.norms.shape)
        raise ValueError(f"threshold must be one number, or have shape {shape}; got {tuple(thresholds.shape)}")
    if not (thresholds >= 0).all():
        raise ValueError(f"threshold must be at least 0; got {thresholds.min().item()}")
    weight = module.weight.detach()
    rows = weight.reshape(-1, 1, weight.shape[-1]).cpu().double()
    finite = rows.isfinite().all(-1).squeeze(-1)
    each = thresholds.expand(module.norms.shape).flatten()[finite]
    rows[finite] = torch.from_numpy(prox(rows[finite].numpy(), each.numpy()))
    module.set_weight_(rows.to(weight).reshape(weight.shape))


def add_proximal_step(optimizer: torch.optim.Optimizer, network: nn.Module, alpha: float) -> RemovableHandle:
    """Follow every step of an optimiser by the proximal step of alpha · Σ_i ‖A_i‖₂.

    The threshold is alpha times the length of a step per unit of gradient. With SGD it leads to the minimum of loss
    plus penalty. Adam's steps have a length of their own for every number of a matrix, of which the mean is taken:
    zeros are exact there too, but alpha is a rule of thumb. A hook of the optimiser does it, which no state dict holds.

    Parameters
    ----------
    optimizer
        SGD, Adam or AdamW; schedulers and closures work as before.
    network
        Its neurons and layers whose weights the optimiser has are shrunk.
    alpha
        Strength of the penalty.

    Returns
    -------
    handle whose ``remove()`` ends it

    Examples
    --------
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
        known = ", ".join(kind.__name__ for kind in _KNOWN)
        raise TypeError(f"optimizer must be one of {known}, whose steps are known; got {type(optimizer).__name__}")
    given = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    shrunk = [module for module in _spectral_modules(network) if all(id(part) in given for part in _weights(module))]
    if not shrunk:
        raise ValueError("optimizer must have parameters of the network's neurons or layers; got none of them")
    for module in shrunk:
        _check_zeros(module, _SCALED)

    def step(*_: Any) -> None:
        groups = {id(parameter): group for group in optimizer.param_groups for parameter in group["params"]}
        for module in shrunk:
            parts = _weights(module)
            if any(part.grad is not None for part in parts):
                rates = [_rates(part, optimizer.state[part], groups[id(part)]) for part in parts]
                shrink_(module, strength * _in_order(module, rates))  # type: ignore[arg-type]  # checked above

    return optimizer.register_step_post_hook(step)


def _weights(module: _Spectral) -> list[Tensor]:
    """The tensors that an optimiser has for a module's weight: all rows, or free ones and parameters of the others."""
    if not parametrize.is_parametrized(module, "weight"):
        return [module.weight]
    return list(module.get_submodule("parametrizations.weight").parameters())


def _rates(parameter: Tensor, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    """How far a step goes per unit of gradient, for every matrix."""
    rate = float(group["lr"]) / (1 - group.get("momentum", 0.0))
    rates = torch.full(parameter.shape[:-1], rate, dtype=torch.float64)
    if "exp_avg_sq" not in state:
        return rates
    seen = state["max_exp_avg_sq"] if group["amsgrad"] else state["exp_avg_sq"]
    size = (seen.double() / (1 - group["betas"][1] ** float(state["step"]))).sqrt().mean(-1).cpu()
    return rates.div(size + group["eps"])


def _in_order(module: _Spectral, rates: list[Tensor]) -> Tensor:
    """Rates of free and constrained rows in the order of the inputs."""
    if len(rates) == 1:
        return rates[0]
    rows = module.get_submodule("parametrizations.weight")[0]  # type: ignore[index]
    return rows.in_order(*rates)  # type: ignore[no-any-return]


def _check_zeros(module: _Spectral, constraints: Sequence[str | None]) -> None:
    if not isinstance(module, _SHRUNK):
        names = ", ".join(kind.__name__ for kind in _SHRUNK)
        raise TypeError(
            f"proximal steps are those of {names}; got {type(module).__name__}: "
            "give them a network without it, or add spectral_penalty to the loss"
        )
    if module.constraint not in constraints:
        raise ValueError(
            f"constraint must be one of {constraints[1:]} for inputs to become exactly zero; got {module.constraint!r}"
        )
    if module.structure != "dense":
        raise ValueError(
            f"structure must be 'dense' for a proximal step; got {module.structure!r}, which it would fill"
        )
