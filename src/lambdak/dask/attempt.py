"""One attempt of workers to train together: a task for each of them, and what is left if one is lost.

Tasks are bound to their workers, so Dask never ends the wait for what a lost worker had: every wait here has an end.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, NamedTuple, final

from distributed import Client, Future

from lambdak.dask import worker
from lambdak.dask.wire import Deadlines

Addresses = list[tuple[str, int]]

POLL = 0.1  # seconds
_PATIENCE = 5.0  # seconds for what takes no time


class Shard(NamedTuple):
    """Neighbouring partitions, and their rows."""

    parts: list[Future]
    rows: int


@final
class Attempt:
    """Afterwards ``why`` says what was lost, and ``left_out`` what workers that were too slow or too busy still do."""

    def __init__(
        self,
        client: Client,
        workers: list[str],
        deadlines: Deadlines,
        route: Callable[[Addresses], Addresses],
        topic: str | None = None,
    ) -> None:
        self._client, self._workers, self._deadlines, self._route = client, workers, deadlines, route
        self._topic = topic  # under which laps are reported
        self._name = secrets.token_hex(8)
        self.why = "a connection between workers was lost"
        self.left_out: dict[str, Future] = {}

    def run(self, choice: Future, shards: list[Shard], before: worker.Outcome | None) -> worker.Outcome | None:
        """A model, or what another attempt can continue from, if there is anything new."""
        addresses = self._listening()
        if addresses is None:
            return None
        tasks = self._tasks(self._route(addresses), choice, shards, before)
        ending: list[Future] = []
        try:
            self._wait(tasks, None, any)
            ending = [self._submit(address, worker.close_listener, self._name) for address in self._workers]
            self._wait(tasks, 2 * self._deadlines.silence + _PATIENCE, all)  # who is alive has noticed by then
            outcome = self._outcome(self._done(tasks))
            if outcome is None or outcome.fit is None:
                self._leave_out(tasks, "did not end in time")
            return outcome
        finally:
            kept = self.left_out  # to see when they end
            over = [task for address, task in tasks.items() if address not in kept]
            self._client.cancel([*over, *ending], force=True)

    def _listening(self) -> Addresses | None:
        """Where the workers wait for each other; None if some do not."""
        start = self._deadlines.start
        tasks = {address: self._submit(address, worker.open_listener, self._name, start) for address in self._workers}
        self._wait(tasks, start, all)
        listening = self._results(self._done(tasks))
        if len(listening) == len(tasks):
            return [listening[address] for address in self._workers]
        self._leave_out(tasks, f"was busy with other tasks for {start:g} s")
        return None

    def _tasks(
        self, addresses: Addresses, choice: Future, shards: list[Shard], before: worker.Outcome | None
    ) -> dict[str, Future]:
        token, ranks = secrets.token_bytes(32), len(self._workers)
        lengths, tasks = [shard.rows for shard in shards], {}
        for rank, address in enumerate(self._workers):
            records = {k: shard.parts for k, shard in enumerate(shards) if k * ranks // len(shards) == rank}
            place = worker.Place(self._name, rank, addresses, token, self._deadlines, None if rank else self._topic)
            tasks[address] = self._submit(address, worker.train, choice, place, records, lengths, before)
        return tasks

    def _submit(self, address: str, function: Any, *args: Any) -> Future:
        return self._client.submit(
            function, *args, workers=[address], allow_other_workers=False, pure=False, retries=0
        )  # fmt: skip

    def _wait(self, tasks: Mapping[str, Future], seconds: float | None, of: Callable[[list[bool]], bool]) -> None:
        """Wait until ``of`` the tasks have ended, or their workers are gone, for at most so many seconds."""
        until = None if seconds is None else time.monotonic() + seconds
        while until is None or time.monotonic() < until:
            alive = self._client.nthreads()
            if of([task.done() or address not in alive for address, task in tasks.items()]):
                return
            time.sleep(POLL)

    @staticmethod
    def _done(tasks: Mapping[str, Future]) -> dict[str, Future]:
        return {address: task for address, task in tasks.items() if task.done()}

    def _outcome(self, ended: Mapping[str, Future]) -> worker.Outcome | None:
        """A model, or the state after most laps."""
        for task in ended.values():
            if task.status == "error":
                task.result()  # what is wrong with the data is wrong everywhere
        asked = {address: self._client.submit(worker.laps_of, task, pure=False) for address, task in ended.items()}
        self._wait(asked, self._deadlines.silence + _PATIENCE, all)
        laps = self._results(self._done(asked))
        self.why = next((why for _, _, why in laps.values() if why), self.why)
        for address in sorted(laps, key=lambda each: laps[each][:2], reverse=True):
            if any(laps[address][:2]) and (found_there := self._results({address: ended[address]})):
                outcome: worker.Outcome = found_there[address]
                return outcome
        return None

    def _results(self, tasks: Mapping[str, Future]) -> dict[str, Any]:
        """The results that are still there: those of a worker that is lost at this moment are not."""
        results = {}
        for address, task in tasks.items():
            with suppress(TimeoutError, CancelledError):
                results[address] = task.result(timeout=self._deadlines.silence + _PATIENCE)
        return results

    def _leave_out(self, tasks: Mapping[str, Future], why: str) -> None:
        """Note the workers that are there but did not do their part."""
        alive = self._client.nthreads()
        self.left_out = {address: task for address, task in tasks.items() if address in alive and not task.done()}
        if self.left_out:
            self.why = ", ".join(f"worker {address} {why}" for address in sorted(self.left_out))
