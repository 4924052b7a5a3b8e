"""``lambdak demo``: its files, and what it prints."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import lambdak
from lambdak import cli
from lambdak.cli import demo_results


@pytest.fixture
def quick(monkeypatch):
    for name, value in {"EFFORT": "fast", "FOLDS": 2, "PAIRS": 500}.items():
        monkeypatch.setattr(cli.demo, name, value)


FILES = {"patients.csv", "model.safetensors", "certificate.json", "report.html"}


PICTURES = {"effects.png", "influence.png", "quantiles.png", "patient.png", "history.png"}


@pytest.mark.slow
def test_demo_command_writes_its_files_and_prints_what_they_are(tmp_path, quick):
    pytest.importorskip("matplotlib").use("Agg")
    out = tmp_path / "new"
    result = CliRunner().invoke(cli.app, ["demo", "--out", str(out)])
    assert result.exit_code == 0, result.output
    for text in (
        "R² on", "boosted trees, monotone", "boosted trees keep this promise, too", "proven", "of 500 predictions",
        "proven  the prediction never falls as bmi rises", "Why patient 0 gets this prediction", "Proven: with",
        "capped: sex moves no prediction by more than 5", "boosted trees, sorted",
    ):  # fmt: skip
        assert text in result.output
    assert max(map(len, result.output.splitlines()[: result.output.splitlines().index("Certificate")])) <= 80
    assert {path.name for path in out.iterdir()} == FILES | PICTURES
    listed = result.output[result.output.index("Files in") :]
    for path in out.iterdir():
        assert path.name in listed
    for name in PICTURES:
        assert (out / name).read_bytes().startswith(b"\x89PNG")
        assert (out / name).stat().st_size < 100_000
    assert json.loads((out / "certificate.json").read_text())["holds"]
    model = lambdak.load(out / "model.safetensors")
    assert model.feature_names_in_.tolist() == list(demo_results.load_patients().names)
    assert "<html" in (out / "report.html").read_text()


def test_demo_command_refuses_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    result = CliRunner().invoke(cli.app, ["demo", "--out", str(tmp_path / "file" / "inside")])
    assert result.exit_code == 1
    assert "--out must be a folder that can be made" in result.output


@pytest.mark.slow
def test_demo_needs_no_extras_and_says_what_to_install_for_more(tmp_path):
    code = (
        "import sys\n"
        "class Gone:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('matplotlib', 'pandas', 'polars', 'pyarrow'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Gone())\n"
        "from lambdak import cli\n"
        "cli.demo.EFFORT, cli.demo.FOLDS, cli.demo.PAIRS = 'fast', 2, 500\n"
        "cli.app(['demo'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr  # such as notes about the table of the demo itself
    assert "of 500 predictions" in done.stdout
    assert "pip install 'lambdak[plot]'" in done.stdout
    assert {path.name for path in (tmp_path / "lambdak-demo").iterdir()} == FILES
