"""Tables that ``lambdak fit`` and ``predict`` read in batches: the same rows, the same models, and bounded memory."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from cli_cases import FAST, done, only, refused, table

import lambdak
from lambdak.cli import table_streams, tables
from lambdak.cli.dataset import ColumnRoles
from lambdak.cli.large_rows import LargeRows, large_data
from lambdak.training.large import choice
from lambdak.training.large import fit as large_fit

ROWS = 600


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One table as Parquet, CSV and JSON lines, and as a folder of Parquet files."""
    folder, rows = tmp_path_factory.mktemp("large"), table(ROWS)
    pa.parquet.write_table(rows, folder / "rows.parquet", row_group_size=100)
    pa.csv.write_csv(rows, folder / "rows.csv")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))
    (folder / "parts").mkdir()
    for part in range(3):
        pa.parquet.write_table(rows.slice(200 * part, 200), folder / "parts" / f"{part}.parquet")
    return folder


@pytest.fixture
def small(monkeypatch):
    """Parts of few rows, and samples smaller than the table."""
    monkeypatch.setattr(table_streams, "ROWS", 70)
    request = choice.LargeRequest.__init__

    def sampled(self, *args, **kwargs):
        request(self, *args, **kwargs)
        object.__setattr__(self, "sample_rows", 300)

    monkeypatch.setattr(choice.LargeRequest, "__init__", sampled)


def fitted(source, path, *options):
    args = ["fit", source, "-t", "y", "--model", path, "--json", *only("y"), *FAST, *options]
    result = done(args)
    return lambdak.load(path), json.loads(result.stdout), " ".join(result.stderr.split())


def test_a_table_of_few_rows_gives_the_same_model_either_way(folder, tmp_path):
    options = ["--test-fraction", "0", "--monotone", "income=+"]
    whole = {each: fitted(folder / f"rows.{each}", tmp_path / "m", *options)[0] for each in ("csv", "parquet", "jsonl")}
    for name in ("rows.csv", "rows.parquet", "rows.jsonl", "parts"):
        model, answer, _ = fitted(folder / name, tmp_path / "large", "--large", *options)
        assert (answer["rows"], answer["test_rows"]) == (ROWS, 0)
        assert answer["guarantees"][0]["proven"]
        np.testing.assert_array_equal(model.model_.coef, whole[name[5:] or "parquet"].model_.coef)


@pytest.mark.usefixtures("small")
def test_a_parquet_file_and_a_folder_give_the_models_of_the_library(folder, tmp_path):
    options = {"effort": "fast", "max_iter": 3, "dim": 3, "random_state": 0}
    for name in ("rows.parquet", "parts"):
        args = ["fit", folder / name, "-t", "y", "--large", "--model", tmp_path / "m", "--test-fraction", "0", *FAST]
        done([*args, "--weight", "weight", "--offset", "exposure"])
        same = lambdak.SpectralRegressor(**options)
        same.fit(folder / name, "y", "weight", offset="exposure", cache=tmp_path)
        np.testing.assert_array_equal(lambdak.load(tmp_path / "m").model_.coef, same.model_.coef)


@pytest.mark.parametrize(("target", "classes"), [("y", False), ("grade", True), ("steps", True)])
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "parts"])
def test_the_rows_to_test_on_are_those_of_a_table_in_memory(folder, name, target, classes):
    roles = ColumnRoles(target, drop=[each for each in ("y", "grade", "steps") if each != target])
    train, test = roles.read(str(folder / "rows.parquet"), None).split(0.2, classes, 7)
    with large_data(roles, str(folder / name), None) as rows:
        own_train, own_test = rows.split(0.2, classes, 7)
        for whole, own in ((train, own_train), (test, own_test)):
            ids = [cell for _, _, part in own.parts() for cell in part.column("id").to_pylist()]
            assert sorted(whole.rows.X.column("id").to_pylist()) == ids
            assert sorted(own.y.tolist()) == sorted(whole.y.tolist())


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("target", ["y", "grade"])
def test_metrics_are_those_of_the_library_on_the_rows_that_were_left_out(folder, tmp_path, target):
    args = ["fit", folder / "rows.csv", "-t", target, "--large", "--model", tmp_path / "m", "--json"]
    args += ["--weight", "weight", *only(target, "weight"), *FAST]
    answer = json.loads(done(args).stdout)
    model, test = lambdak.load(tmp_path / "m"), table(ROWS)
    roles = ColumnRoles(target, "weight", drop=only(target, "weight")[3].split(","), categorical=["town"])
    test = roles.read(str(folder / "rows.csv"), None).split(0.2, target == "grade", 0)[1]
    assert answer["test_rows"] == len(test) == 120
    own = answer["metrics"]["R²" if target == "y" else "accuracy"]
    assert own == pytest.approx(model.score(test.rows.X, test.y, test.rows.weight), rel=1e-9)


def test_another_table_to_test_on_is_read_in_batches_too(folder, tmp_path):
    _, answer, _ = fitted(folder / "rows.csv", tmp_path / "m", "--large", "--test", folder / "parts")
    assert (answer["rows"], answer["test_rows"]) == (ROWS, ROWS)
    assert answer["metrics"]["R²"] > 0


def test_rows_without_a_target_are_refused_or_ignored(folder, tmp_path):
    rows = table(ROWS)
    y = pa.array([None if i % 3 == 0 else value for i, value in enumerate(rows["y"].to_pylist())])
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(rows.set_column(rows.column_names.index("y"), "y", y), path)
    args = ["fit", path, "-t", "y", "--large", "--model", tmp_path / "m", *only("y"), *FAST]
    assert f"the target 'y' is missing in 200 of 600 rows of {path}" in refused(args)
    result = done([*args, "--drop-missing", "--json", "--test-fraction", "0"])
    assert json.loads(result.stdout)["rows"] == 400


def test_dates_are_expanded_and_doubtful_columns_named_as_in_memory(tmp_path):
    days = pa.array(np.datetime64("2024-01-01") + np.arange(ROWS) % 300)
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(table(ROWS).append_column("sold", days), path)
    (model, _, said), (whole, _, before) = (
        fitted(path, tmp_path / f"m{way}", way, "--test-fraction", "0") for way in ("--large", "--no-large")
    )
    assert "sold_weekday" in model.feature_names_in_
    np.testing.assert_array_equal(model.model_.coef, whole.model_.coef)
    assert "column 'sold' holds dates" in said
    assert "column 'sold' holds dates" in before


def test_size_decides_and_is_said(folder, tmp_path, monkeypatch):
    path = folder / "rows.csv"
    assert "batches" not in fitted(path, tmp_path / "m")[2]
    monkeypatch.setattr(tables, "LARGE", 1_000)
    assert f"{path} would take 0.0 GB of memory: its rows are read in batches, and are not all in memory (or --" in (
        fitted(path, tmp_path / "m")[2].replace("\n", " ")
    )
    assert "batches" not in fitted(path, tmp_path / "m", "--no-large")[2]


def test_a_table_that_compresses_well_is_as_large_as_it_is_in_memory(tmp_path, monkeypatch):
    rows = pa.table({name: np.zeros(2_000) for name in "abc"} | {"y": np.repeat([0.0, 1.0], 1_000)})
    pa.parquet.write_table(rows, tmp_path / "rows.parquet")
    pa.csv.write_csv(rows, tmp_path / "rows.csv")
    with gzip.open(tmp_path / "rows.csv.gz", "wb") as file:
        file.write((tmp_path / "rows.csv").read_bytes())
    assert 16 * (tmp_path / "rows.parquet").stat().st_size < 100_000
    assert 4 * 5 * (tmp_path / "rows.csv.gz").stat().st_size < 60_000
    for name, memory in (("rows.parquet", 64 * 4 * 2_000), ("rows.csv.gz", 4 * (tmp_path / "rows.csv").stat().st_size)):
        monkeypatch.setattr(tables, "LARGE", memory)
        assert not tables.is_large(str(tmp_path / name), None, None)
        monkeypatch.setattr(tables, "LARGE", memory - 1)
        assert tables.is_large(str(tmp_path / name), None, None)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv.gz"])
def test_the_size_of_what_is_no_table_is_that_of_its_file(tmp_path, name):
    (tmp_path / name).write_bytes(b"no")
    assert not tables.is_large(str(tmp_path / name), None, None)


@pytest.mark.usefixtures("small")
def test_a_cache_is_kept_and_used_again_for_the_same_rows_only(folder, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    cache.mkdir()
    first = fitted(folder / "rows.csv", tmp_path / "m", "--large", "--cache", cache)[0]
    (place,) = cache.iterdir()
    assert place.name == "rows.csv.lambdak-cache"
    written = {each.name: each.stat().st_mtime_ns for each in place.iterdir()}
    again, _, said = fitted(folder / "rows.csv", tmp_path / "m", "--large", "--cache", cache)
    assert "encoding" not in said
    assert {each.name: each.stat().st_mtime_ns for each in place.iterdir()} == written
    np.testing.assert_array_equal(first.model_.coef, again.model_.coef)
    assert "encoding" in fitted(folder / "rows.csv", tmp_path / "m", "--large", "--cache", cache, "--seed", "1")[2]


@pytest.mark.parametrize(("options", "code", "words"), [
    (["--large", "--balance"], 2, "needs all rows in memory"), (["--cache", "."], 2, "add --large"),
    (["--large", "--cache", "nowhere"], 1, "--cache must be a folder that exists"),
    (["--large", "--target", "nothing"], 1, "has no column 'nothing', which --target names"),
    (["--large", "--monotone", "nothing=+"], 1, "has no column 'nothing', which --monotone names"),
])  # fmt: skip
def test_what_does_not_belong_to_a_large_table_is_refused_before_any_work(
    folder, tmp_path, monkeypatch, options, code, words
):
    def worked(*_):
        raise AssertionError("it began to fit")

    monkeypatch.setattr(large_fit, "fit_alone", worked)
    assert words in refused(["fit", folder / "rows.csv", "-t", "y", "--model", tmp_path / "m", *options], code)


def test_a_folder_is_refused_where_it_is_no_table(folder, tmp_path):
    args = ["fit", folder / "parts", "-t", "y", "--model", tmp_path / "m"]
    assert "whose files are never read as a whole" in refused([*args, "--no-large"])
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "is a folder, and cannot be read as one table" in refused(
        ["fit", empty, "-t", "y", "--model", tmp_path / "m"]
    )


def test_predictions_of_a_folder_are_those_of_the_table(folder, tmp_path):
    fitted(folder / "rows.parquet", tmp_path / "m")
    for name in ("rows.parquet", "parts"):
        out = tmp_path / f"{name}.out.parquet"
        done(["predict", folder / name, "--model", tmp_path / "m", "--keep", "id", "--out", out])
    whole, parts = (pa.parquet.read_table(tmp_path / f"{name}.out.parquet") for name in ("rows.parquet", "parts"))
    assert parts.num_rows == ROWS
    assert parts.equals(whole)


READS = """
import pathlib, sys, lambdak
from lambdak.cli.dataset import ColumnRoles
from lambdak.cli.large_rows import TrainingBatches, large_data
model = lambdak.load(sys.argv[2]).model_
with large_data(ColumnRoles("y"), sys.argv[1], None) as rows:
    train, test = rows.split(0.2, False, 0)
    read = sum(part.num_rows for _, part in TrainingBatches(train).placed())
    scored = len(test.scored(model)[1])
status = pathlib.Path("/proc/self/status").read_text().splitlines()
print(read, scored, *[line.split()[1] for line in status if "VmHWM" in line])
"""


@pytest.mark.slow
def test_memory_grows_by_less_than_the_rows_where_they_are_read_and_scored(tmp_path):
    peaks, rng = [], np.random.default_rng(0)
    for rows in (500_000, 1_500_000):  # more than the batches that are in memory at a time
        columns = {f"x{i}": rng.standard_normal(rows).astype(np.float32) for i in range(20)}
        data, path = pa.table(columns | {"y": columns["x0"] + columns["x1"]}), tmp_path / f"{rows}.parquet"
        pa.parquet.write_table(data, path)
        if not peaks:
            few = data.slice(0, 500)
            model = lambdak.SpectralRegressor(effort="fast", max_iter=1, dim=2, random_state=0)
            model.fit(few.drop_columns("y"), few["y"].to_numpy()).save(tmp_path / "m")
        command = [sys.executable, "-c", READS, path, tmp_path / "m"]
        read, scored, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        assert (int(read), int(scored)) == (rows * 4 // 5, rows // 5)
        peaks.append(int(peak) * 1024)
    assert peaks[1] - peaks[0] < 1_000_000 * 20 * 4  # what the further rows take in the file


def test_files_of_a_folder_that_are_not_read_are_named(folder, tmp_path):
    _, answer, said = fitted(folder / "parts", tmp_path / "m")
    assert "ignored" not in said
    mixed = shutil.copytree(folder / "parts", tmp_path / "mixed")
    for name in ("more.csv", "more.jsonl.gz", "_SUCCESS"):
        (mixed / name).write_text("a\n")
    _, same, said = fitted(mixed, tmp_path / "m")
    assert f"{mixed / 'more.csv'} is not a Parquet file: of the folder {mixed}, 2 such files are ignored" in said
    assert same["rows"] == answer["rows"]


@pytest.mark.usefixtures("small")
def test_the_log_link_ends_at_a_raw_score_of_40_for_rows_that_are_read_in_batches(folder, tmp_path):
    rows = pa.parquet.read_table(folder / "rows.parquet")
    counts = pa.array(np.maximum(rows["y"].to_numpy(), 0.0))
    rows = rows.set_column(rows.column_names.index("y"), "y", counts)
    pa.parquet.write_table(rows, tmp_path / "rows.parquet")
    args = ["--loss", "poisson", "--large", "--offset", "exposure", "--drop", "id,grade,steps,late,weight"]
    done(["fit", tmp_path / "rows.parquet", "-t", "y", "--model", tmp_path / "m", *args, *FAST])
    offsets = np.where(np.arange(ROWS) % 2, 1000.0, -1000.0)
    far = rows.set_column(rows.column_names.index("exposure"), "exposure", pa.array(offsets))
    pa.parquet.write_table(far, tmp_path / "far.parquet")
    shown = done(["predict", tmp_path / "far.parquet", "--model", tmp_path / "m", "--offset", "exposure"]).stdout
    assert [float(cell) for cell in shown.split()[1:]] == [0.0, float(np.exp(40.0))] * (ROWS // 2)


def written(rows, path):
    """A table, written over the file of another one."""
    pa.csv.write_csv(rows, path) if path.suffix == ".csv" else pa.parquet.write_table(rows, path)


def target_times(rows, factor):
    return rows.set_column(rows.column_names.index("y"), "y", pa.array(factor * rows["y"].to_numpy()))


def as_old(path, write):
    """Write a file that looks as it did before."""
    before = path.stat()
    write()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGED = r"was changed (while it was read|during the fit)"
CHANGES = {
    "rows": (lambda rows, path: written(rows.take(np.arange(ROWS)[::-1]), path), CHANGED),
    "fewer rows": (lambda rows, path: written(rows.slice(0, 50), path), CHANGED),
    "other columns": (lambda rows, path: path.write_bytes(path.read_bytes()[:-9]), CHANGED),
    "targets alone": (
        lambda rows, path: as_old(path, lambda: written(target_times(rows, -1.0), path)),
        r"the target in .* is another one than when it was read first|was changed|cannot be read",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "parts/1.parquet"])
def test_a_table_that_changes_after_the_fit_has_no_metrics(tmp_path, monkeypatch, name, change):
    rows, path = table(ROWS), tmp_path / name
    path.parent.mkdir(exist_ok=True)
    written(rows, path)
    make, says = CHANGES[change]
    fit = LargeRows.fit_

    def then_changed(self, *args, **kwargs):
        fit(self, *args, **kwargs)
        make(rows, path)

    monkeypatch.setattr(LargeRows, "fit_", then_changed)
    source = path.parent if name.startswith("parts") else path
    said = refused(["fit", source, "-t", "y", "--model", tmp_path / "m", "--large", *only("y"), *FAST])
    assert re.search(says, said)
    assert path.name in said


def test_a_csv_file_that_grows_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    written(table(ROWS), path)
    done(["fit", path, "-t", "y", "--model", tmp_path / "m", *only("y"), *FAST])
    prepare = table_streams._CsvTable.prepare

    def grown(self, *args):
        found = prepare(self, *args)
        with path.open("ab") as file:
            file.write(path.read_bytes().splitlines(keepends=True)[-1])
        return found

    monkeypatch.setattr(table_streams._CsvTable, "prepare", grown)
    out = tmp_path / "out.csv"
    said = refused(["predict", path, "--model", tmp_path / "m", "--out", out])
    assert f"{path} was changed while it was read: run the command again" in said
    assert not out.exists()


def test_a_parquet_file_that_holds_fewer_rows_than_it_says_is_refused(tmp_path):
    done(["fit", only_numbers(tmp_path / "good.parquet", 30), "-t", "y", "--model", tmp_path / "m", *FAST])
    path = only_numbers(tmp_path / "rows.parquet", 0)
    none, five = b"\x16\x00\x19", b"\x16\x0a\x19"  # of Thrift: the number of rows, before the list of row groups
    assert path.read_bytes().count(none) == 1
    path.write_bytes(path.read_bytes().replace(none, five))
    assert pa.parquet.read_metadata(path).num_rows == 5
    says = f"{path}.* says that it has 5 rows, and holds 0: write it again"
    assert re.search(says, refused(["predict", path, "--model", tmp_path / "m"]))
    for options in (["--large"], ["--large", "--test-fraction", "0"]):
        assert re.search(says, refused(["fit", path, "-t", "y", "--model", tmp_path / "other", *options]))


def only_numbers(path, rows):
    """A Parquet file with a column of numbers and a target."""
    numbers = np.arange(rows, dtype=np.float64)
    pa.parquet.write_table(pa.table({"a": numbers, "y": numbers}), path)
    return path


def test_the_schema_of_a_parquet_file_is_made_once_for_all_columns(tmp_path, monkeypatch):
    """Otherwise a file of 30,000 columns takes minutes before its first row."""
    made, file = [], pa.parquet.ParquetFile

    class Counted(file):
        @property
        def schema_arrow(self):
            made.append(self)
            return super().schema_arrow

    names = [f"c{i}" for i in range(50)]
    pa.parquet.write_table(pa.table({name: [1.0] for name in names}), tmp_path / "wide.parquet")
    monkeypatch.setattr(pa.parquet, "ParquetFile", Counted)
    with table_streams.table_stream(str(tmp_path / "wide.parquet")) as stream:
        assert stream.prepare(table_streams.Wanted([], [], names, names), lambda _: None) == 1
    assert len(made) == 1
