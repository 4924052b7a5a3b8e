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
