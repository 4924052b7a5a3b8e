"""Criteo's columns as active ids."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from lambdak.paper.data.criteo import raw_criteo
from lambdak.paper.data.ids import KINDS, bucket, criteo
from lambdak.paper.data.miniature import criteo_lines


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
    found = data.ids[:, place - 1].tolist()
    assert (
        len(set(zip(kinds, found, strict=True))) == len(set(kinds)) == len(set(found))
    )  # one id per kind, one kind per id
    assert {"missing", "rare"} <= set(kinds)


def test_columns_share_no_ids_and_the_constant_is_id_zero(criteo_file, tmp_path):
    raw = raw_criteo(criteo_file(criteo_lines(200)), tmp_path / "raw", progress=False)
    for kind in KINDS:
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
