"""HTTP of uvicorn with limits for slow clients: it has one for idle connections only, and any byte ends that."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .limits import Limits
from .metrics import Metrics

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

BACKLOG = 128  # connections that are accepted in one turn of the event loop
_TURNS = 4  # after which one beyond the limit has been closed
_FILES = 64 + _TURNS * BACKLOG  # open files beside connections: libraries, the model, the log, those to be closed
_GRACE = 1.0  # seconds more than the application waits for a body, so that its answer comes first


class LimitedProtocol(H11Protocol):
    """One connection; a deadline for the headers of a request, for its body, and for what the client must take."""

    limits: Limits
    metrics: Metrics
    _part: Any = None  # the part of a request that is awaited, as h11 calls it
    _deadline: asyncio.TimerHandle | None = None
    _write_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Accept a client, if there are not too many."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.max_connections:
            self.metrics.refused_connections["too many"] += 1
            self._refuse(503, "the service has too many connections: try again later")
            return
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget all deadlines."""
        for timer in (self._deadline, self._write_deadline):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request: they do not move its deadline."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Begin with the next request; while there is none, uvicorn's limit for idle connections holds."""
        super().on_response_complete()
        self._watch(idle=self.conn.their_state is h11.IDLE)
        if self.transport.is_closing():
            self._await_client("answer not taken")

    def pause_writing(self) -> None:
        """Wait for a client that does not take its answer."""
        super().pause_writing()
        self._await_client("answer not taken")

    def resume_writing(self) -> None:
        """The client has taken it."""
        super().resume_writing()
        if self._write_deadline is not None:
            self._write_deadline.cancel()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection without requests, also if the client never reads."""
        super().timeout_keep_alive_handler()
        self._await_client("answer not taken")

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._refuse(400, "the request must be HTTP/1.1")

    def _watch(self, idle: bool = False) -> None:
        """Set the deadline of the part that is awaited, when that begins."""
        part = None if idle or self.transport.is_closing() else self.conn.their_state
        if part is self._part:
            return
        self._part = part
        if self._deadline is not None:
            self._deadline.cancel()
        seconds = {h11.IDLE: self.limits.head_seconds, h11.SEND_BODY: self.limits.body_seconds + _GRACE}.get(part)
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        self.metrics.refused_connections["headers too slow" if self._part is h11.IDLE else "body too slow"] += 1
        self._refuse(408, f"the headers must arrive within {self.limits.head_seconds:g} seconds")

    def _await_client(self, reason: str) -> None:
        """Cut the connection if the client has not taken what was sent in time."""
        if self._write_deadline is not None:
            self._write_deadline.cancel()
        self._write_deadline = self.loop.call_later(self.limits.write_seconds, self._cut, reason)

    def _cut(self, reason: str) -> None:
        self.metrics.refused_connections[reason] += 1
        self.transport.abort()

    def _refuse(self, status: int, words: str) -> None:
        """Answer, if nothing was answered yet, and close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps({"error": words}).encode()
            headers = [
                ("content-type", "application/json"),
                ("content-length", str(len(body))),
                ("connection", "close"),
            ]
            reason = HTTPStatus(status).phrase
            for event in (h11.Response(status_code=status, headers=headers, reason=reason), h11.Data(data=body)):
                self.transport.write(self.conn.send(event))
            self.conn.send(h11.EndOfMessage())
            self._await_client("answer not taken")
            self.transport.close()
        else:
            self.transport.abort()


def allow_open_files(limits: Limits) -> None:
    """Raise what the system allows this process to what the connections need; refuse more than it may have."""
    if resource is None:
        return
    needed = limits.max_connections + _FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise ValueError(
            f"--max-connections {limits.max_connections} needs {needed} open files, and the system allows {hard}: "
            f"raise that (ulimit -Hn), or take at most {max(hard - _FILES, 0)} connections"
        )
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def limited_protocol(limits: Limits, metrics: Metrics) -> type[LimitedProtocol]:
    """The class of connections with these limits, as uvicorn takes it."""
    return type("Connection", (LimitedProtocol,), {"limits": limits, "metrics": metrics})
