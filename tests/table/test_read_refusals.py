"""What cannot be read is named together with the way out."""

import datetime
import decimal
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from lambdak.table.encoder import TableEncoder

DAY = datetime.date(2024, 1, 31)
SECOND = datetime.timedelta(seconds=1)
REFUSED = [
    ({"w": pd.to_datetime([DAY])}, r"'w' is a date \(datetime64\[\w+\]\): expand it into numbers"),
    ({"w": pd.to_datetime([DAY]).tz_localize("UTC")}, r"'w' is a date \(datetime64\[\w+, UTC\]\): expand it"),
    ({"w": pd.Series([DAY], dtype=object)}, r"'w' is a date \(date\): expand it into numbers"),
    ({"w": pd.to_timedelta([SECOND])}, r"'w' is a duration \(timedelta64\[\w+\]\): replace it with a number"),
    ({"w": [datetime.time(1)]}, r"'w' is a time of day \(time\): replace it with a number, such as its hour"),
    ({"w": [decimal.Decimal(1)]}, r"'w' is made of decimals \(Decimal\): convert it to float"),
    ({"w": [[1, 2]]}, r"'w' is made of objects \(list\): unpack it into separate columns"),
    ({"w": [b"a"]}, r"'w' is binary \(bytes\): decode it to strings"),
    ({"w": pd.Series([np.timedelta64(1, "s")], dtype=object)}, r"'w' is a duration \(\w+\): replace it with a number"),
    ({"w": pd.Categorical(pd.to_datetime([DAY]))}, r"'w' is a date \(datetime64\[\w+\]\): expand it into numbers"),
    ({"w": pd.period_range("2024", periods=1)}, r"'w' is a date \(Period\): convert it with"),
    ({"w": pd.interval_range(0, 1)}, r"'w' is made of intervals \(Interval\): convert it to strings or to a category"),
]


@pytest.mark.parametrize(("columns", "message"), REFUSED)
def test_a_pandas_column_that_cannot_be_read_is_named_with_its_dtype_and_the_way_out(columns, message):
    with pytest.raises(TypeError, match="column " + message):
        TableEncoder().fit(pd.DataFrame({"ok": [1.0], **columns}))


@pytest.mark.parametrize("arrow", [False, True])
@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (DAY, r"'w' is a date \([dD]ate.*\): expand it into numbers"),
        (datetime.datetime(2024, 1, 31), r"'w' is a date \((Datetime|timestamp).*\): expand it into numbers"),
        (SECOND, r"'w' is a duration \([dD]uration.*\): replace it with a number"),
        (datetime.time(1), r"'w' is a time of day \([tT]ime.*\): replace it with a number"),
        ([1, 2], r"'w' is nested \(.*[lL]ist.*\): unpack it into separate columns"),
        ({"a": 1}, r"'w' is nested \([sS]truct.*\): unpack it into separate columns"),
        (b"a", r"'w' is binary \(bytes\): decode it to strings"),
    ],
)
def test_a_polars_or_arrow_column_that_cannot_be_read_is_named_too(cell, message, arrow):
    X = pl.DataFrame({"ok": [1.0], "w": [cell]})
    with pytest.raises(TypeError, match="column " + message):
        TableEncoder().fit(X.to_arrow() if arrow else X)


@pytest.mark.parametrize(("dtype", "what"), [("M8[D]", "a date"), ("m8[s]", "a duration"), ("S3", "binary")])
def test_arrays_of_dates_durations_and_bytes_are_refused(dtype, what):
    with pytest.raises(TypeError, match=rf"column 'x0' is {what} \(.*\): "):
        TableEncoder().fit(np.ones((2, 2), int).astype(dtype))


def test_a_date_is_refused_at_transform_as_well():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(TypeError, match="column 'a' is a date"):
        encoder.transform(pd.DataFrame({"a": pd.to_datetime([DAY])}))


def test_an_object_cell_that_is_no_string_or_number_is_refused_in_scikit_learns_words():
    X = np.ones((4, 2), dtype=object)
    X[0, 1] = {"foo": "bar"}
    with pytest.raises(TypeError, match=r"column 'x1' .*argument must be .* string.* number"):
        TableEncoder().fit(X)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e308])
@pytest.mark.parametrize("kind", [np.array, pd.DataFrame, sparse.csr_array])
def test_infinite_and_huge_values_are_refused_in_fit_and_transform(bad, kind):
    X = np.ones((4, 2))
    encoder = TableEncoder().fit(kind(X))
    X[2, 1] = bad
    message = rf"column 'x1' contains infinity or a value too large; got {re.escape(str(bad))}.*: replace it with NaN"
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(kind(X))
    with pytest.raises(ValueError, match=message):
        encoder.transform(kind(X))


def test_one_dimension_is_refused_with_the_way_out():
    for X in ([1.0, 2.0], np.ones(3), pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0])):
        with pytest.raises(ValueError, match=r"Expected 2D array, got 1D array instead:(.|\n)*Reshape your data"):
            TableEncoder().fit(X)
    with pytest.raises(ValueError, match="Expected 2D array, got scalar array instead"):
        TableEncoder().fit(3.0)
    with pytest.raises(ValueError, match="Found array with dim 3, while dim <= 2 is required"):
        TableEncoder().fit(np.ones((2, 2, 2)))


def test_rows_of_different_length_are_refused():
    with pytest.raises(ValueError, match="rows have the same length"):
        TableEncoder().fit([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize(
    "make", [np.array, pd.DataFrame, sparse.csr_array, lambda X: X.astype(object), np.ndarray.tolist]
)
def test_complex_data_are_refused(make):
    with pytest.raises(ValueError, match="Complex data not supported"):
        TableEncoder().fit(make(np.ones((3, 2)) * 1j))


@pytest.mark.parametrize("make", [np.array, pd.DataFrame, sparse.csr_array])
def test_no_rows_and_no_columns_are_refused_in_scikit_learns_words(make):
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1"):
        TableEncoder().fit(make(np.empty((0, 3))))
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required\."):
        TableEncoder().fit(make(np.empty((12, 0))))


@pytest.mark.parametrize(
    "X", [pd.DataFrame(np.ones((2, 3)), columns=["a", "b", "a"]), pa.table([[1], [2], [3]], names=["a", "b", "a"])]
)
def test_repeated_names_are_named(X):
    with pytest.raises(ValueError, match=r"column names must be unique; got \['a'\] more than once: rename or drop"):
        TableEncoder().fit(X)


def test_a_mixture_of_strings_and_integers_as_names_is_refused():
    with pytest.raises(TypeError, match="Feature names are only supported if all input features have string names"):
        TableEncoder().fit(pd.DataFrame({"a": [1.0], 0: [2.0]}))


def test_lazy_frames_are_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"X is lazy \(LazyFrame\): collect it first, with X.collect\(\)"):
        TableEncoder().fit(pl.LazyFrame({"a": [1.0]}))


def test_strings_in_a_numeric_column_are_refused_with_the_cell():
    encoder = TableEncoder().fit(pd.DataFrame({"age": [1.0, 2.0]}))
    for cells in (["old", "1"], np.array(["old", 1], dtype=object)):
        with pytest.raises(
            ValueError, match="column 'age' must hold numbers; got 'old' in row 0: convert it to numbers"
        ):
            encoder.transform(pd.DataFrame({"age": cells}))
    with pytest.raises(ValueError, match="column 'x0' must hold numbers; got 'a'"):
        TableEncoder(linear=["x0"]).fit([["a"]])
