"""Dates and stray text in files, as the commands read them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
from cli_cases import FAST, done, read

import lambdak


def test_dates_in_a_file_are_expanded_and_so_they_are_wherever_the_model_is_used(tmp_path):
    rows, path = tmp_path / "rows.csv", tmp_path / "m.safetensors"
    frame = pd.DataFrame({"sold": pd.date_range("2024-01-01", periods=80), "size": np.arange(80) % 7})
    frame.assign(price=np.arange(80) % 11).to_csv(rows, index=False)
    result = done(["fit", rows, "-t", "price", "--model", path, "--json", *FAST])
    assert "column 'sold' holds dates: expanded into 'sold_year', 'sold_month'" in result.stderr
    model = lambdak.load(path)
    assert model.feature_names_in_.tolist() == ["sold_year", "sold_month", "sold_weekday", "sold_days", "size"]
    wanted = model.predict(lambdak.DateExpander().fit_transform(frame))
    for name in ("rows.csv", "rows.parquet"):
        frame.to_csv(rows, index=False) if name == "rows.csv" else frame.to_parquet(tmp_path / name)
        found = read(done(["predict", tmp_path / name, "--model", path]).stdout)["prediction"].to_numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert json.loads(done(["explain", rows, "--model", path, "--row", "3", "--json"]).stdout)


def test_identifiers_are_named_with_the_option_that_drops_them(tmp_path):
    rows, path = tmp_path / "rows.csv", tmp_path / "m.safetensors"
    rows.write_text("\n".join(["policy,size,y", *(f"{i},{i % 5},{i % 7}" for i in range(80))]))
    said = done(["fit", rows, "-t", "y", "--model", path, *FAST]).stderr
    assert "column 'policy' looks like an identifier (its numbers count the rows): --drop policy ignores it" in said
    assert "identifier" not in done(["fit", rows, "-t", "y", "--drop", "policy", "-m", path, *FAST]).stderr


def test_a_column_that_one_cell_turns_into_text_is_named_with_its_row_in_the_file(tmp_path):
    rows, path = tmp_path / "rows.csv", tmp_path / "m.safetensors"
    cells = ["n/a?" if i == 61 else str(i % 23) for i in range(80)]
    rows.write_text("\n".join(["power,size,y", *(f"{cell},{i % 5},{i % 7}" for i, cell in enumerate(cells))]))
    said = done(["fit", rows, "-t", "y", "--model", path, *FAST]).stderr
    assert said.count("is read as text because of") == 1
    assert "column 'power' is read as text because of 'n/a?' in row 61, although 79 of 80 cells are numbers" in said
    assert "--categorical power says that it is text" in said
    assert "read as text" not in done(["fit", rows, "-t", "y", "--categorical", "power", "-m", path, *FAST]).stderr
