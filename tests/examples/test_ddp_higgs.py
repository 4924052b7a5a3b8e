"""The example of data-parallel training: two processes do what one does, and survive the loss of one of them."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

import lambdak

torch = pytest.importorskip("torch")
pytest.importorskip("pyarrow")

EXAMPLE = Path(__file__).parents[2] / "examples" / "ddp_higgs.py"
STEPS = 12
PATIENCE = 240  # seconds until a test that hangs is ended
SETTINGS = [
    *("--synthetic=300", "--batch=20", "--dim=3", "--hidden=2", "--dtype=float64"),
    *("--log-every=5", "--checkpoint-every=10"),
]

spec = importlib.util.spec_from_file_location("ddp_higgs", EXAMPLE)
example = importlib.util.module_from_spec(spec)
sys.modules["ddp_higgs"] = example
spec.loader.exec_module(example)


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads(), lambdak.get_num_threads()
    torch.set_num_threads(1)
    lambdak.set_num_threads(1)
    yield
    torch.set_num_threads(before[0])
    lambdak.set_num_threads(before[1])


def alone(folder, steps=STEPS, *more):
    """Train in this process; the parameters."""
    example.main([*SETTINGS, "--out", str(folder), "--steps", str(steps), *more])
    return state(folder)


def state(folder):
    return example.read_checkpoint(folder / "checkpoint.pt")


@contextmanager
def torchrun(folder, *more) -> Iterator[subprocess.Popen[str]]:
    """Two processes that talk over the loopback, and are ended should they hang."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    with subprocess.Popen(
        [*launch, str(EXAMPLE), *SETTINGS, "--out", str(folder), *more],
        env=os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as run:
        guard = Timer(PATIENCE, run.terminate)
        guard.start()
        try:
            yield run
        finally:
            guard.cancel()
            run.terminate()


def assert_same(found, expected, tolerance):
    assert found["taken"] == expected["taken"]
    for name, value in expected["model"].items():
        torch.testing.assert_close(found["model"][name], value, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
def test_two_processes_take_the_steps_of_one(tmp_path):
    with torchrun(tmp_path / "two", "--steps", str(STEPS)) as run:
        expected = alone(tmp_path / "one")
        said = run.communicate()[0]
    assert run.returncode == 0, said
    assert_same(state(tmp_path / "two"), expected, 1e-12)
    assert re.search(rf"step {STEPS} of {STEPS}  loss 0\.\d+  [\d,]+ samples/s  0:00:00 left", said)


def test_a_resumed_run_ends_as_an_undisturbed_one(tmp_path):
    alone(tmp_path / "halted", STEPS - 5)
    resumed = alone(tmp_path / "halted", STEPS, "--resume")
    undisturbed = alone(tmp_path / "whole")
    assert_same(resumed, undisturbed, 0.0)
    assert resumed["optimizer"]["state"][0]["step"] == STEPS


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
def test_a_killed_process_ends_the_run_and_leaves_a_checkpoint_to_continue_from(tmp_path):
    with torchrun(tmp_path, "--steps", "1000000") as run:
        victim = killed_after_the_first_checkpoint(run)
        said = run.communicate()[0]
    assert run.returncode != 0
    assert "rank 1 stops after step" in said
    assert re.search(r"checkpoint\.pt holds step \d+: run the same command with --resume", said)
    assert f"(pid: {victim})  (SIGKILL)" in said
    last = state(tmp_path)["taken"] + 3
    assert_same(alone(tmp_path, last, "--resume"), alone(tmp_path / "undisturbed", last), 1e-12)


def killed_after_the_first_checkpoint(run):
    """Kill rank 0, the one that writes them; its id."""
    said = ""
    for line in run.stdout:
        said += line
        if "checkpoint.pt: step" in line:
            break
    victim = int(re.search(r"rank 0 of 2: process (\d+)", said)[1])
    os.kill(victim, signal.SIGKILL)
    return victim


def test_a_checkpoint_is_not_overwritten_by_a_new_run(tmp_path):
    before = alone(tmp_path, 2)
    with pytest.raises(SystemExit, match="add --resume to continue from it"):
        alone(tmp_path, 2)
    assert_same(state(tmp_path), before, 0.0)


def test_a_checkpoint_of_other_settings_is_refused(tmp_path):
    alone(tmp_path, 2)
    with pytest.raises(SystemExit, match="was written with batch=20; got 40"):
        alone(tmp_path, 4, "--batch", "40", "--resume")


def test_a_batch_that_cannot_be_shared_is_refused(tmp_path):
    args = example.parse([*SETTINGS, "--out", str(tmp_path)])
    data = example.load(args, example.Place(0, 1, 0, 1))
    with pytest.raises(ValueError, match="--batch must be a multiple of the 3 processes; got 20"):
        example.Training(data, args, example.Place(1, 3, 1, 3))
