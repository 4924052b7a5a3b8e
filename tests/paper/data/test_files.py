"""Real files into caches: what is read, what is refused and where, and that no half of a cache passes for a whole."""

import hashlib
import json
import re
import zlib
from itertools import pairwise

import numpy as np
import paper_files
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lambdak.paper.data import files
from lambdak.paper.data import ids as levels
from lambdak.paper.data.criteo import CATEGORIES, COLUMNS, INTEGERS, raw_criteo
from lambdak.paper.data.higgs import FULL_ROWS, higgs, higgs_splits
from lambdak.paper.data.ids import bucket, criteo
from lambdak.paper.data.miniature import criteo_lines, higgs_lines

ENDINGS = ["", ".gz", ".zst"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Many blocks from small files."""
    monkeypatch.setattr(files, "BLOCK", 20_000)
    monkeypatch.setattr(files, "_PIECE", 3_000)
    monkeypatch.setattr(files, "_TEXT", 3_000)
    monkeypatch.setattr(levels, "_STEP", 37)


@pytest.fixture
def higgs_file(tmp_path):
    return lambda lines, ending="": paper_files.write(tmp_path / f"HIGGS.csv{ending}", lines)


@pytest.fixture
def criteo_file(tmp_path):
    return lambda lines, ending="": paper_files.write(tmp_path / f"train.txt{ending}", lines)


# HIGGS


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


def test_meta_tells_the_rows_and_the_checksum_of_the_file(higgs_file, tmp_path):
    path = higgs_file(higgs_lines(50), ".gz")
    higgs(path, tmp_path / "cache", progress=False)
    meta = json.loads((tmp_path / "cache" / "meta.json").read_text())
    assert meta["rows"] == 50
    assert meta["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


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


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("share", [0.5, 0.999])
def test_a_truncated_archive_is_reported_with_a_line_and_leaves_no_cache(higgs_file, tmp_path, ending, share):
    path = higgs_file(higgs_lines(400), ending)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"HIGGS\.csv.*, line \d+ or soon after: the archive is damaged or cut off"):
        higgs(path, tmp_path / "cache", progress=False)
    assert list(tmp_path.iterdir()) == [path]


def test_a_plain_file_that_ends_within_a_line_is_refused(higgs_file, tmp_path):
    path = higgs_file(higgs_lines(30))
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(ValueError, match="line 30: the file ends within a line"):
        higgs(path, tmp_path / "cache", progress=False)


@pytest.mark.parametrize("rows", [0, 9])
def test_a_file_with_next_to_no_rows_is_refused(higgs_file, tmp_path, rows):
    with pytest.raises(ValueError, match=f"at least 10 rows; got {rows}"):
        higgs(higgs_file(higgs_lines(rows)), tmp_path / "cache", progress=False)


def test_the_line_of_a_truncated_archive_is_the_last_that_can_be_read_or_a_few_before_it(higgs_file, tmp_path):
    path = higgs_file(higgs_lines(2000), ".gz")
    torn = path.read_bytes()[: path.stat().st_size // 2]
    path.write_bytes(torn)
    readable = zlib.decompressobj(wbits=31).decompress(torn).count(b"\n") + 1
    with pytest.raises(ValueError, match="cut off") as error:
        higgs(path, tmp_path / "cache", progress=False)
    line = int(re.search(r"line (\d+)", str(error.value))[1])
    assert readable - 30 < line <= readable


@pytest.mark.parametrize("load", [higgs, raw_criteo])
def test_what_is_no_parquet_file_is_named(tmp_path, load):
    path = tmp_path / "sample.parquet"
    path.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(ValueError, match=r"sample\.parquet must be a Parquet file"):
        load(path, tmp_path / "cache", progress=False)
    assert not (tmp_path / "cache").exists()


def test_a_parquet_sample_gives_the_same_data(higgs_file, tmp_path):
    lines = higgs_lines(100)
    numbers = np.array([[float(cell) for cell in line.split(b",")] for line in lines], np.float32)
    path = tmp_path / "sample.parquet"
    pq.write_table(pa.table({str(i): numbers[:, i] for i in range(29)}), path)
    sample = higgs(path, tmp_path / "one", progress=False)
    text = higgs(higgs_file(lines), tmp_path / "two", progress=False)
    np.testing.assert_array_equal(sample.features, text.features)


def test_lines_may_end_as_on_windows(higgs_file, tmp_path):
    lines = higgs_lines(30)
    plain = higgs(higgs_file(lines), tmp_path / "plain", progress=False)
    other = higgs(higgs_file([line + b"\r" for line in lines]), tmp_path / "other", progress=False)
    np.testing.assert_array_equal(other.features, plain.features)
    lines[20] = lines[20].replace(b",", b";", 1)
    with pytest.raises(ValueError, match="line 21: must have 29 columns; got 28"):
        higgs(higgs_file([line + b"\r" for line in lines]), tmp_path / "other", progress=False)


def test_a_parquet_column_of_text_is_named(tmp_path):
    path = tmp_path / "sample.parquet"
    columns = {str(i): np.zeros(20, np.float32) for i in range(29)}
    pq.write_table(pa.table(columns | {"7": ["0.5"] * 20}), path)
    with pytest.raises(ValueError, match=r"sample\.parquet, column '7' must hold numbers; got string"):
        higgs(path, tmp_path / "cache", progress=False)


@pytest.mark.parametrize(("load", "lines"), [(higgs, higgs_lines), (raw_criteo, criteo_lines)])
def test_a_file_that_grows_while_it_is_read_is_refused_and_leaves_no_cache(tmp_path, monkeypatch, load, lines):
    path = paper_files.write(tmp_path / "rows.txt", lines(200))
    read = files.Source._saw

    def grow(source, data):
        if not source.size:
            with path.open("ab") as file:
                file.write(lines(1)[0] + b"\n")
        read(source, data)

    monkeypatch.setattr(files.Source, "_saw", grow)
    with pytest.raises(ValueError, match=r"rows\.txt was changed while it was read"):
        load(path, tmp_path / "cache", progress=False)
    assert list(tmp_path.iterdir()) == [path]


# Caches


def test_a_cache_is_used_again_and_rebuilt_for_another_file(higgs_file, tmp_path, monkeypatch):
    path = higgs_file(higgs_lines(50))
    first = higgs(path, tmp_path / "cache", progress=False)
    monkeypatch.setattr("lambdak.paper.data.higgs.building", None)  # it would fail if it were called
    np.testing.assert_array_equal(higgs(path, tmp_path / "cache", progress=False).features, first.features)
    monkeypatch.undo()
    higgs_file(higgs_lines(60, seed=1))
    assert len(higgs(path, tmp_path / "cache", progress=False).labels) == 60


def test_what_a_killed_build_left_behind_is_removed(higgs_file, tmp_path):
    stale = tmp_path / ".cache.0123456789abcdef.part"
    stale.mkdir()
    (stale / "features").write_bytes(b"half")
    path = higgs_file(higgs_lines(50))
    higgs(path, tmp_path / "cache", progress=False)
    assert {item.name for item in tmp_path.iterdir()} == {path.name, "cache"}


def test_a_cache_whose_array_was_cut_is_refused(higgs_file, tmp_path):
    path = higgs_file(higgs_lines(50))
    higgs(path, tmp_path / "cache", progress=False)
    array = tmp_path / "cache" / "features"
    array.write_bytes(array.read_bytes()[:-4])
    with pytest.raises(ValueError, match="features must have 5600 bytes; got 5596"):
        higgs(path, tmp_path / "cache", progress=False)


# Criteo


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


def levels_of(lines, place, transform):
    return [transform(line.split(b"\t")[place]) for line in lines]


@pytest.mark.parametrize("place", [1, 14, 39])
def test_rare_missing_and_unseen_levels_share_ids(criteo_file, tmp_path, place):
    lines = criteo_lines(200)
    raw = raw_criteo(criteo_file(lines), tmp_path / "raw", progress=False)
    data = criteo(raw, tmp_path / "data", "bucketed", min_count=4)
    cells = levels_of(lines, place, lambda cell: bucket(int(cell)).item() if place < 14 and cell else cell)
    counts = {level: cells[:160].count(level) for level in set(cells[:160]) - {b""}}
    kinds = ["missing" if c not in counts else "rare" if counts[c] < 4 else c for c in cells]
    ids = data.ids[:, place - 1].tolist()
    assert (
        len(set(zip(kinds, ids, strict=True))) == len(set(kinds)) == len(set(ids))
    )  # one id per kind, one kind per id
    assert {"missing", "rare"} <= set(kinds)


def test_columns_share_no_ids_and_the_constant_is_id_zero(criteo_file, tmp_path):
    raw = raw_criteo(criteo_file(criteo_lines(200)), tmp_path / "raw", progress=False)
    for kind in levels.KINDS:
        data = criteo(raw, tmp_path / kind, kind, min_count=2)
        spans = [(column.min(), column.max()) for column in data.ids.T]
        assert spans[0][0] >= 1
        assert all(a[1] < b[0] for a, b in pairwise(spans))
        assert spans[-1][1] < data.n_ids
        batch = data.batch(np.array([3, 1]))
        np.testing.assert_array_equal(batch.ids[:, 0], 0)
        np.testing.assert_array_equal(batch.ids[:, 1:], data.ids[[3, 1]])


def test_continuous_integers_are_standardised_on_train_and_gaps_have_an_id_of_their_own(criteo_file, tmp_path):
    lines = criteo_lines(200)
    raw = raw_criteo(criteo_file(lines), tmp_path / "raw", progress=False)
    batch = criteo(raw, tmp_path / "data", "continuous").batch(slice(0, 200))
    cells = levels_of(lines, 2, lambda cell: np.log1p(max(int(cell), 0)) ** 2 if cell else np.nan)
    known = ~np.isnan(cells)
    train = np.array(cells[:160])[known[:160]]
    expected = (np.array(cells) - train.mean()) / train.std()
    np.testing.assert_allclose(batch.weights[known, 2], expected[known], atol=1e-5)
    np.testing.assert_array_equal(batch.weights[~known, 2], 1.0)
    assert len(np.unique(batch.ids[known, 2])) == len(np.unique(batch.ids[~known, 2])) == 1
    assert batch.ids[known, 2][0] != batch.ids[~known, 2][0]
    np.testing.assert_array_equal(batch.weights[:, 14:], 1.0)


def test_buckets_are_those_of_the_paper():
    x = np.array([-2, 0, 1, 2, 3, 10, 1000])
    np.testing.assert_array_equal(bucket(x), [-2, 0, 1, 2, 3, 7, 49])


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
