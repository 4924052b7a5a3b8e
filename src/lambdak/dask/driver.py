"""What the client does: partitions become records on workers, workers train together, and lost workers are replaced.

If a worker is lost in an attempt, the others end with the last lap that all had agreed on, and the next attempt
continues from there on the workers that are left: Dask computes the lost records again. Since sums do not depend on who
has which shard, the model is the same, bit for bit, as if nothing had happened.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from distributed import Client, Future

from lambdak.dask import worker
from lambdak.dask.attempt import POLL, Addresses, Attempt, Shard
from lambdak.dask.parts import Partitions
from lambdak.dask.progress import PACKING, READING, ShownProgress, reporting
from lambdak.dask.watch import Watch
from lambdak.dask.wire import Deadlines
from lambdak.training.finish import Fit
from lambdak.training.large.choice import LargeRequest

_SHARDS = 16  # of a table, if it has as many partitions …
_SHARD_ROWS = 2_000_000  # … or one for so many rows
FAN_IN = 8  # summaries that are merged at once
_MOST_ATTEMPTS = 50
START = 300.0  # seconds until all workers have begun


@dataclass
class DaskFit:
    """One fit on a cluster; ``silence`` is for how many seconds a worker may not answer, ``start`` until it begins."""

    client: Client
    request: LargeRequest
    partitions: Partitions
    silence: float
    start: float = START
    route: Callable[[Addresses], Addresses] = list  # where workers reach each other, if not where they listen
    _left_out: dict[str, Future] = field(default_factory=dict)  # what workers that were too slow or busy still do

    def run(self) -> Fit:
        """Train on the workers of the cluster, and return the model with its state."""
        with (
            Watch(self.client, self.silence, self.start) as watch,
            ShownProgress(self.client, self.request.settings.verbose) as shown,
        ):
            return self._run(watch, shown)

    def _run(self, watch: Watch, shown: ShownProgress) -> Fit:
        request = shown.quiet(self.request)
        decided = self._decided(request, shown.topic)
        if self._awaited([self.client.submit(isinstance, decided, Fit, pure=False)], watch)[0]:
            fit: Fit = self._awaited([decided], watch)[0]
            return fit
        parts = self._of_partitions(shown.topic, PACKING, worker.pack, request, decided)
        sizes = self._awaited(self.client.map(len, parts, pure=False), watch)
        return self._trained(decided, parts, sizes, watch, shown.topic)

    # ---- the sample and the records ----------------------------------------------------------------------------

    def _decided(self, request: LargeRequest, topic: str | None) -> Future:
        """What the sample decides, on a worker: a choice, or the fit of a small table."""
        level = self._of_partitions(topic, READING, worker.summarise, request)
        while len(level) > 1:
            groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
            level = [self.client.submit(worker.merge, *group, pure=False) for group in groups]
        return self.client.submit(worker.decide, request, level[0], pure=False)

    def _of_partitions(self, topic: str | None, what: str, compute: Callable[..., Any], *args: Any) -> list[Future]:
        """What workers compute of every partition."""
        held = self.partitions.computed(self.client)
        columns = list(zip(*([part.index, *part.pieces] for part in held), strict=True))
        if topic is not None:
            args, compute = (topic, what, self.partitions.count, compute, *args), reporting
        repeated = [[value] * len(held) for value in args]
        futures: list[Future] = self.client.map(compute, *repeated, *columns, pure=False)  # one graph for all of them
        return futures

    def _awaited(self, futures: list[Future], watch: Watch) -> list[Any]:
        """Results of what Dask computes, and computes again if workers are lost."""
        self._wait(futures, watch)
        results: list[Any] = self.client.gather(futures)
        return results

    def _wait(self, futures: list[Future], watch: Watch) -> None:
        while not all(future.done() for future in futures) and not any(future.status == "error" for future in futures):
            time.sleep(POLL)
            self._workers()  # an error, if there are none for long
            _tell(watch.lost(), "others compute its partitions again")

    # ---- training ----------------------------------------------------------------------------------------------

    def _trained(self, choice: Future, parts: list[Future], sizes: list[int], watch: Watch, topic: str | None) -> Fit:
        shards = [
            Shard([parts[i] for i in positions], sum(sizes[i] for i in positions)) for positions in shards_of(sizes)
        ]
        before: worker.Outcome | None = None
        for _ in range(_MOST_ATTEMPTS):
            self._wait([choice, *parts], watch)
            workers = self._workers()
            attempt = Attempt(
                self.client, workers[: len(shards)], Deadlines(self.start, self.silence), self.route, topic
            )  # fmt: skip
            outcome = attempt.run(choice, shards, before)
            if outcome is not None and outcome.fit is not None:
                return outcome.fit
            before = outcome or before
            self._left_out |= attempt.left_out
            after = f"after lap {before.laps}" if before is not None and before.laps else "from its start"
            _tell(watch.lost() or [attempt.why], f"the fit continues {after}")
        raise RuntimeError(f"in each of {_MOST_ATTEMPTS} attempts a worker was lost: see the logs of the workers")

    def _workers(self) -> list[str]:
        """Workers that can take part, waiting a while for one if there is none."""
        until = time.monotonic() + self.start
        while True:
            alive = set(self.client.nthreads())
            if alive:
                busy = {address for address, task in self._left_out.items() if not task.done()}
                return sorted(alive - busy or alive)
            if time.monotonic() > until:
                raise RuntimeError(f"the cluster has had no workers for {self.start:g} s: start some, and fit again")
            time.sleep(POLL)


def _tell(lost: list[str], what_now: str) -> None:
    if lost:
        warnings.warn(f"{', '.join(lost)}: {what_now}", UserWarning, stacklevel=2)


def shards_of(rows: Sequence[int]) -> list[list[int]]:
    """Neighbouring partitions, about the same number in each shard; those without rows are in none.

    >>> shards_of([5, 0, 7])
    [[0], [2]]
    """
    there = [i for i, size in enumerate(rows) if size]
    count = min(max(_SHARDS, sum(rows) // _SHARD_ROWS), len(there))
    return [there[k * len(there) // count : (k + 1) * len(there) // count] for k in range(count)]
