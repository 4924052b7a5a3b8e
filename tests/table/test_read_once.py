"""A table is read once, however often its columns are needed."""

import typing
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from table_cases import ROWS, as_pandas, as_pandas_objects, assert_same, values

from lambdak.table.encoder import TableEncoder
from lambdak.table.read import read_table


class Counting(pd.DataFrame):
    """A frame that counts how often each of its columns is read."""

    reads: typing.ClassVar[Counter] = Counter()

    def __getitem__(self, name):
        self.reads[name] += 1
        return super().__getitem__(name)


def counting():
    frame = Counting(values())
    frame.reads.clear()
    return frame


def test_a_table_that_was_read_is_itself():
    table = read_table(as_pandas())
    assert read_table(table) is table
    assert read_table(table, keep=False).keep


@pytest.mark.parametrize("weight", [None, np.arange(1.0, ROWS + 1)], ids=["rows", "weights"])
def test_a_column_is_read_once_however_often_it_is_needed(weight):
    frame = counting()
    table = read_table(frame)
    encoder = TableEncoder(n_knots=4).fit(table, weight)
    assert frame.reads == dict.fromkeys(values(), 1)
    designs = encoder.transform(table), encoder.transform(table), encoder.slopes(table)
    assert frame.reads == dict.fromkeys(values(), 1)
    plain = TableEncoder(n_knots=4).fit(as_pandas_objects(), weight)
    for design, expected in zip(designs, (plain.transform, plain.transform, plain.slopes), strict=True):
        assert_same(design, expected(as_pandas_objects()))
    encoder.transform(frame)
    assert frame.reads == dict.fromkeys(values(), 2)  # a frame may have changed


def test_a_table_that_need_not_keep_its_columns_keeps_none():
    table = read_table(as_pandas(), keep=False)
    assert table.cells(0) is not table.cells(0)
