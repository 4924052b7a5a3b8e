"""Tables as files: all formats, separators and encodings read the same."""

from __future__ import annotations

import numpy as np
import pytest
from cli_cases import done, interpreter, read


@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl"])
def test_all_formats_give_the_same_predictions(shelf, name):
    model = ["--model", shelf / "y.safetensors"]
    expected = done(["predict", shelf / "rows.csv", *model]).stdout
    assert done(["predict", shelf / name, *model]).stdout == expected
    assert len(expected.splitlines()) == 121


def test_compressed_semicolons_tabs_and_utf16_are_read_too(shelf, tmp_path):
    import gzip

    text = (shelf / "rows.csv").read_text()
    expected = done(["predict", shelf / "rows.csv", "--model", shelf / "y.safetensors"]).stdout
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "b.csv").write_text(text.replace(",", ";"))
    (tmp_path / "c.tsv").write_text(text.replace(",", "\t"))
    (tmp_path / "d.csv").write_bytes(text.encode("utf-16"))
    (tmp_path / "e.dat").write_text(text)
    for path in sorted(tmp_path.iterdir()):
        form = ["--format", "csv"] if path.suffix == ".dat" else []
        assert done(["predict", path, "--model", shelf / "y.safetensors", *form]).stdout == expected


def test_names_that_look_like_numbers_stay_names(shelf, tmp_path):
    """Rows of one town only: 007 alone would be read as the number 7, and the town as unknown."""
    lines = (shelf / "rows.csv").read_text().splitlines()
    some = [lines[0], *(line for line in lines if '"007"' in line)]
    (tmp_path / "some.csv").write_text("\n".join(some).replace('"', ""))
    few = read(done(["predict", tmp_path / "some.csv", "--keep", "id", "--model", shelf / "y.safetensors"]).stdout)
    everyone = read(done(["predict", shelf / "rows.csv", "--model", shelf / "y.safetensors"]).stdout)
    expected = everyone["prediction"].to_numpy()[few["id"].to_numpy()]
    np.testing.assert_array_equal(few["prediction"].to_numpy(), expected)


def test_missing_cells_are_empty_in_and_out(shelf, tmp_path):
    (tmp_path / "gaps.csv").write_text("id,income,age,town\n1,,30,\n,5,NA,012\n")
    args = ["predict", tmp_path / "gaps.csv", "--keep", "id,town", "--model", shelf / "y.safetensors"]
    lines = done(args).stdout.splitlines()
    assert lines[1].startswith("1,,")
    assert lines[2].startswith(",012,")


@pytest.mark.slow
def test_without_pyarrow_it_says_what_to_install(shelf):
    shown = interpreter(
        "sys.modules['pyarrow'] = None", "predict", shelf / "rows.csv", "--model", shelf / "y.safetensors"
    )
    assert shown.returncode == 1
    assert "pip install 'lambdak[tables]'" in shown.stderr
    assert "Traceback" not in shown.stderr


GONE = """
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pandas", "polars", "matplotlib"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Gone())
"""


@pytest.mark.slow
def test_pyarrow_alone_suffices(shelf):
    shown = interpreter(GONE, "predict", shelf / "rows.jsonl", "--model", shelf / "y.safetensors", "--keep", "town")
    assert shown.returncode == 0, shown.stderr
    assert len(shown.stdout.splitlines()) == 121
