r"""What one module does to each of its inputs, and how that composes: the calculus behind :func:`guarantees`.

- A non-decreasing function of functions that do not fall does not fall: signs multiply along the layers.
- A convex function that does not fall in its inputs, of convex functions, is convex; of an affine map, any convex
  function is. The same holds for concave ones, and for some inputs while the others stay as they are.
- Bounds multiply: the influence of an input on the next layer's inputs, times theirs on its outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from lambdak.torch.generalized import GeneralizedSpectralNeuron
from lambdak.torch.hermitian import HermitianSpectralNeuron
from lambdak.torch.modules import SpectralLayer, SpectralNeuron
from lambdak.torch.ordered import OrderedSpectralLayer
from lambdak.torch.promised import bound_now
from lambdak.torch.sums import SpectralMixture
from torch import Tensor, nn

# Slope in [0, 1]; and which way it bends: +1 convex, −1 concave, 0 neither.
ACTIVATIONS: dict[type[nn.Module], int] = {
    nn.ReLU: 1, nn.Softplus: 1, nn.LogSigmoid: -1, nn.Sigmoid: 0, nn.Tanh: 0, nn.Hardtanh: 0, nn.Softsign: 0,
}  # fmt: skip
PASSED = (nn.Identity, nn.Dropout)
Spectral = (
    SpectralNeuron | SpectralLayer | OrderedSpectralLayer
    | SpectralMixture | GeneralizedSpectralNeuron | HermitianSpectralNeuron
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Part:
    """A function of several inputs (rows) with several outputs (columns)."""

    up: Tensor  # whether an output never falls as an input grows
    down: Tensor  # whether it never rises; both if it does not depend on it
    convex: Tensor  # of an output, the inputs in which it is convex, all of them taken together
    concave: Tensor
    influence: Tensor

    def like(self, other: Part) -> Part:
        """Return it with the device and the dtype of another."""
        flags = [part.to(other.up.device) for part in (self.up, self.down, self.convex, self.concave)]
        return Part(flags[0], flags[1], flags[2], flags[3], self.influence.to(other.influence))

    @property
    def idle(self) -> Tensor:
        """Whether an output does not depend on an input."""
        return self.up & self.down

    @property
    def affine(self) -> Tensor:
        """Of an output, the inputs in which it is affine, all of them taken together."""
        return self.convex & self.concave


def part_of_network(module: nn.Module, inputs: int | None) -> Part:
    """Return what one module does; ``inputs`` is the number of its inputs, if that is known."""
    if isinstance(module, Spectral):
        influence = module.norms.reshape(module.in_features, -1)
        convex, concave = bends(module)
        influence = influence.expand(-1, len(convex))
        signs = torch.tensor(module.monotonic_cst, device=influence.device)[:, None]
        idle, straight = influence == 0, torch.zeros_like(signs, dtype=torch.bool)
        straight[list(bound_now(module).straight)] = True
        return Part(
            (signs > 0) | idle, (signs < 0) | idle, convex | straight | idle, concave | straight | idle, influence
        )
    if isinstance(module, nn.Linear):
        weight = module.weight.T
        every = torch.ones_like(weight, dtype=torch.bool)
        return Part(weight >= 0, weight <= 0, every, every, weight.abs())
    if inputs is None:
        raise ValueError(f"network must not begin with {type(module).__name__}: its number of inputs is not known")
    return _elementwise(ACTIVATIONS[type(module)], inputs)


def _elementwise(bend: int, inputs: int) -> Part:
    one = torch.eye(inputs)
    other = one == 0
    return Part(one >= 0, other, other | (bend == 1), other | (bend == -1), one)


def bends(module: Spectral) -> tuple[Tensor, Tensor]:
    """Return whether each output is convex, and whether it is concave: the last eigenvalue is, and the first."""
    if isinstance(module, SpectralMixture):
        flags = [module.convex or module.dim == 1], [module.dim == 1]
    else:
        positions = module.eig_idx if isinstance(module, OrderedSpectralLayer) else [module.eig_idx]
        flags = [position == module.dim - 1 for position in positions], [position == 0 for position in positions]
    outputs = module.out_features if isinstance(module, SpectralLayer) else len(flags[0])
    convex, concave = (torch.tensor(own, device=module.constant.device).expand(outputs) for own in flags)
    return convex, concave


def then(first: Part | None, second: Part) -> Part:
    """Return the composition of two parts: a claim must hold along every way through the values between them."""
    if first is None:
        return second
    if first.up.shape[1] != len(second.up):
        raise ValueError(f"network must fit together; got {first.up.shape[1]} outputs before {len(second.up)} inputs")
    second = second.like(first)
    up, down = first.up[:, :, None], first.down[:, :, None]  # (inputs, between, outputs)
    idle = first.idle[:, :, None] | second.idle
    affine, convex, concave = (part[:, :, None] for part in (first.affine, first.convex, first.concave))
    return Part(
        (up & second.up | down & second.down | idle).all(1),
        (up & second.down | down & second.up | idle).all(1),
        (second.convex & (affine | convex & second.up | concave & second.down) | idle).all(1),
        (second.concave & (affine | concave & second.up | convex & second.down) | idle).all(1),
        first.influence @ second.influence,
    )
