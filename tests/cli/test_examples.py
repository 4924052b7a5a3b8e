"""The examples of the help pages and of the guide run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from cli_cases import COMMANDS, SIGNING, done
from typer.testing import CliRunner

from lambdak import cli
from lambdak.cli import demo_results

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "command-line.md"


HELP = [
    *cli.fit.EXAMPLES, *cli.predict.EXAMPLES, *cli.explain.EXAMPLES, *cli.drift.EXAMPLES, *cli.certify.EXAMPLES,
    *cli.optimize.EXAMPLES, *cli.counterfactual.EXAMPLES, *cli.reasons.EXAMPLES, *cli.report.EXAMPLES,
    *cli.dossier.EXAMPLES, *cli.export.EXAMPLES, *cli.sign.EXAMPLES, *cli.verify_signature.EXAMPLES,
]  # fmt: skip


def shell_lines(page):
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.fixture
def clinic(tmp_path):
    """The folder that the demo writes, but for its pictures."""
    patients = demo_results.load_patients()
    assert dict(cli.demo._files(patients, demo_results.fitted(patients, "fast"), tmp_path))
    return tmp_path


def test_the_guide_shows_the_commands_in_the_folder_of_the_demo():
    assert shell_lines(GUIDE)[:2] == ["lambdak demo", "cd lambdak-demo"]
    assert {line.split()[1] for line in shell_lines(GUIDE)} >= {*COMMANDS, *SIGNING}


@pytest.mark.slow
@pytest.mark.parametrize("lines", [dict.fromkeys(HELP), shell_lines(GUIDE)[2:]], ids=["help", "guide"])
def test_examples_run_one_after_the_other(clinic, monkeypatch, lines):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(clinic)
    for line in lines:
        args, typed = shlex.split(line), None
        if "<" in args:
            typed = Path(args.pop()).read_text()
            args.pop()
        quick = ["--max-iter", "1"] if args[1] == "fit" else ["--pairs", "500"] if "--verify" in args else []
        result = CliRunner().invoke(cli.app, [*args[1:], *quick], input=typed)
        assert result.exit_code == 0, f"{line}\n{result.output}"


def test_every_option_in_the_guide_exists():
    helps = {command: done([command, "--help"]).stdout for command in [*COMMANDS, *SIGNING]}
    for option in re.findall(r"--[a-z][a-z-]+", GUIDE.read_text()):
        assert option in ("--help", "--install-completion", "--debug") or any(option in text for text in helps.values())
