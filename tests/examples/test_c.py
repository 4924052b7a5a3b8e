"""The example in C compiles, and says of its rows what Python says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "c"


@pytest.mark.slow
def test_make_ends_with_the_same_classes_as_python(tmp_path):
    make = shutil.which("make") or pytest.skip("make is not installed")
    shutil.which("cc") or pytest.skip("no C compiler")
    for name in ("Makefile", "main.c", "export_model.py"):
        shutil.copy(EXAMPLE / name, tmp_path)
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = [make, f"PYTHON={sys.executable}", "CFLAGS=-O2 -std=c99 -Wall -Wextra -pedantic -Werror"]
    done = subprocess.run(command, cwd=tmp_path, env=outside, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("all as in Python")
