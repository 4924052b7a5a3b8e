"""A checkpoint as one file, replaced as a whole by every save: safetensors with a checksum; nothing in it can run."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as from_safetensors
from safetensors.numpy import save as as_safetensors

from lambdak import atomic
from lambdak._types import PathLike
from lambdak.atomic import reason, regular_file
from lambdak.training.checkpoint import Checkpoint, NoCheckpoint, State
from lambdak.training.members import events_of

_KEY = "lambdak checkpoint"
_FORMAT = 1  # of the file: a checkpoint of another one is refused
_NO_SUM = "0" * 64  # in the place of the checksum, while it is computed
_SUM = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_LENGTH_BYTES = 8  # of the number at the start of a safetensors file that says how long its header is
_SHOWN = 60  # letters of a setting in a message, which stays one line


def open_checkpoint(path: PathLike | None, every: float) -> Checkpoint:
    """The checkpoint at ``path``, saved about every so many seconds; None is none."""
    number = isinstance(every, int | float | np.integer | np.floating) and not isinstance(every, bool)
    if not (number and 0 <= every < np.inf):
        raise ValueError(f"checkpoint_every must be a finite number of seconds, at least 0; got {every!r}")
    if path is None:
        return NoCheckpoint()
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"checkpoint must be the path of a file, or None; got {path!r}")
    return CheckpointFile(Path(path), float(every))


@final
class CheckpointFile(Checkpoint):
    """Stages and the training in progress, in one file."""

    def __init__(self, path: Path, every: float) -> None:
        if not path.parent.is_dir():
            raise FileNotFoundError(f"the folder of checkpoint={str(path)!r} does not exist: create it first")
        if path.exists() and not path.is_file():
            raise ValueError(f"checkpoint must be the path of a file; {str(path)!r} is none: add a name to it")
        self._path, self._every, self._kept = path, every, False
        self._call: dict[str, str] = {}
        self._start: dict[str, Any] = {}  # of the randomness
        self._stages: dict[str, dict[str, Any]] = {}
        self._training: tuple[dict[str, Any], State] | None = None  # as found in the file
        self._saved = time.monotonic()

    def begin(self, call: Callable[[], Mapping[str, str]], rng: np.random.Generator) -> None:
        """Read the file if there is one, or write it, so that a path that cannot be written is refused at once."""
        self._rng = rng
        self._call = {"lambdak": version("lambdak"), **call()}
        if self._path.exists():
            self._take_up()
        else:
            self._start = dict(rng.bit_generator.state)
            atomic.write_bytes(self._path, self._bytes(None))
        self._saved = time.monotonic()

    def stage(self, name: str, compute: Callable[[], Any]) -> Any:
        """Saved at once: a stage takes far longer than a save."""
        if name in self._stages:
            self._rng.bit_generator.state = self._stages[name]["rng"]
            return self._stages[name]["result"]
        result = compute()
        self._stages[name] = {"result": result, "rng": self._rng.bit_generator.state}
        self._write(None)
        return result

    def due(self) -> bool:
        """Whether enough seconds have passed since the last save."""
        return time.monotonic() - self._saved >= self._every

    def save(self, name: str, state: State) -> None:
        """Replace the file."""
        self._write((name, state))

    def restored(self, name: str) -> State | None:
        """The state of the training in the file, if it has this name, and only once: a later training gets None."""
        if self._training is None or self._training[0]["name"] != name:
            return None
        (about, state), self._training = self._training, None
        self._rng.bit_generator.state = about["rng"]
        return state

    def keep(self) -> None:
        """Keep the file as it is."""
        self._kept = True

    def finish(self) -> None:
        """Remove the file, unless it is to be kept."""
        if not self._kept:
            try:
                Path(os.path.realpath(self._path)).unlink(missing_ok=True)  # a link is followed, as in writing
            except OSError as error:
                self._warn(f"could not be removed ({error}): delete it")

    def _write(self, training: tuple[str, State] | None) -> None:
        """A disk that is full for a while must not end a fit of many hours."""
        try:
            atomic.write_bytes(self._path, self._bytes(training))
        except OSError as error:
            self._warn(f"could not be written ({error}): the training continues, and the last checkpoint stays")
        self._saved = time.monotonic()

    def _warn(self, what: str) -> None:
        warnings.warn(f"the checkpoint {str(self._path)!r} {what}", RuntimeWarning, stacklevel=2)

    def _bytes(self, training: tuple[str, State] | None) -> bytes:
        about: dict[str, Any] = {"format": _FORMAT, "call": self._call, "start": self._start, "stages": self._stages}
        arrays = {}
        if training is not None:
            name, state = training
            progress = {"name": name, "rng": self._rng.bit_generator.state, "scalars": dict(state.scalars)}
            about["training"] = progress
            arrays = {key: np.ascontiguousarray(array) for key, array in state.arrays.items()}
        data = as_safetensors(arrays, {_KEY: json.dumps(about), "sha256": _NO_SUM})
        place = _place(data)
        return b"".join((data[:place], _checksum(data, place).encode(), memoryview(data)[place + len(_NO_SUM) :]))

    def _take_up(self) -> None:
        about, arrays = _read(self._path)
        try:
            self._check_call(about["call"], about["start"])
            self._start, self._stages = about["start"], about["stages"]
            self._check_parts({"rng": self._start})
            for stage in self._stages.values():
                self._check_parts(stage, "result")
            if "training" in about:
                self._check_parts(about["training"], "name", "scalars")
                state = _StateOfFile(arrays, about["training"]["scalars"], self._path)
                state.check()
                self._training = about["training"], state
            self._rng.bit_generator.state = self._start
        except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
            raise _unreadable(self._path, error) from None

    def _check_parts(self, part: dict[str, Any], *names: str) -> None:
        """See now whether a part is whole: later, when it is used, nobody would know where it came from."""
        for name in names:
            part[name]
        try:
            type(self._rng.bit_generator)().state = part["rng"]
        except ValueError as error:
            raise TypeError(str(error)) from None

    def _check_call(self, then: dict[str, str], start: dict[str, Any]) -> None:
        """Refuse the checkpoint of another call."""
        now, differ = self._call, []
        for name in [*now, *(other for other in then if other not in now)]:
            one, other = then.get(name, "None"), now.get(name, "None")
            if one != other:
                short = max(len(one), len(other)) <= _SHOWN
                differ.append(f"{name} was {one} and is {other}" if short else f"{name} differs")
        if not differ and now.get("random_state") != "None" and start != self._rng.bit_generator.state:
            differ.append("random_state differs")
        if differ:
            raise ValueError(
                f"the checkpoint {str(self._path)!r} is of another fit: {', '.join(differ)}. Give another path, or "
                "delete it to start over"
            )


@final
@dataclass(frozen=True)
class _StateOfFile(State):
    """A state whose errors name the file."""

    path: Path

    def copy_to_(self, name: str, array: NDArray[Any]) -> None:
        with _naming(self.path):
            super().copy_to_(name, array)

    def number(self, name: str) -> Any:
        with _naming(self.path):
            return super().number(name)

    def check(self) -> None:
        """Refuse what no training writes."""
        for name, value in self.scalars.items():
            if not all(isinstance(number, int | float) for number in (value if isinstance(value, list) else [value])):
                raise TypeError(f"{name!r} must be a number or numbers")
        if "epochs" in self.scalars:
            with _naming(self.path):
                events_of(State(self.arrays, self.scalars))


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{str(path)!r} is no whole checkpoint: {error}") from None


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a file says, and its arrays, once its checksum is known to fit."""
    try:
        with regular_file(path) as (file, _):
            data = file.read()
    except OSError as error:
        raise ValueError(f"the checkpoint {str(path)!r} cannot be read ({reason(error)}): give another path") from None
    place = _place(data)
    if place < 0:
        raise ValueError(f"{str(path)!r} is no checkpoint, or only a part of one: give another path, or delete it")
    if data[place : place + len(_NO_SUM)] != _checksum(data, place).encode():
        raise ValueError(
            f"the checkpoint {str(path)!r} is damaged: its checksum does not fit its contents. Delete it to start over"
        )
    try:
        about = json.loads(json.loads(data[_LENGTH_BYTES : _header_end(data)])["__metadata__"][_KEY])
        if about["format"] != _FORMAT:
            raise ValueError(f"the checkpoint {str(path)!r} has a format of another version: delete it to start over")
        return about, from_safetensors(data)
    except (KeyError, TypeError, json.JSONDecodeError, RecursionError, SafetensorError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{str(path)!r} is no checkpoint ({error!r}): give another path, or delete it")


def _header_end(data: bytes) -> int:
    return _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")


def _place(data: bytes) -> int:
    """Where the checksum is; -1 if nowhere."""
    match = _SUM.search(data, 0, min(_header_end(data), len(data)))
    return -1 if match is None else match.start(1)


def _checksum(data: bytes, place: int) -> str:
    """SHA-256 of all bytes, the place of the checksum itself taken as zeros."""
    result = hashlib.sha256(memoryview(data)[:place])
    result.update(_NO_SUM.encode())
    result.update(memoryview(data)[place + len(_NO_SUM) :])
    return result.hexdigest()
