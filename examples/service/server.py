"""The server of uvicorn with signals: SIGHUP loads the file again, SIGTERM says so at /ready before it stops."""

from __future__ import annotations

import asyncio
import signal
from types import FrameType
from typing import Any

import uvicorn

from .app import Service
from .connections import BACKLOG, limited_protocol
from .logs import EVENTS


class Server(uvicorn.Server):
    """Serves until it is told to stop, and finishes what was begun."""

    _reloading: asyncio.Task[None] | None

    def __init__(self, service: Service, host: str, port: int) -> None:
        limits, self._service = service.limits, service
        self._requested, self._reloading = False, None
        config = uvicorn.Config(
            service.app(), host, port, http=limited_protocol(limits, service.metrics), ws="none", log_config=None,
            access_log=False, server_header=False, timeout_keep_alive=limits.idle_seconds,  # type: ignore[arg-type]
            timeout_graceful_shutdown=limits.stop_seconds, h11_max_incomplete_event_size=1 << 16,  # type: ignore[arg-type]
            backlog=BACKLOG,
        )  # fmt: skip
        super().__init__(config)

    async def startup(self, sockets: Any = None) -> None:
        """Listen, and say where."""
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        if hasattr(signal, "SIGHUP"):
            self._loop.add_signal_handler(signal.SIGHUP, self._reload)
        address = self.servers[0].sockets[0].getsockname()
        fields = {
            "event": "started",
            "host": address[0],
            "port": address[1],
            "sha256": self._service.slot.current.sha256,
        }
        EVENTS.info("ready", extra={"fields": fields})

    def _reload(self) -> None:
        """Load the file again; signals that come meanwhile are one, after which the file is read once more."""
        self._requested = True
        if self._reloading is None or self._reloading.done():
            self._reloading = self._loop.create_task(self._reloads())  # kept, or it may be collected

    async def _reloads(self) -> None:
        while self._requested:
            self._requested = False
            await self._service.slot.reload("SIGHUP")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: at the first signal after a while in which /ready is 503, at the second one at once."""
        if self._service.stopping or not self.started:
            super().handle_exit(sig, frame)
            return
        self._service.stopping = True
        self._loop.call_soon_threadsafe(self._drain, sig, frame)

    def _drain(self, sig: int, frame: FrameType | None) -> None:
        EVENTS.info("stopping", extra={"fields": {"event": "stopping", "signal": signal.Signals(sig).name}})
        self._loop.call_later(self._service.limits.drain_seconds, super().handle_exit, sig, frame)
