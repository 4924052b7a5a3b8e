"""One thread for BLAS while models are trained or optimised: its threads would fight the kernel's, and change bits.

NumPy's BLAS has one setting for the whole process. Calls that overlap share it: the first one limits it, the last one
that ends restores it, so that no order of ends can leave the process limited. A thread of its own holds the limit,
because threadpoolctl lets only the thread that has set one take it back.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]


@final
class _Limit(threading.Thread):
    """BLAS on one thread, from the end of the constructor to the end of ``lift``."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._begun, self._over = threading.Event(), threading.Event()
        self.start()
        self._begun.wait()

    def run(self) -> None:
        """Hold the limit."""
        try:
            with threadpool_limits(1, user_api="blas"):
                self._begun.set()
                self._over.wait()
        finally:
            self._begun.set()

    def lift(self) -> None:
        """Restore what was set before."""
        self._over.set()
        self.join()


_lock = threading.Lock()
_calls = 0
_limit: _Limit | None = None


def _after_fork() -> None:
    """Forget the calls of other threads in a child process: they do not end there."""
    global _lock, _calls, _limit
    _lock, _calls, _limit = threading.Lock(), 0, None


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """BLAS on one thread, until the last of all overlapping calls ends."""
    global _calls, _limit
    with _lock:
        if not _calls:
            _limit = _Limit()
        _calls += 1
    try:
        yield
    finally:
        with _lock:
            _calls -= 1
            if not _calls and _limit is not None:
                _limit.lift()
