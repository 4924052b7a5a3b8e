r"""The spectral-norm group penalty Σ_i ‖A_i‖₂: a term of a loss, and a proximal step that makes inputs exactly zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.utils.hooks import RemovableHandle

from lambdak._checks import check_positive
from lambdak.shrink import prox
from lambdak.torch.modules import SpectralLayer, SpectralNeuron

_ZEROS = (None, "factor", "root")  # constraints that can express a zero matrix


def spectral_penalty(network: nn.Module) -> Tensor:
    """Σ_i ‖A_i‖₂ over the inputs of all neurons and layers in a network: an upper bound on their influence, to add.

    >>> _ = torch.manual_seed(0)
    >>> neuron = SpectralNeuron(3, dim=5)
    >>> bool(torch.isclose(spectral_penalty(neuron), neuron.norms.sum()))
    True
    """
    return torch.stack([module.norms.sum() for module in spectral_modules(network)]).sum()


def spectral_modules(network: nn.Module) -> list[SpectralNeuron | SpectralLayer]:
    """All neurons and layers in a network; none is an error."""
    found = [module for module in network.modules() if isinstance(module, (SpectralNeuron, SpectralLayer))]
    if not found:
        raise ValueError(f"network must hold a SpectralNeuron or SpectralLayer; got {type(network).__name__}")
    return found


def shrink_(module: SpectralNeuron | SpectralLayer, threshold: float | Tensor) -> None:
    """The proximal step of threshold · Σ_i ‖A_i‖₂, in place: ‖A_i‖₂ falls, and small matrices become exactly zero.

    The largest singular values of a matrix are lowered to a common level, by ``threshold`` in total; a matrix whose
    nuclear norm is at most that becomes zero. In a layer, the matrices of one input are treated neuron by neuron.
    ``threshold`` is one for all matrices, or one each, in the shape of ``module.norms``.
    """
    _check_zeros(module)
    with torch.no_grad():
        weight = module.weight
        rows = weight.reshape(-1, 1, weight.shape[-1])
        levels = threshold.flatten().cpu().double().numpy() if isinstance(threshold, Tensor) else threshold
        shrunk = torch.from_numpy(prox(rows.cpu().numpy(), levels)).to(weight).reshape(weight.shape)
        if parametrize.is_parametrized(module, "weight"):
            module.weight = shrunk
        else:
            weight.copy_(shrunk)


def add_proximal_step(optimizer: torch.optim.Optimizer, network: nn.Module, alpha: float) -> RemovableHandle:
    """Follow every step of an optimiser by the proximal step of alpha · Σ_i ‖A_i‖₂: it minimises loss plus penalty.

    The threshold is alpha times the length of a step per unit of gradient: the learning rate, which Adam and its kin
    divide by the size of the gradients that they have seen, input by input.

    Parameters
    ----------
    optimizer
        Any optimiser of PyTorch; schedulers and closures work as before.
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
    groups = {parameter: group for group in optimizer.param_groups for parameter in group["params"]}
    shrunk = [module for module in spectral_modules(network) if all(part in groups for part in _weights(module))]
    if not shrunk:
        raise ValueError("optimizer must have parameters of the network's neurons or layers; got none of them")
    for module in shrunk:
        _check_zeros(module)

    def step(*_: Any) -> None:
        for module in shrunk:
            rates = [_rates(part, optimizer.state[part], groups[part]) for part in _weights(module)]
            shrink_(module, strength * _in_order(module, rates))

    return optimizer.register_step_post_hook(step)


def _weights(module: SpectralNeuron | SpectralLayer) -> list[Tensor]:
    """The tensors that an optimiser has for a module's weight: free rows, and parameters of the others."""
    return [tensor for name, tensor in module.named_parameters() if name != "constant"]


def _rates(parameter: Tensor, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    """How far a step goes per unit of gradient, for every matrix."""
    rate = torch.full(parameter.shape[:-1], float(group["lr"]), dtype=torch.float64)
    if "exp_avg_sq" not in state:
        return rate
    correct = 1 - group["betas"][1] ** float(state["step"])
    size = (state["exp_avg_sq"].double() / correct).sqrt().mean(-1).cpu()
    return rate.div(size + group["eps"])


def _in_order(module: SpectralNeuron | SpectralLayer, rates: list[Tensor]) -> Tensor:
    """Rates of free and constrained rows in the order of the inputs."""
    both = torch.cat(rates)
    if module.constraint is None:
        return both
    signs = torch.tensor(module.monotonic_cst)
    return both[torch.cat([(signs == 0).nonzero(), signs.nonzero()]).flatten().argsort()]


def _check_zeros(module: SpectralNeuron | SpectralLayer) -> None:
    if module.constraint not in _ZEROS:
        raise ValueError(
            f"constraint must be one of {_ZEROS[1:]} for inputs to become exactly zero; got {module.constraint!r}"
        )
    if module.structure != "dense":
        raise ValueError(
            f"structure must be 'dense' for a proximal step; got {module.structure!r}, which it would fill"
        )
