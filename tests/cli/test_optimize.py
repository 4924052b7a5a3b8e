"""``lambdak optimize``: the row, the value and the bound of the library, with exit codes for scripts."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from cli_cases import done, process, read, refused, run, table

import lambdak
from lambdak.optimize import minimize

FIXED = {"age": 40.0, "town": "007"}


@pytest.fixture
def args(shelf):
    return ["optimize", shelf / "rows.csv", "--row", 3, "--model", shelf / "y.safetensors"]


def test_the_row_is_that_of_the_library(shelf, args, tmp_path):
    model = lambdak.load(shelf / "y.safetensors")
    fixed = {name: cell for name, cell in table().slice(3, 1).to_pylist()[0].items() if name in ("age", "town")}
    best = minimize(model, ["income"], {"income": (2, 5)}, fixed=fixed)
    options = ["--free", "income", "--bounds", "income=2:5"]
    found = json.loads(done([*args, *options, "--json"]).stdout)
    assert found["value"] == best.value
    assert found["bound"] == best.bound
    assert found["status"] == "optimal"
    assert found["row"] == fixed | found["chosen"]
    done([*args, *options, "--out", tmp_path / "best.csv"])
    assert read((tmp_path / "best.csv").read_text())["income"].to_pylist() == [found["chosen"]["income"]]
    done([*args, *options, "--out", tmp_path / "best.json"])
    assert json.loads((tmp_path / "best.json").read_text())["value"] == best.value
    words = done([*args, *options]).stdout
    assert f"lowest value found: {best.value:.6g} at income = " in words
    assert "proven: no value below" in words


def test_levels_whole_numbers_and_constraints_are_obeyed(shelf, args):
    options = ["--free", "income,age,town", "--bounds", "town=012,300", "--whole", "age", "--maximize"]
    found = json.loads(done([*args, *options, "--constraint", "10*income + age <= 70", "--json"]).stdout)
    chosen = found["chosen"]
    assert chosen["town"] in ("012", "300")
    assert chosen["age"] == round(chosen["age"])
    assert 10 * chosen["income"] + chosen["age"] <= 70 + 1e-9
    assert found["value"] <= found["bound"]
    assert found["maximize"]


def test_another_model_may_be_a_constraint(shelf, args):
    late = lambdak.load(shelf / "late.safetensors")
    options = ["--free", "income", "--constraint-model", f"late={shelf / 'late.safetensors'}", "--maximize", "--json"]
    free, found = (
        json.loads(done([*args, *options, *limit]).stdout) for limit in ([], ["--constraint", "late <= 0.7"])
    )
    row = pa.table({name: [found["row"][name]] for name in ("income", "age", "town")})
    assert late.predict_proba(row)[0, 1] <= 0.7 + 1e-6
    assert found["value"] <= free["value"]
    nowhere = run([*args, *options, "--constraint", "late <= 0.1"])
    assert nowhere.exit_code == 3
    assert "no row meets 'late <= 0.1': proven" in nowhere.stderr


def test_cells_may_be_typed_and_an_output_chosen(shelf):
    model = lambdak.load(shelf / "quantiles.safetensors")
    args = ["optimize", "--model", shelf / "quantiles.safetensors", "--free", "income", "--json"]
    for level in (0.1, 0.9):
        found = json.loads(done([*args, "--set", "age=40", "--set", "town=007", "--output", level]).stdout)
        assert found["value"] == minimize(model, ["income"], fixed=FIXED, output=level).value
        assert found["row"] == FIXED | found["chosen"]


def test_what_no_row_can_meet_is_exit_code_3(args):
    result = run([*args, "--free", "income", "--constraint", "income >= 50"])
    assert result.exit_code == 3
    assert "no row meets 'income >= 50': proven" in result.stderr
    assert not result.stdout
    result = run([*args, "--free", "income", "--constraint", "income >= 50", "--json"])
    assert result.exit_code == 3
    assert json.loads(result.stdout)["conflict"] == ["income >= 50"]
    assert json.loads(result.stdout)["row"] is None


def test_what_is_wrong_is_said_in_words_of_the_command(shelf, args):
    model = ["--model", shelf / "y.safetensors"]
    assert "which --free names. Did you mean 'income'?" in refused([*args, "--free", "incom"])
    assert "--set age=VALUE" in refused(["optimize", *model, "--free", "income,town"])
    assert "--whole names column 'age', which is not free" in refused([*args, "--free", "income", "--whole", "age"])
    assert "--row must be in [0, 120)" in refused([*args[:3], 120, *args[4:], "--free", "income"])
    assert "no model file" in refused([*args, "--free", "income", "--constraint-model", "risk=none.safetensors"])
    assert "is no comparison" in refused([*args, "--free", "income", "--constraint", "income +"])
    assert "which of the 120 rows" in refused(["optimize", shelf / "rows.csv", *model, "--free", "income"], code=2)
    assert "needs a TABLE" in refused(["optimize", *model, "--free", "income", "--row", 0], code=2)
    assert "such as risk=risk.safetensors" in refused([*args, "--free", "income", "--constraint-model", "x"], code=2)
    assert "--free" in refused(args, code=2)


def test_a_picture_of_value_and_bound_is_drawn(args, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    done([*args, "--free", "income,age", "--plot", tmp_path / "trace.png"])
    assert (tmp_path / "trace.png").read_bytes().startswith(b"\x89PNG")


def test_an_interrupt_ends_with_the_best_row_and_its_gap(shelf, tmp_path):
    code = (
        "from lambdak.optimize.frontier import Clock\nnote = Clock.note\n"
        "def once(self, *where):\n    note(self, *where)\n    os.kill(os.getpid(), signal.SIGINT)\nClock.note = once"
    )
    args = ["--free", "income,age", "--set", "town=007", "--model", shelf / "y.safetensors", "--gap", "1e-12", "--json"]
    stopped = process(code, "optimize", *args, cwd=tmp_path)
    assert stopped.returncode == 0, stopped.stderr
    found = json.loads(stopped.stdout)
    assert found["status"] == "interrupted"
    assert found["bound"] <= found["value"]
    assert "the row is the best one so far" in stopped.stderr
