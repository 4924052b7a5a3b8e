"""Fits across two network namespaces: the bits of one process, through delay, loss, TLS and a link that is cut."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
IMPOSSIBLE = 77  # the exit code where there can be no namespaces
HOLDING = "import os, hosts; h = hosts.Hosts(); print(*h.processes, flush=True); input()"


def two_hosts(engine):
    """The line of a fit, by a process that takes its programs along if it is killed."""
    command = [sys.executable, "-W", "ignore", str(BENCHMARKS / "two_hosts.py"), "--short", "--engine", engine]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode == IMPOSSIBLE:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return next(line for line in done.stdout.splitlines() if line.startswith(engine))


@pytest.mark.slow
def test_dask_on_two_hosts_fits_the_bits_of_one_worker_with_tls_and_a_link_that_is_cut():
    assert re.match(r"Dask cut for 1 s TLS [\d.]+ yes ", two_hosts("Dask"))


@pytest.mark.slow
def test_torch_on_two_hosts_fits_the_bits_of_one_process_through_delay_and_loss():
    assert re.match(r"torch 20 ms, 1 % lost plain text [\d.]+ yes ", two_hosts("torch"))


def test_nothing_is_left_of_hosts_whose_program_is_killed():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-W", "ignore", "-c", HOLDING], cwd=BENCHMARKS, **pipes) as program:
        holders = program.stdout.readline().split()
        if not holders:
            pytest.skip("this machine makes no namespaces with a link")
        assert all(there(number) for number in holders)
        program.kill()
    end = time.monotonic() + 60
    while any(there(number) for number in holders) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(there(number) for number in holders)


def there(number):
    """Whether a process lives, and with it its namespace."""
    try:
        return " Z " not in Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False
