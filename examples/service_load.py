"""Load on the example service: requests per second, how long they take, and how many failed.

usage: python examples/service_load.py model.safetensors rows.json [--requests 10000] [--connections 1 8 32]
           [--reload-every 0.5] [--slow-clients 200]

Starts examples/service in a process of its own on a free port of this machine, sends it the rows of the file (a list
of objects) in turns, one per request, on so many connections at a time, and ends it. It does so three times: with
nothing else, while the model file is replaced and loaded again and again, and while slow clients, each of which sends
a byte of its headers per second, are connected. An answer counts as an error unless it has status 200 and the
prediction that the model gives without a service.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lambdak import load

EXAMPLES = Path(__file__).parent
HOST = "127.0.0.1"
PATIENCE = 60.0  # seconds until the service must have started
WARM = 500  # requests before the first measurement


@contextmanager
def running(model: str | Path, *options: str, log: Any = None) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The port and the process of a service that ends with the block."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "service", str(Path(model).resolve()), "--port", str(port), *options]
    with subprocess.Popen(command, cwd=EXAMPLES, stderr=log or subprocess.DEVNULL) as process:
        try:
            wait_for(port, process)
            yield port, process
        finally:
            process.kill()


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Return when the service accepts connections."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("the service did not start")


def request_of(row: dict[str, Any]) -> bytes:
    body = json.dumps(row).encode()
    lines = ("POST /predict HTTP/1.1", f"host: {HOST}", f"content-length: {len(body)}", "", "")
    return "\r\n".join(lines).encode() + body


async def answered(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Status and body of an answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    size = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    return int(head.split(b" ", 2)[1]), await reader.readexactly(size)


async def client(port: int, jobs: Iterator[tuple[bytes, Any]], taken: list[float]) -> int:
    """Take jobs until there are none; the number of errors, of which a lost connection is one."""
    errors = 0
    reader, writer = await asyncio.open_connection(HOST, port)
    for request, wanted in jobs:
        start = time.perf_counter()
        try:
            writer.write(request)
            status, body = await answered(reader)
            errors += status != 200 or json.loads(body)["prediction"] != wanted
        except (OSError, asyncio.IncompleteReadError):
            errors += 1
            reader, writer = await asyncio.open_connection(HOST, port)
        taken.append(time.perf_counter() - start)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return errors


async def measure(port: int, jobs: list[tuple[bytes, Any]], requests: int, connections: int) -> list[str]:
    """A line of the table: from the number of connections on."""
    shared, taken = iter(jobs[i % len(jobs)] for i in range(requests)), list[float]()
    start = time.perf_counter()
    errors = sum(await asyncio.gather(*(client(port, shared, taken) for _ in range(connections))))
    rate = requests / (time.perf_counter() - start)
    middle, high = np.quantile(taken, [0.5, 0.99]) * 1e3
    return [str(connections), str(requests), f"{rate:,.0f}", f"{middle:.2f}", f"{high:.2f}", str(errors)]


@asynccontextmanager
async def reloads(model: Path, process: subprocess.Popen[bytes], seconds: float) -> AsyncIterator[None]:
    """The file is replaced, and the service told so, this often while the block runs."""

    async def repeat() -> None:
        copy = model.with_suffix(".new")
        while True:
            shutil.copyfile(model, copy)
            os.replace(copy, model)
            process.send_signal(signal.SIGHUP)
            await asyncio.sleep(seconds)

    async with _beside([repeat()]):
        yield


@asynccontextmanager
async def slow_clients(port: int, count: int) -> AsyncIterator[None]:
    """So many clients are connected while the block runs; one that is closed connects again."""

    async def drip() -> None:
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection(HOST, port)
                writer.write(b"POST /predict HTTP/1.1\r\nhost: x\r\nx-slow: ")
                while not writer.is_closing():
                    await asyncio.sleep(1)
                    writer.write(b"y")
                    await writer.drain()
            await asyncio.sleep(0.1)

    async with _beside([drip() for _ in range(count)]):
        await asyncio.sleep(0.5)  # until they are connected
        yield


@asynccontextmanager
async def _beside(jobs: list[Any]) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def table(model: Path, given: argparse.Namespace, jobs: list[tuple[bytes, Any]]) -> list[list[str]]:
    """All lines."""
    lines = []
    with running(model) as (port, process):
        await measure(port, jobs, min(WARM, given.requests), 4)  # so that all is warm
        situations = {
            "nothing": _beside([]),
            f"a reload every {given.reload_every:g} s": reloads(model, process, given.reload_every),
            f"{given.slow_clients} slow clients": slow_clients(port, given.slow_clients),
        }
        for beside, situation in situations.items():
            async with situation:
                for connections in given.connections:
                    lines.append([beside, *await measure(port, jobs, given.requests, connections)])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a file that lambdak fit or model.save wrote")
    parser.add_argument("rows", type=Path, help="a list of rows as JSON")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--reload-every", type=float, default=0.5, metavar="SECONDS")
    parser.add_argument("--slow-clients", type=int, default=200)
    given = parser.parse_args()
    predictor, rows = load(given.model).predictor(), json.loads(given.rows.read_text())
    jobs = [(request_of(row), json.loads(json.dumps(predictor(row)))) for row in rows]
    shown = Table(title="one row per request", title_justify="left")
    shown.add_column("beside it")
    for title in ("connections", "requests", "requests/s", "p50 ms", "p99 ms", "errors"):
        shown.add_column(title, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        model = Path(shutil.copy(given.model, folder))
        for line in asyncio.run(table(model, given, jobs)):
            shown.add_row(*line)
    Console(width=110).print(shown)


if __name__ == "__main__":
    main()
