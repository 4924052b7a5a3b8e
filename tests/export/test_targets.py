"""An export is chosen by the ending of a file, or by name."""

from __future__ import annotations

import json
import re

import pytest
from fitted_models import SMALL, fitted, rows_of
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lambdak import SpectralRegressor, save
from lambdak.export import export_model
from lambdak.export.targets import TARGETS

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
        ("model.txt", {}, r"path must end with one of \.c, \.mjs, \.js, \.onnx, \.sql, \.xlsx, \.csv, \.json, or to"),
        ("model.c", {"to": "rust"}, r"to must be one of \['c', 'js', 'onnx', 'sql', 'table'\]; got 'rust'"),
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
