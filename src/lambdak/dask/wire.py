"""Sums over a tree of sockets between workers: nothing passes through the scheduler, and nobody waits for ever.

The parent of rank r is r without its lowest bit, so that a sum takes log₂(ranks) hops up and as many down. A connection
that closes, or is silent for longer than the time-out while bytes are expected, raises :class:`PeerLostError`; whoever
sees that closes its own connections, so that all others see it at once.
"""

from __future__ import annotations

import hmac
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lambdak.training.large.transport import Bytes, PeerLostError, Whole

_HEADER = struct.Struct("!4sQQ")  # what is done, for the how-manieth time, with how many bytes
_HELLO = struct.Struct("!32sI")  # a proof of knowing the token, and the rank
_SUM, _COPY = b"sum.", b"copy"
_AT_ONCE = 1 << 18  # bytes: a time-out is one of progress, however long a message is
_BUFFER = 1 << 21  # bytes that the system may hold for a connection: a sum of usual size fits
_RETRY = 0.05  # seconds between attempts to reach a parent that does not listen yet
_LOOK = 0.5  # seconds between looks whether the wait for children was ended
_GREETING = 5.0  # seconds for who connected to say who it is: strangers stay silent


@dataclass(frozen=True)
class Deadlines:
    """Seconds: until all processes have found each other, and for which one may be silent."""

    start: float
    silence: float


@dataclass(frozen=True)
class Security:
    """How connections are encrypted; by default they are not."""

    server: ssl.SSLContext | None = None
    client: ssl.SSLContext | None = None


def listen(host: str) -> socket.socket:
    """A socket that listens on a free port of this host."""
    family = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][0]
    return socket.create_server((host, 0), family=family, backlog=64)


def parent_of(rank: int) -> int:
    """The rank that is one hop nearer to rank 0.

    >>> [parent_of(rank) for rank in (1, 2, 3, 6)]
    [0, 0, 2, 4]
    """
    return rank & (rank - 1)


def children_of(rank: int, size: int) -> list[int]:
    """The ranks whose parent this is.

    >>> children_of(0, 7), children_of(4, 7)
    ([1, 2, 4], [5, 6])
    """
    reach = rank & -rank or size
    return [rank + (1 << k) for k in range(reach.bit_length()) if (1 << k) < reach and rank + (1 << k) < size]


@final
class SocketTransport:
    """Transport of one of several processes over sockets: it is connected to its parent and its children."""

    def __init__(
        self,
        rank: int,
        addresses: Sequence[tuple[str, int]],
        listener: socket.socket,
        token: bytes,
        deadlines: Deadlines,
        security: Security | None = None,
        over: Callable[[], bool] = lambda: False,
    ) -> None:
        self.rank, self.size, self._count = rank, len(addresses), 0
        self._over = over  # whether nobody wants the result any more
        self._token, self._deadlines, self._security = token, deadlines, security or Security()
        self._links: dict[int, socket.socket] = {}
        self._room: Whole = np.empty(0, np.int64)
        until = time.monotonic() + deadlines.start
        try:
            if rank:
                self._links[parent_of(rank)] = self._connected(addresses[parent_of(rank)], until, listener)
            self._accept(listener, set(children_of(rank, self.size)), until)
        except BaseException:
            self.close()
            raise
        finally:
            listener.close()

    # ---- finding each other ------------------------------------------------------------------------------------

    def _connected(self, address: tuple[str, int], until: float, listener: socket.socket) -> socket.socket:
        while True:
            try:
                link = socket.create_connection(address, timeout=max(until - time.monotonic(), _RETRY))
                break
            except OSError as error:
                if time.monotonic() > until or _is_closed(listener):
                    raise PeerLostError(f"no answer from {address[0]}:{address[1]}: {error}") from None
                time.sleep(_RETRY)
        if self._security.client is not None:
            link = self._security.client.wrap_socket(link, server_hostname=address[0])
        self._prepare(link)
        with self._losing(parent_of(self.rank)):
            link.sendall(_HELLO.pack(self._proof(self.rank), self.rank))
        return link

    def _accept(self, listener: socket.socket, expected: set[int], until: float) -> None:
        while expected:
            rank, link = self._greeted(self._accepted(listener, expected, until), until)
            if rank in expected:
                expected.remove(rank)
                self._links[rank] = link
            else:  # somebody else's connection
                link.close()

    @staticmethod
    def _accepted(listener: socket.socket, expected: set[int], until: float) -> socket.socket:
        """The next connection; whoever closes the listener ends the wait."""
        while time.monotonic() < until and not _is_closed(listener):
            with suppress(OSError):
                listener.settimeout(min(max(until - time.monotonic(), _RETRY), _LOOK))
                return listener.accept()[0]
        raise PeerLostError(f"processes {sorted(expected)} did not connect in time")

    def _greeted(self, link: socket.socket, until: float) -> tuple[int, socket.socket]:
        """The rank of who connected, -1 for one that does not know the token, and the connection to use."""
        link.settimeout(min(max(until - time.monotonic(), _RETRY), self._deadlines.silence, _GREETING))
        try:
            if self._security.server is not None:
                link = self._security.server.wrap_socket(link, server_side=True)
            hello = bytearray(_HELLO.size)
            self._receive_into(link, memoryview(hello))
        except OSError:
            return -1, link
        proof, rank = _HELLO.unpack(bytes(hello))
        self._prepare(link)
        return (int(rank) if hmac.compare_digest(proof, self._proof(rank)) else -1), link

    def _proof(self, rank: int) -> bytes:
        return hmac.digest(self._token, b"lambdak rank %d" % rank, "sha256")

    def _prepare(self, link: socket.socket) -> None:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for which in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            link.setsockopt(socket.SOL_SOCKET, which, _BUFFER)
        link.settimeout(self._deadlines.silence)

    # ---- sums and copies ---------------------------------------------------------------------------------------

    def allreduce(self, array: Whole) -> None:
        """Replace every number by its sum over all processes: up the tree, and down again."""
        if self._over():  # the others see it by their connections
            self.close()
            raise PeerLostError("nobody waits for the result any more")
        self._count += 1
        view = memoryview(array.data).cast("B")
        for child in self._children:
            room = self._room_for(array)
            self._receive(child, _SUM, memoryview(room.data).cast("B"))
            array += room
        if self.rank:
            self._send(parent_of(self.rank), _SUM, view)
            self._receive(parent_of(self.rank), _SUM, view)
        for child in self._children:
            self._send(child, _SUM, view)

    def broadcast(self, array: Bytes, root: int = 0) -> None:
        """Replace the bytes by those of one process: from it up to rank 0, and down to all."""
        self._count += 1
        view, path = memoryview(array.data).cast("B"), _path(root)
        if self.rank in path and self.rank != root:
            self._receive(path[path.index(self.rank) + 1], _COPY, view)
        if self.rank and self.rank in path:
            self._send(parent_of(self.rank), _COPY, view)
        elif self.rank:
            self._receive(parent_of(self.rank), _COPY, view)
        for child in self._children:
            if child not in path:
                self._send(child, _COPY, view)

    def close(self) -> None:
        """Close all connections, so that nobody waits for this process."""
        for link in self._links.values():
            link.close()

    @property
    def _children(self) -> list[int]:
        return children_of(self.rank, self.size)

    def _send(self, rank: int, what: bytes, data: memoryview) -> None:
        with self._losing(rank):
            self._links[rank].sendall(_HEADER.pack(what, self._count, len(data)))
            for first in range(0, len(data), _AT_ONCE):
                self._links[rank].sendall(data[first : first + _AT_ONCE])

    def _receive(self, rank: int, what: bytes, room: memoryview) -> None:
        with self._losing(rank):
            link, header = self._links[rank], bytearray(_HEADER.size)
            self._receive_into(link, memoryview(header))
            if _HEADER.unpack(bytes(header)) != (what, self._count, len(room)):
                raise ConnectionError(f"it is out of step: {_HEADER.unpack(bytes(header))}")
            self._receive_into(link, room)

    def _room_for(self, array: Whole) -> Whole:
        """An array of the same shape, the same one for every sum of a fit."""
        if self._room.shape != array.shape:
            self._room = np.empty_like(array)
        return self._room

    @staticmethod
    def _receive_into(link: socket.socket, room: memoryview) -> None:
        while room:
            count = link.recv_into(room)
            if not count:
                raise ConnectionError("it closed the connection")
            room = room[count:]

    @contextmanager
    def _losing(self, rank: int) -> Iterator[None]:
        """Turn whatever happens to a connection into :class:`PeerLostError`."""
        try:
            yield
        except OSError as error:
            self.close()
            silent = isinstance(error, TimeoutError)
            why = f"it was silent for {self._deadlines.silence:g} s" if silent else str(error)
            raise PeerLostError(f"process {rank} was lost: {why}") from None


def _is_closed(listener: socket.socket) -> bool:
    return listener.fileno() < 0


def _path(rank: int) -> list[int]:
    """The ranks from 0 down to this one."""
    path: list[Any] = [rank]
    while path[0]:
        path.insert(0, parent_of(path[0]))
    return path
