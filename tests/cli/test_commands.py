"""The commands together: help, version, completion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_cases import COMMANDS, SIGNING, done
from typer.testing import CliRunner

import lambdak
from lambdak import cli


@pytest.mark.parametrize("command", [*COMMANDS, *SIGNING])
def test_every_help_page_has_examples(command):
    text = done([command, "--help"]).stdout
    assert "Example" in text
    assert f"lambdak {command}" in text


def test_help_lists_the_commands():
    text = done(["--help"]).stdout
    assert all(command in text for command in [*COMMANDS, *SIGNING])


def test_version_and_config():
    assert done(["--version"]).stdout.strip() == f"lambdak {lambdak.__version__}"
    assert "kernel" in done(["config"]).stdout


def completed(words):
    env = {"_LAMBDAK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    return CliRunner().invoke(cli.app, [], prog_name="lambdak", env=env).stdout.split()


def test_shells_complete_commands_options_and_choices():
    assert set(completed("lambdak ")) >= set(COMMANDS)
    assert completed("lambdak pre") == ["predict"]
    assert completed("lambdak fit --mono") == ["--monotone"]
    assert completed("lambdak fit --shape con") == ["convex", "concave"]


@pytest.mark.slow
def test_the_installed_script_completes_and_shows_how():
    script = Path(sys.executable).parent / "lambdak"
    env = os.environ | {"_LAMBDAK_COMPLETE": "complete_bash", "COMP_WORDS": "lambdak certi", "COMP_CWORD": "1"}
    assert subprocess.run([script], env=env, capture_output=True, text=True).stdout.split() == ["certify"]
    asked = f"'{script}' --show-completion; exit"  # of a shell, which it looks for among its parents
    shown = subprocess.run(["bash", "-c", asked], capture_output=True, text=True)
    assert "_LAMBDAK_COMPLETE" in shown.stdout
