"""The model that answers, and how the model of a new file takes its place: as a whole, or not at all."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool

from lambdak import load
from lambdak.model.predictor import Predictor

from .logs import EVENTS


@dataclass(frozen=True)
class ServedModel:
    """A model in memory, and the file that it came from."""

    predictor: Predictor
    sha256: str  # of the file, as sha256sum prints it
    loaded: float  # seconds since 1970

    @property
    def form(self) -> tuple[Any, ...]:
        """What clients rely on: columns, and what answers look like."""
        predictor = self.predictor
        numbers = tuple(column.is_number for column in predictor.model.encoder.columns)
        return predictor.model.estimator, predictor.columns, numbers, predictor.classes, predictor.quantile_levels


def read_model(path: Path, public_key: Path | None) -> ServedModel:
    """The model in a file, checked; with a public key, the file must be signed with it.

    Whatever is wrong with the file is an exception.
    """
    if path.exists() and not path.is_file():  # a pipe would be waited for, and a device need not have an end
        raise ValueError(f"{path} is a folder, a pipe or a device: give the file that lambdak fit or model.save wrote")
    before = _digest(path)
    estimator = load(path, public_key=public_key)
    if not hasattr(estimator, "predictor"):
        raise ValueError(f"{path} holds a {type(estimator).__name__}: save its last step, the lambdak model, alone")
    if _digest(path) != before:
        raise ValueError(f"{path} changed while it was read: write a new file beside it, and rename that")
    predictor = estimator.predictor()
    predictor(dict.fromkeys(predictor.columns))  # the first prediction takes longest: not that of a client
    return ServedModel(predictor, before, time.time())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass
class ModelSlot:
    """The place of the model; requests take what is in it once, so that each is answered by one model."""

    path: Path
    public_key: Path | None = None
    any_form: bool = False  # whether a new model may have other columns, classes or quantiles
    current: ServedModel = field(init=False)
    reloads: dict[str, int] = field(default_factory=lambda: {"success": 0, "failure": 0})
    last_failed: bool = False
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.current = read_model(self.path, self.public_key)

    async def reload(self, why: str) -> bool:
        """Whether the model of the file has taken the place; if not, the old one stays, and the log says why."""
        async with self._turn:
            began = time.perf_counter()
            try:
                new = await run_in_threadpool(self._read)
            except Exception as error:  # whatever a file can do wrong: the service continues
                self.reloads["failure"] += 1
                self.last_failed = True
                fields = {"event": "reload", "why": why, "result": "failure", "reason": str(error)}
                EVENTS.error("the new file was refused: the old model stays", extra={"fields": fields})
                return False
            self.current, self.last_failed = new, False
            self.reloads["success"] += 1
            seconds = round(time.perf_counter() - began, 3)
            fields = {"event": "reload", "why": why, "result": "success", "sha256": new.sha256, "seconds": seconds}
            EVENTS.info("a model was loaded", extra={"fields": fields})
            return True

    def _read(self) -> ServedModel:
        new = read_model(self.path, self.public_key)
        if new.form != self.current.form and not self.any_form:
            raise ValueError(
                f"{self.path} holds a {new.predictor!r} with other columns, classes or quantiles than "
                f"{self.current.predictor!r}: clients would fail. Start the service with it, or with --any-form"
            )
        return new

    async def watch(self, seconds: float) -> None:
        """Load the file whenever it has changed, and has been the same for two looks."""
        tried = before = await run_in_threadpool(self._state)
        while True:
            await asyncio.sleep(seconds)
            now = await run_in_threadpool(self._state)
            if now == before != tried:
                tried = now
                await self.reload("the file changed")
            before = now

    def _state(self) -> tuple[int, ...] | None:
        """What changes with the file; None if it is not there."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
