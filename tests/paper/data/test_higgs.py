"""HIGGS: splits, standardised features, and rows that are refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from paper_files import ENDINGS

from lambdak.paper.data.higgs import FULL_ROWS, higgs, higgs_splits
from lambdak.paper.data.miniature import higgs_lines


@pytest.mark.parametrize("ending", ENDINGS)
def test_higgs_is_split_in_order_and_standardised_on_its_training_rows(higgs_file, tmp_path, ending):
    lines = higgs_lines(200)
    data = higgs(higgs_file(lines, ending), tmp_path / "cache", progress=False)
    numbers = np.array([[float(cell) for cell in line.split(b",")] for line in lines])
    train = numbers[:160, 1:]
    np.testing.assert_allclose(data.features, (numbers[:, 1:] - train.mean(0)) / train.std(0), atol=1e-5)
    np.testing.assert_array_equal(data.labels, numbers[:, 0])
    assert data.splits == {"train": (0, 160), "validation": (160, 180), "test": (180, 200)}


def test_the_full_higgs_file_is_split_as_in_the_released_runs():
    sizes = [last - first for first, last in higgs_splits(FULL_ROWS).values()]
    assert sizes == [10_000_000, 500_000, 500_000]


def test_the_text_splits_shuffled_rows_of_any_number(higgs_file, tmp_path):
    sizes = [last - first for first, last in higgs_splits(FULL_ROWS, shuffled=True).values()]
    assert sizes == [8_800_000, 1_100_000, 1_100_000]
    lines = higgs_lines(200)
    data = higgs(higgs_file(lines), tmp_path / "cache", progress=False, shuffled=True)
    numbers = np.array([[float(cell) for cell in line.split(b",")] for line in lines])
    rank = np.argsort(np.argsort(data.features[:, 0]))
    rows = np.argsort(numbers[:, 1])[rank]  # standardising keeps the order of a feature
    assert (rows != np.arange(200)).mean() > 0.9
    np.testing.assert_array_equal(data.labels, numbers[rows, 0])
    train = numbers[rows[:160], 1:]
    np.testing.assert_allclose(data.features, (numbers[rows, 1:] - train.mean(0)) / train.std(0), atol=1e-5)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda line: line.replace(b",", b";", 1), "must have 29 columns; got 28"),
        (lambda line: line + b",1.0", "must have 29 columns; got 30"),
        (lambda line: b"", "must have 29 columns; got 1"),
        (lambda line: line.replace(b"e", b"x", 2), "column 1 must be a number; got"),
        (lambda line: b",".join([b"1"] + [b"nan"] * 28), "column 2 must be finite; got nan"),
        (lambda line: b",".join([b"1"] + [b"1e999"] * 28), "column 2 must be finite; got inf"),
        (lambda line: b"2" + line[1:], "the label must be 0 or 1; got 2"),
        (lambda line: line.replace(b",", b",\xff", 1), "column 2 must be a number; got"),
        (lambda line: b",".join([b"1"] + [b"1_000"] * 28), "column 2 must be a number; got '1_000'"),
        (lambda line: b",".join([b"1"] + [b"1.0\r"] * 28), r"column 2 must be a number; got '1.0\\r'"),
        (lambda line: b",".join([b"1"] + [b"1e39"] * 28), r"column 2 must be finite; got 1e\+39"),
    ],
)
@pytest.mark.parametrize("place", [0, 77, 199])
def test_a_broken_higgs_row_is_reported_with_its_line_and_leaves_no_cache(higgs_file, tmp_path, change, wrong, place):
    lines = higgs_lines(200)
    lines[place] = change(lines[place])
    path = higgs_file(lines)
    with pytest.raises(ValueError, match=f"line {place + 1}: {wrong}"):
        higgs(path, tmp_path / "cache", progress=False)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("rows", [0, 9])
def test_a_file_with_next_to_no_rows_is_refused(higgs_file, tmp_path, rows):
    with pytest.raises(ValueError, match=f"at least 10 rows; got {rows}"):
        higgs(higgs_file(higgs_lines(rows)), tmp_path / "cache", progress=False)


def test_a_parquet_sample_gives_the_same_data(higgs_file, tmp_path):
    lines = higgs_lines(100)
    numbers = np.array([[float(cell) for cell in line.split(b",")] for line in lines], np.float32)
    path = tmp_path / "sample.parquet"
    pq.write_table(pa.table({str(i): numbers[:, i] for i in range(29)}), path)
    sample = higgs(path, tmp_path / "one", progress=False)
    text = higgs(higgs_file(lines), tmp_path / "two", progress=False)
    np.testing.assert_array_equal(sample.features, text.features)


def test_a_parquet_column_of_text_is_named(tmp_path):
    path = tmp_path / "sample.parquet"
    columns = {str(i): np.zeros(20, np.float32) for i in range(29)}
    pq.write_table(pa.table(columns | {"7": ["0.5"] * 20}), path)
    with pytest.raises(ValueError, match=r"sample\.parquet, column '7' must hold numbers; got string"):
        higgs(path, tmp_path / "cache", progress=False)
