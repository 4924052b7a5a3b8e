"""Tables of any make are read alike, and what cannot be read is named together with the way out."""

import datetime
import decimal
import re
import typing
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import _NotAnArray

from lambdak.table.encoder import OTHER, TableEncoder
from lambdak.table.read import read_table

ROWS = 60


def values(seed=0):
    rng = np.random.default_rng(seed)
    income = rng.normal(size=ROWS).round(1).astype(object)
    income[::7] = None
    city = rng.choice(["Rome", "Oslo", "Bern"], ROWS).astype(object)
    city[::9] = None
    return {
        "age": rng.integers(18, 80, ROWS).tolist(),
        "income": income.tolist(),
        "city": city.tolist(),
        "owner": rng.random(ROWS).__lt__(0.5).tolist(),
        "grade": rng.choice(["low", "mid", "high"], ROWS).tolist(),
    }


def as_pandas():
    return pd.DataFrame(values()).astype({"income": float, "grade": "category"})


def as_pandas_objects():
    return pd.DataFrame(values(), dtype=object)


def as_pandas_nullable():
    return as_pandas().convert_dtypes()


def as_pandas_arrow():
    return as_pandas().convert_dtypes(dtype_backend="pyarrow")


def as_polars():
    return pl.DataFrame(values()).with_columns(pl.col("grade").cast(pl.Categorical), pl.col("age").cast(pl.Int16))


def as_polars_enum():
    return as_polars().with_columns(pl.col("grade").cast(pl.Enum(["mid", "low", "high"])))


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


def assert_same(design, other):
    np.testing.assert_array_equal(design.ids, other.ids)
    np.testing.assert_array_equal(design.weights, other.weights)


@pytest.mark.parametrize("make", MAKES, ids=lambda make: make.__name__)
def test_every_make_of_the_same_table_gives_the_same_design(make):
    reference = TableEncoder().fit(as_pandas())
    encoder = TableEncoder().fit(make())
    assert encoder.from_names
    assert encoder.feature_names == tuple(values())
    assert [column.kind for column in encoder.columns] == ["curve", "curve", "category", "category", "category"]
    assert [column.saved() for column in encoder.columns] == [column.saved() for column in reference.columns]
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
    assert encoder.columns[1].levels == (OTHER,)


def test_categories_of_intervals_get_readable_levels():
    X = pd.DataFrame({"age": pd.cut([1, 2, 11, 12, 21], [0, 10, 20, 30])})
    assert TableEncoder(min_level_count=1).fit(X).columns[0].levels == ("(0, 10]", "(10, 20]", "(20, 30]")


DAY = datetime.date(2024, 1, 31)
SECOND = datetime.timedelta(seconds=1)
REFUSED = [
    ({"w": pd.to_datetime([DAY])}, r"'w' is a date \(datetime64\[\w+\]\): replace it with numbers, such as its year"),
    ({"w": pd.to_datetime([DAY]).tz_localize("UTC")}, r"'w' is a date \(datetime64\[\w+, UTC\]\): replace it"),
    ({"w": pd.Series([DAY], dtype=object)}, r"'w' is a date \(date\): replace it with numbers, such as its year"),
    ({"w": pd.to_timedelta([SECOND])}, r"'w' is a duration \(timedelta64\[\w+\]\): replace it with a number"),
    ({"w": [datetime.time(1)]}, r"'w' is a time of day \(time\): replace it with a number, such as its hour"),
    ({"w": [decimal.Decimal(1)]}, r"'w' is made of decimals \(Decimal\): convert it to float"),
    ({"w": [[1, 2]]}, r"'w' is made of objects \(list\): unpack it into separate columns"),
    ({"w": [b"a"]}, r"'w' is binary \(bytes\): decode it to strings"),
    ({"w": pd.Series([np.timedelta64(1, "s")], dtype=object)}, r"'w' is a duration \(\w+\): replace it with a number"),
    ({"w": pd.Categorical(pd.to_datetime([DAY]))}, r"'w' is a date \(datetime64\[\w+\]\): replace it"),
    ({"w": pd.period_range("2024", periods=1)}, r"'w' is made of objects \(Period\)"),
]


@pytest.mark.parametrize(("columns", "message"), REFUSED)
def test_a_pandas_column_that_cannot_be_read_is_named_with_its_dtype_and_the_way_out(columns, message):
    with pytest.raises(TypeError, match="column " + message):
        TableEncoder().fit(pd.DataFrame({"ok": [1.0], **columns}))


@pytest.mark.parametrize("arrow", [False, True])
@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (DAY, r"'w' is a date \([dD]ate.*\): replace it with numbers"),
        (datetime.datetime(2024, 1, 31), r"'w' is a date \((Datetime|timestamp).*\): replace it with numbers"),
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
        with pytest.raises(ValueError, match="column 'age' must hold numbers; got 'old': convert it to numbers"):
            encoder.transform(pd.DataFrame({"age": cells}))
    with pytest.raises(ValueError, match="column 'x0' must hold numbers; got 'a'"):
        TableEncoder(linear=["x0"]).fit([["a"]])


# ---- a table is read once --------------------------------------------------------------------------------------


class Counting(pd.DataFrame):
    """A frame that counts how often each of its columns is asked for."""

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
def test_a_column_is_read_once_however_often_a_table_is_asked_for_it(weight):
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
