"""One thread for BLAS while models are trained: its threads would fight the kernel's, and change the last bits.

NumPy's BLAS has one setting for the whole process. Fits that overlap share it: the first one limits it, the last one
that ends restores it, so that no order of ends can leave the process limited.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

_lock = threading.Lock()
_fits = 0
_limits: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """BLAS on one thread, until the last of all overlapping calls ends."""
    global _fits, _limits
    with _lock:
        if not _fits:
            _limits = threadpool_limits(1, user_api="blas")
        _fits += 1
    try:
        yield
    finally:
        with _lock:
            _fits -= 1
            if not _fits:
                _limits.restore_original_limits()
