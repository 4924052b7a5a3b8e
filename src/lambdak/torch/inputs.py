"""What modules and functions accept: which dtypes go together, and which shapes."""

from __future__ import annotations

import torch
from torch import Tensor

HALVES = (torch.float16, torch.bfloat16)
_AUTOCAST = ("cpu", "cuda")


def check_tensor(x: object, name: str) -> None:
    """Refuse what is no tensor, such as an array of NumPy.

    >>> check_tensor([1.0], "x")
    Traceback (most recent call last):
    TypeError: x must be a tensor; got list: use torch.as_tensor(x)
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a tensor; got {type(x).__name__}: use torch.as_tensor({name})")


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


def widened(tensor: Tensor) -> Tensor:
    """The tensor in float32 if it has half precision, which neither factorisations nor complex numbers know.

    >>> widened(torch.zeros(1).half()).dtype, widened(torch.zeros(1).double()).dtype
    (torch.float32, torch.float64)
    """
    return tensor.float() if tensor.dtype in HALVES else tensor


def narrowed(result: Tensor, *arguments: Tensor) -> Tensor:
    """What was computed from widened tensors, in the half precision that all of them had; autocast stays in float32.

    >>> narrowed(torch.zeros(1), torch.zeros(1).half(), torch.zeros(1).half()).dtype
    torch.float16
    """
    dtype = arguments[0].dtype
    is_half = dtype in HALVES and all(tensor.dtype == dtype for tensor in arguments)
    return result.to(dtype) if is_half and not is_autocast(result.device.type) else result


def check_leading(first: Tensor, second: Tensor, names: tuple[str, str]) -> None:
    """Refuse tensors whose leading shapes, before the last axis, cannot be broadcast.

    >>> check_leading(torch.zeros(7, 3), torch.zeros(6, 3), ("packed", "metric"))
    Traceback (most recent call last):
    ValueError: packed and metric must have leading shapes that broadcast; got (7,) and (6,)
    """
    leading = tuple(first.shape[:-1]), tuple(second.shape[:-1])
    if any(a != b and 1 not in (a, b) for a, b in zip(leading[0][::-1], leading[1][::-1], strict=False)):
        raise ValueError(
            f"{names[0]} and {names[1]} must have leading shapes that broadcast; got {leading[0]} and {leading[1]}"
        )


def is_autocast(device: str) -> bool:
    """Whether autocast is on for a type of device."""
    available = device in _AUTOCAST or torch.amp.is_autocast_available(device)  # which PyTorch 2.7 does not compile
    return available and torch.is_autocast_enabled(device)


def _is_cast(tensor: Tensor) -> bool:
    """Whether autocast changes the dtype of this tensor."""
    return is_autocast(tensor.device.type) and tensor.is_floating_point() and tensor.dtype != torch.float64
