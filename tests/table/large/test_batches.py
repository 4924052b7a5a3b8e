"""Large tables are read in batches, as often as needed, and what is wrong with them is named."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from lambdak.table.large import batches as module
from lambdak.table.large import parquet
from lambdak.table.large.batches import as_batches, drawn
from lambdak.table.read import read_table


def frame(rows=10, start=0):
    x = np.arange(start, start + rows)
    return pd.DataFrame({"a": x / 2, "y": x % 3, "c": np.array(list("uvw"))[x % 3], "w": x + 1.0, "o": -x * 1.0})


def written(path, table, **options):
    pq.write_table(pa.Table.from_pandas(table) if isinstance(table, pd.DataFrame) else table, path, **options)
    return path


def together(batches, **names):
    parts = list(drawn(batches, "y", **names))
    numbers = np.concatenate([part.X.cells(0).numbers() for part in parts])
    return parts, numbers, np.concatenate([part.y for part in parts])


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 4)
    monkeypatch.setattr(parquet, "ROWS_AT_ONCE", 4)


class Again:
    """Batches that start again at every iteration."""

    def __init__(self, *parts):
        self.parts = list(parts)

    def __iter__(self):
        return iter(self.parts)


class Resets:
    """An iterator with reset(), as XGBoost's."""

    def __init__(self, *parts):
        self.parts, self.at = list(parts), 0

    def reset(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.at += 1
        if self.at > len(self.parts):
            raise StopIteration
        return self.parts[self.at - 1]


SOURCES = {
    "file": lambda folder: str(written(folder / "all.parquet", frame(10))),
    "path": lambda folder: written(folder / "all.parquet", frame(10), row_group_size=3),
    "folder": lambda folder: [written(folder / f"{i}.parquet", frame(5, 5 * i)) for i in (1, 0)].pop().parent,
    "dataset": lambda folder: ds.dataset(written(folder / "all.parquet", frame(10))),
    "filtered": lambda folder: ds.dataset(written(folder / "all.parquet", frame(12))).filter(ds.field("a") < 5),
    "pandas": lambda folder: Again(frame(7), frame(3, 7)),
    "polars": lambda folder: [pl.from_pandas(frame(7)), pl.from_pandas(frame(3, 7))],
    "record batches": lambda folder: Resets(*pa.Table.from_pandas(frame(10)).to_batches(3)),
    "columns in another order": lambda folder: Again(frame(7), frame(3, 7)[["w", "c", "y", "o", "a"]]),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_all_rows_come_in_order_and_come_again(kind, tmp_path, small_batches):
    batches = as_batches(SOURCES[kind](tmp_path))
    assert batches.column_names == ("a", "y", "c", "w", "o")
    assert batches.n_rows in (10, None)
    for _ in range(2):
        parts, numbers, y = together(batches, sample_weight="w", offset="o")
        np.testing.assert_array_equal(numbers, np.arange(10) / 2)
        np.testing.assert_array_equal(y, np.arange(10) % 3)
        np.testing.assert_array_equal(np.concatenate([part.weight for part in parts]), np.arange(10) + 1)
        np.testing.assert_array_equal(np.concatenate([part.offset for part in parts]), -np.arange(10))
        assert {part.X.names for part in parts} == {("a", "c")}
        assert [part.index for part in parts] == list(range(len(parts)))
        assert max(len(part) for part in parts) <= 4
        texts = [codes_of for part in parts for codes_of in np.array(part.X.cells(1).levels()[1])]
        assert set(texts) == {"u", "v", "w"}


def test_folders_that_stand_for_a_column_give_it_back(tmp_path):
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        written(tmp_path / f"year={year}" / "0.parquet", frame(5))
    (tmp_path / "_metadata.parquet").write_bytes(b"no rows")
    batches = as_batches(tmp_path)
    assert batches.column_names == ("a", "y", "c", "w", "o", "year")
    years = [part.X.cells(4).numbers() for part in drawn(batches, "y")]
    np.testing.assert_array_equal(np.concatenate(years), np.repeat([2023, 2024], 5))


def test_an_index_of_pandas_without_a_name_is_no_column(tmp_path):
    own = frame(10)
    own.index = own.index[::-1].to_numpy() * 3
    path = tmp_path / "all.parquet"
    own.to_parquet(path)
    assert "__index_level_0__" in pq.read_schema(path).names
    assert as_batches(path).column_names == tuple(own.columns)


def test_an_ordinary_table_is_none():
    own = frame(4)
    ordinary = [own, pl.from_pandas(own), pa.Table.from_pandas(own), own.to_numpy(), [[1, 2], [3, 4]], [], None]
    assert [as_batches(each) for each in ordinary] == [None] * len(ordinary)
    assert as_batches(read_table(own)) is None


@pytest.mark.parametrize(
    "once", [iter([frame()]), (each for each in [frame()]), pa.Table.from_pandas(frame()).to_reader()]
)
def test_what_can_be_read_only_once_is_refused_with_the_way_out(once):
    with pytest.raises(TypeError, match=r"X can be read only once .* give a path"):
        as_batches(once)


def test_the_fingerprint_changes_with_the_data_and_not_with_reading(tmp_path):
    path = written(tmp_path / "all.parquet", frame(10))
    first = as_batches(path).fingerprint
    assert as_batches(str(path)).fingerprint == first
    assert as_batches(written(path, frame(11))).fingerprint != first
    assert as_batches(Again(frame())).fingerprint is None


def bad_folder(folder):
    written(folder / "0.parquet", frame(5))
    return folder


def with_text(folder):
    written(bad_folder(folder) / "1.parquet", frame(5).astype({"a": str}))


def without_column(folder):
    written(bad_folder(folder) / "1.parquet", frame(5).drop(columns="c"))


def cut_short(folder):
    whole = (bad_folder(folder) / "0.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(whole[:-100])


def damaged_inside(folder):
    path = written(folder / "0.parquet", frame(5000), compression="zstd")
    data = bytearray(path.read_bytes())
    data[4:400] = b"\xff" * 396
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (with_text, r"column 'a' of .*1\.parquet must be double, as in the first file; got (large_)?string"),
        (
            without_column,
            r"1\.parquet must have the columns of the first file; 'c' is not among \['a', 'y', 'w', 'o'\]",
        ),
        (cut_short, r"1\.parquet cannot be read as Parquet: write it as Parquet"),
        (damaged_inside, r"0\.parquet cannot be read as Parquet"),
        (lambda folder: None, r"must hold Parquet files \(\*\.parquet\); got none"),
        (lambda folder: written(folder / "0.parquet", frame(0)), "X must have rows; got none"),
    ],
)
def test_what_is_wrong_with_files_is_named(spoil, says, tmp_path):
    spoil(tmp_path)
    with pytest.raises(ValueError, match=says):
        list(drawn(as_batches(tmp_path), "y"))


def test_columns_that_hold_other_numbers_or_nothing_are_the_same(tmp_path):
    table = pa.Table.from_pandas(frame(5))
    written(tmp_path / "0.parquet", table)
    others = table.set_column(0, "a", pa.nulls(5)).set_column(1, "y", table["y"].cast(pa.float32()))
    written(tmp_path / "1.parquet", others.set_column(2, "c", table["c"].dictionary_encode()))
    parts, numbers, y = together(as_batches(tmp_path))
    assert np.isnan(numbers[5:]).all()
    np.testing.assert_array_equal(y, [0, 1, 2, 0, 1] * 2)
    np.testing.assert_array_equal(parts[1].X.cells(1).levels()[1], ["u", "v", "w"])


def test_a_path_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.parquet does not exist"):
        as_batches(tmp_path / "none.parquet")


@pytest.mark.parametrize(
    ("names", "kind", "says"),
    [
        ({"y": "z"}, ValueError, r"y must be a column of X, one of \['a', 'y', 'c', 'w', 'o'\]; got 'z'"),
        ({"y": None}, TypeError, "y must be the name of a column where X is a large table; got NoneType"),
        ({"y": np.zeros(3)}, TypeError, "y must be the name of a column"),
        ({"y": "y", "offset": "y"}, ValueError, "must be different columns; got 'y' more than once"),
        (
            {"y": "y", "sample_weight": "o"},
            ValueError,
            r"sample_weight must not be negative; got -1.0 at row 1 \(in batch 0",
        ),
        ({"y": "y", "offset": "c"}, ValueError, r"column 'c' must hold numbers; got 'u'.* \(in batch 0 of X\)"),
    ],
)
def test_columns_that_cannot_be_drawn_are_named(names, kind, says):
    with pytest.raises(kind, match=says):
        list(drawn(as_batches(Again(frame())), **names))


def test_features_must_be_left():
    with pytest.raises(ValueError, match="X must have columns beside 'y'"):
        list(drawn(as_batches(Again(frame()[["y"]])), "y"))


def test_weights_of_zero_are_allowed_in_a_whole_batch():
    own = Again(frame().assign(w=0.0), frame())
    assert next(drawn(as_batches(own), "y", "w")).weight.sum() == 0.0


@pytest.mark.parametrize(
    ("later", "says"),
    [
        ([frame(5)], "X had 2 batches before, and now 1"),
        ([frame(5), frame(4)], "batch 1 of X had 5 rows before, and now 4"),
        ([frame(5), frame(5), frame(5)], "batch 2 of X had no rows before, and now 5"),
    ],
)
def test_passes_that_differ_are_refused(later, says):
    source = Again(frame(5), frame(5))
    batches = as_batches(source)
    assert len(list(batches)) == 2
    source.parts = later
    with pytest.raises(ValueError, match=says):
        list(batches)


@pytest.mark.parametrize(
    ("parts", "kind", "says"),
    [
        ([frame(), frame().drop(columns="o")], ValueError, "batch 1 of X must have the columns of the first one"),
        ([frame(), np.zeros((3, 5))], TypeError, "batch 1 of X must be a pyarrow, pandas or polars table; got ndarray"),
        ([], ValueError, "X must have rows; got no batches"),
    ],
)
def test_batches_that_do_not_fit_are_named(parts, kind, says):
    with pytest.raises(kind, match=says):
        list(as_batches(Again(*parts)))


def test_the_next_batch_is_read_while_one_is_used():
    reading, readers = threading.Event(), []

    def source():
        yield 0
        readers.append(threading.current_thread())
        reading.set()
        yield 1

    own = module.ahead(source())
    assert next(own) == 0
    assert reading.wait(10)  # without another call of next
    assert list(own) == [1]
    assert readers[0] is not threading.current_thread()


def test_the_reader_ends_with_who_began_it(tmp_path, small_batches):
    own = iter(as_batches(written(tmp_path / "all.parquet", frame(40))))
    next(own)
    own.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lambdak-reader")]


def test_a_missing_pyarrow_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "lambdak\[tables\]"'):
        as_batches(tmp_path)


PEAK = """
import resource, sys
from lambdak.table.large.batches import as_batches, drawn
own = as_batches(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert sum(len(part) for part in drawn(own, "x0")) == own.n_rows
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows_of_a_row_group(tmp_path):
    pytest.importorskip("resource")
    peaks = []
    for rows in (400_000, 2_400_000):
        x = np.random.default_rng(0).normal(size=(rows, 10))
        path = written(
            tmp_path / f"{rows}.parquet", pd.DataFrame(x, columns=[f"x{i}" for i in range(10)]), row_group_size=rows
        )
        run = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True)
        peaks.append(int(run.stdout) / 1024)
    assert peaks[1] < peaks[0] + 60  # megabytes; the table itself has 160 more
