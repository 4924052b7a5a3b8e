"""Which task a target calls for."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from cli_cases import FAST, done

import lambdak


@pytest.mark.parametrize(
    ("target", "task", "why"), [("y", "regression", "numbers"), ("grade", "classification", "text"),
                                ("late", "classification", "booleans")],
)  # fmt: skip
def test_auto_takes_text_and_booleans_for_classes_and_says_why(shelf, tmp_path, target, task, why):
    args = ["fit", shelf / "rows.parquet", "-t", target, "--model", tmp_path / "m.safetensors", "--json", *FAST]
    answer = json.loads(done(args).stdout)
    assert answer["task"] == task
    assert why in answer["why"]
    assert set(answer["metrics"]) >= ({"R²"} if target == "y" else {"accuracy", "ROC AUC"})


def test_two_numbers_are_a_regression_with_a_hint(shelf, tmp_path):
    pa.csv.write_csv(pa.table({"x": np.arange(30), "y": np.arange(30) % 2}), tmp_path / "two.csv")
    result = done(["fit", tmp_path / "two.csv", "-t", "y", "--model", tmp_path / "m.safetensors", *FAST])
    assert "--task classification if they are classes" in result.stderr
    assert "no test rows: 6 of 30" in result.stderr
    assert "to test on" not in result.stdout


def test_each_task_is_fitted_by_its_estimator(shelf):
    names = {"y": "Regressor", "grade": "Classifier", "steps": "OrdinalClassifier", "quantiles": "QuantileRegressor"}
    for stem, name in names.items():
        assert type(lambdak.load(shelf / f"{stem}.safetensors")).__name__ == f"Spectral{name}"
