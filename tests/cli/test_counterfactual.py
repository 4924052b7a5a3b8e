"""``lambdak counterfactual``: the changes of the library, checked on what the model predicts."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet
import pytest
from cli_cases import done, process, refused, run, table

import lambdak

COLUMNS = ["income", "age", "town"]


@pytest.fixture
def model(shelf):
    return lambdak.load(shelf / "y.safetensors")


@pytest.fixture
def args(shelf):
    return ["counterfactual", shelf / "rows.csv", "--model", shelf / "y.safetensors", "--row", 3]


def test_the_change_is_that_of_the_library_and_reaches_the_target(model, args, tmp_path):
    X = table().select(COLUMNS).slice(3, 1)
    target = float(model.predict(X)[0]) + 1.5
    options = ["--target", f">={target}", "--actionable", "income,age", "--direction", "age=down", "--cost", "income=2"]
    expected = model.counterfactual(X, (">=", target), ["income", "age"], {"income": 2.0}, {"age": "down"})[0]
    (found,) = json.loads(done([*args, *options, "--json"]).stdout)["changes"]
    assert found["row"] == 3
    assert found["changes"] == expected.changes
    assert found["cost"] == expected.cost
    assert found["bound"] <= found["cost"]
    assert done([*args, *options]).stdout == f"row 3: {expected}\n"
    done([*args, *options, "--out", tmp_path / "then.parquet"])
    then = pa.parquet.read_table(tmp_path / "then.parquet")
    assert then["row"].to_pylist() == [3]
    assert model.predict(then.select(COLUMNS))[0] >= target
    assert then["age"][0].as_py() <= X["age"][0].as_py()


def test_all_rows_and_several_changes(shelf, args):
    options = ["--target", "good", "--actionable", "income,age,town", "--n", 2, "--out", "-"]
    printed = done([*args[:2], "--model", shelf / "grade.safetensors", *options]).stdout
    then = pa.csv.read_csv(pa.BufferReader(printed.encode()))
    found = [row for row in then.to_pylist() if row["status"] == "optimal"]
    assert {row["row"] for row in found} == set(range(120))
    assert {row["after"] for row in found} == {"good"}
    assert max(row["change"] for row in found) == 1


def test_levels_and_bounds_are_obeyed(model, args):
    target = float(model.predict(table().select(COLUMNS).slice(3, 1))[0]) + 0.5
    options = [
        "--target",
        f">={target}",
        "--actionable",
        "income,age,town",
        "--bounds",
        "income=1:1.2",
        "--whole",
        "age",
    ]
    (found,) = json.loads(done([*args, *options, "--bounds", "town=300", "--json"]).stdout)["changes"]
    assert found["changes"].get("town") in (None, "300")
    assert 1 <= found["changes"].get("income", 1) <= 1.2
    assert found["changes"].get("age", 0) % 1 == 0


def test_what_nothing_reaches_is_exit_code_3(args):
    result = run([*args, "--target", ">=1e6", "--actionable", "income"])
    assert result.exit_code == 3
    assert "no change of these columns reaches the goal" in result.stdout
    assert "proven" in result.stdout
    assert "no change was found" in result.stderr


def test_what_is_wrong_is_said_in_words_of_the_command(shelf, args):
    options = [*args, "--target", ">=3", "--actionable"]
    assert "which --actionable names. Did you mean 'income'?" in refused([*options, "incom"])
    assert "which --direction names" in refused([*options, "income", "--direction", "size=up"])
    assert "which --cost names" in refused([*options, "income", "--cost", "size=2"])
    assert "--row must be in [0, 120)" in refused([*args[:-1], 120, "--target", "3", "--actionable", "income"])
    assert "must go up or down" in refused([*options, "income", "--direction", "age=left"], code=2)
    assert "such as" in refused([*args, "--target", "much", "--actionable", "income"], code=2)
    grade = [*args[:2], "--model", shelf / "grade.safetensors", "--target", "god", "--actionable", "income"]
    assert "--target must be one of 'bad', 'good'; got 'god'. Did you mean 'good'?" in refused(grade)
    assert "--target" in refused([*args, "--actionable", "income"], code=2)


def test_an_interrupt_ends_with_what_was_found(shelf, tmp_path):
    code = (
        "from lambdak.optimize.frontier import Clock\nnote = Clock.note\n"
        "def once(self, *where):\n    note(self, *where)\n    os.kill(os.getpid(), signal.SIGINT)\nClock.note = once"
    )
    args = ["--target", ">=8", "--actionable", "income,age", "--gap", 0, "--model", shelf / "y.safetensors", "--json"]
    stopped = process(code, "counterfactual", shelf / "rows.csv", *args, cwd=tmp_path)
    assert stopped.returncode in (0, 3), stopped.stderr
    found = json.loads(stopped.stdout)["changes"]
    assert len(found) < 120
    assert found[-1]["status"] == "interrupted"
    assert "the search was interrupted" in stopped.stderr
