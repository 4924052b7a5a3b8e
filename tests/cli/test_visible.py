"""Names, levels and labels cannot make a terminal do anything: what it would obey is printed as an escape.

Tests ``table/visible``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from cli_cases import FAST, done, run

import lambdak
from lambdak import SpectralClassifier
from lambdak.table.visible import visible

TITLE, CLEAR, TURNED = "\x1b]0;owned\x07", "\x9b2J", "\u202etxt"
NUMBER, WORD, LEVEL = f"income{TITLE}", f"[bold]:smile:\nproven{CLEAR}", f"red\x1b[31m\r{TURNED}"
LABELS = [f"bad{CLEAR}", f"good{TITLE}"]
OBEYED = set("\x1b\x07\x9b\r\u202e")


@pytest.fixture(scope="module")
def wild(tmp_path_factory):
    """A model whose columns, levels and classes hold escape sequences, and its table."""
    folder = tmp_path_factory.mktemp("wild")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({NUMBER: rng.uniform(0, 9, 80), WORD: rng.choice([LEVEL, "blue"], 80)})
    y = np.array(LABELS)[(X[NUMBER] > 4).to_numpy().astype(int)]
    model = SpectralClassifier(effort="fast", dim=2, max_iter=2, monotonic_cst={NUMBER: 1}, random_state=0).fit(X, y)
    model.save(folder / "model.safetensors")
    X.assign(y=y).to_json(folder / "rows.jsonl", orient="records", lines=True)
    return folder


COMMANDS = {
    "certify": ["certify"],
    "certify within": ["certify", "--within", f"{NUMBER}=1", "--verify", "rows.jsonl", "--pairs", "20"],
    "certify json": ["certify", "--json"],
    "explain": ["explain"],
    "explain a table": ["explain", "rows.jsonl"],
    "explain json": ["explain", "rows.jsonl", "--json"],
    "explain a row": ["explain", "rows.jsonl", "--row", "0"],
    "explain a row, json": ["explain", "rows.jsonl", "--row", "0", "--json"],
    "predict json": ["predict", "rows.jsonl", "--keep", WORD, "--json"],
    "predict to a file": ["predict", "rows.jsonl", "--out", f"{TITLE}.csv"],
    "report": ["report", "--out", f"{CLEAR}.html"],
    "fit": ["fit", "rows.jsonl", "-t", "y", "--monotone", f"{NUMBER}=+", "--model", f"{CLEAR}.safetensors", *FAST],
    "fit json": ["fit", "rows.jsonl", "-t", "y", "--model", "new.safetensors", "--json", *FAST],
    "no such column": ["fit", "rows.jsonl", "-t", TITLE],
    "no such file": ["predict", f"{TITLE}.csv"],
    "no such model": ["certify", "--model", f"{TITLE}.safetensors"],
    "no such folder": ["report", "--out", f"{CLEAR}/report.html"],
    "no such column in the table": ["certify", "--within", f"{CLEAR}=1"],
    "too many arguments": ["explain", "rows.jsonl", f"{TITLE}.csv"],
    "no such option": ["explain", f"--{TITLE}"],
    "no such command": [TITLE],
    "no such format": ["predict", f"rows{TITLE}"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_that_a_terminal_obeys_is_printed(wild, monkeypatch, name):
    monkeypatch.chdir(wild)
    result = run(COMMANDS[name])
    assert result.output
    assert not OBEYED & set(result.output)


def test_names_stay_recognisable(wild, monkeypatch):
    monkeypatch.chdir(wild)
    for args in (["certify"], ["explain"], ["explain", "rows.jsonl", "--row", "0"]):
        text = "".join(done(args).stdout.split())
        assert "income\\x1b]0;owned" in text
        assert ":smile:\\n" in text


def test_json_keeps_the_names_as_they_are(wild, monkeypatch):
    monkeypatch.chdir(wild)
    done(["certify", "--out", "certificate.json"])
    written = json.loads((wild / "certificate.json").read_text())
    assert written == json.loads(done(["certify", "--json"]).stdout)
    assert NUMBER in {claim["subject"] for claim in written["claims"]}
    rows = json.loads(done(["predict", "rows.jsonl", "--keep", WORD, "--json"]).stdout)["predictions"]
    assert {row[WORD] for row in rows} == {LEVEL, "blue"}
    assert {row["prediction"] for row in rows} <= set(LABELS)


@pytest.mark.filterwarnings("default:beware")
def test_warnings_are_printed_without_control_characters(wild, monkeypatch):
    monkeypatch.chdir(wild)

    def warn(*_, **__):
        import warnings

        warnings.warn(f"beware of {TITLE}", stacklevel=1)
        raise ValueError(f"this is {CLEAR}")

    monkeypatch.setattr("lambdak.cli.certify.read_model", warn)
    assert run(["certify"]).stderr == "note: beware of \\x1b]0;owned\\x07\nerror: this is \\x9b2J\n"


def test_printing_a_certificate_and_why_is_safe_in_python_too(wild):
    model = lambdak.load(wild / "model.safetensors")
    X = pd.read_json(wild / "rows.jsonl", orient="records", lines=True).drop(columns="y")
    for text in (str(model.certify()), str(model.verify(X, n=20)), model.explain_local(X[:1]).why(0)):
        assert not OBEYED & set(text)
        assert all(visible(line) == line for line in text.split("\n"))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_a_table_is_visible_on_a_terminal_and_as_it_is_in_a_pipe(wild):
    command = [sys.executable, "-c", "from lambdak import cli; cli.main()", "predict", "rows.jsonl", "--keep", WORD]
    piped = subprocess.run(command, cwd=wild, capture_output=True, check=True).stdout
    assert LEVEL.encode() in piped
    ours, theirs = os.openpty()
    child = subprocess.Popen(command, cwd=wild, stdout=theirs)
    os.close(theirs)
    shown = b""
    try:
        while more := os.read(ours, 1 << 16):
            shown += more
    except OSError:  # the other end is closed
        pass
    assert child.wait() == 0
    assert b"red\\x1b[31m\\r\\u202etxt" in shown
    assert b"\x1b" not in shown


@pytest.mark.parametrize(
    "name", ["héllo wörld", "λ_k ‖A‖₂", "日本語", "خانه\u200cها", "👩\u200d🔬", "a\u00a0b", "tick ✓"]
)
def test_ordinary_names_of_all_languages_stay_as_they_are(name):
    assert visible(name) == name


@pytest.mark.parametrize(
    "char", [*map(chr, range(32)), *map(chr, range(127, 160)), *"\u202a\u202e\u2066\u2069\u200e\u2028\ufeff\ud800"]
)
def test_what_terminals_obey_or_hide_is_an_escape(char):
    assert visible(f"a{char}b").isprintable()
    assert repr(char)[1:-1] in visible(f"a{char}b")
