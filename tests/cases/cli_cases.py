"""A small table, and ways to run the command line on it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import processes
import pyarrow as pa
import pyarrow.csv
from typer.testing import CliRunner

from lambdak import cli

FAST = ["--effort", "fast", "--max-iter", "3", "--dim", "3"]
BESIDE = ["id", "y", "grade", "steps", "late", "weight", "exposure"]
COMMANDS = [
    "demo", "fit", "predict", "explain", "drift", "certify", "optimize", "counterfactual", "reasons", "report",
    "dossier", "export",
]  # fmt: skip
SIGNING = ["sign", "verify-signature"]


def only(*used):
    """Options that leave income, age and town as the columns, towns as categories, whatever else has a role."""
    return ["--categorical", "town", "--drop", ",".join(name for name in BESIDE if name not in used)]


def table(rows=120):
    """Incomes, ages, towns with numbers for names, a mean, a class, an order and a boolean."""
    rng = np.random.default_rng(0)
    income, age = rng.uniform(1, 9, rows).round(3), rng.integers(20, 70, rows)
    town = rng.choice(["007", "012", "300"], rows)
    y = (2 * income - 0.1 * age + (town == "007") + 0.3 * rng.standard_normal(rows)).round(3)
    return pa.table({
        "id": np.arange(rows), "income": income, "age": age, "town": town, "y": y,
        "grade": np.where(y > np.median(y), "good", "bad"), "steps": np.digitize(y, [0, 6]), "late": y > 3,
        "weight": rng.uniform(0.5, 2, rows), "exposure": np.zeros(rows),
    })  # fmt: skip


def run(args):
    return CliRunner().invoke(cli.app, [str(arg) for arg in args])


def done(args):
    result = run(args)
    assert result.exit_code == 0, result.output
    return result


def refused(args, code=1):
    result = run(args)
    assert result.exit_code == code, result.output
    assert not result.stdout
    assert "Traceback" not in result.output
    words = result.stderr.translate(str.maketrans("", "", "│╭╮╰╯─"))
    return " ".join(words.split())


def process(code, *args, cwd=None):
    """The command line in a process of its own, after these lines of code."""
    return processes.run(_program(code), *args, cwd=cwd)


def interpreter(code, *args, cwd=None):
    """The same in a new interpreter, for code that changes what can be imported or what happens at exit."""
    command = [sys.executable, "-c", _program(code), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=processes.PATIENCE)


def _program(code):
    return f"import os, signal, sys\n{code}\nfrom lambdak import cli\ncli.main()"


def read(text):
    return pa.csv.read_csv(pa.BufferReader(text.encode()))
