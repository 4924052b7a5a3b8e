"""Disturb fits on a Dask cluster at random moments: all end, with the same model to the last bit.

usage: python benchmarks/faults.py [--faults 200] [--rows 6000] [--workers 3] [--silence 2] [--deadline 60] [--seed 0]

Every trial is one fit by worker processes on this machine. At a moment that is uniform in the duration of an
undisturbed fit (partitions are read, records are packed, members are trained), one of these happens:

kill        a worker is killed (SIGKILL); its nanny starts another
pause       a worker is stopped (SIGSTOP) and continues after less than the time-out
stop        a worker is stopped and never continues
slow link   connections between workers pass through proxies that delay every piece and limit the rate
cut link    the same, and the proxies stop passing anything on so long after workers have begun to train

A fault that would come after the end of its fit is not counted as being in time. A fit that has not ended by the
deadline is a hang, another model than the undisturbed one is wrong, and an exception is an error.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import signal
import socket
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from rich.console import Console
from rich.table import Table

from lambdak.dask import SpectralRegressor
from lambdak.dask.driver import DaskFit
from lambdak.dask.parts import partitions
from lambdak.training.large.choice import LargeRequest

KINDS = ("kill", "pause", "stop", "slow link", "cut link")
PIECE, DELAY, RATE = 1 << 14, 0.0005, 50e6  # bytes, seconds per piece, bytes per second
START = 30.0  # seconds for workers to begin, imports included


class Proxy:
    """Passes connections on to an address, slowly, and nothing more once it is ``cut``."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._to, self._listener = address, socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()[:2]
        self.cut, self._links = threading.Event(), [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                there = socket.create_connection(self._to)
                self._links += [here, there]
                for pair in ((here, there), (there, here)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE):
                time.sleep(DELAY + len(piece) / RATE)
                if self.cut.is_set():
                    return
                target.sendall(piece)
        for link in (source, target):
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close all connections."""
        for link in self._links:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()


class Disturbance:
    """One fault, at a moment; ``end`` leaves nothing behind."""

    def __init__(self, kind: str, client: Client, moment: float, rng: np.random.Generator, silence: float) -> None:
        self.kind, self.struck, self._proxies, self._moment = kind, False, list[Proxy](), moment
        self._pid = int(rng.choice(sorted(client.run(os.getpid).values())))
        self._timers = [] if "link" in kind else [threading.Timer(moment, self._strike)]
        if kind == "pause":
            pause = rng.uniform(0.1, 0.6) * silence
            self._timers.append(threading.Timer(moment + pause, self._signal, [signal.SIGCONT]))
        for timer in self._timers:
            timer.start()

    def route(self, addresses: list[tuple[str, int]]) -> list[tuple[str, int]]:
        """Where workers reach each other."""
        if "link" not in self.kind or (self.kind == "cut link" and self.struck):  # a link that was cut is repaired
            return list(addresses)
        new = [Proxy(address) for address in addresses]
        self._proxies += new
        if self.kind == "cut link":
            self._timers.append(threading.Timer(self._moment, self._strike))
            self._timers[-1].start()
        self.struck |= self.kind == "slow link"
        return [proxy.address for proxy in new]

    def _strike(self) -> None:
        self.struck = True
        if self.kind == "cut link":
            for proxy in list(self._proxies):
                proxy.cut.set()
        else:
            self._signal(signal.SIGKILL if self.kind == "kill" else signal.SIGSTOP)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, number)

    def end(self) -> None:
        """Let stopped workers continue or end, and close proxies."""
        for timer in self._timers:
            timer.cancel()
        if self.kind == "stop":
            self._signal(signal.SIGKILL)
        elif self.kind == "pause":
            self._signal(signal.SIGCONT)
        for proxy in self._proxies:
            proxy.close()


def table(rows: int) -> Any:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1, 1, (rows, 4)), columns=list("abcd"))
    frame["kind"] = rng.choice(["x", "y", "z"], rows)
    frame["target"] = frame["a"] + frame["b"] * frame["c"] + (frame["kind"] == "x") + 0.1 * rng.standard_normal(rows)
    return dd.from_pandas(frame, npartitions=6).map_partitions(late, meta=frame.iloc[:0])


def late(part: Any) -> Any:
    """A partition that takes a while to read, so that faults happen meanwhile."""
    time.sleep(0.1)
    return part


def request_of(rows: int) -> LargeRequest:
    model = SpectralRegressor(effort="fast", max_iter=8, random_state=0)
    request = model._large_request()
    return LargeRequest(**{**vars(request), "sample_rows": rows // 3})


def digest(fit: Any) -> str:
    parts = [fit.model.coef, fit.model.start, *fit.state.theta]
    return hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in parts)).hexdigest()


def fitted(client: Client, options: argparse.Namespace, route: Callable[[Any], Any] = list) -> tuple[str, float]:
    """The digest of the model, or what went wrong, and the seconds."""
    found, began = ["hang"], time.perf_counter()

    def run() -> None:
        frame = table(options.rows)
        parts = partitions(frame[[*"abcd", "kind"]], frame["target"])
        try:
            fit = DaskFit(client, request_of(options.rows), parts, options.silence, START, route).run()
            found[0] = digest(fit)
        except Exception as error:
            found[0] = f"error: {error!r}"

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(options.deadline)
    return found[0], time.perf_counter() - began


class Workers:
    """A cluster that is replaced if it has lost workers for good."""

    def __init__(self, count: int) -> None:
        self._count, self.clusters = count, 0
        self._open()

    def _open(self) -> None:
        self._cluster = LocalCluster(
            n_workers=self._count, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        )
        self.client = Client(self._cluster)
        self.clusters += 1

    def complete(self, seconds: float = 15.0) -> Client:
        """A client of all workers."""
        try:
            self.client.wait_for_workers(self._count, timeout=seconds)
            self.client.run(os.getpid)
        except (TimeoutError, OSError):
            self.close()
            self._open()
            self.client.wait_for_workers(self._count, timeout=60)
        return self.client

    def close(self) -> None:
        """End the workers."""
        with suppress(Exception):
            self.client.close(timeout=5)
        with suppress(Exception):
            self._cluster.close(timeout=10)


def trials(options: argparse.Namespace) -> dict[str, Counter[str]]:
    rng, counts = np.random.default_rng(options.seed), {kind: Counter[str]() for kind in KINDS}
    workers = Workers(options.workers)
    try:
        fitted(workers.complete(), options)  # imports
        wanted, seconds = fitted(workers.client, options)
        print(f"undisturbed: {seconds:.2f} s, {wanted[:16]}", flush=True)
        began = time.perf_counter()
        for number in range(options.faults):
            kind = KINDS[number % len(KINDS)]
            client, moment = workers.complete(), float(rng.uniform(0, seconds))
            fault = Disturbance(kind, client, moment, rng, options.silence)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                found, took = fitted(client, options, fault.route)
            counts[kind]["in time"] += fault.struck
            fault.end()
            result = "same bits" if found == wanted else found if found[:4] in ("hang", "erro") else "wrong model"
            counts[kind][result.split(":")[0]] += 1
            counts[kind]["with a message"] += any(each.category is UserWarning for each in told)
            counts[kind]["ms"] += int(1000 * took)
            if result != "same bits":
                print(f"trial {number + 1}: {kind} after {moment:.2f} s: {result}", flush=True)
            if number % 20 == 19 or time.perf_counter() - began > options.seconds:
                spent = time.perf_counter() - began
                print(f"{number + 1} trials, {spent:.0f} s, {workers.clusters} clusters", flush=True)
            if time.perf_counter() - began > options.seconds:
                break
    finally:
        workers.close()
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--rows", type=int, default=6_000)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--silence", type=float, default=2.0)
    parser.add_argument("--deadline", type=float, default=60.0)
    parser.add_argument("--seconds", type=float, default=7200.0, help="begin no trial after so many")
    parser.add_argument("--seed", type=int, default=0)
    counts = trials(parser.parse_args())
    shown = Table(
        "fault", "trials", "in time", "same bits", "wrong model", "hang", "error", "with a message", "mean seconds"
    )
    results = ("same bits", "wrong model", "hang", "error")
    for kind, count in counts.items():
        total = sum(count[result] for result in results)
        own = [total, count["in time"], *(count[result] for result in results), count["with a message"]]
        shown.add_row(kind, *map(str, own), f"{count['ms'] / 1000 / max(total, 1):.1f}")
    Console().print(shown)


if __name__ == "__main__":
    main()
