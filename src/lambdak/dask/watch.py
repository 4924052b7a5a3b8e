"""A watch over the workers of a cluster: which are lost, and which are there but do not answer.

With those the scheduler parts after a stated time. Dask itself notices after minutes, and until then would wait for
what such a worker holds.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any, Self, final

from distributed import Client

_OFTEN = 4  # looks per time-out


@final
class Watch:
    """Within ``with``, a worker that does not answer for ``silence`` seconds is removed from the cluster.

    Until its first answer a worker has the time of a ``start``, in which it may still import what it needs.
    """

    def __init__(self, client: Client, silence: float, start: float) -> None:
        self._client, self._silence, self._start = client, silence, start
        self._over, self._silent = threading.Event(), set[str]()
        self._answered, self._asked = set[str](), dict[str, float]()  # since when the open questions are open
        self._known = set(client.nthreads())

    def __enter__(self) -> Self:
        threading.Thread(target=self._look, daemon=True, name="lambdak-watch").start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def lost(self) -> list[str]:
        """What happened to workers that are gone since the last call."""
        now = set(self._client.nthreads())
        gone, self._known = self._known - now, now
        silent = f"did not answer for {self._silence:g} s"
        return [f"worker {address} {silent if address in self._silent else 'was lost'}" for address in sorted(gone)]

    def _look(self) -> None:
        while not self._over.is_set():
            with suppress(Exception):  # the client is closing
                for address in self._client.nthreads():
                    self._look_at(address)
            self._over.wait(self._silence / _OFTEN)

    def _look_at(self, address: str) -> None:
        since = self._asked.get(address)
        if since is None:
            self._asked[address] = time.monotonic()
            threading.Thread(target=self._ask, args=(address,), daemon=True, name="lambdak-question").start()
        elif time.monotonic() - since > (self._silence if address in self._answered else self._start):
            self._silent.add(address)
            self._client.run_on_scheduler(_remove_worker, address=address)

    def _ask(self, address: str) -> None:
        with suppress(Exception):  # a worker that is gone is no silent one
            self._client.run(_answer, workers=[address])
            self._answered.add(address)
        self._asked.pop(address, None)


def _answer() -> None:
    """Nothing more is asked for."""


async def _remove_worker(dask_scheduler: Any, address: str) -> None:
    await dask_scheduler.remove_worker(address=address, stimulus_id="lambdak-silent-worker", close=False)
