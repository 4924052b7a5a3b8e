"""Targets, weights and offsets as columns of a table."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
from cli_cases import FAST, done, read, refused


def test_rows_without_a_target_are_ignored_if_requested(tmp_path):
    lines = ["x,y", *(f"{i},{i}" for i in range(20)), "20,", "21,NA"]
    (tmp_path / "gaps.csv").write_text("\n".join(lines))
    args = ["fit", tmp_path / "gaps.csv", "-t", "y", "--model", tmp_path / "m.safetensors", *FAST]
    assert "missing in 2 of 22 rows" in refused(args)
    result = done([*args, "--drop-missing", "--json"])
    assert json.loads(result.stdout)["rows"] == 20


def test_an_offset_is_added_before_the_link(tmp_path):
    rng = np.random.default_rng(0)
    data = pa.table({"x": rng.uniform(size=80), "years": rng.uniform(0, 2, 80), "y": rng.poisson(3, 80)})
    pa.csv.write_csv(data, tmp_path / "rows.csv")
    path = tmp_path / "m.safetensors"
    done(["fit", tmp_path / "rows.csv", "-t", "y", "--loss", "poisson", "--offset", "years", "--model", path, *FAST])
    with_offset = read(done(["predict", tmp_path / "rows.csv", "--offset", "years", "--model", path]).stdout)
    without = read(done(["predict", tmp_path / "rows.csv", "--model", path]).stdout)
    ratio = with_offset["prediction"].to_numpy() / without["prediction"].to_numpy()
    np.testing.assert_allclose(ratio, np.exp(data["years"].to_numpy()), rtol=1e-5)


def test_an_exposure_is_a_column_of_its_own_and_its_bad_rows_are_those_of_the_file(tmp_path):
    rows, path = tmp_path / "rows.csv", tmp_path / "m.safetensors"
    lines = [f"{i % 7},{1 + i % 3},{(i * 7) % 5}" for i in range(80)]
    rows.write_text("\n".join(["x,years,y", *lines]))
    done(["fit", rows, "-t", "y", "--loss", "poisson", "--exposure", "years", "--model", path, *FAST])
    own, plain = (
        read(done(["predict", rows, *more, "--model", path]).stdout)["prediction"].to_numpy()
        for more in (["--exposure", "years"], [])
    )
    np.testing.assert_allclose(own / plain, [1 + i % 3 for i in range(80)], rtol=1e-6)
    assert "needs a loss with a log link" in refused(["fit", rows, "-t", "y", "--exposure", "years", "-m", path, *FAST])
    rows.write_text("\n".join(["x,years,y", *lines[:70], "1,0,1", *lines[71:]]))
    said = refused(["fit", rows, "-t", "y", "--loss", "poisson", "--exposure", "years", "--model", path, *FAST])
    assert "exposure must be positive and finite; got 0.0 at row 70" in said


def test_two_classes_have_an_offset(tmp_path):
    rows, path = tmp_path / "rows.csv", tmp_path / "m.safetensors"
    rows.write_text("\n".join(["x,shift,y", *(f"{i % 7},{i % 3},{'ab'[i * 7 % 5 > 2]}" for i in range(80))]))
    done(["fit", rows, "-t", "y", "--offset", "shift", "--model", path, *FAST])
    own, plain = (
        read(done(["predict", rows, *more, "--model", path]).stdout)["p_b"].to_numpy()
        for more in (["--offset", "shift"], [])
    )
    moved = np.log(own / (1 - own)) - np.log(plain / (1 - plain))
    np.testing.assert_allclose(moved, [i % 3 for i in range(80)], atol=1e-4)
