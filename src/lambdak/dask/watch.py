"""A watch over the workers of a cluster: which are lost, and which are there but do not answer.

With those the scheduler parts after a stated time. Dask itself notices after minutes, and until then would wait for
what such a worker holds. A worker that answers again afterwards comes back: its nanny starts it again, where Dask would
end both.
"""

from __future__ import annotations

import asyncio
import inspect
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self, final

from distributed import Client, Status
from distributed.comm import connect

_OFTEN = 4  # looks per time-out
_PARTING = 2.0  # seconds for workers to hear that a fit is over
_UNKNOWN = "worker-heartbeat-missing"  # the scheduler has just said that it does not know this worker any more
_CUT_OFF = ("worker-handle-scheduler-connection-broken", _UNKNOWN)  # why a worker ends by itself
_LIVING = (Status.running, Status.paused)
_REACHING, _BETWEEN = 5.0, 0.5  # seconds of an attempt to reach the scheduler, and between two


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
        partings = [
            threading.Thread(target=self._part, args=(address,), daemon=True, name="lambdak-parting")
            for address in self._answered - self._silent
        ]
        for thread in partings:
            thread.start()
        until = time.monotonic() + _PARTING
        for thread in partings:  # a script may end with its fit
            thread.join(max(until - time.monotonic(), 0.0))

    def lost(self) -> list[str]:
        """What happened to workers that are gone since the last call."""
        now = set(self._client.nthreads())
        gone, self._known = self._known - now, now
        silent = f"did not answer for {self._silence:g} s"
        return [f"worker {address} {silent if address in self._silent else 'was lost'}" for address in sorted(gone)]

    def _look(self) -> None:
        while not self._over.is_set():
            addresses: list[str] = []
            with suppress(Exception):  # the client is closing
                addresses = list(self._client.nthreads())
            for address in addresses:
                with suppress(Exception):  # what goes wrong with one worker is nothing to the others
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
            self._client.run(
                _let_return, name=self._name, back=self._start, lease=self._start + 2 * self._silence, workers=[address]
            )
            self._answered.add(address)
        self._unanswered.pop(address, None)

    def _part(self, address: str) -> None:
        with suppress(Exception):  # a worker that does not hear of it forgets the fit by itself
            self._client.run(_no_longer, name=self._name, workers=[address])


class _Closing:
    """``Worker.close`` while fits run: a worker that was cut off leaves its nanny, which starts it again.

    Dask has no setting for that: it ends the nanny, too. Whoever else closes a worker (a cluster that scales down, its
    owner) closes the nanny as always, and so does a worker whose scheduler cannot be reached within ``back`` seconds:
    it would wait for that scheduler for ever.
    """

    def __init__(self, worker: Any, plain: Callable[..., Any]) -> None:
        self._worker, self._plain = worker, plain
        self.fits, self.back = dict[str, float](), 0.0  # until when a fit counts that is not heard of any more

    async def __call__(self, *args: Any, **options: Any) -> Any:
        if options.get("reason") in _CUT_OFF and any(until > time.monotonic() for until in self.fits.values()):
            with suppress(Exception):  # then it closes as it would without a fit
                if options["reason"] == _UNKNOWN or await self._reaches_scheduler():
                    options["nanny"] = False
        return await self._plain(*args, **options)

    async def _reaches_scheduler(self) -> bool:
        until = time.monotonic() + self.back
        while time.monotonic() < until and self._worker.status in _LIVING:
            with suppress(OSError):
                comm = await connect(self._worker.scheduler.address, timeout=_REACHING, **self._worker.connection_args)
                comm.abort()
                return True
            await asyncio.sleep(_BETWEEN)
        return False


def _let_return(dask_worker: Any, name: str, back: float, lease: float) -> None:
    """Answer, and let this worker come back if it is cut off during the fit of this name.

    The fit counts for a ``lease`` of seconds, which every question renews: its client may die. Without a nanny, or with
    one of another version of Dask, nothing changes.
    """
    with suppress(Exception):
        closing = dask_worker.close
        if not isinstance(closing, _Closing):
            if not dask_worker.nanny or not {"nanny", "reason"} <= set(inspect.signature(closing).parameters):
                return
            closing = dask_worker.close = _Closing(dask_worker, closing)
        now = time.monotonic()
        closing.fits = {fit: until for fit, until in closing.fits.items() if until > now} | {name: now + lease}
        closing.back = back


def _no_longer(dask_worker: Any, name: str) -> None:
    """The fit of this name is over; after the last one a worker closes as before."""
    closing = vars(dask_worker).get("close")
    if isinstance(closing, _Closing):
        closing.fits.pop(name, None)
        if not closing.fits:
            del dask_worker.close


async def _remove_worker(dask_scheduler: Any, address: str, silence: float) -> bool:
    """Remove a worker from which nothing has come, not even a sign of life; returns whether it was removed."""
    worker = dask_scheduler.workers.get(address)
    if worker is None or time.time() - worker.last_seen < silence / 2:
        return False
    await dask_scheduler.remove_worker(address=address, stimulus_id="lambdak-silent-worker", close=False)
    return True
