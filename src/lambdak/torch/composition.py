r"""What a composition of modules guarantees, read off its parts: :mod:`lambdak.torch.parts` has the rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import torch
from lambdak.shapes import Shape
from lambdak.torch.composed_shapes import Composed
from lambdak.torch.parts import ACTIVATIONS, PASSED, Spectral
from torch import Tensor, nn

_KNOWN = (*get_args(Spectral), nn.Linear, nn.Sequential)
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
    convex_in, concave_in : tuple of ints
        Inputs in which every output is convex, or concave, if all others stay as they are: in these taken together.
    lipschitz : float
        A bound on ‖f(x) − f(y)‖ / ‖x − y‖, in Euclidean norms.
    shapes : tuple of shapes
        Those that hold of every output: of the first layer's constraints, and of the shapes that were asked for.
    """

    monotone: tuple[int, ...]
    convex: bool
    concave: bool
    influence: Tensor
    convex_in: tuple[int, ...] = ()
    concave_in: tuple[int, ...] = ()
    lipschitz: float = float("inf")
    shapes: tuple[Shape, ...] = ()

    def __repr__(self) -> str:
        """One line per claim."""
        words = {1: "does not fall", -1: "does not rise", 0: "nothing promised"}
        lines = [f"shape: {_shape(self)}"]
        for i, sign in enumerate(self.monotone):
            lines.append(f"input {i}: {words[sign]}; influence at most {self.influence[i].max().item():.4g} per unit")
        lines.append(f"Lipschitz constant: at most {self.lipschitz:.4g}")
        lines += [f"also {own!r}" for own in self.shapes if len(own.keys) > 1 and not own.end]
        return "\n".join(lines)


def _shape(found: Guarantees) -> str:
    if found.convex or found.concave:
        return "affine" if found.convex and found.concave else "convex" if found.convex else "concave"
    some = {"convex": found.convex_in, "concave": found.concave_in}
    named = [f"{word} in {', '.join(f'input {i}' for i in inputs)}" for word, inputs in some.items() if inputs]
    return " and ".join(named) or "nothing promised"


def guarantees(network: nn.Module, shapes: Sequence[Shape] = ()) -> Guarantees:
    """What a neuron, a layer, or a ``nn.Sequential`` of them guarantees.

    ``nn.Linear`` (by the signs of its weights as they are now), ``nn.Identity``, dropout in evaluation mode and the
    usual activations may stand between. Other modules, classes with a forward method of their own and modules with
    hooks are refused by name: a guarantee with a gap would be none. ``shapes`` are further shapes to decide, by
    position of the network's inputs, such as ``Dominates(0, 1)``: those that hold are in ``shapes`` of the result.

    >>> from lambdak.torch import SpectralLayer
    >>> _ = torch.manual_seed(0)
    >>> first = SpectralLayer(2, 4, dim=3, eig_idx=2, monotonic_cst=[1, 0])
    >>> found = guarantees(nn.Sequential(first, SpectralLayer(4, 1, dim=3, eig_idx=2, monotonic_cst=1)))
    >>> found.monotone, found.convex
    ((1, 0), True)
    """
    modules = [module for module in _flat(network) if not isinstance(module, PASSED)]
    if not modules:
        raise ValueError("network must hold at least one SpectralLayer, SpectralNeuron or nn.Linear; got none")
    with torch.no_grad():
        composed = Composed(modules)
        whole = composed.whole
        up, down = whole.up.all(1).tolist(), whole.down.all(1).tolist()
        signs = tuple(1 if rises else -1 if falls else 0 for rises, falls in zip(up, down, strict=True))
        convex, concave = (tuple(torch.where(part.all(1))[0].tolist()) for part in (whole.convex, whole.concave))
        return Guarantees(
            signs, bool(whole.convex.all()), bool(whole.concave.all()), whole.influence, convex, concave,
            composed.lipschitz(), composed.holding(shapes),
        )  # fmt: skip


def _flat(network: nn.Module) -> Iterator[nn.Module]:
    """The modules of a network one after the other, each known to do what its class says."""
    kind: Any = type(network)
    classes: list[Any] = [cls for cls in (*_KNOWN, *PASSED, *ACTIVATIONS) if isinstance(network, cls)]
    if not classes or kind.forward is not classes[0].forward:
        names = ", ".join(cls.__name__ for cls in (*_KNOWN, *PASSED, *ACTIVATIONS))
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
