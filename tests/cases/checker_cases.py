"""The independent checker, in a process of its own or as a module, and files for it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
from hostile_cases import sealed

from lambdak import certify
from lambdak.store._header import _header

CHECKER = Path(certify.__file__).with_name("lambdak_check.py")


def run(path, *options, timeout=120):
    """Isolated: no lambdak, no site-packages, no environment."""
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(CHECKER), *options, str(path)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=timeout, check=False)


def certificate(path):
    """Exit code and data."""
    result = run(path, "--json")
    assert not result.stderr, result.stderr
    return result.returncode, json.loads(result.stdout)


@cache
def module():
    spec = importlib.util.spec_from_file_location("lambdak_check", CHECKER)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def verdicts(data):
    """(kind, subject) → verdict of each claim that was requested, in this process; None if the file is refused."""
    try:
        claims = [*module().Model(data).claims()]
    except Exception:  # as the checker's own main does
        return None
    return {(kind, subject): verdict for kind, subject, _, verdict, requested, *_ in claims if requested}


def exit_code(data):
    found = verdicts(data)
    return 2 if found is None else int(any(verdict != "proven" for verdict in found.values()))


def write(path, header, tensors):
    path.write_bytes(sealed(header, tensors))
    return path


def as_file(path, model):
    """A file of a model that may break what it promises, which ``save`` would refuse."""
    saved = model._saved()
    tensors = {
        "coef": np.ascontiguousarray(saved.model.matrices),
        "start": np.asarray(saved.model.start, np.float64),
        "weights": np.asarray(saved.model.weights, np.float64),
    }
    return write(path, {**_header(saved), "dtype": "float64"}, tensors)
