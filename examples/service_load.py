"""Load on the example service: requests per second, how long they take, and how many failed.

usage: python examples/service_load.py model.safetensors rows.json [--requests 20000] [--connections 1 8 32]

Starts examples/service.py in a process of its own on a free port of this machine, sends it the rows of the file (a
list of objects) in turns, one per request, on so many connections at a time, and ends it. An answer counts as an error
unless it has status 200 and the prediction that the model gives without a service.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lambdak import load

SERVICE = Path(__file__).with_name("service.py")
HOST = "127.0.0.1"
PATIENCE = 60.0  # seconds until the service must have started


@contextmanager
def running(model: str) -> Iterator[int]:
    """The port of a service that ends with the block."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, str(SERVICE), model, "--port", str(port)]) as process:
        try:
            wait_for(port, process)
            yield port
        finally:
            process.terminate()


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
    """Take jobs until there are none; the number of errors."""
    reader, writer = await asyncio.open_connection(HOST, port)
    errors = 0
    for request, wanted in jobs:
        start = time.perf_counter()
        writer.write(request)
        status, body = await answered(reader)
        taken.append(time.perf_counter() - start)
        errors += status != 200 or json.loads(body)["prediction"] != wanted
    writer.close()
    await writer.wait_closed()
    return errors


async def measure(port: int, jobs: list[tuple[bytes, Any]], requests: int, connections: int) -> list[str]:
    """A line of the table."""
    shared, taken = iter(jobs[i % len(jobs)] for i in range(requests)), list[float]()
    start = time.perf_counter()
    errors = sum(await asyncio.gather(*(client(port, shared, taken) for _ in range(connections))))
    rate = requests / (time.perf_counter() - start)
    middle, high = np.quantile(taken, [0.5, 0.99]) * 1e3
    return [str(connections), str(requests), f"{rate:,.0f}", f"{middle:.2f}", f"{high:.2f}", str(errors)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a file that lambdak fit or model.save wrote")
    parser.add_argument("rows", type=Path, help="a list of rows as JSON")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 32])
    arguments = parser.parse_args()
    predictor, rows = load(arguments.model).predictor(), json.loads(arguments.rows.read_text())
    jobs = [(request_of(row), json.loads(json.dumps(predictor(row)))) for row in rows]
    shown = Table(title="one row per request", title_justify="left")
    for title in ("connections", "requests", "requests/s", "p50 ms", "p99 ms", "errors"):
        shown.add_column(title, justify="right")
    with running(arguments.model) as port:
        asyncio.run(measure(port, jobs, min(500, arguments.requests), 4))  # so that all is warm
        for connections in arguments.connections:
            shown.add_row(*asyncio.run(measure(port, jobs, arguments.requests, connections)))
    Console().print(shown)


if __name__ == "__main__":
    main()
