"""One example of a target: how it draws, what it keeps for a report, and limits on what a call may take."""

from __future__ import annotations

import signal
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class WrongError(Exception):
    """The library answered in a way that it must not."""


class TooMuchError(WrongError):
    """A call took more time or memory than it may."""


class Trial:
    """Draws from Hypothesis, and keeps the input, so that a finding can be looked at."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data
        self.kept: dict[str, bytes] = {}
        self.notes: dict[str, Any] = {}

    def draw(self, strategy: st.SearchStrategy[T]) -> T:
        """Anything of a strategy."""
        return self._data.draw(strategy)

    def pick(self, choices: Sequence[T]) -> T:
        """One of these; the first is the simplest."""
        return choices[self.below(len(choices))]

    def below(self, count: int) -> int:
        """A number from 0 on."""
        return self.draw(st.integers(0, count - 1))

    def chance(self, one_in: int) -> bool:
        """True in one of so many cases; what is simplest is False."""
        return self.below(one_in) == one_in - 1

    def seed(self) -> int:
        """A seed for NumPy."""
        return self.draw(st.integers(0, 2**31 - 1))


@contextmanager
def at_most(seconds: float, memory: float | None = None) -> Iterator[None]:
    """Fail if the process computes for longer, or if Python and NumPy allocate more bytes at once."""

    def stop(*_: object) -> None:
        raise TooMuchError(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    if memory is not None:
        tracemalloc.start()
    try:
        yield
        if memory is not None and (peak := tracemalloc.get_traced_memory()[1]) > memory:
            raise TooMuchError(f"{peak:,} bytes, of which {memory:,.0f} are allowed")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        if memory is not None:
            tracemalloc.stop()


def answered(call: Callable[[], T], allowed: tuple[type[Exception], ...]) -> T | Exception:
    """What a call returns, or the error that it may raise, with a message that is not empty and not endless."""
    try:
        return call()
    except allowed as error:
        if not 5 < len(str(error)) < 3000:
            raise WrongError(f"a message of {len(str(error))} characters: {str(error)[:200]!r}") from error
        return error
