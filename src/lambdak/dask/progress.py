"""Progress of a fit on a cluster, shown where the client is: partitions that were read and packed, and laps.

It comes as events of Dask, a few numbers each, and only if it was requested; workers print nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self, final

import numpy as np
from distributed import Client, get_worker
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lambdak.training.checkpoint import Laps, State
from lambdak.training.large.choice import LargeRequest
from lambdak.training.live_curve import watch_of
from lambdak.training.members import events_of
from lambdak.training.trainer import Event

READING, PACKING, FITTING = "reading", "packing", "fitting"


@final
class ShownProgress:
    """Within ``with``, shows what workers report under a ``topic``, which is None if nothing was requested.

    A line for each of reading, packing (partitions) and fitting (laps, with the loss); from ``verbose`` 2 on a notebook
    draws the learning curve instead of the last one.
    """

    def __init__(self, client: Client, verbose: int) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[loss]}"),
        )
        self.topic = f"lambdak-{secrets.token_hex(8)}" if verbose else None
        self._client, self._watch, self._bars = client, watch_of(verbose), dict[str, Any]()
        self._seen, self._events = dict[str, set[int]](), dict[int, Event]()
        self._progress = Progress(*columns, TimeRemainingColumn(), disable=not verbose)

    def __enter__(self) -> Self:
        self._progress.start()
        if self.topic is not None:
            self._client.subscribe_topic(self.topic, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        if self.topic is not None:
            self._client.unsubscribe_topic(self.topic)
        self._progress.stop()

    def quiet(self, request: LargeRequest) -> LargeRequest:
        """A request whose fit prints nothing on workers, and reports here instead."""
        if self.topic is None:
            return request
        return replace(request, settings=replace(request.settings, verbose=0), checkpoint=ReportedLaps(self.topic))

    def _hear(self, event: tuple[float, dict[str, Any]]) -> None:
        news = event[1]
        what, total, loss = news["what"], news["total"], news.get("loss", "")
        seen = self._seen.setdefault(what, set())
        seen.add(news["number"])
        if what == FITTING and self._watch is not None:
            self._draw(news)
            return
        if what not in self._bars:
            self._bars[what] = self._progress.add_task(what, total=total, loss="")
        self._progress.update(self._bars[what], completed=len(seen), loss=loss and f"loss {loss:.5g}")

    def _draw(self, news: dict[str, Any]) -> None:
        train, validation = np.array([news["train"]]), np.array([news["loss"]])
        self._events[news["number"]] = Event(news["number"], news["total"], train, validation, -train, -validation, 0.0)
        if self._watch is not None:
            self._watch([self._events[k] for k in sorted(self._events)], ended=len(self._events) == news["total"])


class ReportedLaps(Laps):
    """Laps that are reported to the client as they end, if there is a topic."""

    def __init__(self, topic: str | None, state: State | None = None, count: int = 0) -> None:
        super().__init__(state, count)
        self._topic = topic

    def save(self, name: str, state: State) -> None:
        """Keep and report a lap."""
        super().save(name, state)
        if name == "members" and self._topic is not None:
            last = events_of(state)[-1]
            loss, train = float(last.validation.mean()), float(last.train.mean())
            report(self._topic, what=FITTING, number=last.epoch, total=last.epochs, loss=loss, train=train)


def report(topic: str, **news: Any) -> None:
    """Send a few numbers from a task to whoever listens."""
    get_worker().log_event(topic, news)


def reporting(topic: str, what: str, total: int, compute: Callable[..., Any], *args: Any) -> Any:
    """What ``compute(*args)`` returns for one of several partitions, which is reported by its index."""
    result = compute(*args)
    index = next(value for value in args if isinstance(value, int))
    report(topic, what=what, number=index, total=total)
    return result
