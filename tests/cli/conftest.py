"""Files that the tests of all commands share."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from cli_cases import FAST, done, only, table


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    """A folder with the same table in three formats, and models of each kind."""
    folder = tmp_path_factory.mktemp("shelf")
    data = table()
    pa.csv.write_csv(data, folder / "rows.csv")
    pa.parquet.write_table(data, folder / "rows.parquet")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data.to_pylist()))
    for target, kind in {"y": "regression", "grade": "classification", "steps": "ordinal", "late": "auto"}.items():
        args = ["-t", target, "--task", kind, "--model", folder / f"{target}.safetensors"]
        done(["fit", folder / "rows.csv", *args, *only(target), *FAST])
    args = ["-t", "y", "--quantiles", "0.1,0.5,0.9", "--model", folder / "quantiles.safetensors"]
    done(["fit", folder / "rows.csv", *args, *only("y"), *FAST])
    return folder
