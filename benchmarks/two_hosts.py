"""Fit on two hosts that are network namespaces of this machine, over links that are slow, lossy, cut and encrypted.

usage: python benchmarks/two_hosts.py [--rows 1500] [--short] [--engine Dask] [--tls yes]

`hosts.py` makes the hosts and says what it needs. Dask has a scheduler, a client and a worker on one host and a worker
on the other; torch.distributed a process on each. A link is cut once training has sent half a megabyte.

The bits to compare with are those of one process. Where the link is cut for longer than the time-out, Dask continues
without the second worker, which has to come back; torch.distributed ends with an error. The exit code is 1 if any bits
differ or a worker does not come back, 77 if there can be no namespaces.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hosts import ADDRESSES, DEVICE, Hosts, certificate, impossible

HERE = str(Path(__file__).resolve())
SILENCE = 6.0  # seconds: the time-out of the fits
PATIENCE = 180.0  # seconds for one fit
SENT = 500_000  # bytes of training before a link is cut
IMPOSSIBLE = 77  # exit code


class Condition(NamedTuple):
    """What a link does to packets, and for how many seconds it is cut while members are trained."""

    name: str
    delay: float = 0.0
    loss: float = 0.0
    cut: float = 0.0


PLAIN, SLOW, SHORT_CUT, LONG_CUT = (
    Condition("plain"),
    Condition("20 ms, 1 % lost", 0.02, 0.01),
    Condition("cut for 1 s", cut=1.0),
    Condition("cut for 15 s", cut=15.0),
)
CONDITIONS = (PLAIN, SLOW, SHORT_CUT, LONG_CUT)


# ---- the fits -------------------------------------------------------------------------------------------------------


def request_of(rows: int) -> Any:
    from dataclasses import replace

    from lambdak import SpectralRegressor

    model = SpectralRegressor(effort="fast", max_iter=2, random_state=0)
    return replace(model._large_request(), sample_rows=rows // 3)


def parts_of(rows: int, rank: int) -> list[Any]:
    """The rows of a process of torch.distributed."""
    from faults import table
    from lambdak.table.large.batches import Drawn
    from lambdak.table.read import read_table

    frame = table(rows).compute(scheduler="synchronous")
    half = np.array_split(np.arange(rows), 2)[rank]
    table_of_half = read_table(frame[[*"abcd", "kind"]].iloc[half])
    return [Drawn(table_of_half, frame["target"].to_numpy()[half], place=f"rank {rank}")]


def dask_fit(client: Any, rows: int, route: Any = list) -> str:
    from faults import digest, table
    from lambdak.dask.driver import DaskFit
    from lambdak.dask.parts import partitions

    frame = table(rows)
    parts = partitions(frame[[*"abcd", "kind"]], frame["target"])
    return digest(DaskFit(client, request_of(rows), parts, SILENCE, 60.0, route).run())


def in_one_process(rows: int, engines: set[str]) -> dict[str, str]:
    """The bits without a network: of Dask with one worker, of torch.distributed with two threads."""
    from distributed import Client

    from faults import digest
    from lambdak.training.large.fit import fit_together
    from lambdak.training.large.transport import thread_group

    bits = dict[str, str]()
    if "Dask" in engines:
        with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
            bits["Dask"] = dask_fit(client, rows)
    if "torch" in engines:
        group, fits = thread_group(2), [""] * 2

        def run(rank: int) -> None:
            fits[rank] = digest(fit_together(request_of(rows), parts_of(rows, rank), group[rank]))

        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        bits["torch"] = fits[0]
    return bits


def client_role(options: argparse.Namespace) -> None:
    """The client on the first host: a fit for every line that comes in."""
    import warnings

    from distributed import Client, Security

    files = {} if not options.key else {"tls_client_key": options.key, "tls_client_cert": options.cert}
    security = Security(tls_ca_file=options.cert, require_encryption=True, **files) if files else None
    with Client(options.scheduler, security=security, timeout=60) as client:
        for _ in sys.stdin:
            client.wait_for_workers(2, timeout=60)
            attempts = [0]

            def route(addresses: Any, attempts: list[int] = attempts) -> list[Any]:
                attempts[0] += 1
                say("training")
                return list(addresses)

            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                began, bits = time.perf_counter(), dask_fit(client, options.rows, route)
            seconds = time.perf_counter() - began
            messages = [str(each.message) for each in told if each.category is UserWarning]
            with suppress(TimeoutError):
                client.wait_for_workers(2, timeout=60)
            workers = len(client.scheduler_info(n_workers=-1)["workers"])
            say(json.dumps({"bits": bits, "seconds": seconds, "attempts": attempts[0], "workers": workers,
                            "messages": messages}))  # fmt: skip


def rank_role(options: argparse.Namespace) -> None:
    """A process of torch.distributed: a fit for every line that comes in."""
    from datetime import timedelta

    from faults import digest
    from lambdak.torch import ProcessGroup
    from lambdak.training.large.fit import fit_together
    from lambdak.training.large.transport import PeerLostError
    from torch import distributed

    where = f"tcp://{ADDRESSES[0]}:29777"
    distributed.init_process_group(
        "gloo", init_method=where, rank=options.rank, world_size=2, timeout=timedelta(seconds=60)
    )
    group = ProcessGroup(distributed.new_group(timeout=timedelta(seconds=SILENCE)))
    parts = parts_of(options.rows, options.rank)
    for _ in sys.stdin:
        distributed.barrier()  # one of them may still import
        say("training")
        began = time.perf_counter()
        try:
            bits = digest(fit_together(request_of(options.rows), parts, group))
            say(json.dumps({"bits": bits, "seconds": time.perf_counter() - began, "attempts": 1}))
        except PeerLostError as error:
            say(json.dumps({"lost": str(error), "seconds": time.perf_counter() - began}))
            os._exit(3)  # gloo would wait for the process that is gone


def say(line: str) -> None:
    """Tell the process that started this one."""
    print(line, flush=True)


# ---- what is tried --------------------------------------------------------------------------------------------------


def heard(program: subprocess.Popen[str], hosts: Hosts, cut: float = 0.0) -> dict[str, Any]:
    """What a program says of its fit; the link is cut once training has sent some of its sums."""
    timer = threading.Timer(PATIENCE, program.kill)
    timer.start()
    try:
        for line in program.stdout or ():
            if line.startswith("{"):
                return dict(json.loads(line))
            if line.strip() == "training" and cut:
                enough = hosts.passed + SENT
                while hosts.passed < enough and program.poll() is None and timer.is_alive():
                    time.sleep(0.002)
                hosts.cut(cut)
                cut = 0.0
        error = "" if program.stderr is None else program.stderr.read()
        return {"lost": (error.strip().splitlines() or [f"it ended, or gave no answer within {PATIENCE:g} s"])[-1]}
    finally:
        timer.cancel()


def ended(programs: list[subprocess.Popen[str]]) -> None:
    """End programs."""
    for program in programs:
        program.terminate()
    for program in programs:
        with suppress(subprocess.TimeoutExpired):
            program.wait(5)
        program.kill()
        program.wait()


def dask_programs(hosts: Hosts, rows: int, files: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A scheduler, a worker on each host, and the client, which is heard."""
    scheme = "tls" if files else "tcp"
    scheduler = f"{scheme}://{ADDRESSES[0]}:8786"
    tls = ["--tls-ca-file", files["cert"], "--tls-cert", files["cert"], "--tls-key", files["key"]] if files else []
    yield hosts.start(0, "-m", "dask", "scheduler", "--host", scheduler, "--no-dashboard", *tls, heard=False)
    for host, address in enumerate(ADDRESSES):
        place = ["--host", f"{scheme}://{address}", "--nworkers", "1", "--nthreads", "1", "--no-dashboard"]
        yield hosts.start(host, "-m", "dask", "worker", scheduler, *place, *tls, heard=False)
    keys = [f"--{name}={path}" for name, path in files.items()]
    yield hosts.start(0, HERE, "--role=client", f"--rows={rows}", f"--scheduler={scheduler}", *keys)


def torch_programs(hosts: Hosts, rows: int, files: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A process on each host."""
    prefix, tls = "GLOO_DEVICE_TRANSPORT", dict[str, str]()
    if files:
        names = {"PKEY": files["key"], "CERT": files["cert"], "CA_FILE": files["cert"]}
        tls = {prefix: "TCP_TLS"} | {f"{prefix}_TCP_TLS_{name}": path for name, path in names.items()}
    for rank in range(2):
        arguments = [HERE, "--role=rank", f"--rows={rows}", f"--rank={rank}"]
        yield hosts.start(rank, *arguments, GLOO_SOCKET_IFNAME=DEVICE, **tls)


def fits(
    hosts: Hosts, rows: int, conditions: tuple[Condition, ...], files: dict[str, str], engine: str
) -> Iterator[dict[str, Any]]:
    """A fit for each condition, all by the same programs: workers that were cut off have to come back."""
    hosts.become(PLAIN.delay, PLAIN.loss)
    programs = list[subprocess.Popen[str]]()
    try:
        for program in (dask_programs if engine == "Dask" else torch_programs)(hosts, rows, files):
            programs.append(program)  # one by one: what has begun is ended, whatever happens
        talking = [program for program in programs if program.stdout is not None]
        for condition in conditions:
            hosts.become(condition.delay, condition.loss)
            for program in talking:
                with suppress(BrokenPipeError):
                    print("fit", file=program.stdin, flush=True)
            results = [heard(program, hosts, condition.cut * (k == 0)) for k, program in enumerate(talking)]
            yield next((result for result in results if "lost" in result), results[0])
    finally:
        ended(programs[::-1])


def plan(options: argparse.Namespace) -> list[tuple[str, bool, tuple[Condition, ...]]]:
    """Engine, whether connections are encrypted, and conditions."""
    if options.short:
        wanted = [("Dask", True, (SHORT_CUT,)), ("torch", False, (SLOW,))]
    else:  # gloo refuses TLS, which is seen at once
        wanted = [("Dask", False, CONDITIONS), ("Dask", True, CONDITIONS),
                  ("torch", False, CONDITIONS), ("torch", True, (PLAIN,))]  # fmt: skip
    return [row for row in wanted if options.engine in ("", row[0]) and options.tls in ("", "yes" if row[1] else "no")]


def verdict(result: dict[str, Any], wanted: str, engine: str, condition: Condition, tls: bool) -> tuple[str, bool]:
    """Whether the bits are those of one process, in a word, and whether that is as it should be."""
    if "unsupported" in result.get("lost", ""):
        return "not supported", engine == "torch" and tls
    if "lost" in result:
        return "error", engine == "torch" and condition.cut > SILENCE
    same = result["bits"] == wanted
    return "yes" if same else "NO", same and result.get("workers", 2) == 2


def tried(options: argparse.Namespace) -> bool:
    """Try everything, and print it; whether all went well."""
    rows_of_plan = plan(options)
    wanted = in_one_process(options.rows, {engine for engine, _, _ in rows_of_plan})
    shown, good = Table("engine", "link", "TLS", "seconds", "same bits", "attempts", "workers after", "messages"), True
    hosts, began = Hosts(), time.perf_counter()
    try:
        with tempfile.TemporaryDirectory() as folder:
            files = certificate(Path(folder))
            for engine, tls, conditions in rows_of_plan:
                results = fits(hosts, options.rows, conditions, files if tls else {}, engine)
                for condition, result in zip(conditions, results, strict=True):
                    word, fine = verdict(result, wanted[engine], engine, condition, tls)
                    good &= fine
                    told = result.get("lost", "; ".join(result.get("messages", [])))
                    figures = [f"{result['seconds']:.1f}" if "seconds" in result else "", word]
                    figures += [str(result.get(name, "")) for name in ("attempts", "workers")]
                    shown.add_row(engine, condition.name, "yes" if tls else "no", *figures, escape(told))
                    print(engine, condition.name, "TLS" if tls else "plain text", *figures, told, flush=True)
    finally:
        hosts.close()
    Console(width=150).print(shown)
    print(f"{options.rows} rows, delay and loss by {hosts.by}, {time.perf_counter() - began:.0f} s in all")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_500)
    parser.add_argument("--short", action="store_true", help="one fit of each engine")
    parser.add_argument("--engine", choices=("Dask", "torch"), default="", help="this one alone")
    parser.add_argument("--tls", choices=("yes", "no"), default="", help="this alone")
    for name in ("role", "scheduler", "key", "cert"):
        parser.add_argument(f"--{name}", default="", help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        (client_role if options.role == "client" else rank_role)(options)
        return 0
    if why := impossible():
        print(why)
        return IMPOSSIBLE
    return 0 if tried(options) else 1


if __name__ == "__main__":
    sys.exit(main())
