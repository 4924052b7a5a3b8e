"""The commands together: help, version, completion.

Tests ``config``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer
from cli_cases import COMMANDS, SIGNING, done
from typer.testing import CliRunner

import lambdak
from lambdak import cli
from lambdak.cli.errors import Commands


@pytest.mark.parametrize("command", [*COMMANDS, *SIGNING])
def test_every_help_page_has_examples(command):
    text = done([command, "--help"]).stdout
    assert "Example" in text
    assert f"lambdak {command}" in text


def test_help_lists_the_commands():
    text = done(["--help"]).stdout
    assert all(command in text for command in [*COMMANDS, *SIGNING])


def test_a_new_command_is_a_file_with_a_function_of_its_name_and_examples():
    def count(path: str, *, twice: bool = False) -> None:
        """Count what a file holds."""
        typer.echo(len(Path(path).read_text()) * (2 if twice else 1))

    module = ModuleType("lambdak.cli.count")
    module.count, module.EXAMPLES = count, ("lambdak count model.safetensors",)
    app = typer.Typer(cls=Commands)
    cli.add_command(app, module)
    cli.add_command(app, cli.config, in_demo_folder=False)
    text = CliRunner().invoke(app, ["count", "--help"]).stdout
    assert "Count what a file holds" in text
    assert "lambdak count model.safetensors" in text
    assert CliRunner().invoke(app, ["count", __file__, "--twice"]).stdout == f"{2 * len(Path(__file__).read_text())}\n"
    refused = CliRunner().invoke(app, ["count", "no such file"])
    assert refused.exit_code
    assert "no such file" in refused.output


def test_every_command_is_a_file_is_named_in_its_package_and_has_a_line_on_the_page():
    page = (Path(__file__).parents[2] / "docs/guide/command-line.md").read_text()
    for command in [info.callback.__name__ for info in cli.app.registered_commands]:
        assert Path(cli.__file__).with_name(f"{command}.py").exists()
        assert f"``{command}``" in cli.__doc__
        assert f"`lambdak {command.replace('_', '-')}" in page


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
