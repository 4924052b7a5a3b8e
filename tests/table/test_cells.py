"""Cells of a column: numbers and levels are found once, and cannot be changed."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from table_cases import as_pandas_objects

from lambdak.table.cells import factorise, factorise_list, first_of_each
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


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize("high", [2, 90, 100_000], ids=["two", "few", "far apart"])
def test_whole_numbers_close_together_have_the_codes_that_hashing_finds(dtype, high):
    values = (np.random.default_rng(0).integers(0, high, 300) % (120 if dtype is np.int8 else high)).astype(dtype)
    codes, keys = factorise(values)
    expected, distinct = factorise_list(values.tolist())
    np.testing.assert_array_equal(codes, expected)
    assert keys == distinct
    assert [type(key) for key in keys] == [type(key) for key in distinct]
    assert (first_of_each(values) is not None) == (high < 1000 or dtype in (bool, np.int8))


@pytest.mark.parametrize(
    "values",
    [[0.5, 1.0], [1.0, np.nan], [np.inf, 1.0], [2.0**53, 1.0], np.array([2**64 - 1, 2**64 - 2], np.uint64), []],
    ids=str,
)
def test_other_numbers_are_hashed(values):
    assert first_of_each(np.array(values)) is None


def test_half_precision_numbers_are_compared_without_a_warning():
    codes, first = first_of_each(np.array([7, 5, 7], np.float16))
    assert codes.tolist() == [0, 1, 0]
    assert first.tolist() == [0, 1]


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("library", ["pandas", "polars", "enum"])
def test_levels_of_a_long_category_are_those_of_its_strings(library, gaps):
    rng = np.random.default_rng(0)
    strings = rng.choice(["Rome", "Oslo", "Bern", None if gaps else "Rome"], 3000).tolist()
    levels = ["none", "Bern", "Rome", "Oslo"]
    categories = {
        "pandas": lambda: pd.DataFrame({"c": pd.Categorical(strings, levels)}),
        "polars": lambda: pl.DataFrame({"c": strings}, {"c": pl.Categorical}),
        "enum": lambda: pl.DataFrame({"c": strings}, {"c": pl.Enum(levels)}),
    }
    cells = read_table(categories[library]()).cells(0)
    codes, levels = cells.levels()
    assert [levels[code] for code in codes] == strings
    assert levels == list(dict.fromkeys(strings))  # no level that does not occur
    assert cells.kind == "text"
