"""Whether tensors of a device are given to the device kernel, which must first show there that it is right.

At its first use on a device, for each precision, the kernel solves a set of hard matrices, and is compared with
``torch.linalg.eigh`` on that device. If it differs, or cannot be compiled, a warning says so, and ``eigh`` computes.
"""

from __future__ import annotations

import os
import warnings
from importlib.util import find_spec
from types import ModuleType

import torch
from lambdak.torch.device.hard import mismatch
from torch import Tensor

MAX_DIM = 64  # beyond, a whole decomposition uses a device better than one thread per matrix does
_TYPES = {"cuda", "xpu"}  # those of AMD are called cuda, too
_DTYPES = {torch.float32, torch.float64}
_VARIABLE = "LAMBDAK_DEVICE_KERNEL"

_enabled = os.environ.get(_VARIABLE, "1") != "0"
_sound: dict[tuple[torch.device, torch.dtype], bool] = {}


def device_kernel(enabled: bool | None = None) -> bool:
    """Whether eigenvalues on GPUs are computed by the device kernel (experimental), after switching it on or off.

    Without it ``torch.linalg.eigh`` computes them, as it does where Triton is missing. The environment variable
    ``LAMBDAK_DEVICE_KERNEL=0`` switches it off from the start. Nobody has measured it on a GPU so far.

    >>> device_kernel(False)
    False
    >>> device_kernel(True)
    True
    """
    global _enabled
    if enabled is not None:
        if not isinstance(enabled, bool):
            raise TypeError(f"enabled must be True, False or None; got {enabled!r}")
        _enabled = enabled
    return _enabled


def chosen(like: Tensor, dim: int) -> ModuleType | None:
    """Return :mod:`lambdak.torch.device.launch` if it computes for tensors like this one, and None otherwise."""
    if not _enabled or like.device.type not in _TYPES or like.dtype not in _DTYPES or not 2 <= dim <= MAX_DIM:
        return None
    key = like.device, like.dtype
    if key not in _sound:
        if _is_capturing(like.device):
            return None  # a check has to wait for the device, which a graph that is recorded forbids
        _sound[key] = _is_sound(*key)
    if not _sound[key]:
        return None
    from lambdak.torch.device import launch

    return launch


def _is_capturing(device: torch.device) -> bool:
    """Whether launches are recorded in a graph rather than run."""
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def _is_sound(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether the kernel is there and solves hard matrices on this device; a warning where it does not."""
    if find_spec("triton") is None:
        return False
    try:
        with torch.no_grad():
            wrong = mismatch(device, dtype)
    except Exception as error:  # whatever a compiler or a driver that nobody has tried may raise
        wrong = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
    if wrong:
        warnings.warn(
            f"the device kernel of lambdak is not used on {device} in {str(dtype).removeprefix('torch.')}: {wrong}. "
            f"torch.linalg.eigh computes instead. Set {_VARIABLE}=0 to skip this check, and please report it.",
            RuntimeWarning,
            stacklevel=2,
        )
    return not wrong
