"""The device kernel on this machine's CPU: Triton's interpreter, with tensors of the CPU taken for those of a GPU.

``TRITON_INTERPRET=1`` must be set before Triton is imported: for tests ``conftest.py`` does so.
"""

from __future__ import annotations

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from triton.runtime.interpreter import InterpretedFunction

import torch
from lambdak.torch.device import choice

_real, _prepared = InterpretedFunction.__call__, set()


def _call(self, *args, **kwargs):
    """A call of a function from a kernel; Triton's own prepare another module, which one of them can do for all."""
    if not self.fn.__module__.startswith("lambdak.") and self.fn not in _prepared:
        _prepared.add(self.fn)
        return _real(self, *args, **kwargs)
    return self.rewrite()(*args, **kwargs)


@contextmanager
def interpreter():
    """Kernels run in the interpreter, whose calls of functions do not prepare the language again: it takes long."""
    with patch.object(InterpretedFunction, "__call__", _call), np.errstate(all="ignore"):
        yield


@contextmanager
def as_a_device(sound=True):
    """Tensors of the CPU are those of a device on which the kernel was found right, or wrong, or not yet tried."""
    known = {} if sound is None else {(torch.device("cpu"), dtype): sound for dtype in (torch.float32, torch.float64)}
    with (
        interpreter(),
        patch.object(torch.Tensor, "is_cpu", False),
        patch.object(choice, "_TYPES", {"cpu"}),
        patch.object(choice, "_sound", known),
    ):
        yield
