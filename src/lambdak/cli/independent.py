"""The checker that shares no code with lambdak, run in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

CHECKER = Path(__file__).parents[1] / "certify" / "lambdak_check.py"


class Checked(NamedTuple):
    """What the checker said, in words and as data, and whether something requested is not proven."""

    words: str
    data: dict[str, Any]
    fails: bool


def checked(model: Path) -> Checked:
    """What the checker says about a model file: both ways at the same time."""
    running = [_started(model), _started(model, "--json")]
    (words, complaint), (data, error) = (each.communicate() for each in running)
    found = json.loads(data) if data else {"holds": False, "error": error.strip()}
    return Checked(words or complaint, found, any(each.returncode for each in running))


def _started(model: Path, *options: str) -> subprocess.Popen[str]:
    """The checker, in a process that sees neither lambdak nor any other package."""
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(CHECKER), *options, "--", str(model)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")
