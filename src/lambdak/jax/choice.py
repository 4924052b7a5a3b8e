"""Which way eigenvalues are computed where a function is traced: by a callback to the host, or in XLA."""

from __future__ import annotations

import os

import jax

_VARIABLE = "LAMBDAK_JAX_HOST_KERNEL"
_setting: bool | None = {"0": False, "1": True}.get(os.environ.get(_VARIABLE, ""))


def host_kernel(enabled: bool | None = None) -> None:
    """Compute by a callback to the compiled kernel (True), in pure XLA (False), or by callbacks on CPUs alone (None).

    A callback is the fast way on a CPU, but cannot be exported, and from an accelerator moves all matrices to the host
    and back. XLA runs on any device, shards and exports; it is experimental, for only CPUs have run it. The choice is
    made when JAX traces: what is compiled already stays as it is. The environment variable ``LAMBDAK_JAX_HOST_KERNEL``,
    0 or 1, makes it from the start.

    >>> host_kernel(False)
    >>> is_host()
    False
    >>> host_kernel(None)
    """
    global _setting
    if enabled is not None and not isinstance(enabled, bool):
        raise TypeError(f"enabled must be True, False or None; got {enabled!r}")
    _setting = enabled


def is_host() -> bool:
    """Whether a callback to the host computes."""
    return jax.default_backend() == "cpu" if _setting is None else _setting
