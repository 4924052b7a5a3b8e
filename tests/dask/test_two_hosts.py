"""Fits across two network namespaces: the bits of one process, through delay, loss, TLS and a link that is cut."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "two_hosts.py"
IMPOSSIBLE = 77  # its exit code where there can be no namespaces


@pytest.mark.slow
def test_two_hosts_fit_the_bits_of_one_process_through_loss_cuts_and_tls():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(BENCHMARK), "--short", "--rows", "1500"],
        capture_output=True, text=True, check=False, timeout=1500,
    )  # fmt: skip
    if done.returncode == IMPOSSIBLE:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    fits = [line.split() for line in done.stdout.splitlines() if line.startswith(("Dask ", "torch "))]
    assert [fit[0] for fit in fits] == ["Dask", "torch"]
    assert "Dask cut for 1 s True yes" in done.stdout
    assert "torch 20 ms, 1 % lost False yes" in done.stdout
