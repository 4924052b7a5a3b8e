"""Cells of a column: numbers and levels are found once, and cannot be changed."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from table_cases import as_pandas_objects

from lambdak.table.read import read_table


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


def test_some_rows_are_read_as_if_the_others_were_not_there_although_all_were_read_before():
    table = read_table(np.array([[1.0], ["?"], [2.0]], dtype=object))
    assert table.cells(0).kind == "text"
    assert table.cells(0, np.array([2, 0])).kind == "number"
    assert table.cells(0, np.array([0, 0, 2])).kind == "number"
    assert table.cells(0, np.array([2, 1, 0])).values.tolist() == [2.0, "?", 1.0]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(10**400, r"1e\+400"), (-(10**5000), r"-1e\+5000"), (Fraction(10**400), r"1e\+400"), (float("-inf"), "-inf")],
    ids=["int", "negative int", "fraction", "infinity"],
)
def test_a_number_beyond_float64_is_named_with_its_column_and_row(value, shown):
    cells = [1, 2, value, 4]
    for table in (pd.DataFrame({"age": pd.Series(cells, dtype=object)}), np.array([cells], object).T):
        name = read_table(table).names[0]
        with pytest.raises(ValueError, match=f"column '{name}' contains .* too large; got {shown} in row 2: replace"):
            read_table(table).cells(0).numbers()
    reordered = read_table(table).cells(0, np.array([2, 0]))
    with pytest.raises(ValueError, match=f"got {shown} in row 2"):
        reordered.numbers()


def test_a_fraction_beyond_float64_among_strings_is_a_level():
    cells = read_table(np.array([["red", Fraction(10**400)]], object).T).cells(0)
    assert cells.levels()[1] == ["red", str(10**400)]
