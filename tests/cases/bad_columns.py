"""Bad cells and columns; see bad_data."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from bad_data import BASE, LIBRARIES, ROWS, all_refused, case, objects, refused, same, table
from scipy import sparse

from lambdak import IdentifierWarning, StrayTextWarning

NUMBERS = np.arange(ROWS) % 5 * 1.0
GAPS = np.where(np.arange(ROWS) % 3 == 0, np.nan, NUMBERS)


@case("±∞ in a column of numbers, or a number beyond 4.4e307")
def infinity(kind):
    bad = BASE.copy()
    bad[3, 1] = np.inf
    frame = pd.DataFrame(bad, columns=["a", "b"])
    fits = [lambda make=make: kind.fit(make(frame)) for make in LIBRARIES.values() if len(make(frame)) == ROWS]
    model = kind.fit(table())
    later = [lambda make=make: kind.out(model, make(frame)) for make in LIBRARIES.values()]
    all_refused([*fits, *later, lambda: kind.fit(sparse.csr_array(bad))])


@case("a number 1e100 training ranges away or more, where a shape makes the column continue straight")
def far_away(kind):
    numbers = 1e-12 * NUMBERS
    model = kind.fit(table(numbers), shape="convex")
    far, farther = (np.where(np.arange(ROWS) == 7, number, numbers) for number in (1e90, 1e300))
    assert np.isfinite(kind.out(model, table(far))).all()
    words = "column 'c' continues straight beyond its training range, and row 7 has a number too far from it"
    refused(words, lambda: kind.out(model, table(farther)))


@case("±∞ in a column of categories")
def infinite_level(kind):
    column = pd.Series(objects([np.inf, 1.0]), dtype="category")
    model = kind.fit(table(column))
    assert model.model_.encoder.columns[2].levels == (1, np.inf)


@case("NaN, None, NA, NaT or null in a column")
def missing(kind):
    mixed = GAPS.astype(object)
    gaps = np.flatnonzero(np.isnan(GAPS))
    for row, cell in zip(gaps, [None, pd.NA, float("nan"), pd.NaT] * ROWS, strict=False):
        mixed[row] = cell
    expected = kind.predicted(table(GAPS))
    same(expected, kind.predicted(table(mixed)), kind.predicted(table(pd.array(GAPS, "Float64"))))
    same(expected, kind.predicted(pl.from_pandas(table(GAPS)).with_columns(pl.col("c").fill_nan(None))))
    same(expected, kind.predicted(pa.Table.from_pandas(table(GAPS))), kind.predicted(table(GAPS).to_numpy()))


@case("masked cells of a NumPy array")
def masked(kind):
    whole = np.column_stack([BASE, NUMBERS])
    expected = kind.predicted(np.column_stack([BASE, GAPS]))
    hidden = np.ma.masked_array(np.nan_to_num(whole), np.isnan(np.column_stack([BASE, GAPS])))
    same(expected, kind.predicted(hidden), kind.predicted(list(hidden)))
    model = kind.fit(hidden)
    same(kind.out(model, hidden)[:5], kind.out(model, hidden[:5]))
    for dtype in (int, bool, str):
        cells = np.ma.masked_array(whole.astype(int).astype(dtype), hidden.mask)
        plain = cells.data.astype(object)
        plain[cells.mask] = None
        same(kind.predicted(plain), kind.predicted(cells))


@case("a column with one value")
def constant(kind):
    for settings in ({}, {"n_knots": 0}, {"shape": "convex"}, {"shape": "concave", "n_knots": 0}):
        model = kind.fit(table(5.0), **settings)
        same(*(kind.out(model, table(value)) for value in (5.0, -1e3, 1e300, np.nan)))
    same(kind.predicted(table("x")), kind.predicted(table("x"), table("y")))


@case("a column without any value")
def all_missing(kind):
    for settings in ({}, {"n_knots": 0}, {"shape": "concave", "n_knots": 0}):
        model = kind.fit(table(np.nan), **settings)
        same(*(kind.out(model, table(value)) for value in (np.nan, 3.0, -1e300)))
    empty = sparse.csr_array(np.column_stack([BASE, np.full(ROWS, np.nan)]))
    model = kind.fit(empty)
    same(kind.out(model, empty), kind.out(model, np.column_stack([BASE, np.ones(ROWS)])))


@case("a column of None without any type")
def none_only(kind):
    for make in (lambda: table(objects([None])), lambda: pl.from_pandas(table()).with_columns(c=pl.lit(None))):
        model = kind.fit(make())
        same(*(kind.out(model, table(value)) for value in (objects([None]), 3.0, "red")))


@case("integers past 2^53 in a column of numbers")
def large_integers(kind):
    column = 2**53 + np.arange(ROWS)
    expected = kind.predicted(table(column.astype(float)))
    same(expected, kind.predicted(table(column)), kind.predicted(table(column.astype(np.uint64))))
    same(expected, kind.predicted(table(column.astype(object))), kind.predicted(pl.from_pandas(table(column))))


@case("integers past 2^53 as levels of a category")
def large_levels(kind):
    column = 2**53 + np.arange(ROWS) % 3
    for given, settings in ((pd.Series(column, dtype="category"), {}), (column, {"categorical_features": ["c"]})):
        model = kind.fit(table(given), **settings)
        assert model.model_.encoder.columns[2].levels == (2**53, 2**53 + 1, 2**53 + 2)


@case("integers beyond float64, such as 10**400")
def huge_integers(kind):
    kind.fit(table(objects([10**400])))


@case("10,000 levels")
def many_levels(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"k": [f"level {i}" for i in range(10_000)], "a": rng.standard_normal(10_000)})
    model = kind.fit(X, rng.choice(kind.y, 10_000))
    assert len(model.model_.encoder.columns[0].levels) == 10_000
    assert np.isfinite(kind.out(model, X.iloc[:50].assign(k="new"))).all()


@case("numbers and strings in one column")
def mixed_objects(kind):
    model = kind.fit(table(objects([1, "a", 2.5, True, 1.0, "1", None])))
    assert model.model_.encoder.columns[2].levels == (1, 2.5, "1", "a", None)
    same(*(kind.out(model, table(objects([one]))) for one in (1, 1.0, True)))


@case('the strings "nan", "None" and ""')
def odd_strings(kind):
    model = kind.fit(table(objects(["nan", "None", "", None])))
    assert model.model_.encoder.columns[2].levels == ("", "None", "nan", None)


@case("dates")
def dates(kind):
    day = datetime.date(2024, 1, 31)
    for column in (objects([day]), pd.period_range("2024", periods=ROWS, freq="D")):
        refused("'c' is a date", lambda column=column: kind.fit(table(column)))
    frame = pl.DataFrame({"c": [day] * ROWS})
    for given in (frame.to_arrow(), np.array([[day]] * ROWS, "M8[D]"), table(pd.date_range("2024", periods=ROWS))):
        refused("is a date", lambda given=given: kind.fit(given))
    kind.fit(frame)


@case('dates as text in every cell, such as "2024-01-31"')
def text_dates(kind):
    kind.fit(table(objects(["2024-01-31"])))


@case('numbers as text but for a few cells, such as "?"')
def stray_text(kind):
    cells = [str(i) for i in range(ROWS)]
    cells[3] = "?"
    with pytest.warns(StrayTextWarning, match=r"column 'c' is read as text because of '\?' in row 3"):
        kind.fit(table(objects(cells)))


@case("a column that looks like an identifier, in a table with names")
def identifier(kind):
    with pytest.warns(IdentifierWarning, match=r"'c' \(its numbers count the rows\)"):
        kind.fit(table(np.arange(ROWS)))


@case("durations")
def durations(kind):
    kind.fit(table(pd.to_timedelta(np.arange(ROWS), "D")))


@case("times of day")
def times(kind):
    kind.fit(pl.DataFrame({"c": [datetime.time(1)] * ROWS}))


@case("complex numbers")
def complex_numbers(kind):
    all_refused([lambda: kind.fit(table(NUMBERS * 1j)), lambda: kind.fit(table(objects([1j])))])


@case("bytes")
def binary(kind):
    all_refused([
        lambda: kind.fit(table(objects([b"x"]))),
        lambda: kind.fit(pl.from_pandas(table()).with_columns(c=pl.lit(b"x"))),
        lambda: kind.fit(pa.Table.from_pandas(table()).append_column("c", pa.array([b"x"] * ROWS))),
    ])  # fmt: skip


@case("Decimal objects in pandas or NumPy")
def decimal_objects(kind):
    kind.fit(table(objects([Decimal("1.5"), Decimal(2)])))


@case("decimals of polars or pyarrow")
def decimal_columns(kind):
    frame = pl.from_pandas(table(NUMBERS)).with_columns(pl.col("c").cast(pl.Decimal(10, 2)))
    same(kind.predicted(table(NUMBERS)), kind.predicted(frame), kind.predicted(frame.to_arrow()))


@case("lists, dicts or other objects as cells")
def nested(kind):
    for cell in ([1], {"a": 1}, {1}):
        refused("'c' is made of objects", lambda cell=cell: kind.fit(table(objects([cell]))))
    kind.fit(pl.from_pandas(table()).with_columns(c=pl.Series([[1]] * ROWS)))


@case("intervals, as pandas.cut gives them")
def intervals(kind):
    model = kind.fit(table(pd.cut(NUMBERS, [-1, 2, 9])))
    assert model.model_.encoder.columns[2].levels == ("(-1, 2]", "(2, 9]")


@case("types of pandas with NA: Int64, Float64, boolean, string")
def nullable(kind):
    for plain, dtype in ((NUMBERS, "Int64"), (NUMBERS, "Float64"), (NUMBERS > 1, "boolean")):
        same(kind.predicted(table(plain)), kind.predicted(table(pd.array(plain, dtype))))
    words = np.array(["red", "blue"] * (ROWS // 2), object)
    same(kind.predicted(table(words)), kind.predicted(table(pd.array(words, "string"))))


@case("numbers of the size of 1e300")
def huge(kind):
    expected = kind.predicted(table() * 2.0**990)
    np.testing.assert_allclose(expected, kind.predicted(table()), rtol=1e-5, atol=1e-6)
    assert np.isfinite(kind.predicted(np.where(BASE > 0, 1e300, 1e-300))).all()


@case("numbers closer to zero than 1e-280, also denormal ones")
def tiny(kind):
    expected = kind.predicted(table(0.0))
    same(expected, kind.predicted(table(NUMBERS * 1e-300)), kind.predicted(table(NUMBERS * 5e-324)))
