"""``lambdak drift``: the numbers are those of the library."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.csv
import pytest
from cli_cases import done, refused, table

import lambdak


@pytest.fixture
def later(tmp_path):
    """A table whose ages have drifted."""
    old = table()
    path = tmp_path / "later.csv"
    pyarrow.csv.write_csv(old.set_column(2, "age", [np.arange(120) % 7 + 60]), path)
    return path


def test_drift_is_that_of_the_library(shelf, later, tmp_path):
    args = ["drift", shelf / "rows.csv", later, "--model", shelf / "y.safetensors"]
    columns = ["income", "age", "town"]
    old = table().select(columns)
    wanted = lambdak.load(shelf / "y.safetensors").drift(old, old.set_column(1, "age", [np.arange(120) % 7 + 60]))
    answer = json.loads(done([*args, "--json"]).stdout)
    assert [each["column"] for each in answer["drift"]][:2] == ["prediction", "age"]
    assert [each["psi"] for each in answer["drift"]] == pytest.approx(wanted.to_frame()["psi"].to_pylist())
    assert answer["mean_new"] == pytest.approx(wanted.mean_new)
    printed = done([*args, "--plot", tmp_path / "d.png"]).stdout
    assert "large change" in printed
    assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")


def test_the_bands_of_one_column_are_written(shelf, later, tmp_path):
    args = ["drift", shelf / "rows.csv", later, "--model", shelf / "y.safetensors", "--weight", "weight"]
    done([*args, "--column", "age", "--out", tmp_path / "age.csv"])
    found = pyarrow.csv.read_csv(tmp_path / "age.csv")
    assert sum(found["new"].to_pylist()) == pytest.approx(1)
    message = refused([*args, "--column", "ages"])
    assert "--column must be a column of the model; got 'ages'" in message
    assert "has no column 'mass', which --weight names" in refused([*args[:-1], "mass"])
    assert "must hold weights" in refused([*args[:-1], "exposure"])
