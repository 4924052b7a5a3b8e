"""What comes beside a table has one entry per row, or is refused."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.table.rows import given_together, optional_rows, target_rows


def test_one_number_is_that_of_every_row_and_none_is_none():
    np.testing.assert_array_equal(optional_rows(2.5, 3, "offset"), np.full(3, 2.5, np.float32))
    np.testing.assert_array_equal(optional_rows([1, 2, 3], 3, "offset"), np.array([1, 2, 3], np.float32))
    assert optional_rows(None, 3, "offset") is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], r"offset must have shape \(3,\), one entry per row of X; got \(2,\)"),
        (np.ones((3, 1)), r"offset must have shape \(3,\), one entry per row of X; got \(3, 1\)"),
        ([1.0, np.inf, 2.0], "offset must be finite; got inf at row 1"),
    ],
)
def test_what_does_not_fit_the_rows_is_named(values, message):
    with pytest.raises(ValueError, match=message):
        optional_rows(values, 3, "offset")


def test_a_table_and_its_targets_are_given_together_or_not_at_all():
    assert given_together([[1.0]], [1.0])
    assert not given_together(None, None)
    with pytest.raises(ValueError, match="got y_val without X_val"):
        given_together(None, [1.0])


def test_a_target_is_one_column():
    assert target_rows([1, 2]).tolist() == [1, 2]
    with pytest.raises(ValueError, match="y must be given"):
        target_rows(None)
