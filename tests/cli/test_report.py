"""``lambdak report``: one page."""

from __future__ import annotations

import json

from cli_cases import done, refused


def test_report_is_one_page_with_metrics_if_there_is_a_target(shelf, tmp_path):
    out = tmp_path / "r.html"
    args = ["report", shelf / "rows.csv", "--model", shelf / "y.safetensors", "--out", out]
    answer = json.loads(done([*args, "--target", "y", "--json"]).stdout)
    assert answer["bytes"] == out.stat().st_size
    assert out.read_text().lstrip().lower().startswith("<!doctype html>")
    assert "open it in a browser" in done(args).stdout
    assert "which --target names" in refused([*args, "--target", "z"])


def test_accuracy_is_measured_on_the_test_table_if_there_is_one(shelf, tmp_path):
    out = tmp_path / "r.html"
    args = ["report", "--model", shelf / "y.safetensors", "--out", out, "--test", shelf / "rows.csv"]
    done([*args, "--target", "y"])
    assert "How well it predicts" in out.read_text()
    assert "Not measured" not in out.read_text()
    assert "needs the --target" in refused(args, code=2)
