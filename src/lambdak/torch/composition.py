r"""What a composition of modules guarantees, read off its parts: where monotone and convex layers keep their property.

- A non-decreasing function of functions that do not fall does not fall: signs multiply along the layers.
- A convex function that does not fall in its inputs, of convex functions, is convex; of an affine map, any convex
  function is. The same holds for concave ones.
- Bounds multiply: the influence of an input on the next layer's inputs, times theirs on its outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import torch
from lambdak.torch.generalized import GeneralizedSpectralNeuron
from lambdak.torch.hermitian import HermitianSpectralNeuron
from lambdak.torch.modules import SpectralLayer, SpectralNeuron
from lambdak.torch.ordered import OrderedSpectralLayer
from lambdak.torch.sums import SpectralMixture
from torch import Tensor, nn

# Slope in [0, 1]; and which way it bends: +1 convex, −1 concave, 0 neither.
_ACTIVATIONS: dict[type[nn.Module], int] = {
    nn.ReLU: 1, nn.Softplus: 1, nn.LogSigmoid: -1, nn.Sigmoid: 0, nn.Tanh: 0, nn.Hardtanh: 0, nn.Softsign: 0,
}  # fmt: skip
_PASSED = (nn.Identity, nn.Dropout)
_Spectral = (
    SpectralNeuron | SpectralLayer | OrderedSpectralLayer
    | SpectralMixture | GeneralizedSpectralNeuron | HermitianSpectralNeuron
)  # fmt: skip
_KNOWN = (*get_args(_Spectral), nn.Linear, nn.Sequential)
_SMOOTH = 20  # beyond a smaller threshold the step down to the identity is more than rounding


@dataclass(frozen=True, eq=False)
class Guarantees:
    """What holds for all inputs, for the parameters that the modules have now.

    Signs and shapes of neurons and layers stay whatever their parameters become; those of ``nn.Linear`` may not.

    Attributes
    ----------
    monotone : tuple of ints
        Per input +1 if no output falls as it grows, −1 if none rises, 0 if nothing is promised.
    convex, concave : bool
        Whether every output is a convex or a concave function of the inputs taken together.
    influence : Tensor
        Per input and output (in_features, out_features), a bound on |change of the output| per unit of the input.
    """

    monotone: tuple[int, ...]
    convex: bool
    concave: bool
    influence: Tensor

    def __repr__(self) -> str:
        """One line per claim."""
        words = {1: "does not fall", -1: "does not rise", 0: "nothing promised"}
        lines = [f"shape: {_shape(self.convex, self.concave)}"]
        for i, sign in enumerate(self.monotone):
            lines.append(f"input {i}: {words[sign]}; influence at most {self.influence[i].max().item():.4g} per unit")
        return "\n".join(lines)


def _shape(convex: bool, concave: bool) -> str:
    return "affine" if convex and concave else "convex" if convex else "concave" if concave else "nothing promised"


@dataclass(frozen=True, eq=False)
class _Part:
    """A function of several inputs (rows) with several outputs (columns)."""

    up: Tensor  # whether an output never falls as an input grows
    down: Tensor  # whether it never rises; both if it does not depend on it
    convex: Tensor  # whether an output is a convex function of the inputs taken together
    concave: Tensor
    influence: Tensor


def guarantees(network: nn.Module) -> Guarantees:
    """What a neuron, a layer, or a ``nn.Sequential`` of them guarantees.

    ``nn.Linear`` (by the signs of its weights as they are now), ``nn.Identity``, dropout in evaluation mode and the
    usual activations may stand between. Other modules, classes with a forward method of their own and modules with
    hooks are refused by name: a guarantee with a gap would be none.

    >>> _ = torch.manual_seed(0)
    >>> first = SpectralLayer(2, 4, dim=3, eig_idx=2, monotonic_cst=[1, 0])
    >>> found = guarantees(nn.Sequential(first, SpectralLayer(4, 1, dim=3, eig_idx=2, monotonic_cst=1)))
    >>> found.monotone, found.convex
    ((1, 0), True)
    """
    whole: _Part | None = None
    with torch.no_grad():
        for module in _flat(network):
            if not isinstance(module, _PASSED):
                whole = _then(whole, _part(module, whole))
    if whole is None:
        raise ValueError("network must hold at least one SpectralLayer, SpectralNeuron or nn.Linear; got none")
    up, down = whole.up.all(1).tolist(), whole.down.all(1).tolist()
    signs = tuple(1 if rises else -1 if falls else 0 for rises, falls in zip(up, down, strict=True))
    return Guarantees(signs, bool(whole.convex.all()), bool(whole.concave.all()), whole.influence)


def _flat(network: nn.Module) -> Iterator[nn.Module]:
    """The modules of a network one after the other, each known to do what its class says."""
    kind: Any = type(network)
    classes: list[Any] = [cls for cls in (*_KNOWN, *_PASSED, *_ACTIVATIONS) if isinstance(network, cls)]
    if not classes or kind.forward is not classes[0].forward:
        names = ", ".join(cls.__name__ for cls in (*_KNOWN, *_PASSED, *_ACTIVATIONS))
        raise TypeError(f"network must be made of {names}, as they are; got {kind.__name__}")
    if network._forward_hooks or network._forward_pre_hooks:
        raise TypeError(f"network must have no forward hooks, which could change anything; got some on {kind.__name__}")
    if isinstance(network, nn.Dropout) and network.training and network.p > 0:
        raise ValueError(
            "network must be in evaluation mode, because dropout scales what it keeps: call network.eval()"
        )
    if isinstance(network, nn.Softplus) and (network.beta <= 0 or network.threshold < _SMOOTH):
        raise ValueError(f"Softplus must have beta > 0 and threshold >= {_SMOOTH} to be convex; got {network}")
    if isinstance(network, nn.Sequential):
        for module in network:
            yield from _flat(module)
    else:
        yield network


def _part(module: nn.Module, before: _Part | None) -> _Part:
    if isinstance(module, _Spectral):
        convex, concave = _bends(module)
        influence = module.norms.reshape(module.in_features, -1).expand(-1, len(convex))
        signs = torch.tensor(module.monotonic_cst, device=influence.device)[:, None]
        idle = influence == 0
        return _Part((signs > 0) | idle, (signs < 0) | idle, convex, concave, influence)
    if isinstance(module, nn.Linear):
        weight = module.weight.T
        every = torch.ones_like(weight[0], dtype=torch.bool)
        return _Part(weight >= 0, weight <= 0, every, every, weight.abs())
    if before is None:
        raise ValueError(f"network must not begin with {type(module).__name__}: its number of inputs is not known")
    bend, one = _ACTIVATIONS[type(module)], torch.eye(len(before.convex)).to(before.influence)
    every = torch.ones_like(before.convex)
    return _Part(one >= 0, one == 0, every & (bend == 1), every & (bend == -1), one)


def _bends(module: _Spectral) -> tuple[Tensor, Tensor]:
    """Whether each output is convex, and whether it is concave: the last eigenvalue is, and the first."""
    if isinstance(module, SpectralMixture):
        bends = [module.convex or module.dim == 1], [module.dim == 1]
    else:
        positions = module.eig_idx if isinstance(module, OrderedSpectralLayer) else [module.eig_idx]
        bends = [position == module.dim - 1 for position in positions], [position == 0 for position in positions]
    outputs = module.out_features if isinstance(module, SpectralLayer) else len(bends[0])
    convex, concave = (torch.tensor(flags, device=module.constant.device).expand(outputs) for flags in bends)
    return convex, concave


def _then(first: _Part | None, second: _Part) -> _Part:
    """The composition of two parts: a claim must hold along every way through the values between them."""
    if first is None:
        return second
    if len(first.convex) != len(second.up):
        raise ValueError(f"network must fit together; got {len(first.convex)} outputs before {len(second.up)} inputs")
    up, down = first.up[:, :, None], first.down[:, :, None]  # (inputs, between, outputs)
    idle = (up & down) | (second.up & second.down)
    affine, convex, concave = (part[:, None] for part in (first.convex & first.concave, first.convex, first.concave))
    return _Part(
        (up & second.up | down & second.down | idle).all(1),
        (up & second.down | down & second.up | idle).all(1),
        second.convex & (affine | convex & second.up | concave & second.down).all(0),
        second.concave & (affine | concave & second.up | convex & second.down).all(0),
        first.influence @ second.influence,
    )
