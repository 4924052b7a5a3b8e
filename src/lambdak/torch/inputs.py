"""What modules accept: tensors of the dtype that their parameters have."""

from __future__ import annotations

import torch
from torch import Tensor


def check_dtype(x: Tensor, name: str, parameter: Tensor) -> None:
    """Refuse a tensor whose dtype is not that of a parameter, unless autocast makes them agree.

    >>> check_dtype(torch.zeros(2).double(), "x", torch.zeros(2))
    Traceback (most recent call last):
    TypeError: x must be torch.float32, as the parameters are; got torch.float64: use .to(torch.float32)
    """
    if x.dtype == parameter.dtype or (_is_cast(x) and _is_cast(parameter)):
        return
    wanted = parameter.dtype
    raise TypeError(f"{name} must be {wanted}, as the parameters are; got {x.dtype}: use .to({wanted})")


def _is_cast(tensor: Tensor) -> bool:
    """Whether autocast is on and changes the dtype of this tensor."""
    device = tensor.device.type
    if not torch.amp.is_autocast_available(device) or not torch.is_autocast_enabled(device):
        return False
    return tensor.is_floating_point() and tensor.dtype != torch.float64
