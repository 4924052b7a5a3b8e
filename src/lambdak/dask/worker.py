"""What runs on a worker: summaries, records, and one of the processes that train members together."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import get_worker, secede
from distributed.comm import get_address_host

from lambdak.dask.parts import drawn
from lambdak.dask.progress import ReportedLaps
from lambdak.dask.wire import Deadlines, Security, SocketTransport, listen
from lambdak.table.large.batches import errors_at
from lambdak.table.large.packed import Records
from lambdak.table.large.summary import TableSummary
from lambdak.training.checkpoint import State
from lambdak.training.finish import Fit
from lambdak.training.large.choice import Choice, LargeRequest, choose
from lambdak.training.large.fit import fit_sample, train_members
from lambdak.training.large.shards import MemoryShard
from lambdak.training.large.transport import PeerLostError

_listeners: dict[tuple[str, str], tuple[float, socket.socket]] = {}  # by attempt and worker, and until when


def summarise(request: LargeRequest, index: int, *pieces: Any) -> TableSummary:
    """The summary of a partition."""
    summary = request.summary()
    with errors_at(f"partition {index}"):
        part = drawn(index, pieces)
        if part is not None:
            summary.add_(request.read(part))
    return summary


def merge(*summaries: TableSummary) -> TableSummary:
    """The summary of several partitions; those of Dask stay as they are."""
    whole = deepcopy(summaries[0])
    for other in summaries[1:]:
        whole.merge_(other)
    return whole


def decide(request: LargeRequest, summary: TableSummary) -> Choice | Fit:
    """What the sample decides; the whole fit, if the sample is the whole table."""
    return fit_sample(request, summary) if request.is_small(summary) else choose(request, summary)


def pack(request: LargeRequest, choice: Choice, index: int, *pieces: Any) -> Records:
    """The records of a partition."""
    with errors_at(f"partition {index}"):
        part = drawn(index, pieces)
        return choice.no_records(index) if part is None else choice.packed(request.read(part), _threads())


def open_listener(attempt: str, seconds: float) -> tuple[str, int]:
    """Where this worker waits for others in an attempt, which begins within so many seconds."""
    now = time.monotonic()
    for late in [name for name, (until, _) in list(_listeners.items()) if until < now]:
        if waiting := _listeners.pop(late, None):  # workers of one process share them, and another one may be first
            waiting[1].close()
    listener = listen(get_address_host(get_worker().address))
    _listeners[attempt, get_worker().address] = now + seconds, listener
    address = listener.getsockname()
    return str(address[0]), int(address[1])


def close_listener(attempt: str) -> None:
    """End the wait for others in an attempt: somebody is lost."""
    waiting = _listeners.pop((attempt, get_worker().address), None)
    if waiting is not None:
        waiting[1].close()


@dataclass(frozen=True)
class Place:
    """One process of an attempt: which, where the others are, and how long to wait for them."""

    attempt: str
    rank: int
    addresses: Sequence[tuple[str, int]]
    token: bytes
    deadlines: Deadlines
    topic: str | None = None  # under which laps are reported; of one process alone


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended: a model, or laps that all processes agree on, and why there are no more."""

    fit: Fit | None
    laps: int = 0
    state: State | None = None
    why: str = ""


def laps_of(outcome: Outcome) -> tuple[bool, int, str]:
    """Whether an attempt has ended well, after how many laps, and why not."""
    return outcome.fit is not None, outcome.laps, outcome.why


def train(
    choice: Choice,
    place: Place,
    shards: Mapping[int, Sequence[Records]],
    lengths: Sequence[int],
    before: Outcome | None,
) -> Outcome:
    """Train together with other workers, from what an attempt ``before`` agreed on."""
    secede()  # workers wait for each other in here: with a fit beside this one, both would wait for a free thread
    waiting = _listeners.get((place.attempt, get_worker().address))
    if waiting is None:  # Dask runs a task again whose result was lost; that attempt is over
        return Outcome(None, why="this attempt is over")
    laps = ReportedLaps(place.topic, *((None, 0) if before is None else (before.state, before.laps)))
    listener, transport = waiting[1], None
    try:
        records = {k: MemoryShard(parts, (choice.seed, k)) for k, parts in shards.items()}
        transport = SocketTransport(
            place.rank, place.addresses, listener, place.token, place.deadlines, _security(), _cancelled()
        )
        fit = train_members(choice, records, lengths, transport, laps, _threads())
        return Outcome(fit, laps.count)
    except PeerLostError as error:
        return Outcome(None, laps.count, laps.state, str(error))
    finally:
        close_listener(place.attempt)
        if transport is not None:
            transport.close()


def predict(model: Any, method: str, X: Any, **beside: Any) -> Any:
    """What a method of an estimator says of a partition."""
    return np.asarray(getattr(model, method)(X, **beside))


def _cancelled() -> Callable[[], bool]:
    """Whether the task of this thread was cancelled, or its client has died: Dask forgets it, but cannot end it."""
    tasks, key = get_worker().state.tasks, get_worker().get_current_task()

    def cancelled() -> bool:
        task = tasks.get(key)
        return task is None or task.state == "cancelled"

    return cancelled


def _threads() -> int:
    return int(get_worker().state.nthreads)


def _security() -> Security:
    security = get_worker().security
    listening, connecting = security.get_listen_args("worker"), security.get_connection_args("worker")
    return Security(listening.get("ssl_context"), connecting.get("ssl_context"))
