"""Rows to train on: each as often as its weight says, and validation rows stay as they are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from lambdak.table.encoder import TableEncoder
from lambdak.training import rows as module
from lambdak.training.rows import GivenRows

X = np.array([[0.0], [1.0], [0.0], [2.0], [1.0], [0.0]])
Y = np.array([5.0, 6.0, 5.0, 7.0, 9.0, 5.0])
ENCODER = TableEncoder().fit(X)


def counts(rows):
    """How often every distinct row and target occurs."""
    return Counter(zip(rows.design.to_sparse(ENCODER.n_design).toarray()[:, 1:].argmax(axis=1), rows.y, strict=True))


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (None, {(0, 5): 3, (1, 6): 1, (1, 9): 1, (2, 7): 1}),
        ([1.0, 2.0, 0.5, 1.0, 0.0, 4.0], {(0, 5): 11, (1, 6): 4, (2, 7): 2}),  # in units of 0.5
        ([1e300, 2e300, 0.0, 1e300, 1e-300, 0.0], {(0, 5): 1, (1, 6): 2, (2, 7): 1}),
    ],
)
def test_rows_occur_as_often_as_their_weights_say(weight, expected):
    given = GivenRows(X, Y, None if weight is None else np.array(weight)).encoded(ENCODER)
    assert given.weight is None
    assert counts(given) == expected


@pytest.mark.parametrize("weight", [[1.0, 0.3, 0.7, 1.0, 0.0, 0.1], [1.0, 2.0, 9000.0, 1.0, 0.0, 4.0]])
def test_rows_whose_weights_count_none_or_too_many_stay_apart(weight):
    given = GivenRows(X, Y, np.array(weight)).encoded(ENCODER)
    assert counts(given) == {(0, 5): 3, (1, 6): 1, (2, 7): 1}
    assert sorted(given.weight / given.weight.max()) == pytest.approx(
        sorted(np.array(weight)[[0, 1, 2, 3, 5]] / max(weight))
    )


def test_rows_that_differ_have_no_weights_and_an_order_of_their_own():
    order = np.array([3, 1, 0])
    first, second = (GivenRows(X[some], Y[some]).encoded(ENCODER) for some in (order, order[::-1]))
    assert first.weight is None
    np.testing.assert_array_equal(first.y, second.y)
    np.testing.assert_array_equal(first.design.ids, second.design.ids)


def test_offsets_keep_rows_apart_and_go_with_them():
    given = GivenRows(X, Y, offset=np.arange(6.0) % 2).encoded(ENCODER)
    assert sorted(zip(given.y, given.offset, strict=True)) == [(5, 0), (5, 0), (5, 1), (6, 1), (7, 1), (9, 0)]


def test_the_rows_of_a_long_table_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(module, "_COUNTED_ROWS", 5)
    given = GivenRows(X, Y).encoded(ENCODER)
    np.testing.assert_array_equal(given.y, Y)
    assert given.weight is None


def test_validation_rows_are_neither_merged_nor_weighted():
    validation = GivenRows(X, Y, np.arange(6.0), validation=GivenRows(X, Y)).encoded_validation(ENCODER)
    np.testing.assert_array_equal(validation.y, Y)
    assert validation.weight is None
    assert GivenRows(X, Y).encoded_validation(ENCODER) is None


def test_equal_weights_are_no_weights():
    for constant in (1e39, 1e-320, 0.1):
        assert GivenRows(X, Y, np.full(6, constant)).weight is None


def test_a_few_equal_rows_become_one_and_many_stay_apart():
    encoder = TableEncoder(n_knots=4).fit(np.arange(40.0)[:, None])
    few, many = (np.append(np.arange(36.0), np.zeros(4)), np.repeat(np.arange(4.0), 10))
    one = GivenRows(few[:, None], np.zeros(40)).encoded(encoder)
    assert (len(one.design), one.weight.max(), one.weight.sum()) == (36, 5.0, 40.0)
    apart = GivenRows(many[:, None], np.zeros(40)).encoded(encoder)
    assert (len(apart.design), apart.weight) == (40, None)
