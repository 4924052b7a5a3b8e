"""Results are written whole or not at all, and to a reader as long as it listens."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from cli_cases import FAST, only, process

KILLED = """
from lambdak import atomic
write = atomic._write_through
def half(file, data):
    write(file, data[: len(data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
atomic._write_through = half
"""


OUTPUTS = {
    "model.safetensors": ["fit", "rows.csv", "-t", "y", *only("y"), *FAST, "--model", "model.safetensors"],
    "out.csv": ["predict", "rows.csv", "--model", "y.safetensors", "--out", "out.csv"],
    "out.parquet": ["predict", "rows.csv", "--model", "y.safetensors", "--out", "out.parquet"],
    "out.jsonl": ["predict", "rows.csv", "--model", "y.safetensors", "--out", "out.jsonl"],
    "certificate.json": ["certify", "--model", "y.safetensors", "--out", "certificate.json"],
    "columns.csv": ["explain", "rows.csv", "--model", "y.safetensors", "--out", "columns.csv"],
    "columns.png": ["explain", "rows.csv", "--model", "y.safetensors", "--plot", "columns.png"],
    "report.html": ["report", "rows.csv", "--model", "y.safetensors"],
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_command_that_is_killed_while_it_writes_leaves_the_old_file(shelf, tmp_path, name):
    for each in ("rows.csv", "y.safetensors"):
        (tmp_path / each).write_bytes((shelf / each).read_bytes())
    (tmp_path / name).write_text("good")
    killed = process(KILLED, *OUTPUTS[name], cwd=tmp_path)
    assert killed.returncode == -9, killed.stderr
    assert (tmp_path / name).read_text() == "good"
    assert not hasattr(os, "O_TMPFILE") or not list(tmp_path.glob(".*"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")
def test_a_command_that_is_terminated_while_it_writes_leaves_nothing(shelf, tmp_path):
    code = (
        KILLED.replace("SIGKILL", "SIGTERM") + "atomic._nameless = lambda _: None"
    )  # as on systems without such files
    args = ["predict", shelf / "rows.csv", "--model", shelf / "y.safetensors", "--out", "out.csv"]
    ended = process(code, *args, cwd=tmp_path)
    assert ended.returncode == 128 + 15, ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_reader_that_has_enough_ends_the_command_quietly(shelf):
    command = f"{sys.executable} -c 'from lambdak import cli; cli.main()' predict {shelf / 'rows.csv'} --model "
    shown = subprocess.run(
        f"{command}{shelf / 'y.safetensors'} | head -n 1", shell=True, capture_output=True, text=True
    )
    assert shown.stdout == "prediction\n"
    assert "Traceback" not in shown.stderr
