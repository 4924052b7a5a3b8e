"""What the client does: partitions become records on workers, workers train together, and lost workers are replaced.

An attempt is one task per worker. If a worker is lost, the others end with the last lap that all had agreed on, and the
next attempt continues from there on the workers that are left: Dask computes the lost records again. Since sums do not
depend on who has which shard, the model is the same, bit for bit, as if nothing had happened.
"""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from distributed import Client, Future

from lambdak.dask import worker
from lambdak.dask.parts import Partition
from lambdak.dask.watch import remove_workers, watched
from lambdak.dask.wire import Deadlines
from lambdak.training.fit import Fit
from lambdak.training.large.choice import LargeRequest

_SHARDS = 16  # of a table, if it has as many partitions …
_SHARD_ROWS = 2_000_000  # … or one for so many rows
_FAN_IN = 8  # summaries that are merged at once
_MOST_ATTEMPTS = 50
_POLL = 0.1  # seconds
_START = 300.0  # seconds until all workers have begun


@dataclass
class DaskFit:
    """One fit on a cluster; ``silence`` is for how many seconds a worker may not answer."""

    client: Client
    request: LargeRequest
    partitions: Sequence[Partition]
    silence: float
    start: float = _START
    _hung: set[str] = field(default_factory=set)

    def run(self) -> Fit:
        """The model."""
        with watched(self.client, self.silence):
            return self._run()

    def _run(self) -> Fit:
        decided = self._decided()
        if self.client.submit(isinstance, decided, Fit, pure=False).result():
            fit: Fit = decided.result()
            return fit
        parts = [
            self.client.submit(worker.pack, self.request, decided, part.index, *part.pieces, pure=False)
            for part in self._computed()
        ]
        sizes = self.client.gather([self.client.submit(len, part, pure=False) for part in parts])
        return self._trained(decided, parts, sizes)

    # ---- the sample and the records ----------------------------------------------------------------------------

    def _computed(self) -> list[Partition]:
        """Partitions whose pieces are futures."""
        pieces = [piece for part in self.partitions for piece in part.pieces if piece is not None]
        futures = iter(self.client.compute(pieces, optimize_graph=False))
        own = [[None if piece is None else next(futures) for piece in part.pieces] for part in self.partitions]
        return [Partition(part.index, *each) for part, each in zip(self.partitions, own, strict=True)]

    def _decided(self) -> Future:
        """What the sample decides, on a worker: a choice, or the fit of a small table."""
        level = [
            self.client.submit(worker.summarise, self.request, part.index, *part.pieces, pure=False)
            for part in self._computed()
        ]
        while len(level) > 1:
            groups = [level[i : i + _FAN_IN] for i in range(0, len(level), _FAN_IN)]
            level = [self.client.submit(worker.merge, *group, pure=False) for group in groups]
        return self.client.submit(worker.decide, self.request, level[0], pure=False)

    # ---- training ----------------------------------------------------------------------------------------------

    def _trained(self, choice: Future, parts: list[Future], sizes: list[int]) -> Fit:
        shards = _shards(sizes, min(len(parts), max(_SHARDS, sum(sizes) // _SHARD_ROWS)))
        given = [_Shard([parts[i] for i in own], sum(sizes[i] for i in own)) for own in shards]
        before: Future | None = None
        laps = 0
        for _ in range(_MOST_ATTEMPTS):
            workers = self._workers()
            attempt = _Attempt(self, workers, choice, given, before)
            fit = attempt.run()
            if fit is not None:
                return fit
            if attempt.best is not None:
                before, laps = attempt.best, attempt.laps
            self._hung |= attempt.hung
            after = f"after lap {laps}" if laps else "from its start"
            warnings.warn(f"{attempt.why}: the fit continues {after} on the others", UserWarning, stacklevel=2)
        raise RuntimeError(f"in each of {_MOST_ATTEMPTS} attempts a worker was lost: see the logs of the workers")

    def _workers(self) -> list[str]:
        """Workers that can take part, waiting a while for one if there is none."""
        until = time.monotonic() + self.start
        while True:
            found = sorted(set(self.client.nthreads()) - self._hung)
            if found:
                return found
            if time.monotonic() > until:
                raise RuntimeError(f"the cluster has had no workers for {self.start:g} s: start some, and fit again")
            time.sleep(_POLL)


class _Shard(NamedTuple):
    """Neighbouring partitions, and their rows."""

    parts: list[Future]
    rows: int


class _Attempt:
    """One task per worker; afterwards ``best`` is the state to continue from, if there is a newer one."""

    def __init__(
        self, fit: DaskFit, workers: list[str], choice: Future, shards: list[_Shard], before: Future | None
    ) -> None:
        self._fit, self._client = fit, fit.client
        self._workers = workers[: len(shards)]
        self._given = (choice, shards, before)
        self._name = secrets.token_hex(8)
        self.best: Future | None = None
        self.laps, self.why = 0, ""
        self.hung: set[str] = set()

    def run(self) -> Fit | None:
        """The model; None if a worker was lost."""
        addresses = self._listening()
        if addresses is None:
            return None
        tasks = self._tasks(addresses)
        try:
            ended = self._ended(tasks)
            return self._result(tasks, ended)
        finally:
            kept = None if self.best is None else self.best.key
            self._client.cancel([task for task in tasks.values() if task.key != kept], force=True)

    def _submit(self, function: Any, *args: Any, address: str) -> Future:
        return self._client.submit(
            function, *args, workers=[address], allow_other_workers=False, pure=False, retries=0
        )  # fmt: skip

    def _listening(self) -> list[tuple[str, int]] | None:
        tasks = {address: self._submit(worker.open_listener, self._name, address=address) for address in self._workers}
        self._wait(tasks, self._fit.start)
        if len(self._done(tasks)) < len(tasks):
            self._blame(tasks)
            return None
        return [tasks[address].result() for address in self._workers]

    def _tasks(self, addresses: list[tuple[str, int]]) -> dict[str, Future]:
        choice, shards, before = self._given
        token, deadlines = secrets.token_bytes(32), Deadlines(self._fit.start, self._fit.silence)
        ranks = len(self._workers)
        lengths, tasks = [shard.rows for shard in shards], {}
        for rank, address in enumerate(self._workers):
            own = {k: shard.parts for k, shard in enumerate(shards) if k * ranks // len(shards) == rank}
            place = worker.Place(self._name, rank, addresses, token, deadlines)
            tasks[address] = self._submit(worker.train, choice, place, own, lengths, before, address=address)
        return tasks

    def _ended(self, tasks: dict[str, Future]) -> dict[str, Future]:
        """Tasks that have ended, when all have, or one has and the others are given up."""
        while not self._wait(tasks, 1.0, any_=True):
            pass
        self._wait(tasks, 2 * self._fit.silence + 5)  # who is alive has noticed by then
        return self._done(tasks)

    def _wait(self, tasks: dict[str, Future], seconds: float, any_: bool = False) -> bool:
        """Wait until all tasks, or any, have ended, or their workers are gone; whether that is so in time."""
        until = time.monotonic() + seconds
        while True:
            alive = self._client.nthreads()
            over = [task.done() or address not in alive for address, task in tasks.items()]
            if (any if any_ else all)(over):
                return True
            if time.monotonic() > until:
                return False
            time.sleep(_POLL)

    @staticmethod
    def _done(tasks: dict[str, Future]) -> dict[str, Future]:
        return {address: task for address, task in tasks.items() if task.done()}

    def _result(self, tasks: dict[str, Future], ended: dict[str, Future]) -> Fit | None:
        for task in ended.values():
            if task.status == "error":
                task.result()  # what is wrong with the data is wrong everywhere
        found = {address: self._client.submit(worker.laps_of, task, pure=False) for address, task in ended.items()}
        self._wait(found, self._fit.silence + 5)
        laps = {address: task.result() for address, task in self._done(found).items() if task.status == "finished"}
        for address, (fitted, count, why) in laps.items():
            if fitted:
                outcome: worker.Outcome = ended[address].result()
                return outcome.fit
            if count > self.laps:
                self.best, self.laps = ended[address], count
            self.why = self.why or why
        self._blame(tasks)
        return None

    def _blame(self, tasks: dict[str, Future]) -> None:
        """Say which workers are gone, and part with those that are there but do not answer."""
        alive = self._client.nthreads()
        gone = [address for address in tasks if address not in alive]
        self.hung = {address for address, task in tasks.items() if address in alive and not task.done()}
        remove_workers(self._client, self.hung)
        lost = [f"worker {address} was lost" for address in gone]
        lost += [f"worker {address} did not answer for {self._fit.silence:g} s" for address in self.hung]
        self.why = ", ".join(lost) or self.why or "a connection between workers was lost"


def _shards(rows: Sequence[int], count: int) -> list[list[int]]:
    """Neighbouring partitions, about the same number in each shard; those without rows are in none."""
    there = [i for i, size in enumerate(rows) if size]
    count = min(count, len(there))
    return [there[k * len(there) // count : (k + 1) * len(there) // count] for k in range(count)]
