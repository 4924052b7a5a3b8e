"""Programs in processes of their own, forked from one that has imported lambdak already, so that they begin at once.

A test whose claim is about starting or importing (variables of the environment, what an import loads) runs a new
interpreter instead.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

PATIENCE = 120  # seconds, for a busy machine
READY = ["lambdak.cli", "pandas", "pyarrow.csv"]


class Program:
    """A Python program that runs; its output goes to files, so that it never waits for a reader."""

    def __init__(self, code, *arguments, cwd=None, env=None):
        forks = multiprocessing.get_context("forkserver")
        forks.set_forkserver_preload(READY)
        self._folder = tempfile.TemporaryDirectory()
        self._files = [Path(self._folder.name, name) for name in ("out", "err")]
        given = [str(each) for each in arguments]
        place, output = str(cwd or Path.cwd()), [str(path) for path in self._files]
        self._child = forks.Process(target=_run, args=(code, given, place, env or {}, output))
        self._child.start()

    def wait_for_line(self):
        """Its first line of output."""
        out, end = self._files[0], time.monotonic() + PATIENCE
        while not (out.exists() and b"\n" in out.read_bytes()):
            assert self._child.is_alive(), f"it ended first, and said: {self._files[1].read_text()}"
            assert time.monotonic() < end, f"no line in {PATIENCE} seconds"
            time.sleep(0.005)
        return out.read_text().splitlines()[0]

    def kill(self):
        self._child.kill()
        return self.done()

    def done(self):
        """How it ended: its code (minus the signal that ended it), and what it wrote."""
        self._child.join(PATIENCE)
        if (code := self._child.exitcode) is None:
            self._child.kill()
            raise subprocess.TimeoutExpired("the program", PATIENCE)
        texts = [path.read_text() if path.exists() else "" for path in self._files]
        self._child.close()
        self._folder.cleanup()
        return subprocess.CompletedProcess("the program", code, *texts)


def run(code, *arguments, cwd=None, env=None):
    """The whole life of a program, as `python -c` would run it; `env` holds the variables that differ."""
    return Program(code, *arguments, cwd=cwd, env=env).done()


def _run(code, arguments, folder, variables, output):
    for number, path in enumerate(output, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes ignore it
    os.environ.update(variables)
    tempfile.tempdir = None  # found again, in these variables
    os.chdir(folder)
    sys.argv = ["-c", *arguments]
    try:
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    except Exception:  # multiprocessing would put a line of its own above
        traceback.print_exc()
        sys.exit(1)
