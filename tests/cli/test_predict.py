"""``lambdak predict``: predictions are those of the library.

Tests ``models`` and ``written_tables``.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import pytest
from cli_cases import done, interpreter, process, read, refused
from typer.testing import CliRunner

import lambdak
from lambdak import cli
from lambdak.cli import tables
from lambdak.cli import written_tables as written
from lambdak.cli.csv_stream import blocks


def test_predictions_are_those_of_the_library_in_every_output_format(shelf, tmp_path):
    data = pa.parquet.read_table(shelf / "rows.parquet")
    X = data.select(["income", "age", "town"])
    for stem in ("grade", "quantiles", "y", "steps"):
        model = lambdak.load(shelf / f"{stem}.safetensors")
        wanted = {"id": data["id"].to_pylist(), "town": data["town"].to_pylist()}
        wanted["prediction"] = model.predict(X).tolist()
        if stem == "quantiles":
            names = ["q_0.1", "q_0.5", "q_0.9"]
            wanted |= dict(zip(names, model.predict_quantiles(X).T.tolist(), strict=True))
        elif stem != "y":
            names = [f"p_{each}" for each in model.classes_]
            wanted |= dict(zip(names, model.predict_proba(X).T.tolist(), strict=True))
        for suffix in (".csv", ".parquet", ".jsonl"):
            out = tmp_path / f"out{suffix}"
            args = ["predict", shelf / "rows.parquet", "--model", shelf / f"{stem}.safetensors", "--keep", "id,town"]
            done([*args, "--out", out])
            text = pa.csv.ConvertOptions(column_types={"town": pa.string()})
            found = {
                ".csv": lambda: pa.csv.read_csv(out, convert_options=text),  # noqa: B023
                ".parquet": lambda: pa.parquet.read_table(out),  # noqa: B023
                ".jsonl": lambda: pa.json.read_json(out),  # noqa: B023
            }[suffix]()
            assert found.to_pydict() == wanted


def test_probabilities_and_quantiles_can_be_left_out(shelf):
    for stem, option in (("grade", "--no-proba"), ("quantiles", "--no-quantiles")):
        model = ["--model", shelf / f"{stem}.safetensors"]
        assert read(done(["predict", shelf / "rows.csv", option, *model]).stdout).column_names == ["prediction"]


def test_json_of_predict_holds_the_rows_or_says_where_they_are(shelf, tmp_path):
    args = ["predict", shelf / "rows.csv", "--model", shelf / "grade.safetensors", "--json"]
    answer = json.loads(done(args).stdout)
    assert len(answer["predictions"]) == answer["rows"] == 120
    assert set(answer["predictions"][0]) == {"prediction", "p_bad", "p_good"}
    out = tmp_path / "p.csv"
    assert json.loads(done([*args, "--out", out]).stdout)["out"] == str(out)
    assert out.exists()


def test_a_table_without_a_column_of_the_model_is_refused(shelf, tmp_path):
    (tmp_path / "less.csv").write_text("incomes,age\n1,2\n")
    message = refused(["predict", tmp_path / "less.csv", "--model", shelf / "y.safetensors"])
    assert "lacks 2 of the 3 columns that the model was fitted with: 'income', 'town'" in message
    assert "Did you mean 'incomes'?" in message


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of few rows, so that a small file has many."""
    monkeypatch.setattr("lambdak.cli.csv_stream.blocks", partial(blocks, size=200))
    monkeypatch.setattr("lambdak.cli.table_streams.ROWS", 7)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("source", ["rows.csv", "rows.parquet", "rows.jsonl"])
@pytest.mark.parametrize("stem", ["y", "grade", "quantiles"])
def test_predictions_part_by_part_are_those_of_the_whole_table(shelf, tmp_path, source, stem):
    data = pa.parquet.read_table(shelf / "rows.parquet")
    wanted = lambdak.load(shelf / f"{stem}.safetensors").predict(data.select(["income", "age", "town"])).tolist()
    args = ["predict", shelf / source, "--model", shelf / f"{stem}.safetensors", "--keep", "id,age,income"]
    for suffix in (".csv", ".parquet", ".jsonl", ".csv.gz"):
        out = tmp_path / f"out{suffix}"
        done([*args, "--out", out])
        found = tables.read(str(out))
        assert found["prediction"].to_pylist() == wanted
        assert found.select(["id", "age", "income"]).equals(data.select(["id", "age", "income"]))
    assert done(args).stdout.encode() == (tmp_path / "out.csv").read_bytes()
    assert len(json.loads(done([*args, "--json"]).stdout)["predictions"]) == 120


@pytest.mark.usefixtures("small_parts")
def test_standard_input_is_predicted_part_by_part(shelf):
    args = ["predict", shelf / "rows.csv", "--model", shelf / "y.safetensors"]
    typed = CliRunner().invoke(cli.app, ["predict", "-", *map(str, args[2:])], input=(shelf / "rows.csv").read_bytes())
    assert typed.stdout == done(args).stdout


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(("column", "cell", "words"), [
    ("income", float("inf"), "column 'income' contains infinity or a value too large; got inf in row 97: replace it"),
    ("exposure", None, "must hold a number in every row; got None in row 97"),
])  # fmt: skip
def test_a_bad_cell_is_named_with_its_row_and_no_file_is_left(shelf, tmp_path, suffix, column, cell, words):
    data = pa.parquet.read_table(shelf / "rows.parquet")
    cells = data[column].to_pylist()
    cells[97] = cell
    data = data.set_column(data.column_names.index(column), column, pa.array(cells))
    path, folder = tmp_path / f"bad{suffix}", tmp_path / "out"
    folder.mkdir()
    (folder / "old.csv").write_text("as it was")
    written.write(data, str(path))
    for out in ("new.csv", "new.parquet", "old.csv"):
        args = ["predict", path, "--offset", "exposure", "--model", shelf / "y.safetensors", "--out", folder / out]
        assert words in refused(args)
    assert refused(args[:-2])
    assert [each.name for each in folder.iterdir()] == ["old.csv"]
    assert (folder / "old.csv").read_text() == "as it was"


@pytest.mark.usefixtures("small_parts")
def test_a_column_that_turns_to_text_late_is_copied_as_text_but_refused_as_a_number(shelf, tmp_path):
    lines = (shelf / "rows.csv").read_text().splitlines()
    path = tmp_path / "late.csv"
    path.write_text("\n".join([*lines, lines[-1].replace(lines[-1].split(",")[0], "last", 1)]))
    args = ["predict", path, "--model", shelf / "y.safetensors", "--keep", "id", "--out", tmp_path / "out.parquet"]
    done(args)
    assert tables.read(str(tmp_path / "out.parquet"))["id"].to_pylist() == [*map(str, range(120)), "last"]
    cells = lines[-1].split(",")
    path.write_text("\n".join([*lines, ",".join([cells[0], "much", *cells[2:]])]))
    assert "column 'income'" in (message := refused(args))
    assert "must hold numbers; got 'much' in row 120: convert it to numbers, or fit with the column in --cat" in message


MEASURED = """
import atexit
def show():
    with open("/proc/self/status") as status:
        print(*[line for line in status if "VmHWM" in line], file=sys.stderr)
atexit.register(show)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc of Linux")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_memory_does_not_grow_with_the_rows(shelf, tmp_path, suffix):
    """Two million rows would be more than 70 MB as a table alone, and several times that as design rows."""
    data = pa.parquet.read_table(shelf / "rows.parquet").select(["income", "age", "town"])
    peaks = []
    for rows in (300_000, 2_000_000):
        path, out = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
        written.write(pa.concat_tables([data] * (rows // 120)), str(path))
        shown = interpreter(MEASURED, "predict", path, "--model", shelf / "y.safetensors", "--out", out)
        assert shown.returncode == 0, shown.stderr
        peaks.append(int(re.search(r"VmHWM:\s+(\d+) kB", shown.stderr)[1]) / 1024)
    assert peaks[1] < peaks[0] + 60


@pytest.mark.slow
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_an_interruption_half_way_ends_all_threads_and_leaves_no_file(shelf, tmp_path, number):
    """After the first of many parts is written."""
    code = f"""
from functools import partial
from lambdak.cli import csv_stream, table_streams, written_tables
csv_stream.blocks, table_streams.ROWS = partial(csv_stream.blocks, size=200), 7
write = written_tables._CsvWriter.write
def interrupted(self, part):
    write(self, part)
    os.kill(os.getpid(), signal.{number})
written_tables._CsvWriter.write = interrupted
"""
    out = tmp_path / "out.csv"
    shown = process(code, "predict", shelf / "rows.csv", "--model", shelf / "y.safetensors", "--out", out)
    assert shown.returncode == {"SIGINT": 130, "SIGTERM": 143}[number]
    assert "Traceback" not in shown.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("most", [None, 3])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_numbers_of_a_column_that_held_text_too_are_numbers_or_there_is_a_note(tmp_path, suffix, most):
    cells = [1, 2, 7, 7] * 30 + (["red"] * 30 + ["blue"] * 29 if most is None else ["red"])
    X = pd.DataFrame({"size": np.arange(float(len(cells))), "code": np.array(cells, object)})
    y = np.array([{1: 1.0, 2: 5.0, 7: 9.0}.get(cell, 0.0) for cell in cells])
    model = lambdak.SpectralRegressor(effort="fast", max_iter=5, dim=3, random_state=0, max_categories=most)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y).save(tmp_path / "m")
    for codes, words in ([2, 7, 1], ""), (["2", "red", "7"], "column 'code' of"):
        rows = pa.table({"size": [1.0, 2.0, 3.0], "code": codes})
        path = tmp_path / f"rows.{suffix}"
        if suffix == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))
        else:
            (pa.csv.write_csv if suffix == "csv" else pa.parquet.write_table)(rows, path)
        result = done(["predict", path, "--model", tmp_path / "m"])
        said = " ".join(result.stderr.split())
        assert words in said if words else not said
        assert said.count("its numbers count as levels that the fit has not seen") == bool(words)
        frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "code": np.array(codes, object)})
        assert [float(cell) for cell in result.stdout.split()[1:]] == model.predict(frame).tolist()


def test_other_levels_and_calibrated_intervals_are_columns(shelf):
    path = shelf / "quantiles.safetensors"
    model, data = lambdak.load(path), pa.parquet.read_table(shelf / "rows.parquet")
    options = ["--model", path, "--levels", "0.05,0.6", "--coverage", "0.5,0.8"]
    found = read(done(["predict", shelf / "rows.parquet", *options]).stdout)
    X = data.select(["income", "age", "town"])
    names = ["q_0.05", "q_0.6", "low_0.5", "high_0.5", "low_0.8", "high_0.8"]
    wanted = [model.predict_quantiles(X, [0.05, 0.6]), model.predict_interval(X, 0.5), model.predict_interval(X, 0.8)]
    assert found.column_names == ["prediction", *names]
    np.testing.assert_array_equal(np.column_stack([found[name].to_numpy() for name in names]), np.hstack(wanted))
    wrong = ["predict", shelf / "rows.csv", "--model", path, "--levels", "0.5,2"]
    assert "must be numbers in [0, 1]" in refused(wrong, 2)
    other = ["predict", shelf / "rows.csv", "--model", shelf / "y.safetensors", "--coverage", "0.9"]
    assert "belongs to models of quantiles" in refused(other, 2)
