"""``lambdak explain``: explanations are those of the library."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet
from cli_cases import done, refused, table

import lambdak


def test_explain_is_the_explanation_of_the_library(shelf, tmp_path):
    model, X = lambdak.load(shelf / "y.safetensors"), table().select(["income", "age", "town"])
    args = ["explain", shelf / "rows.parquet", "--model", shelf / "y.safetensors"]
    for option, frame in (([], model.explain_global(X)), (["--local"], model.explain_local(X))):
        done([*args, *option, "--out", tmp_path / "e.parquet"])
        expected = frame.to_frame().to_pydict()
        found = pa.parquet.read_table(tmp_path / "e.parquet").to_pydict()
        assert {name: list(map(str, cells)) for name, cells in found.items()} == {
            name: list(map(str, cells)) for name, cells in expected.items()
        }
    printed = done(["explain", "--model", shelf / "y.safetensors"]).stdout
    assert "proven: no change of the column moves a raw score by more" in " ".join(printed.split())
    assert all(name in printed for name in ("income", "age", "town"))


def test_one_row_is_explained_in_words_and_drawn(shelf, tmp_path):
    model, X = lambdak.load(shelf / "grade.safetensors"), table().select(["income", "age", "town"])
    args = ["explain", shelf / "rows.csv", "--model", shelf / "grade.safetensors", "--row", "7"]
    words = model.explain_local(X).why(7)
    assert done([*args, "--plot", tmp_path / "w.png"]).stdout.strip() == words
    assert (tmp_path / "w.png").read_bytes().startswith(b"\x89PNG")
    answer = json.loads(done([*args, "--json"]).stdout)
    assert answer["why"] == words
    assert {each["row"] for each in answer["explanation"]} == {7}
    assert "--row must be in [0, 120)" in refused([*args[:-1], "120"])


def test_the_output_to_explain_can_be_chosen(shelf):
    args = ["explain", shelf / "rows.csv", "--model", shelf / "quantiles.safetensors", "--row", "0", "--json"]
    found = [json.loads(done([*args, "--output", q]).stdout)["explanation"][0]["output"] for q in ("0.1", "0.5", "0.9")]
    assert found == ["quantile 0.1", "quantile 0.5", "quantile 0.9"]
    by_position = [json.loads(done([*args, "--output", i]).stdout)["explanation"][0]["output"] for i in range(3)]
    assert by_position == found
