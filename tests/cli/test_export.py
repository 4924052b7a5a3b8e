"""``lambdak export``: one file or folder, and options that belong to a target."""

from __future__ import annotations

import json

import pytest
from cli_cases import done, refused
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lambdak import SpectralRegressor, save
from lambdak.cli import export
from lambdak.export.sql.dialects import DIALECTS


@pytest.mark.parametrize(("to", "ending"), [("c", ".c"), ("js", ".mjs"), ("onnx", ".onnx"), ("sql", ".sql")])
def test_a_model_is_exported_beside_itself(to, ending, shelf, tmp_path):
    copy = tmp_path / "own.safetensors"
    copy.write_bytes((shelf / "y.safetensors").read_bytes())
    answer = json.loads(done(["export", "--model", copy, "--to", to, "--json"]).stdout)
    out = tmp_path / f"own{ending}"
    assert answer == {"to": to, "out": str(out), "bytes": out.stat().st_size}


def test_the_name_of_the_file_says_what_is_meant(shelf, tmp_path):
    done(["export", "--model", shelf / "y.safetensors", "--out", tmp_path / "score.sql", "--dialect", "sqlite"])
    assert "SELECT" in (tmp_path / "score.sql").read_text()


def test_a_folder_becomes_a_package(shelf, tmp_path):
    args = ["--to", "js", "--out", tmp_path / "scores", "--name", "my-scores"]
    said = done(["export", "--model", shelf / "y.safetensors", *args]).stdout
    assert json.loads((tmp_path / "scores" / "package.json").read_text())["name"] == "my-scores"
    assert "import it" in said


def test_tables_are_fitted_to_a_table_and_its_target(shelf, tmp_path):
    out = tmp_path / "tables.json"
    args = ["export", shelf / "rows.csv", "--model", shelf / "y.safetensors", "--target", "y", "--out", out]
    assert "proven deviation" in done(args).stdout
    assert json.loads(out.read_text())["tables"]


def test_a_model_in_place_of_a_table_is_refused_with_the_way_out(shelf):
    model = shelf / "y.safetensors"
    assert "a model is named with --model" in refused(["fit", model, "--target", "y"], code=2)
    assert "Missing argument 'TABLE'" in refused(["predict", model], code=2)


def test_the_model_is_not_replaced_by_its_export(shelf, tmp_path):
    copy = tmp_path / "own.safetensors"
    copy.write_bytes((shelf / "y.safetensors").read_bytes())
    assert "must not be the model itself" in refused(["export", "--model", copy, "--to", "sql", "--out", copy], 2)
    assert copy.read_bytes() == (shelf / "y.safetensors").read_bytes()


def test_a_pipeline_is_refused_with_the_way_out(tmp_path):
    rows = [[float(i), float(i % 3)] for i in range(60)]
    model = SpectralRegressor(effort="fast", max_iter=1, dim=1, random_state=0)
    save(make_pipeline(StandardScaler(), model).fit(rows, range(60)), tmp_path / "pipeline.skops")
    said = refused(["export", "--model", tmp_path / "pipeline.skops", "--to", "c"], 1)
    assert "holds a Pipeline, and commands take a model alone" in said


def test_a_query_returns_the_key_and_adds_the_offset(shelf, tmp_path):
    args = ["--to", "sql", "--key", "policy", "--key", "a,b", "--offset", "log years", "--out", tmp_path / "score.sql"]
    done(["export", "--model", shelf / "y.safetensors", *args])
    text = (tmp_path / "score.sql").read_text()
    assert all(f'lambdak_table."{name}"' in text for name in ("policy", "a,b", "log years"))
    assert 'AS "policy"' in text


def test_an_onnx_file_can_have_an_input_for_offsets(shelf, tmp_path):
    onnx = pytest.importorskip("onnx")
    done(["export", "--model", shelf / "y.safetensors", "--offset-input", "--out", tmp_path / "model.onnx"])
    assert onnx.load(tmp_path / "model.onnx").graph.input[-1].name == "offset"


def test_every_dialect_can_be_named():
    assert {own.value for own in export.Database} == set(DIALECTS)


@pytest.mark.parametrize(
    ("args", "what", "code"),
    [
        ([], "one of c, java, js, onnx, r, sql, table is needed", 2),
        (["price.c"], "did you mean --out price.c?", 2),
        (["--to", "c", "--dialect", "sqlite"], "is for --to sql; got --to c", 2),
        (["--to", "onnx", "--offset", "years"], "is for --to sql; got --to onnx", 2),
        (["--to", "sql", "--dialect", "oracle"], "'oracle' is not one of", 2),
        (["--to", "onnx", "--dtype", "float16"], "'float16' is not one of", 2),
        (["--to", "table", "--target", "y"], "needs a TABLE", 2),
        (["--to", "c", "--out", "no/such/folder/a.c"], "must be in a folder that exists", 1),
    ],
    ids=[
        "no target",
        "file as table",
        "foreign option",
        "offset of onnx",
        "unknown dialect",
        "unknown dtype",
        "no table",
        "no folder",
    ],
)
def test_what_does_not_fit_together_is_refused(args, what, code, shelf):
    assert what in refused(["export", "--model", shelf / "y.safetensors", *args], code)


@pytest.mark.parametrize(("to", "endings"), [("c", ".c"), ("js", ".mjs or .js"), ("table", ".xlsx or .csv or .json")])
def test_a_name_that_does_not_suit_is_refused_as_out(shelf, tmp_path, to, endings):
    said = refused(["export", "--model", shelf / "y.safetensors", "--to", to, "--out", tmp_path / "a.foo"], 2)
    assert "--out" in said
    assert f"must end in {endings} for --to {to}" in " ".join(said.replace("│", " ").split())
