"""The endless shuffled stream."""

import itertools

import numpy as np
import pytest

from lambdak.paper.data.rows import Stream


def batches(rows, batch, seed, count):
    return np.stack(list(itertools.islice(Stream(rows, batch, seed), count)))


def test_every_copy_of_the_rows_is_a_permutation_of_them():
    stream = batches(10, 4, 0, 25).ravel()  # ten copies, most batches of which cross the end of one
    for copy in stream.reshape(10, 10):
        np.testing.assert_array_equal(np.sort(copy), np.arange(10))


def test_copies_differ_from_each_other():
    first, second = batches(100, 100, 0, 2)
    assert (first != second).any()


def test_a_batch_may_be_larger_than_the_rows():
    np.testing.assert_array_equal(np.bincount(batches(3, 7, 0, 3).ravel()), [7, 7, 7])


def test_a_seed_yields_the_same_batches_again_and_another_one_does_not():
    np.testing.assert_array_equal(batches(50, 8, 3, 20), batches(50, 8, 3, 20))
    assert (batches(50, 8, 3, 20) != batches(50, 8, 4, 20)).any()


def test_row_numbers_take_four_bytes():
    assert batches(50, 8, 3, 1).dtype == np.int32


@pytest.mark.parametrize(("rows", "batch"), [(0, 4), (2**31, 4), (5, 0)])
def test_impossible_sizes_are_refused(rows, batch):
    with pytest.raises(ValueError, match="rows must be"):
        Stream(rows, batch, 0)
