"""Criteo's columns as active ids, as the released runs of the paper and as its text have them.

Tests ``encoders``.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from lambdak.paper.data import ids
from lambdak.paper.data.criteo import raw_criteo
from lambdak.paper.data.ids import KINDS, bucket, counted_rows, criteo
from lambdak.paper.data.miniature import criteo_lines
from lambdak.paper.protocols import REAL_CONVENTIONS

RELEASED, TEXT = (REAL_CONVENTIONS[source].columns for source in ("released", "text"))
TRAIN = 160  # of 200 rows


@pytest.fixture
def raw(criteo_file, tmp_path):
    """The columns of the file with these lines."""
    return lambda lines: raw_criteo(criteo_file(lines), tmp_path / "raw", progress=False)


def levels_of(lines, place, transform):
    return [transform(line.split(b"\t")[place]) for line in lines]


def assert_same_groups(kinds, found):
    """One id per kind, one kind per id."""
    assert len(set(zip(kinds, found, strict=True))) == len(set(kinds)) == len(set(found))


@pytest.mark.parametrize("conventions", [RELEASED, TEXT])
@pytest.mark.parametrize("place", [1, 14, 39])
def test_rare_missing_and_unseen_levels_share_ids(raw, tmp_path, place, conventions):
    lines = criteo_lines(200)
    data = criteo(raw(lines), tmp_path / "data", "bucketed", conventions, min_count=4)
    cells = levels_of(lines, place, lambda cell: bucket(int(cell)).item() if place < 14 and cell else cell)
    counts = {level: cells[:TRAIN].count(level) for level in set(cells[:TRAIN]) - {b""}}
    least = 1 if place < 14 and conventions is RELEASED else 4  # there, buckets have no rare rule
    unseen = "rare" if conventions is RELEASED else "missing"

    def kind(cell):
        if cell == b"":
            return "missing"
        return unseen if cell not in counts else "rare" if counts[cell] < least else cell

    kinds = [kind(cell) for cell in cells]
    assert_same_groups(kinds, data.ids[:, place - 1].tolist())
    assert "missing" in kinds
    assert ("rare" in kinds) == (least == 4 or bool(set(cells[TRAIN:]) - set(counts) - {b""}))
    if place < 14:
        assert any(count < 4 for count in counts.values())  # of which the protocols make different things


def test_a_category_that_training_never_saw_is_rare_in_the_released_runs_and_missing_in_the_text(raw, tmp_path):
    lines = criteo_lines(200)
    place = 20
    cells = [line.split(b"\t") for line in lines]
    cells[0][place], cells[199][place] = b"", b"0badcafe"
    columns = raw([b"\t".join(row) for row in cells])
    for conventions, position in ((RELEASED, 1), (TEXT, 0)):
        found = criteo(columns, tmp_path / "data", "bucketed", conventions).ids[:, place - 1]
        assert found[199] == found[0] + position  # the id of RARE is next to that of MISSING


def test_columns_share_no_ids_and_the_constant_is_id_zero(raw, tmp_path):
    columns = raw(criteo_lines(200))
    for kind in KINDS:
        for conventions in (RELEASED, TEXT):
            data = criteo(columns, tmp_path / kind, kind, conventions, min_count=2)
            spans = [(column.min(), column.max()) for column in data.ids.T]
            assert spans[0][0] >= 1
            assert all(a[1] < b[0] for a, b in pairwise(spans))
            assert spans[-1][1] < data.n_ids
            batch = data.batch(np.array([3, 1]))
            np.testing.assert_array_equal(batch.ids[:, 0], 0)
            np.testing.assert_array_equal(batch.ids[:, 1:], data.ids[[3, 1]])


def test_continuous_integers_of_the_text_are_squared_logarithms_and_gaps_have_an_id_of_their_own(raw, tmp_path):
    lines = criteo_lines(200)
    batch = criteo(raw(lines), tmp_path / "data", "continuous", TEXT).batch(slice(0, 200))
    cells = levels_of(lines, 2, lambda cell: np.log1p(max(int(cell), 0)) ** 2 if cell else np.nan)
    known = ~np.isnan(cells)
    train = np.array(cells[:TRAIN])[known[:TRAIN]]
    expected = (np.array(cells) - train.mean()) / train.std()
    np.testing.assert_allclose(batch.weights[known, 2], expected[known], atol=1e-5)
    np.testing.assert_array_equal(batch.weights[~known, 2], 1.0)
    assert_same_groups(known.tolist(), batch.ids[:, 2].tolist())
    np.testing.assert_array_equal(batch.weights[:, 14:], 1.0)


def test_released_integers_are_logarithms_of_positive_ones_and_all_others_are_ids(raw, tmp_path):
    cells = [line.split(b"\t") for line in criteo_lines(200)]
    numbers = np.random.default_rng(0).integers(-3, 40, 200)
    numbers[[170, 180, 190]] = -8, -9, -8  # which training never saw
    texts = [b"" if row % 7 == 0 else b"%d" % number for row, number in enumerate(numbers)]
    for row, text in zip(cells, texts, strict=True):
        row[5] = text
    batch = criteo(raw([b"\t".join(row) for row in cells]), tmp_path / "data", "continuous", RELEASED).batch(
        slice(0, 200)
    )
    present = np.array([text != b"" for text in texts])
    positive = present & (numbers > 0)
    logarithms = np.log(1.0 + np.maximum(numbers, 0))
    train = logarithms[:TRAIN][positive[:TRAIN]]
    expected = np.where(positive, (logarithms - train.mean()) / train.std(), 1.0)
    np.testing.assert_allclose(batch.weights[:, 5], expected, atol=1e-5)
    words = np.select([~present, positive, numbers < -3], ["missing", "positive", "unseen"], numbers.astype(str))
    assert {"missing", "positive", "unseen", "0", "-1", "-2", "-3"} == set(words)
    assert_same_groups(words.tolist(), batch.ids[:, 5].tolist())


def test_a_cache_of_one_protocol_is_not_taken_for_that_of_the_other(raw, tmp_path, monkeypatch):
    columns = raw(criteo_lines(200))
    first = criteo(columns, tmp_path / "data", "continuous", RELEASED).values.copy()
    second = criteo(columns, tmp_path / "data", "continuous", TEXT).values.copy()
    assert (first != second).any()
    monkeypatch.setattr(ids, "building", None)  # it would fail if it were called
    np.testing.assert_array_equal(criteo(columns, tmp_path / "data", "continuous", TEXT).values, second)


def test_a_tenth_of_many_training_rows_is_counted_and_all_of_few(monkeypatch):
    assert counted_rows(1000, RELEASED.counted) == slice(0, 1000)
    monkeypatch.setattr(ids, "_LEAST", 10)
    rows = counted_rows(1000, RELEASED.counted)
    assert len(np.unique(rows)) == 100
    assert (np.diff(rows) > 0).all()
    assert counted_rows(1000, TEXT.counted) == slice(0, 1000)


def test_levels_are_counted_in_the_counted_rows_but_all_buckets_of_training_rows_have_ids(raw, tmp_path, monkeypatch):
    monkeypatch.setattr(ids, "_LEAST", 10)
    lines = criteo_lines(200)
    data = criteo(raw(lines), tmp_path / "data", "bucketed", RELEASED, min_count=2)
    some = counted_rows(TRAIN, RELEASED.counted)
    cells = levels_of(lines, 14, bytes)
    seen = [cells[row] for row in some]
    kinds = [b"" if c == b"" else c if seen.count(c) >= 2 else b"rare" for c in cells]
    assert_same_groups(kinds, data.ids[:, 13].tolist())
    buckets = levels_of(lines[:TRAIN], 1, lambda cell: bucket(int(cell)).item() if cell else cell)
    assert_same_groups(buckets, data.ids[:TRAIN, 0].tolist())


def test_buckets_are_those_of_the_paper():
    x = np.array([-2, 0, 1, 2, 3, 10, 1000])
    np.testing.assert_array_equal(bucket(x), [-2, 0, 1, 2, 3, 7, 49])
