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


@pytest.mark.parametrize("name", ["income", "city"])
def test_numbers_and_levels_of_a_column_are_found_once_and_cannot_be_changed(name, monkeypatch):
    table = read_table(as_pandas_objects())
    cells = table.cells(table.names.index(name))
    first = cells.numbers() if name == "income" else cells.levels()
    monkeypatch.setattr("lambdak.table.cells.factorise", None)
    again = table.cells(table.names.index(name))
    assert again is cells
    assert (again.numbers() if name == "income" else again.levels()) is first
    if name == "income":
        with pytest.raises(ValueError, match="read-only"):
            first[0] = 1.0


def test_reading_numbers_locks_no_array_of_the_user():
    X = np.ones((3, 1))
    read_table(X).cells(0).numbers()
    X[0, 0] = 2.0
    assert X.flags.writeable


def test_a_table_that_need_not_keep_its_columns_keeps_none():
    table = read_table(as_pandas(), keep=False)
    assert table.cells(0) is not table.cells(0)


def test_some_rows_are_read_as_if_the_others_were_not_there_although_all_were_read_before():
    table = read_table(np.array([[1.0], ["?"], [2.0]], dtype=object))
    assert table.cells(0).kind == "text"
    assert table.cells(0, np.array([2, 0])).kind == "number"
    assert table.cells(0, np.array([0, 0, 2])).kind == "number"
    assert table.cells(0, np.array([2, 1, 0])).values.tolist() == [2.0, "?", 1.0]
