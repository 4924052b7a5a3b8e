"""A watch over the workers of a cluster: which are lost, and which are there but do not answer.

With those the scheduler parts after a stated time. Dask itself notices after minutes, and until then would wait for
what such a worker holds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Self, final

from distributed import Client

_OFTEN = 4  # rounds of questions per time-out
_SHORTLY = 0.05  # seconds between looks at the answers


@final
class Watch:
    """Within ``with``, a worker that does not answer for ``silence`` seconds is removed from the cluster."""

    def __init__(self, client: Client, silence: float) -> None:
        self._client, self._silence = client, silence
        self._over, self._silent = threading.Event(), set[str]()
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
        while not self._over.wait(self._silence / _OFTEN):
            with suppress(Exception):  # the client is closing
                silent = self._without_answer(list(self._client.nthreads()))
                if silent and not self._over.is_set():
                    self._silent |= silent
                    _remove_workers(self._client, silent)

    def _without_answer(self, addresses: list[str]) -> set[str]:
        """Those who have not answered in time, and are still there."""
        asked = {each: threading.Thread(target=_ask, args=(self._client, each), daemon=True) for each in addresses}
        for question in asked.values():
            question.start()
        until = time.monotonic() + self._silence
        while time.monotonic() < until and any(question.is_alive() for question in asked.values()):
            if self._over.wait(_SHORTLY):
                return set()
        return {address for address, question in asked.items() if question.is_alive()} & set(self._client.nthreads())


def _ask(client: Client, address: str) -> None:
    with suppress(Exception):  # a worker that is gone is no silent one
        client.run(_answer, workers=[address])


def _answer() -> None:
    """Nothing more is asked for."""


def _remove_workers(client: Client, addresses: Iterable[str]) -> None:
    """Part with workers: what they hold is computed again by others."""
    for address in addresses:
        client.run_on_scheduler(_remove_worker, address=address)


async def _remove_worker(dask_scheduler: Any, address: str) -> None:
    await dask_scheduler.remove_worker(address=address, stimulus_id="lambdak-silent-worker", close=False)
