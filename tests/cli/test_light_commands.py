"""Help and version answer at once: nothing that computes is loaded before a command runs."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import pytest

from lambdak.cli import app, dossier, fit
from lambdak.losses import Predicts, Quantile, losses_of
from lambdak.model import model
from lambdak.report.subject import OwnerWords

HEAVY = {
    "scipy",
    "sklearn",
    "pandas",
    "polars",
    "pyarrow",
    "matplotlib",
    "torch",
    "lambdak.estimators",
    "lambdak.model",
}
MOST = 750  # modules, most of them those of typer and rich
ALL_HELP = """
import sys
from typer.testing import CliRunner
from lambdak.cli import app
names = [info.callback.__name__.replace("_", "-") for info in app.registered_commands] + ["reproduce"]
for arguments in [["--version"], ["--help"], *([name, "--help"] for name in names)]:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, (arguments, done.output)
    print("loaded", *arguments, *sys.modules)
"""


@pytest.mark.slow
def test_help_and_version_load_nothing_that_computes():
    done = subprocess.run([sys.executable, "-c", ALL_HELP], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("loaded ")]
    assert len(lines) == len(app.registered_commands) + 3
    for line in lines:
        assert not HEAVY & set(line), line[1:3]
        assert len(line) < MOST, line[1:3]


def test_what_help_says_of_losses_sizes_and_words_is_what_the_library_knows():
    assert list(fit.LOSSES) == [loss.name for loss in losses_of(Predicts.NUMBERS) if loss is not Quantile]
    assert (fit.MAX_DIM, fit.MAX_MEMBERS) == (model.MAX_DIM, model.MAX_MEMBERS)
    assert tuple(field.name for field in fields(OwnerWords)) == dossier.WORDS
