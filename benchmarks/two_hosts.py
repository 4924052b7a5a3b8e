"""Fit on two hosts that are network namespaces of this machine, over links that are slow, lossy, cut and encrypted.

usage: python benchmarks/two_hosts.py [--rows 3000] [--short] [--engine Dask] [--tls yes]

Root and ip (iproute2) are needed; all traffic stays within the two namespaces, which are removed at the end. Each has
one end of a link. `tc` sets delay and loss where the kernel has netem; elsewhere packets pass a relay in this process,
which delays and drops them. A link is cut by `ip link set down`, and up again after the stated seconds.

Dask has a scheduler, a client and a worker on one host and a worker on the other; torch.distributed a process on each.
The bits to compare with are those of one process. The exit code is 1 if any differ, 77 if there can be no namespaces.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve()
ADDRESSES = ("10.77.0.1", "10.77.0.2")
DEVICE, PACKET = "lambdak0", 1 << 16
SILENCE = 10.0  # seconds: the time-out of the fits
PATIENCE = 400.0  # seconds for one fit
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


class Condition(NamedTuple):
    """What a link does to packets, and for how many seconds it is cut while members are trained."""

    name: str
    delay: float = 0.0
    loss: float = 0.0
    cut: float = 0.0


CONDITIONS = (
    Condition("plain"),
    Condition("20 ms, 1 % lost", 0.02, 0.01),
    Condition("cut for 1 s", cut=1.0),
    Condition("cut for 25 s", cut=25.0),
)


# ---- the hosts and their link --------------------------------------------------------------------------------------


def ip(*words: str, check: bool = True) -> bool:
    """Whether a command of iproute2 succeeds."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=10)
    if check and done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.returncode == 0


class Hosts:
    """Two namespaces and the link between them."""

    def __init__(self) -> None:
        self.names = [f"lambdak-{os.getpid()}-{host}" for host in "ab"]
        self._ends, self._over, self._queue = list[int](), threading.Event(), deque[tuple[float, int, bytes]]()
        self._rng, self._delay, self._loss = np.random.default_rng(0), 0.0, 0.0
        self.by = "relay"
        self._relay = threading.Thread(target=self._pass_on, daemon=True)
        try:
            for name, address in zip(self.names, ADDRESSES, strict=True):
                self._add(name, address)
        except BaseException:
            self.close()
            raise
        self._relay.start()

    def _add(self, name: str, address: str) -> None:
        ip("ip", "netns", "add", name)
        end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        self._ends.append(end)
        fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH14x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
        ip("ip", "link", "set", DEVICE, "netns", name)
        ip("ip", "-n", name, "addr", "add", f"{address}/24", "dev", DEVICE)
        for device in ("lo", DEVICE):
            ip("ip", "-n", name, "link", "set", device, "up")

    def become(self, condition: Condition) -> None:
        """Delay and drop packets from now on."""
        self._delay, self._loss = condition.delay, condition.loss
        netem = [f"{1000 * condition.delay:g}ms", "loss", f"{100 * condition.loss:g}%"]
        tried = [ip("tc", "-n", name, "qdisc", "replace", "dev", DEVICE, "root", "netem", "delay", *netem, check=False)
                 for name in self.names]  # fmt: skip
        if all(tried):  # else packets are delayed and dropped here
            self.by, self._delay, self._loss = "tc netem", 0.0, 0.0

    def cut(self, seconds: float) -> None:
        """Take the link of the second host down for a while."""
        ip("ip", "-n", self.names[1], "link", "set", DEVICE, "down")
        time.sleep(seconds)
        ip("ip", "-n", self.names[1], "link", "set", DEVICE, "up")

    def _pass_on(self) -> None:
        while not self._over.is_set():
            wait = 0.05 if not self._queue else min(max(self._queue[0][0] - time.monotonic(), 0.0), 0.05)
            for end in select.select(self._ends, [], [], wait)[0]:
                self._take(end)
            while self._queue and self._queue[0][0] <= time.monotonic():
                _, end, packet = self._queue.popleft()
                with suppress(OSError):  # the link is down, or its queue is full
                    os.write(end, packet)

    def _take(self, end: int) -> None:
        try:
            packet = os.read(end, PACKET)
        except OSError:  # the link is down
            self._over.wait(0.001)
            return
        if self._rng.random() >= self._loss:
            self._queue.append((time.monotonic() + self._delay, self._ends[end == self._ends[0]], packet))

    def close(self) -> None:
        """Remove the namespaces, and with them the link."""
        self._over.set()
        if self._relay.is_alive():
            self._relay.join(5)
        for end in self._ends:
            os.close(end)
        for name in self.names:
            ip("ip", "netns", "del", name, check=False)

    def start(self, host: int, *command: str, **variables: str) -> subprocess.Popen[str]:
        """A program on one of the hosts."""
        paths = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **variables}
        return subprocess.Popen(
            ["ip", "netns", "exec", self.names[host], sys.executable, *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
        )  # fmt: skip


def certificate(folder: Path) -> dict[str, str]:
    """Files of a key and of a certificate that is its own authority, for both hosts."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "two hosts")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address)) for address in ADDRESSES])
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1)).add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(key, hashes.SHA256())
    )  # fmt: skip
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    files = {"key": key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain),
             "cert": made.public_bytes(encoding)}  # fmt: skip
    for file, content in files.items():
        (folder / file).write_bytes(content)
        (folder / file).chmod(0o600)
    return {"key": str(folder / "key"), "cert": str(folder / "cert")}


# ---- the fits -------------------------------------------------------------------------------------------------------


def request_of(rows: int) -> Any:
    from dataclasses import replace

    from lambdak import SpectralRegressor

    model = SpectralRegressor(effort="fast", max_iter=2, random_state=0)
    return replace(model._large_request(), sample_rows=rows // 3)


def parts_of(rows: int, ranks: tuple[int, ...]) -> list[Any]:
    """The rows of some processes of torch.distributed."""
    from faults import table
    from lambdak.table.large.batches import Drawn
    from lambdak.table.read import read_table

    frame = table(rows).compute(scheduler="synchronous")
    pieces = np.array_split(np.arange(rows), 2)
    return [Drawn(0, read_table(frame[[*"abcd", "kind"]].iloc[pieces[rank]]),
                  frame["target"].to_numpy()[pieces[rank]], None, None, f"rank {rank}") for rank in ranks]  # fmt: skip


def dask_fit(client: Any, rows: int, route: Any = list) -> str:
    from faults import digest, table
    from lambdak.dask.driver import DaskFit
    from lambdak.dask.parts import partitions

    frame = table(rows)
    parts = partitions(frame[[*"abcd", "kind"]], frame["target"])
    return digest(DaskFit(client, request_of(rows), parts, SILENCE, 60.0, route).run())


def in_one_process(rows: int) -> dict[str, str]:
    """The bits of both engines without a network: one worker, and two threads."""
    from distributed import Client

    from faults import digest
    from lambdak.training.large.fit import fit_together
    from lambdak.training.large.transport import thread_group

    with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
        found = {"Dask": dask_fit(client, rows)}
    group, fits = thread_group(2), [""] * 2

    def run(rank: int) -> None:
        fits[rank] = digest(fit_together(request_of(rows), parts_of(rows, (rank,)), group[rank]))

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found | {"torch": fits[0]}


def client_role(options: argparse.Namespace) -> None:
    """The client on the first host: a fit for every line that comes in."""
    import warnings

    from distributed import Client, Security

    files = {} if not options.key else {"tls_client_key": options.key, "tls_client_cert": options.cert}
    security = Security(tls_ca_file=options.cert, require_encryption=True, **files) if files else None
    with Client(options.scheduler, security=security, timeout=60) as client:
        print("ready", flush=True)
        for line in sys.stdin:
            client.wait_for_workers(int(line), timeout=60)
            attempts = [0]

            def route(addresses: Any, attempts: list[int] = attempts) -> list[Any]:
                attempts[0] += 1
                print("training", flush=True)
                return list(addresses)

            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                began, bits = time.perf_counter(), dask_fit(client, options.rows, route)
            messages = [str(each.message) for each in told if each.category is UserWarning]
            seconds = time.perf_counter() - began
            print(
                json.dumps({"bits": bits, "seconds": seconds, "attempts": attempts[0], "messages": messages}),
                flush=True,
            )


def rank_role(options: argparse.Namespace) -> None:
    """A process of torch.distributed."""
    import datetime

    from faults import digest
    from lambdak.torch import ProcessGroup
    from lambdak.training.large.fit import fit_together
    from lambdak.training.large.transport import PeerLostError
    from torch import distributed

    distributed.init_process_group(
        "gloo", init_method=f"tcp://{ADDRESSES[0]}:29777", rank=options.rank, world_size=2,
        timeout=datetime.timedelta(seconds=SILENCE),
    )  # fmt: skip
    group, began = ProcessGroup(), time.perf_counter()
    print("training", flush=True)
    try:
        bits = digest(fit_together(request_of(options.rows), parts_of(options.rows, (options.rank,)), group))
        print(json.dumps({"bits": bits, "seconds": time.perf_counter() - began, "attempts": 1}), flush=True)
    except PeerLostError as error:
        print(json.dumps({"lost": str(error)}), flush=True)
        os._exit(3)  # gloo would wait for the process that is gone


# ---- what is tried --------------------------------------------------------------------------------------------------


def heard(program: subprocess.Popen[str], hosts: Hosts, cut: float) -> dict[str, Any]:
    """What a program says of its fit; the link is cut soon after training has begun."""
    timer = threading.Timer(PATIENCE, program.kill)
    timer.start()
    try:
        assert program.stdout is not None
        for line in program.stdout:
            if line.startswith("{"):
                return dict(json.loads(line))
            if line.strip() == "training" and cut:
                time.sleep(0.05)
                hosts.cut(cut)
                cut = 0.0
        error = "" if program.stderr is None else program.stderr.read()
        return {"lost": f"it ended: {error.strip().splitlines()[-1:]}"}
    finally:
        timer.cancel()


@contextmanager
def cluster(hosts: Hosts, rows: int, files: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The client of a scheduler and of a worker on each host."""
    scheme = "tls" if files else "tcp"
    scheduler = f"{scheme}://{ADDRESSES[0]}:8786"
    tls = ["--tls-ca-file", files["cert"], "--tls-cert", files["cert"], "--tls-key", files["key"]] if files else []
    programs = [hosts.start(0, "-m", "dask", "scheduler", "--host", scheduler, "--no-dashboard", *tls)]
    for host, address in enumerate(ADDRESSES):
        own = ["--host", f"{scheme}://{address}", "--nworkers", "1", "--nthreads", "1", "--no-dashboard"]
        programs.append(hosts.start(host, "-m", "dask", "worker", scheduler, *own, *tls))
    for program in programs:
        program.stderr.close()  # nobody reads their logs
        program.stderr = None
    keys = [f"--{name}={path}" for name, path in files.items()]
    client = hosts.start(0, str(HERE), "--role=client", f"--rows={rows}", f"--scheduler={scheduler}", *keys)
    try:
        yield client
    finally:
        for program in [client, *reversed(programs)]:
            program.terminate()
        for program in [client, *reversed(programs)]:
            with suppress(subprocess.TimeoutExpired):
                program.wait(10)
            program.kill()


def on_dask(hosts: Hosts, rows: int, conditions: Any, files: dict[str, str]) -> Iterator[tuple[Condition, Any]]:
    """A fit for each condition, by one cluster: workers that were cut off have to come back."""
    with cluster(hosts, rows, files) as client:
        for condition in conditions:
            hosts.become(condition)
            assert client.stdin is not None
            with suppress(BrokenPipeError):
                client.stdin.write("2\n")
                client.stdin.flush()
            yield condition, heard(client, hosts, condition.cut)


def on_torch(hosts: Hosts, rows: int, condition: Condition, files: dict[str, str]) -> dict[str, Any]:
    """A fit by a process on each host."""
    hosts.become(condition)
    prefix, tls = "GLOO_DEVICE_TRANSPORT", {}
    if files:
        names = {"PKEY": files["key"], "CERT": files["cert"], "CA_FILE": files["cert"]}
        tls = {prefix: "TCP_TLS"} | {f"{prefix}_TCP_TLS_{name}": path for name, path in names.items()}
    programs = [hosts.start(rank, str(HERE), "--role=rank", f"--rows={rows}", f"--rank={rank}",
                            GLOO_SOCKET_IFNAME=DEVICE, **tls) for rank in range(2)]  # fmt: skip
    try:
        results = [heard(program, hosts, condition.cut * (rank == 0)) for rank, program in enumerate(programs)]
    finally:
        for program in programs:
            program.kill()
            program.wait()
    lost = [result for result in results if "lost" in result]
    return lost[0] if lost else results[0]


def namespaces() -> str:
    """Why there can be no namespaces; nothing if there can."""
    if os.name != "posix" or os.geteuid() or not shutil.which("ip"):
        return "root and ip (iproute2) are needed"
    try:
        Hosts().close()
    except OSError as error:
        return f"this machine makes no namespaces with a link: {error}"
    return ""


def plan(options: argparse.Namespace) -> list[tuple[str, bool, tuple[Condition, ...]]]:
    """Engine, whether connections are encrypted, and conditions."""
    if options.short:
        return [("Dask", True, CONDITIONS[2:3]), ("torch", False, CONDITIONS[1:2])]
    engines = [options.engine] if options.engine else ["Dask", "torch"]
    encrypted = [options.tls == "yes"] if options.tls else [False, True]
    return [(engine, tls, CONDITIONS) for engine in engines for tls in encrypted]


def trials(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Condition, bool, dict[str, Any], str]]:
    """Engine, condition, TLS, result, and what delayed packets, of every fit."""
    files = certificate(folder)
    hosts = Hosts()
    try:
        for engine, tls, conditions in plan(options):
            own = files if tls else {}
            if engine == "Dask":
                for condition, result in on_dask(hosts, options.rows, conditions, own):
                    yield engine, condition, tls, result, hosts.by
            else:
                for condition in conditions:
                    yield engine, condition, tls, on_torch(hosts, options.rows, condition, own), hosts.by
    finally:
        hosts.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--short", action="store_true", help="one fit of each engine")
    parser.add_argument("--engine", choices=("Dask", "torch"), help="this one alone")
    parser.add_argument("--tls", choices=("yes", "no"), help="this alone")
    for name in ("role", "scheduler", "key", "cert"):
        parser.add_argument(f"--{name}", default="", help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        (client_role if options.role == "client" else rank_role)(options)
        return 0
    if why := namespaces():
        print(why)
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the namespaces are removed
    wanted = in_one_process(options.rows)
    shown, different = Table("engine", "link", "set by", "TLS", "seconds", "same bits", "attempts", "messages"), 0
    with tempfile.TemporaryDirectory() as folder:
        for engine, condition, tls, result, by in trials(options, Path(folder)):
            same = result.get("bits") == wanted[engine]
            different += not same and "lost" not in result
            said = result.get("lost", "; ".join(result.get("messages", [])))
            bits = "yes" if same else "lost" if "lost" in result else "NO"
            by = by if condition.delay else "ip link" if condition.cut else ""
            seconds, attempts = f"{result.get('seconds', float('nan')):.1f}", str(result.get("attempts", ""))
            shown.add_row(engine, condition.name, by, "yes" if tls else "no", seconds, bits, attempts, said)
            print(engine, condition.name, tls, bits, result, flush=True)
    Console(width=160).print(shown)
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
