"""Two hosts on one machine: network namespaces of Linux, and a link between them that is slow, lossy or cut.

Used by `two_hosts.py`. Root, ip (iproute2), and unshare, nsenter and setpriv (util-linux) are needed. Each namespace
belongs to a process that ends with this one, however this one ends, and so do the programs on it: nothing has a name,
and nothing is left behind.

Each host has one end of a link. `tc` sets delay and loss where the kernel has netem; elsewhere packets pass a relay in
this process, which delays and drops them. A link is cut by `ip link set down`, and up again after the stated seconds.
"""

from __future__ import annotations

import datetime
import fcntl
import ipaddress
import os
import select
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

ADDRESSES = ("10.77.0.1", "10.77.0.2")
DEVICE, MTU = "lambdak0", 9_000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
WITH_THIS = ("setpriv", "--pdeathsig", "KILL")  # a program that ends with this one
PROGRAMS = ("ip", "unshare", "nsenter", "setpriv")


def run(*words: str) -> bool:
    """Whether a command succeeds."""
    return subprocess.run(words, capture_output=True, check=False, timeout=10).returncode == 0


def done(*words: str) -> None:
    """Run a command that has to succeed."""
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=10)
    if ended.returncode:
        raise OSError(f"{' '.join(words)}: {ended.stderr.strip()}")


class Hosts:
    """Two namespaces and the link between them; ``passed`` counts bytes that have come through it."""

    def __init__(self) -> None:
        self._holders, self._ends = list[subprocess.Popen[bytes]](), list[int]()
        self._over, self._queue = threading.Event(), deque[tuple[float, int, bytes]]()
        self._rng, self._delay, self._loss = np.random.default_rng(0), 0.0, 0.0
        self.by, self.passed = "relay", 0
        self._relay = threading.Thread(target=self._pass_on, daemon=True)
        try:
            for host, address in enumerate(ADDRESSES):
                self._add(host, address)
        except BaseException:
            self.close()
            raise
        self._relay.start()

    def _add(self, host: int, address: str) -> None:
        holder = subprocess.Popen([*WITH_THIS, "unshare", "--net", "sleep", "infinity"])
        self._holders.append(holder)
        here, until = os.readlink("/proc/self/ns/net"), time.monotonic() + 10
        while os.readlink(f"/proc/{holder.pid}/ns/net") == here:
            if holder.poll() is not None or time.monotonic() > until:
                raise OSError("unshare --net makes no namespace")
            time.sleep(0.01)
        end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        self._ends.append(end)
        name = f"{DEVICE}-{host}-{os.getpid()}"[:15]  # it is here for a moment, where another run may have one, too
        fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH14x", name.encode(), IFF_TUN | IFF_NO_PI))
        done("ip", "link", "set", name, "netns", str(holder.pid))
        for words in (
            ["link", "set", name, "name", DEVICE, "mtu", str(MTU)],
            ["addr", "add", f"{address}/24", "dev", DEVICE],
            ["link", "set", "lo", "up"],
            ["link", "set", DEVICE, "up"],
        ):
            done(*self._on(host), "ip", *words)

    @property
    def processes(self) -> list[int]:
        """The processes that hold the namespaces."""
        return [holder.pid for holder in self._holders]

    def _on(self, host: int) -> list[str]:
        """What goes before a command that runs on a host."""
        return ["nsenter", f"--net=/proc/{self._holders[host].pid}/ns/net"]

    def become(self, delay: float, loss: float) -> None:
        """Delay packets by so many seconds, and drop this share of them, from now on."""
        self._delay, self._loss = delay, loss
        netem = ["netem", "delay", f"{1000 * delay:g}ms", "loss", f"{100 * loss:g}%"]
        if all(run(*self._on(host), "tc", "qdisc", "replace", "dev", DEVICE, "root", *netem) for host in range(2)):
            self.by, self._delay, self._loss = "tc netem", 0.0, 0.0  # else packets are delayed and dropped here

    def cut(self, seconds: float) -> None:
        """Take the link of the second host down for a while."""
        done(*self._on(1), "ip", "link", "set", DEVICE, "down")
        time.sleep(seconds)
        done(*self._on(1), "ip", "link", "set", DEVICE, "up")

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
            packet = os.read(end, MTU)
        except OSError:  # the link is down
            self._over.wait(0.001)
            return
        self.passed += len(packet)
        if self._rng.random() >= self._loss:
            self._queue.append((time.monotonic() + self._delay, self._ends[end == self._ends[0]], packet))

    def close(self) -> None:
        """End the hosts, and with them the link."""
        self._over.set()
        if self._relay.is_alive():
            self._relay.join(5)
        for end in self._ends:
            os.close(end)
        for holder in self._holders:
            holder.kill()
            holder.wait()

    def start(self, host: int, *command: str, heard: bool = True, **variables: str) -> subprocess.Popen[str]:
        """A Python program on one of the hosts, which is ``heard`` if somebody reads what it says."""
        paths = os.pathsep.join([str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **variables}
        out = subprocess.PIPE if heard else subprocess.DEVNULL
        return subprocess.Popen(
            [*self._on(host), *WITH_THIS, sys.executable, *command],
            stdin=subprocess.PIPE, stdout=out, stderr=out, text=True, env=env,
        )  # fmt: skip


def impossible() -> str:
    """Why this machine cannot have two hosts; nothing if it can."""
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if os.name != "posix" or os.geteuid() or missing:
        return f"root and {', '.join(missing or PROGRAMS)} are needed"
    try:
        Hosts().close()
    except OSError as error:
        return f"this machine makes no namespaces with a link: {error}"
    return ""


def certificate(folder: Path) -> dict[str, str]:
    """Files of a key and of a certificate that is its own authority, for both hosts."""
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
