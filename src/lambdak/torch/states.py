"""What state dicts and pickles hold of a module that reads eigenvalues."""

from __future__ import annotations

from typing import Any

from torch.nn.utils import parametrize

import torch
from torch import Tensor, nn

_POSITIONS = "_extra_state"  # PyTorch's name for it in a state dict


class ReadsEigenvalues(nn.Module):
    """A module whose state dict holds ``eig_idx``, and that refuses the weights of other eigenvalues.

    The weights of a convex neuron fit a concave one, but make another function of it. State dicts without positions,
    as of earlier versions, load as they are.
    """

    eig_idx: Any  # a position, or a sequence of them

    def get_extra_state(self) -> Tensor:
        """The positions of the eigenvalues, for the state dict, (m,)."""
        positions = [self.eig_idx] if isinstance(self.eig_idx, int) else list(self.eig_idx)
        return torch.tensor(positions, dtype=torch.int64, device="cpu")

    def set_extra_state(self, state: Tensor) -> None:
        """Refuse weights of other eigenvalues than those that this module reads."""
        if not torch.equal(state.cpu(), self.get_extra_state()):
            raise ValueError(
                f"the state dict is that of eigenvalues {state.tolist()}, this module has eig_idx={self.eig_idx}: "
                "build the module with that eig_idx, or remove '_extra_state' from the state dict"
            )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *rest)
        missing: list[str] = rest[2]
        if prefix + _POSITIONS in missing:
            missing.remove(prefix + _POSITIONS)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle like any module, also where PyTorch has given a constrained one a class that no other process has."""
        if not parametrize.is_parametrized(self):
            return super().__reduce_ex__(protocol)
        kind: Any = parametrize.type_before_parametrizations(self)
        return _reparametrized, (kind, tuple(self.get_submodule("parametrizations")._modules)), self.__dict__


def _reparametrized(kind: type[nn.Module], names: tuple[str, ...]) -> nn.Module:
    """A module of this kind without numbers, whose attributes of these names are computed by parametrisations."""
    module = kind.__new__(kind)
    nn.Module.__init__(module)
    for name in names:
        module.register_parameter(name, nn.Parameter(torch.empty(0)))
        parametrize.register_parametrization(module, name, nn.Identity())
    return module
