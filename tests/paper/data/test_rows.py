"""Rows to learn from: batches, parts and splits."""

from __future__ import annotations

import numpy as np

from lambdak.paper.data import rows
from lambdak.paper.data.rows import DenseData, SparseData, ordered_splits


def dense(count=20):
    x = np.arange(count * 3, dtype=np.float32).reshape(count, 3)
    return DenseData(np.arange(count, dtype=np.float32), ordered_splits(count), "checksum", x)


def test_a_slice_and_row_numbers_give_the_same_batch():
    data = dense()
    for one, other in zip(data.batch(slice(4, 7)), data.batch(np.array([4, 5, 6])), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_part_is_all_of_its_rows_in_order_whatever_the_blocks(monkeypatch):
    monkeypatch.setattr(rows, "_MEASURED", 3)
    found = list(dense().part("train"))
    assert [len(batch.y) for batch in found] == [3, 3, 3, 3, 3, 1]
    np.testing.assert_array_equal(np.concatenate([batch.y for batch in found]), np.arange(16))


def test_splits_are_80_10_and_10_percent_in_order():
    assert ordered_splits(105) == {"train": (0, 84), "validation": (84, 94), "test": (94, 105)}


def test_the_constant_comes_first_and_columns_without_a_value_have_weight_one():
    ids, values = np.array([[3, 5], [4, 6]], np.int32), np.array([[0.5], [2.0]], np.float32)
    data = SparseData(np.zeros(2, np.float32), ordered_splits(2), "checksum", ids, values, n_ids=7)
    batch = data.batch(slice(0, 2))
    np.testing.assert_array_equal(batch.ids, [[0, 3, 5], [0, 4, 6]])
    np.testing.assert_array_equal(batch.weights, [[1, 0.5, 1], [1, 2, 1]])
