"""A watch over the workers of a cluster: which are lost, and which are there but do not answer.

With those the scheduler parts after a stated time. Dask itself notices after minutes, and until then would wait for
what such a worker holds. A worker that answers again afterwards comes back: its nanny starts it again, where Dask would
end both.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self, final

from distributed import Client

_OFTEN = 4  # looks per time-out
_CUT_OFF = ("worker-handle-scheduler-connection-broken", "worker-heartbeat-missing")  # why a worker ends by itself


@final
class Watch:
    """Within ``with``, a worker that does not answer for ``silence`` seconds is removed from the cluster.

    Until its first answer a worker has the time of a ``start``, in which it may still import what it needs. Silence is
    counted in looks, not by the clock: while this process is stopped or busy, no time of a worker runs out.
    """

    def __init__(self, client: Client, silence: float, start: float) -> None:
        self._client, self._silence, self._start = client, silence, start
        self._name = secrets.token_hex(8)
        self._over, self._silent = threading.Event(), set[str]()
        self._answered, self._unanswered = set[str](), dict[str, int]()  # looks since a question is open
        self._known = set(client.nthreads())

    def __enter__(self) -> Self:
        threading.Thread(target=self._look, daemon=True, name="lambdak-watch").start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for address in self._answered - self._silent:
            threading.Thread(target=self._part, args=(address,), daemon=True, name="lambdak-parting").start()

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
        if address not in self._unanswered:
            self._unanswered[address] = 0
            threading.Thread(target=self._ask, args=(address,), daemon=True, name="lambdak-question").start()
            return
        self._unanswered[address] += 1
        patience = self._silence if address in self._answered else self._start
        if self._unanswered[address] * self._silence > _OFTEN * patience:
            self._silent.add(address)
            if not self._client.run_on_scheduler(_remove_worker, address=address, silence=patience):
                self._silent.discard(address)

    def _ask(self, address: str) -> None:
        with suppress(Exception):  # a worker that is gone is no silent one
            self._client.run(_let_return, name=self._name, workers=[address])
            self._answered.add(address)
        self._unanswered.pop(address, None)

    def _part(self, address: str) -> None:
        with suppress(Exception):  # nobody waits for it
            self._client.run(_no_longer, name=self._name, workers=[address])


class _Closing:
    """``Worker.close`` while fits run: a worker that was cut off leaves its nanny, which starts it again.

    Whoever else closes a worker (a cluster that scales down, its owner) closes the nanny, too.
    """

    def __init__(self, plain: Callable[..., Any]) -> None:
        self._plain, self.fits = plain, set[str]()

    async def __call__(self, *args: Any, **options: Any) -> Any:
        if self.fits and options.get("reason") in _CUT_OFF:
            options["nanny"] = False
        return await self._plain(*args, **options)


def _let_return(dask_worker: Any, name: str) -> None:
    """Answer, and let this worker come back if it is cut off during the fit of this name."""
    if not isinstance(dask_worker.close, _Closing):
        dask_worker.close = _Closing(dask_worker.close)
    dask_worker.close.fits.add(name)


def _no_longer(dask_worker: Any, name: str) -> None:
    """The fit of this name is over."""
    if isinstance(dask_worker.close, _Closing):
        dask_worker.close.fits.discard(name)


async def _remove_worker(dask_scheduler: Any, address: str, silence: float) -> bool:
    """Remove a worker from which nothing has come, not even a sign of life; returns whether it was removed."""
    worker = dask_scheduler.workers.get(address)
    if worker is None or time.time() - worker.last_seen < silence / 2:
        return False
    await dask_scheduler.remove_worker(address=address, stimulus_id="lambdak-silent-worker", close=False)
    return True
