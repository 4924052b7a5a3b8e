"""What modules accept: tensors of the dtype that their parameters have, unless autocast is at work."""

from __future__ import annotations

import torch
from torch import Tensor

_AUTOCAST = ("cpu", "cuda")


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


def is_autocast(device: str) -> bool:
    """Whether autocast is on for a type of device."""
    available = device in _AUTOCAST or torch.amp.is_autocast_available(device)  # which PyTorch 2.7 does not compile
    return available and torch.is_autocast_enabled(device)


def _is_cast(tensor: Tensor) -> bool:
    """Whether autocast changes the dtype of this tensor."""
    return is_autocast(tensor.device.type) and tensor.is_floating_point() and tensor.dtype != torch.float64
