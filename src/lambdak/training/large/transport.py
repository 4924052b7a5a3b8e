"""What training needs of an engine that connects processes: sums of whole numbers, and copies of one process's bytes.

An engine fills in :class:`Transport`. Sums of whole numbers do not depend on their order, so that every engine gives
the same model, bit for bit: a single process, threads (:func:`thread_group`), the workers of Dask
(:mod:`lambdak.dask`), and ``torch.distributed`` (:class:`lambdak.torch.ProcessGroup`).
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast, final

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Bytes = NDArray[np.uint8]

T = TypeVar("T")

# Seconds that threads of one process wait for each other: far above the longest lap, since a thread that ended says so.
_PATIENCE = 600.0


class PeerLostError(ConnectionError):
    """Another process of the group has gone, or has not answered for too long."""


class Transport(Protocol):
    """Sums and broadcasts of one of ``size`` processes; all call the same methods in the same order."""

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""

    @property
    def size(self) -> int:
        """How many processes there are."""

    def allreduce(self, array: Whole) -> None:
        """Replace every number by its sum over all processes."""

    def broadcast(self, array: Bytes, root: int = 0) -> None:
        """Replace the bytes by those of one process; all give as many."""


@final
class Alone:
    """A group of one process."""

    rank, size = 0, 1

    def allreduce(self, array: Whole) -> None:
        """A single number is its sum."""

    def broadcast(self, array: Bytes, root: int = 0) -> None:
        """The bytes are already here."""


def broadcast_object(transport: Transport, value: Any = None, root: int = 0) -> Any:
    """What the process ``root`` gives."""
    data = pickle.dumps(value, protocol=5) if transport.rank == root else b""
    length = np.array([len(data)], np.int64)
    transport.allreduce(length)
    array = np.frombuffer(bytearray(data) if data else bytearray(int(length[0])), np.uint8)
    transport.broadcast(array, root)
    return value if transport.rank == root else pickle.loads(array.tobytes())


def gather_objects(transport: Transport, value: Any) -> list[Any]:
    """What every process gives, in the order of ranks."""
    return [broadcast_object(transport, value, root) for root in range(transport.size)]


def everywhere(transport: Transport, compute: Callable[[], T]) -> list[T]:
    """What every process computes, in the order of ranks; an error of one of them is raised by all, with its rank."""
    results = gather_objects(transport, _attempted(compute))
    for rank, (_, error) in enumerate(results):
        if error is not None and transport.size > 1:
            raise _error_of(rank, error)
    return [_succeeded(result) for result in results]


def on_first(transport: Transport, compute: Callable[[], T]) -> T:
    """What the first process computes, for all; its error is raised by all."""
    return cast("T", _succeeded(broadcast_object(transport, _attempted(compute) if transport.rank == 0 else None)))


def _attempted(compute: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return compute(), None
    except Exception as error:
        return None, error


def _succeeded(result: tuple[Any, Exception | None]) -> Any:
    value, error = result
    if error is not None:
        raise error
    return value


def _error_of(rank: int, error: Exception) -> Exception:
    """An error that says on which rank it happened, in its message or, where that is not free, in a note."""
    if type(error) in (ValueError, TypeError):
        return type(error)(f"{error} (on rank {rank})")
    error.add_note(f"on rank {rank}")
    return error


def gather_numbers(transport: Transport, known_rows: dict[int, NDArray[np.float64]], shape: tuple[int, ...]) -> Any:
    """Float64 numbers (n, …) of which every process has some rows: each row comes from one process, bit for bit."""
    rows = np.zeros(shape)
    for position, row in known_rows.items():
        rows[position] = row
    bits = rows.view(np.int64).ravel()
    transport.allreduce(bits)
    return bits.view(np.float64).reshape(shape)


class _Meeting:
    """Where the threads of a group wait for each other; who has met all others is not harmed by one that leaves."""

    def __init__(self, size: int) -> None:
        self.arrays: list[Any] = [None] * size
        self.sum: Any = None
        self._round, self._waiting, self._left, self._changed = 0, 0, False, threading.Condition()

    def meet(self) -> None:
        """Wait until all threads are here."""
        with self._changed:
            this_round, self._waiting = self._round, self._waiting + 1
            if self._waiting == len(self.arrays):
                self._round, self._waiting = this_round + 1, 0
                self._changed.notify_all()
            elif not self._left:
                self._left |= not self._changed.wait_for(lambda: self._round > this_round or self._left, _PATIENCE)
            if self._round == this_round:
                raise PeerLostError("another thread of the group has ended: its own error says why")

    def leave(self) -> None:
        """End all waits, now and later."""
        with self._changed:
            self._left = True
            self._changed.notify_all()


@final
class ThreadTransport:
    """One thread of a group; see :func:`thread_group`."""

    def __init__(self, rank: int, meeting: _Meeting) -> None:
        self.rank, self.size, self._meeting = rank, len(meeting.arrays), meeting

    def allreduce(self, array: Whole) -> None:
        """Replace every number by its sum over all threads."""
        meeting = self._meeting
        meeting.arrays[self.rank] = array
        meeting.meet()
        if self.rank == 0:
            meeting.sum = np.add.reduce(meeting.arrays)
        meeting.meet()
        array[...] = meeting.sum
        meeting.meet()

    def broadcast(self, array: Bytes, root: int = 0) -> None:
        """Replace the bytes by those of one thread."""
        meeting = self._meeting
        meeting.arrays[self.rank] = array
        meeting.meet()
        if self.rank != root:
            array[...] = meeting.arrays[root]
        meeting.meet()

    def leave(self) -> None:
        """Let no other thread wait for this one any more."""
        self._meeting.leave()


def thread_group(size: int) -> list[ThreadTransport]:
    """Transports for ``size`` threads of this process, one for each."""
    meeting = _Meeting(size)
    return [ThreadTransport(rank, meeting) for rank in range(size)]
