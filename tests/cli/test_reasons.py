"""``lambdak reasons``: the reasons of the library, in words, as a table and as JSON."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.csv
import pytest
from cli_cases import done, refused, table

import lambdak

COLUMNS = ["income", "age", "town"]


@pytest.fixture
def args(shelf):
    return ["reasons", shelf / "rows.csv", "--model", shelf / "y.safetensors"]


def test_the_reasons_are_those_of_the_library(shelf, args, tmp_path):
    model, X = lambdak.load(shelf / "y.safetensors"), table().select(COLUMNS)
    target = float(sorted(model.predict(X))[-5])
    request = ["--target", f">={target}", "--exclude", "town", "--immutable", "age", "--baseline", shelf / "rows.csv"]
    options = [*request, "--text", "income=[R1] Income is too low"]
    found = model.reasons(
        X,
        target=(">=", target),
        exclude=["town"],
        immutable=["age"],
        baseline=X,
        texts={"income": ("R1", "Income is too low")},
        undirected="name",
    )
    said = "\n".join(found.why(row) for row in range(len(found)))
    assert done([*args, *options]).stdout == f"{said}\n"
    assert "[R1] Income is too low (income: " in said
    (own,) = json.loads(done([*args, *options, "--row", 7, "--json"]).stdout)["decisions"]
    assert own["row"] == 7
    assert own["why"] == found.why(7)
    done([*args, *options, "--out", tmp_path / "reasons.csv"])
    written = pa.csv.read_csv(tmp_path / "reasons.csv")
    assert written["column"].to_pylist() == found.to_frame()["column"].to_pylist()
    assert set(written["column"].to_pylist()) <= {"income", "age"}


def test_classes_and_probabilities_are_approvals(shelf):
    said = done(["reasons", shelf / "rows.csv", "--model", shelf / "grade.safetensors", "--target", "good"]).stdout
    assert "declined. The principal reasons:" in said
    assert "approved, so there are no reasons." in said


@pytest.mark.parametrize(("options", "code", "message"), [
    (["--target", ">=2", "--exclude", "incom"], 1, "the model has no column 'incom', which --exclude names"),
    (["--target", ">=2", "--text", "nothing"], 2, "must be COLUMN=TEXT"),
    (["--target", ">=2", "--row", 10**6], 1, "--row must be in [0, "),
    (["--target", "2"], 1, "target must be '>=' or '<='"),
])  # fmt: skip
def test_what_does_not_fit_is_refused_with_the_way_out(args, options, code, message):
    assert message in " ".join(refused([*args, *options], code).split())


def test_columns_without_a_direction_are_told_and_can_be_left_out(shelf, args):
    target = float(sorted(lambdak.load(shelf / "y.safetensors").predict(table().select(COLUMNS)))[-5])
    told = done([*args, "--target", f">={target}"])
    assert "without a promised direction" in told.stderr
    assert "--undirected exclude" in told.stderr
    silent = done([*args, "--target", f">={target}", "--undirected", "exclude"])
    assert "direction" not in silent.stderr
    assert "age is too" not in silent.stdout
