"""Tables of any make are read alike."""

import decimal
from dataclasses import replace

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.utils.estimator_checks import _NotAnArray
from table_cases import as_pandas, as_pandas_objects, assert_same, values

from lambdak.table.encoder import TableEncoder
from lambdak.table.read import read_table


def as_pandas_nullable():
    return as_pandas().convert_dtypes()


def as_pandas_arrow():
    return as_pandas().convert_dtypes(dtype_backend="pyarrow")


def as_polars():
    return pl.DataFrame(values()).with_columns(pl.col("grade").cast(pl.Categorical), pl.col("age").cast(pl.Int16))


def as_polars_enum():
    return as_polars().with_columns(pl.col("grade").cast(pl.Enum(["high", "low", "mid"])))


def as_arrow():
    return pa.table(values())


def as_arrow_dictionary():
    table = as_arrow()
    for i, name in ((2, "city"), (4, "grade")):
        table = table.set_column(i, name, table[name].dictionary_encode())
    return table


MAKES = [
    as_pandas_objects, as_pandas_nullable, as_pandas_arrow, as_polars, as_polars_enum, as_arrow, as_arrow_dictionary,
]  # fmt: skip


def as_objects():
    return np.array(list(zip(*values().values(), strict=True)), dtype=object)


def as_rows():
    return [list(row) for row in zip(*values().values(), strict=True)]


@pytest.mark.parametrize("make", MAKES, ids=lambda make: make.__name__)
def test_every_make_of_the_same_table_gives_the_same_design(make):
    reference = TableEncoder().fit(as_pandas())
    encoder = TableEncoder().fit(make())
    assert encoder.from_names
    assert encoder.feature_names == tuple(values())
    assert [column.kind for column in encoder.columns] == ["curve", "curve", "category", "category", "category"]
    assert [own.without_order().saved() for own in encoder.columns] == [own.saved() for own in reference.columns]
    assert_same(encoder.transform(make()), reference.transform(as_pandas()))
    assert_same(encoder.transform(as_pandas()), reference.transform(make()))


@pytest.mark.parametrize("make", [as_objects, as_rows], ids=lambda make: make.__name__)
def test_arrays_and_rows_give_the_design_of_the_table_under_scikit_learns_names(make):
    encoder = TableEncoder().fit(make())
    assert not encoder.from_names
    assert encoder.feature_names == ("x0", "x1", "x2", "x3", "x4")
    assert_same(encoder.transform(make()), TableEncoder().fit(as_pandas()).transform(as_pandas()))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint64, np.longdouble, ">f8", object])
def test_every_numeric_dtype_is_read_as_numbers(dtype):
    X = np.arange(24).reshape(8, 3) % 7
    reference = TableEncoder().fit(X.astype(float)).transform(X.astype(float))
    assert_same(TableEncoder().fit(X.astype(dtype)).transform(X.astype(dtype)), reference)
    assert_same(TableEncoder().fit(X.tolist()).transform(_NotAnArray(X)), reference)


def test_decimal_dtypes_are_read_as_numbers():
    cents = [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")]
    for X in (pl.DataFrame({"a": cents}), pa.table({"a": cents})):
        np.testing.assert_array_equal(read_table(X).cells(0).numbers(), [1.5, np.nan, 2.25])


def test_wide_integers_and_columns_without_a_type_are_read():
    X = pl.DataFrame({"a": [1, None, 3] * 3, "n": [None] * 9}).with_columns(pl.col("a").cast(pl.Int128))
    number, nothing = TableEncoder().fit(X).columns
    assert (number.kind, number.knots.tolist(), number.missing) == ("curve", [1.0, 3.0], 3)
    assert (nothing.kind, nothing.levels) == ("category", (None,))


def test_a_null_in_a_dictionary_array_is_missing_and_not_some_level():
    X = pa.table({"a": pa.array(["u", None, "v"] * 5).dictionary_encode()})
    assert TableEncoder().fit(X).columns[0].levels == ("u", "v", None)


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, lambda columns: pd.DataFrame(columns, dtype="Int64")])
def test_rows_that_are_not_read_change_nothing_about_the_others(make):
    table = read_table(make({"code": [2**60 + 1, None, 2**60 + 2, 7]}))
    codes, levels = table.cells(0, np.array([3, 2, 0, 0])).levels()  # the null would make floats of them, all alike
    assert (codes.tolist(), levels) == ([0, 1, 2, 2], [7, 2**60 + 2, 2**60 + 1])


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, pd.NaT])
def test_every_spelling_of_missing_is_the_same(gap):
    X = np.array([[1.0, "a"], [gap, gap], [3.0, "b"]], dtype=object)
    encoder = TableEncoder(min_level_count=1).fit(X)
    assert encoder.columns[0].missing == 3
    assert encoder.columns[1].levels == ("a", "b", None)
    np.testing.assert_array_equal(encoder.transform(X).ids[1], [0, 3, 3, 6])


def test_integer_names_of_pandas_columns_count_as_no_names():
    encoder = TableEncoder().fit(pd.DataFrame({3: [1.0, 2.0], 5: ["a", "b"]}))
    assert not encoder.from_names
    assert encoder.feature_names == ("x0", "x1")
    assert encoder.columns[1].levels == ("a", "b")


def test_categories_of_intervals_get_readable_levels():
    X = pd.DataFrame({"age": pd.cut([1, 2, 11, 12, 21], [0, 10, 20, 30])})
    assert TableEncoder(min_level_count=1).fit(X).columns[0].levels == ("(0, 10]", "(10, 20]", "(20, 30]")


def test_a_part_of_a_table_counts_its_rows_from_where_it_begins():
    part = replace(read_table(pd.DataFrame({"a": [1.0, np.inf]})), first_row=1000)
    with pytest.raises(ValueError, match=r"column 'a' contains infinity .* in row 1001"):
        part.cells(0).numbers()
    with pytest.raises(ValueError, match="in row 1001"):
        part.cells(0, slice(1, 2)).numbers()
    with pytest.raises(ValueError, match="in row 1"):
        read_table(pd.DataFrame({"a": [1.0, np.inf]})).cells(0, slice(1, 2)).numbers()


def test_strings_of_arrow_are_those_of_pandas_with_gaps_in_any_chunk():
    chunks = pa.chunked_array([["b", None, "a"], ["a", "c"], pa.array([], pa.string()), [None, "b"]])
    for column in (chunks, chunks.slice(1, 4), pa.chunked_array([["x"]]), pa.chunked_array([[None]], pa.string())):
        codes, levels = read_table(pa.table({"s": column})).cells(0).levels()
        assert [levels[code] for code in codes] == column.to_pylist()
        assert len(set(levels)) == len(levels)


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_reading_all_columns_of_a_frame_does_not_list_its_names_for_each_of_them(make, monkeypatch):
    listed = []
    names = nw.DataFrame.columns.fget
    monkeypatch.setattr(nw.DataFrame, "columns", property(lambda frame: listed.append(1) or names(frame)))
    table = read_table(make({f"x{i}": [1.0, float(i)] for i in range(50)}))
    assert [table.cells(i).values[1] for i in range(50)] == [float(i) for i in range(50)]
    assert len(listed) < 5
