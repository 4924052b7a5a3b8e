"""Criteo's text and Parquet samples as columns of numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from paper_files import ENDINGS

from lambdak.paper.data.criteo import CATEGORIES, COLUMNS, INTEGERS, raw_criteo
from lambdak.paper.data.miniature import criteo_lines


@pytest.mark.parametrize("ending", ENDINGS)
def test_criteo_columns_are_numbers_and_gaps(criteo_file, tmp_path, ending):
    lines = criteo_lines(120)
    raw = raw_criteo(criteo_file(lines, ending), tmp_path / "raw", progress=False)
    cells = [line.split(b"\t") for line in lines]
    np.testing.assert_array_equal(raw.arrays["labels"], [float(row[0]) for row in cells])
    for place, name in enumerate(COLUMNS):
        base = 10 if name in INTEGERS else 16
        column = [row[place + 1] for row in cells]
        np.testing.assert_array_equal(raw.arrays[name], [int(cell, base) if cell else 0 for cell in column])
        gaps = raw.arrays["gaps"] >> np.uint64(place) & np.uint64(1)
        np.testing.assert_array_equal(gaps == 1, [not cell for cell in column])


def replaced(place, cell):
    def change(line):
        cells = line.split(b"\t")
        cells[place] = cell
        return b"\t".join(cells)

    return change


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda line: line.replace(b"\t", b" ", 1), "must have 40 columns separated by tabs; got 39"),
        (replaced(5, b"1\r"), r"I5 must be an integer or empty; got '1\\r'"),
        (replaced(0, b"x"), "the label must be 0 or 1; got 'x'"),
        (replaced(0, b""), "the label must be 0 or 1; got ''"),
        (replaced(3, b"1.5"), "I3 must be an integer or empty; got '1.5'"),
        (replaced(3, b"3000000000"), "I3 must fit in 32 bits; got 3000000000"),
        (replaced(14, b"68fd1e6"), "C1 must be eight hexadecimal digits or empty; got '68fd1e6'"),
        (replaced(39, b"68fd1e6g"), "C26 must be eight hexadecimal digits or empty; got '68fd1e6g'"),
    ],
)
def test_a_broken_criteo_row_is_reported_with_its_line_and_leaves_no_cache(criteo_file, tmp_path, change, wrong):
    lines = criteo_lines(150)
    lines[97] = change(lines[97])
    path = criteo_file(lines)
    with pytest.raises(ValueError, match=f"line 98: {wrong}"):
        raw_criteo(path, tmp_path / "raw", progress=False)
    assert list(tmp_path.iterdir()) == [path]


def test_a_criteo_sample_in_parquet_gives_the_same_columns(criteo_file, tmp_path):
    lines = criteo_lines(100)
    cells = list(zip(*(line.split(b"\t") for line in lines), strict=True))
    table = {"label": [int(cell) for cell in cells[0]]}
    table |= {name: [float(c) if c else None for c in cells[i + 1]] for i, name in enumerate(INTEGERS)}
    table |= {name: [c.decode() or None for c in cells[i + 14]] for i, name in enumerate(CATEGORIES)}
    pq.write_table(pa.table(table), tmp_path / "sample.parquet")
    sample = raw_criteo(tmp_path / "sample.parquet", tmp_path / "one", progress=False)
    text = raw_criteo(criteo_file(lines), tmp_path / "two", progress=False)
    for name in ["labels", "gaps", *COLUMNS]:
        np.testing.assert_array_equal(sample.arrays[name], text.arrays[name])


def test_copies_of_rows_in_a_sample_are_dropped_however_their_gaps_are_filled(tmp_path):
    cells = list(zip(*(line.split(b"\t") for line in criteo_lines(60)), strict=True))
    table = {"label": [int(cell) for cell in cells[0]] * 2}
    for i, name in enumerate(INTEGERS):
        table[name] = [float(c) if c else None for c in cells[i + 1]] + [float(c or 0) for c in cells[i + 1]]
    for i, name in enumerate(CATEGORIES):
        table[name] = [c.decode() for c in cells[i + 14]] + [c.decode() or "0" for c in cells[i + 14]]
    pq.write_table(pa.table(table), tmp_path / "sample.parquet")
    raw = raw_criteo(tmp_path / "sample.parquet", tmp_path / "raw", progress=False)
    assert (raw.meta["rows"], raw.meta["copies"]) == (60, 60)
    np.testing.assert_array_equal(raw.arrays["labels"], table["label"][:60])


def test_a_sample_without_a_column_says_which(tmp_path):
    pq.write_table(pa.table({"label": [0, 1]}), tmp_path / "sample.parquet")
    with pytest.raises(ValueError, match="missing: \\['I1'"):
        raw_criteo(tmp_path / "sample.parquet", tmp_path / "raw", progress=False)
