"""An export is chosen by the ending of a file, or by name."""

from __future__ import annotations

import json
import re

import pytest
from cli_cases import done, refused
from fitted_models import SMALL, fitted, rows_of
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lambdak import SpectralRegressor, save
from lambdak.export import export_model
from lambdak.export.formula import Formula
from lambdak.export.targets import FACTOR_TABLES, TARGETS, ExportTarget
from lambdak.governance.tables.table_set import TableSet

BEGINS = {
    "model.c": r"/\* SpectralRegressor",
    "model.mjs": r"//",
    "model.js": r"//",
    "model.sql": r"(--|/\*)",
    "model.json": r"\{",
}


@pytest.mark.parametrize("name", BEGINS)
def test_the_ending_says_what_is_written(name, tmp_path):
    fitted("additive").export(tmp_path / name)
    assert re.match(BEGINS[name], (tmp_path / name).read_text().lstrip())


def test_a_name_decides_where_the_ending_does_not(tmp_path):
    fitted("additive").export(tmp_path / "score.txt", to="sql", dialect="sqlite", table="claims")
    assert '"claims"' in (tmp_path / "score.txt").read_text()


def test_a_saved_model_is_exported_without_loading_it_first(tmp_path):
    fitted("additive").save(tmp_path / "model.safetensors")
    export_model(tmp_path / "model.safetensors", tmp_path / "saved.sql")
    fitted("additive").export(tmp_path / "fitted.sql")
    assert (tmp_path / "saved.sql").read_text() == (tmp_path / "fitted.sql").read_text()


def test_a_saved_model_is_not_replaced_by_its_export(tmp_path):
    model = tmp_path / "model.safetensors"
    fitted("additive").save(model)
    before = model.read_bytes()
    (tmp_path / "link").symlink_to(model)
    for path in (model, tmp_path / "." / "model.safetensors", tmp_path / "link"):
        with pytest.raises(ValueError, match="path must not be the model itself, which would be lost; got '"):
            export_model(model, path, to="sql")
    assert model.read_bytes() == before


def test_a_saved_pipeline_is_refused_with_the_way_out(tmp_path):
    numbers = rows_of("straight")
    pipeline = make_pipeline(StandardScaler(), SpectralRegressor(**SMALL)).fit(numbers, numbers["income"])
    save(pipeline, tmp_path / "pipeline.skops")
    with pytest.raises(TypeError, match=r"got that of a Pipeline, '.*': load it .* and export its last step"):
        export_model(tmp_path / "pipeline.skops", tmp_path / "model.c")


def test_tables_are_fitted_to_rows(tmp_path):
    model, X = fitted("poisson"), rows_of("poisson")
    model.export(tmp_path / "tables.json", X=X)
    assert len(json.loads((tmp_path / "tables.json").read_text())["tables"]) == X.shape[1]


@pytest.mark.parametrize(
    ("path", "options", "what"),
    [
        (
            "model.txt",
            {},
            r"path must end with one of \.c, \.java, \.mjs, \.js, \.onnx, \.R, \.r, \.sql, \.xlsx, \.csv, \.json, or",
        ),
        (
            "model.c",
            {"to": "rust"},
            r"to must be one of \['c', 'java', 'js', 'onnx', 'r', 'sql', 'table'\]; got 'rust'",
        ),
        ("model.c", {"dialect": "sqlite"}, "an export to c takes explain, name; got 'dialect'"),
        ("model.txt", {"to": "table"}, r"path must end with one of \.xlsx, \.csv, \.json for tables"),
    ],
    ids=["ending", "name", "option", "ending of tables"],
)
def test_what_is_not_known_is_refused_with_what_is(path, options, what, tmp_path):
    with pytest.raises((TypeError, ValueError), match=what):
        fitted("additive").export(tmp_path / path, **options)
    assert not (tmp_path / path).exists()


def test_every_target_has_an_ending_of_its_own():
    endings = [ending for target in TARGETS.values() for ending in target.endings]
    assert len(set(endings)) == len(endings)


# ---- a target of another language ------------------------------------------------------------------------------------


def to_words(model, path, *, explain=False):
    """A model in words, written from its formula."""
    formula = Formula.of(model)
    columns = [f"{column.name}: {column.rule.code}" for column in formula.columns]
    path.write_text("\n".join([*columns, *(["explained"] if explain else []), *formula.result_names]))


@pytest.fixture
def words(monkeypatch):
    """The registry with one line more."""
    monkeypatch.setitem(TARGETS, "words", ExportTarget(f"{__name__}:to_words", (".words",), "read it aloud"))


def test_a_toy_target_is_one_function_and_one_line(words, tmp_path):
    model = fitted("additive")
    model.export(tmp_path / "model.words")
    export_model(model, tmp_path / "explained.txt", to="words", explain=True)
    text = (tmp_path / "model.words").read_text()
    assert text.splitlines()[0] == f"{model.model_.encoder.columns[0].name}: curve"
    assert text.splitlines()[-1] == "prediction"
    assert "explained" in (tmp_path / "explained.txt").read_text()
    with pytest.raises(TypeError, match="an export to words takes explain; got 'dialect'"):
        export_model(model, tmp_path / "model.words", dialect="sqlite")
    with pytest.raises(ValueError, match=r"path must end with one of \.c, .*, \.words, or to must say"):
        model.export(tmp_path / "model.poem")


def test_the_command_line_has_a_toy_target_without_a_change(words, tmp_path):
    fitted("additive").save(tmp_path / "model.safetensors")
    shown = done(["export", "--model", tmp_path / "model.safetensors", "--to", "words", "--explain"]).stdout
    assert "read it aloud" in shown
    assert "explained" in (tmp_path / "model.words").read_text()
    assert "is for --to c, js, r; got --to words" in refused(
        ["export", "--model", tmp_path / "model.safetensors", "--to", "words", "--name", "price"], code=2
    )


def test_a_toy_file_of_factor_tables_is_one_method_and_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(TableSet, "to_bullets", lambda self, path: path.write_text(f"* {self.base}"), raising=False)
    monkeypatch.setitem(FACTOR_TABLES, ".bullets", "to_bullets")
    fitted("additive").export(tmp_path / "tables.bullets", to="table")
    assert (tmp_path / "tables.bullets").read_text().startswith("* ")
