"""Text that a spreadsheet would run as a formula is plain text in CSV files, unless it is requested as it is."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from cli_cases import done

from lambdak import SpectralClassifier
from lambdak.table.visible import inert

EVIL = "=cmd|' /C calc'!A0"
HEADER = "@SUM(1+1)*cmd"


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """A model whose classes, levels and names of columns are formulas."""
    folder = tmp_path_factory.mktemp("evil")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(-9, 9, 60), HEADER: rng.choice([EVIL, "+1+1", "plain"], 60)})
    y = np.where(X["x"] > 0, EVIL, "-2+3")
    SpectralClassifier(effort="fast", dim=2, max_iter=2, random_state=0).fit(X, y).save(folder / "model.safetensors")
    X.assign(y=y).to_json(folder / "rows.jsonl", orient="records", lines=True)
    return folder


def cells(text):
    return list(csv.reader(io.StringIO(text)))


def runs(cell):
    return cell[:1] in tuple("=+-@\t\r") and len(cell) > 1 and inert(cell) != cell


@pytest.mark.parametrize(
    "args", [["predict", "rows.jsonl", "--keep", f"{HEADER}"], ["explain", "rows.jsonl", "--local"]]
)
def test_no_text_in_a_csv_file_is_a_formula(evil, monkeypatch, tmp_path, args):
    monkeypatch.chdir(evil)
    printed = done(args).stdout
    done([*args, "--out", tmp_path / "out.csv"])
    assert (tmp_path / "out.csv").read_text() == printed
    found = {cell for row in cells(printed) for cell in row}
    assert not any(map(runs, found))
    assert {f"'{EVIL}", f"'{HEADER}", "'+1+1", "plain"} <= found


def test_numbers_stay_numbers(evil, monkeypatch):
    monkeypatch.chdir(evil)
    header, *rows = cells(done(["predict", "rows.jsonl", "--keep", "x"]).stdout)
    assert header[:2] == ["x", "prediction"]
    assert min(float(row[0]) for row in rows) < 0


def test_raw_text_is_written_as_it_is(evil, monkeypatch):
    monkeypatch.chdir(evil)
    header, *rows = cells(done(["predict", "rows.jsonl", "--keep", HEADER, "--raw-text"]).stdout)
    assert header[0] == HEADER
    assert {row[1] for row in rows} <= {EVIL, "-2+3"}
    assert f"'{EVIL}" not in done(["explain", "rows.jsonl", "--local", "--raw-text"]).stdout


def test_formats_that_no_spreadsheet_runs_hold_text_as_it_is(evil, monkeypatch, tmp_path):
    monkeypatch.chdir(evil)
    done(["predict", "rows.jsonl", "--out", tmp_path / "out.parquet"])
    assert set(pyarrow.parquet.read_table(tmp_path / "out.parquet")["prediction"].to_pylist()) <= {EVIL, "-2+3"}


FORMULAS = [
    "=1",
    "=",
    "+1+1",
    "-x",
    "@a",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1",
    "＋1",
    "－1",
    "＠a",
    "-1 ",
    "+0x1",
    "--1",
    "-१",
]
PLAIN = ["", "a=1", "'=1", " =1", "-", "+", "@", "-5", "+5.25", "-.5", "-1e-9", "1", None, True, -5, -5.5, float("nan")]


@pytest.mark.parametrize("cell", FORMULAS, ids=repr)
def test_formulas_begin_with_an_apostrophe(cell):
    assert inert(cell) == (cell if cell == "=" else f"'{cell}")


@pytest.mark.parametrize("cell", PLAIN, ids=repr)
def test_all_else_stays_as_it_is(cell):
    assert inert(cell) is cell
