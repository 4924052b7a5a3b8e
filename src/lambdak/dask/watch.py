"""A watch over workers that are there but do not answer: after a stated time the scheduler parts with them.

Dask itself notices after minutes, and until then would wait for what such a worker holds.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from distributed import Client

_OFTEN = 4  # rounds of questions per time-out


@contextmanager
def watched(client: Client, silence: float) -> Iterator[None]:
    """Within this, a worker that does not answer for ``silence`` seconds is removed from the cluster."""
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(client, silence, over), daemon=True, name="lambdak-watch")
    watch.start()
    try:
        yield
    finally:
        over.set()


def remove_workers(client: Client, addresses: Iterable[str]) -> None:
    """Part with workers: what they hold is computed again by others."""
    for address in addresses:
        client.run_on_scheduler(_remove_worker, address=address)


def _watch(client: Client, silence: float, over: threading.Event) -> None:
    while not over.wait(silence / _OFTEN):
        with suppress(OSError, RuntimeError, ValueError):  # the client is closing
            silent = _silent(client, list(client.nthreads()), silence, over)
            if silent and not over.is_set():
                remove_workers(client, silent)
                warnings.warn(
                    f"workers {sorted(silent)} did not answer for {silence:g} s: the fit continues without them",
                    UserWarning,
                    stacklevel=2,
                )


def _silent(client: Client, addresses: list[str], silence: float, over: threading.Event) -> set[str]:
    """Those who have not answered in time, and are still there."""
    asked = {address: threading.Thread(target=_ask, args=(client, address), daemon=True) for address in addresses}
    for question in asked.values():
        question.start()
    until = time.monotonic() + silence
    while time.monotonic() < until and not over.is_set() and any(question.is_alive() for question in asked.values()):
        time.sleep(min(0.05, silence / _OFTEN))
    return {address for address, question in asked.items() if question.is_alive()} & set(client.nthreads())


def _ask(client: Client, address: str) -> None:
    with suppress(Exception):  # a worker that is gone is no silent one
        client.run(_answer, workers=[address])


def _answer() -> None:
    """Nothing more is asked for."""


async def _remove_worker(dask_scheduler: Any, address: str) -> None:
    await dask_scheduler.remove_worker(address=address, stimulus_id="lambdak-silent-worker", close=False)
