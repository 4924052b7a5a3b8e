"""``lambdak dossier``: one document, and a card beside it."""

from __future__ import annotations

import json

import pytest
from cli_cases import done, refused
from fitted_models import NUMBERS, Y, fitted

from lambdak.explain import plots


@pytest.fixture(autouse=True)
def _without_pictures(monkeypatch):
    from dossier_cases import tiny_png

    monkeypatch.setattr(plots, "png", tiny_png)


@pytest.mark.slow
def test_dossier_and_card_of_a_table_and_a_model(shelf, tmp_path):
    out, card = tmp_path / "d.html", tmp_path / "README.md"
    args = ["dossier", shelf / "rows.csv", "--model", shelf / "y.safetensors", "--out", out, "--target", "y"]
    answer = json.loads(done([*args, "--card", card, "--say", "owner=A = B", "--json"]).stdout)
    assert answer["bytes"] == out.stat().st_size
    text = out.read_text()
    assert "A = B" in text
    assert "y.safetensors" in text
    assert "5. Performance" in text
    assert card.read_text().startswith("---\nlibrary_name")


@pytest.mark.slow
@pytest.mark.filterwarnings("always:These rows look like the training rows")
def test_exposure_and_training_rows_come_from_columns_and_files(shelf, tmp_path):
    out = tmp_path / "d.md"
    args = ["dossier", shelf / "rows.csv", "--model", shelf / "y.safetensors", "--out", out, "--target", "y"]
    result = done([*args, "--exposure", "weight", "--train", shelf / "rows.parquet", "--seeds", "2"])
    assert "stability: fit 2 of 2" in result.stderr
    assert "note: These rows look like the training rows" in result.stderr
    assert "120 of the 120 rows equal a training row" in out.read_text()


@pytest.mark.slow
@pytest.mark.filterwarnings("always:These rows look like the training rows")
def test_rows_of_training_are_noted_once_for_dossier_and_card(tmp_path):
    fitted("straight").save(tmp_path / "m.safetensors")
    NUMBERS.assign(y=Y).to_csv(tmp_path / "rows.csv", index=False)
    args = ["--out", tmp_path / "d.md", "--target", "y", "--card", tmp_path / "c.md"]
    result = done(["dossier", tmp_path / "rows.csv", "--model", tmp_path / "m.safetensors", *args])
    assert result.stderr.count("note: These rows look like the training rows") == 1


def test_a_dossier_without_a_table_says_what_is_not_known(shelf, tmp_path):
    done(["dossier", "--model", shelf / "y.safetensors", "--out", tmp_path / "d.html"])
    assert "No data were given" in (tmp_path / "d.html").read_text()


def test_what_is_missing_is_named(shelf, tmp_path):
    args = ["dossier", "--model", shelf / "y.safetensors", "--out", tmp_path / "d.html"]
    assert "needs a TABLE that has this column" in refused([*args, "--target", "y"], 2)
    assert "needs a TABLE and its --target" in refused([*args, "--exposure", "weight"], 2)
    assert "'x' must be NAME=TEXT" in refused([*args, "--say", "x"], 2)
    assert "path must end in .html" in refused([*args[:-1], tmp_path / "d.pdf"])
    assert not list(tmp_path.iterdir())
