"""The routes, and what happens around each of them: counting, logging, and errors as JSON."""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .answers import answer, answers, refuse_unknown
from .bodies import Bodies, parsed
from .limits import Limits
from .logs import ACCESS
from .metrics import CONTENT_TYPE, Metrics
from .slot import ModelSlot, ServedModel

_SMALL = 1 << 13  # bytes of a request up to which others may wait for it: a few hundred microseconds
_WORDS = 1_000  # characters of an error: cells of a client may be in it, whatever their length
_REQUEST_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_GONE = 499  # the status in metrics and log of a request whose client has gone


@dataclass
class Service:
    """What the routes share."""

    slot: ModelSlot
    limits: Limits = field(default_factory=Limits)
    strict: bool = False  # whether columns that the model does not know are refused
    reload_token: str | None = None  # without one there is no POST /reload
    watch_seconds: float = 0.0  # between looks at the file; 0: never
    metrics: Metrics = field(default_factory=Metrics)
    stopping: bool = False

    def __post_init__(self) -> None:
        self.bodies = Bodies(self.limits)
        self._workers = asyncio.Semaphore(self.limits.max_workers)

    def app(self) -> Starlette:
        """The application."""
        routes = [
            Route("/predict", self.predict, methods=["POST"]),
            Route("/model", self.model),
            Route("/health", self.health),
            Route("/ready", self.ready),
            Route("/metrics", self.prometheus),
            *([Route("/reload", self.reload, methods=["POST"])] if self.reload_token else []),
        ]
        handlers: dict[Any, Any] = {HTTPException: _refused, ClientDisconnect: _gone, Exception: _failed}
        around = [Middleware(Observed, service=self, routes=frozenset(route.path for route in routes))]
        return Starlette(routes=routes, middleware=around, exception_handlers=handlers, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(self.slot.watch(self.watch_seconds)) if self.watch_seconds else None
        yield
        if watching is not None:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    # ---- routes ------------------------------------------------------------------------------------------------

    async def predict(self, request: Request) -> Response:
        """Predictions of a row, or of a list of rows; all of a request by one model."""
        async with self.bodies.body(request) as body:
            model = self.slot.current
            if len(body) <= _SMALL:
                found, rows = self._predicted(body, model)
            else:
                async with self._workers:
                    found, rows = await run_in_threadpool(self._predicted, body, model)
        self.metrics.rows += rows
        request.scope["observed"]["rows"] = rows
        return JSONResponse(found, headers={"x-model-sha256": model.sha256})

    def _predicted(self, body: bytes, model: ServedModel) -> tuple[Any, int]:
        """The answer to a body, and the number of its rows."""
        rows = parsed(body, self.limits, unique=self.strict)
        several = isinstance(rows, list)
        try:
            if self.strict:
                refuse_unknown(model.predictor, rows if several else [rows])
            if several:
                return answers(model.predictor, rows), len(rows)
            return answer(model.predictor, rows), 1
        except (TypeError, ValueError) as error:
            raise HTTPException(422, str(error)) from None

    async def model(self, request: Request) -> Response:
        """Which model answers, and what it wants."""
        model = self.slot.current
        found = {"sha256": model.sha256, "loaded": model.loaded, "estimator": model.predictor.model.estimator}
        return JSONResponse(found | {"columns": model.predictor.columns})

    async def health(self, request: Request) -> Response:
        """Whether the process lives: if not, start it again."""
        return JSONResponse({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Whether to send requests here."""
        if self.stopping:
            return JSONResponse({"status": "stopping"}, 503)
        return JSONResponse({"status": "ready"})

    async def prometheus(self, request: Request) -> Response:
        """Metrics."""
        return PlainTextResponse(self.metrics.text(self.slot), media_type=CONTENT_TYPE)

    async def reload(self, request: Request) -> Response:
        """Read the file again; what is wrong with it is in the log, and not in the answer."""
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), (self.reload_token or "").encode()):
            raise HTTPException(401, "the header must have Authorization: Bearer and the token of the service")
        if not await self.slot.reload("POST /reload"):
            raise HTTPException(409, "the new file was refused: the old model stays, and the log says why")
        return await self.model(request)


class Observed:
    """Counts and logs every request, and gives each an identifier, as plain ASGI: the body passes by unchanged."""

    def __init__(self, app: ASGIApp, service: Service, routes: frozenset[str]) -> None:
        self._app, self._service, self._routes = app, service, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        metrics, seen = self._service.metrics, {"status": 500}
        given = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"x-request-id"), "")
        identifier = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
        scope["observed"] = observed = {"id": identifier}

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", identifier.encode())]
                if self._service.stopping:
                    message["headers"].append((b"connection", b"close"))  # so that clients connect elsewhere
            await send(message)

        began = time.perf_counter()
        metrics.in_flight += 1
        try:
            await self._app(scope, receive, sent)
        finally:
            metrics.in_flight -= 1
            seconds, route = time.perf_counter() - began, scope["path"] if scope["path"] in self._routes else "other"
            metrics.done(route, seen["status"], seconds)
            fields = {"event": "request", "method": scope["method"], "route": route, **seen, **observed}
            fields |= {"ms": round(seconds * 1e3, 3), "client": (scope.get("client") or [None])[0]}
            ACCESS.info("request", extra={"fields": fields})


async def _refused(request: Request, error: HTTPException) -> Response:
    words = error.detail if len(error.detail) <= _WORDS else error.detail[:_WORDS] + "…"
    words = words.encode(
        errors="backslashreplace"
    ).decode()  # half a surrogate pair, which JSON may escape, is no UTF-8
    return JSONResponse({"error": words}, error.status_code, error.headers)


async def _gone(request: Request, error: Exception) -> Response:
    """The client has gone: nobody reads this, and nothing is wrong with the service."""
    return Response(status_code=_GONE)


async def _failed(request: Request, error: Exception) -> Response:
    """A fault of the service: its traceback is in the log, by the identifier."""
    words = f"the service failed; its log has more about request {request.scope['observed']['id']}"
    return JSONResponse({"error": words}, 500)
