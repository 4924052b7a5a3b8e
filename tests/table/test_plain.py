"""Short tables are read cell by cell, to the same bits and the same errors as long ones."""

import datetime
import decimal
import fractions

import numpy as np
import pandas as pd
import polars as pl
import pytest
from table_cases import ROWS, as_pandas, as_pandas_objects, assert_same, values

from lambdak.table.encoder import TableEncoder
from lambdak.table.plain import FEW_ROWS, plain_level, plain_number
from lambdak.table.read import read_table

NAN = float("nan")


def as_polars():
    return pl.DataFrame(values()).with_columns(pl.col("grade").cast(pl.Categorical))


def as_objects():
    return np.array(list(zip(*values().values(), strict=True)), dtype=object)


def as_lists():
    return as_objects().tolist()


def as_numbers():
    return np.random.default_rng(0).normal(size=(ROWS, 3)).round(1).astype(np.float32)


def as_numbers_frame():
    return pd.DataFrame(as_numbers(), columns=["a", "b", "c"])


def as_nullable():
    return as_pandas().convert_dtypes()


MAKES = [
    as_pandas, as_pandas_objects, as_nullable, as_polars, as_objects, as_lists, as_numbers, as_numbers_frame,
]  # fmt: skip


def some_rows(X, first, last):
    return X.iloc[first:last] if isinstance(X, pd.DataFrame) else X[first:last]


@pytest.mark.parametrize("settings", [{}, {"n_knots": 0}, {"clamp": False, "min_level_count": 25}], ids=str)
@pytest.mark.parametrize("make", MAKES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_short_table_gives_the_bits_of_its_rows_in_a_long_one(make, settings, dtype):
    X = make()
    encoder = TableEncoder(**settings).fit(some_rows(X, 5, 50))  # the others go beyond its range and its levels
    whole = encoder.transform(X, dtype)
    for size in (1, 2, FEW_ROWS):
        for first in range(0, ROWS, size):
            part = some_rows(X, first, first + size)
            assert encoder._short_design(read_table(part, keep=False), np.dtype(dtype)) is not None
            assert_same(encoder.transform(part, dtype), whole.take(slice(first, first + size)))


def test_a_table_that_is_not_short_is_read_by_columns():
    encoder = TableEncoder().fit(as_pandas())
    assert encoder._short_design(read_table(as_pandas().iloc[: FEW_ROWS + 1], keep=False), np.dtype(float)) is None


def test_a_short_table_that_keeps_its_columns_is_not_read_again_by_cells():
    encoder = TableEncoder().fit(as_pandas())
    assert encoder._short_design(read_table(as_pandas()[:1]), np.dtype(float)) is None


def test_columns_of_a_short_table_are_found_by_name_and_others_are_ignored():
    frame = as_pandas()
    encoder = TableEncoder().fit(frame)
    row = frame.assign(day=pd.Timestamp("2024-01-31"), column_names="x").iloc[3:4, ::-1]
    assert encoder._short_design(read_table(row, keep=False), np.dtype(float)) is not None
    assert_same(encoder.transform(row), encoder.transform(frame).take([3]))
    assert_same(encoder.transform(pl.from_pandas(row)), encoder.transform(frame).take([3]))


DAY = datetime.date(2024, 1, 31)
ODD = {
    "age": [
        "old", float("inf"), -float("inf"), 1e308, 10**400, 1j, b"1", DAY, datetime.time(1), decimal.Decimal(1), [1],
        np.datetime64("2024-01-31"), np.timedelta64(1, "s"), pd.Timestamp(DAY), pd.Interval(0, 1),
    ],
    "city": [3, 2.5, True, 10**400, 1j, b"Rome", DAY, decimal.Decimal(1), ("Rome",), pd.Timedelta(1, "s")],
}  # fmt: skip


def outcome(encoder, X):
    """The design, or the error in words."""
    try:
        return encoder.transform(X)
    except (TypeError, ValueError) as error:
        return type(error), str(error)


def repeated(X, times):
    return pd.concat([X] * times, ignore_index=True) if isinstance(X, pd.DataFrame) else pl.concat([X] * times)


def assert_alike(encoder, row):
    short, long = outcome(encoder, row), outcome(encoder, repeated(row, FEW_ROWS + 1))
    if isinstance(long, tuple):
        assert short == long
    else:
        assert_same(short, long.take([0]))


@pytest.mark.parametrize(("name", "cell"), [(name, cell) for name, cells in ODD.items() for cell in cells], ids=str)
def test_a_cell_that_is_refused_in_a_long_table_is_refused_in_a_short_one_in_the_same_words(name, cell):
    row = as_pandas_objects().iloc[1:2].copy()
    row.at[row.index[0], name] = cell
    assert_alike(TableEncoder().fit(as_pandas_objects()), row)


@pytest.mark.parametrize(
    "dtype",
    ["M8[ns]", "m8[ns]", "complex64", "longdouble", "Int64", "boolean", "string", "category", "datetime64[ns, UTC]",
     "period[D]", pd.CategoricalDtype(pd.to_datetime([DAY])), pd.CategoricalDtype([1, 2]), "Sparse[float64]"],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("name", ["age", "city"])
def test_a_missing_cell_of_any_dtype_of_pandas_is_read_or_refused_as_in_a_long_table(name, dtype):
    row = as_pandas().iloc[1:2].copy()
    row[name] = pd.Series([None], index=row.index, dtype=object).astype(float if dtype == "complex64" else None)
    row[name] = row[name].astype(dtype)
    assert_alike(TableEncoder().fit(as_pandas()), row)


@pytest.mark.parametrize(
    "dtype",
    [pl.Date, pl.Datetime, pl.Duration, pl.Time, pl.Decimal, pl.Int128, pl.List(pl.Int64), pl.Struct({"a": pl.Int64}),
     pl.Binary, pl.Object, pl.Null, pl.UInt8, pl.Enum(["Rome"])],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("name", ["age", "city"])
def test_a_missing_cell_of_any_dtype_of_polars_is_read_or_refused_as_in_a_long_table(name, dtype):
    row = as_polars()[1:2].with_columns(pl.Series(name, [None], dtype=dtype))
    assert_alike(TableEncoder().fit(as_polars()), row)


def test_strings_and_numbers_are_told_apart_by_all_cells_of_a_short_table():
    encoder = TableEncoder(min_level_count=1).fit(pd.DataFrame({"city": ["Rome", "Oslo"]}))
    mixed = pd.DataFrame({"city": [3, "Rome"]}, dtype=object)
    assert encoder.transform(mixed).weights.tolist() == [[1.0, 0.0], [1.0, 1.0]]
    with pytest.raises(ValueError, match="column 'city' must hold strings, as in training; got 3"):
        encoder.transform(mixed[:1])
    assert encoder.transform(mixed[:1].to_numpy()).weights.tolist() == [[1.0, 0.0]]  # found by position


def test_plain_cells_are_numbers_strings_or_missing():
    assert [plain_number(cell) for cell in (True, np.int8(3), np.float32(0.5))] == [1.0, 3.0, 0.5]
    assert all(np.isnan(plain_number(cell)) for cell in (None, NAN, pd.NA, pd.NaT, np.float16(NAN)))
    odd = (10**400, float("inf"), "1", 1j, fractions.Fraction(1, 2), np.longdouble(1), np.str_("a"))
    assert [plain_number(cell) for cell in odd] == [None] * len(odd)
    assert [plain_level(cell) for cell in ("a", 1.0, True, None, pd.NA, NAN)] == [
        ("a",), (1.0,), (True,), (None,), (None,), (None,),
    ]  # fmt: skip
    assert [plain_level(cell) for cell in (b"a", np.str_("a"), decimal.Decimal(1))] == [None] * 3
