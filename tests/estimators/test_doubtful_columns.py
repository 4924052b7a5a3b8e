"""Identifiers and numbers that were read as text: warnings that name the column, the cell and the row.

Tests ``table/doubtful_columns``.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lambdak
from lambdak import IdentifierWarning, SpectralRegressor, StrayTextWarning
from lambdak.table.dates import part_names
from lambdak.table.doubtful_columns import identifier_reason, stray_text
from lambdak.table.read import read_table

RNG = np.random.default_rng(0)
ROWS = 100
X = pd.DataFrame(
    {"size": RNG.normal(size=ROWS), "rooms": RNG.integers(1, 9, ROWS), "city": RNG.choice(["a", "b"], ROWS)}
)
Y = X["size"].to_numpy()
QUICK = {"effort": "fast", "max_iter": 1, "dim": 2, "n_estimators": 1, "random_state": 0}
IDENTIFIERS = {
    "a counter": ("row", np.arange(ROWS)),
    "a counter from above": ("row", np.arange(ROWS)[::-1] + 7000),
    "a counter with steps of ten": ("row", 10 * np.arange(ROWS)),
    "a permutation": ("row", RNG.permutation(ROWS)),
    "a counter with gaps, as floats": ("row", np.r_[np.arange(ROWS - 1.0), np.nan]),
    "a name and random numbers": ("policy_id", RNG.choice(10**9, ROWS, replace=False)),
    "IDpol": ("IDpol", RNG.choice(10**6, ROWS, replace=False)),
    "customerId": ("customerId", RNG.choice(10**6, ROWS, replace=False)),
    "text": ("who", [f"{i:x}-{7 * i}" for i in range(ROWS)]),
}
ORDINARY = {
    "random numbers": ("price", RNG.choice(10**9, ROWS, replace=False)),
    "sorted amounts": ("price", np.sort(RNG.choice(10**6, ROWS, replace=False))),
    "real numbers under such a name": ("id", RNG.normal(size=ROWS)),
    "codes under such a name": ("region_id", np.arange(ROWS) % 12),
    "width": ("width", RNG.choice(10**6, ROWS, replace=False)),
    "humidity": ("humidity", RNG.choice(10**6, ROWS, replace=False)),
    "paid": ("paid", RNG.choice(10**6, ROWS, replace=False)),
    "one row per day": (part_names("visit")[-1], np.arange(19_723.0, 19_723.0 + ROWS)),
    "levels": ("street", [f"street {i % 60}" for i in range(ROWS)]),
}


def reason(name, values):
    return identifier_reason(read_table(pd.DataFrame({name: values})).cells(0))


@pytest.mark.parametrize("case", IDENTIFIERS)
def test_identifiers_are_named_in_a_warning_that_can_be_filtered(case):
    name, values = IDENTIFIERS[case]
    assert reason(name, values)
    with pytest.warns(IdentifierWarning, match=rf"look like identifiers, .*: '{name}' \(.*\): drop them, or") as found:
        SpectralRegressor(**QUICK).fit(X.assign(**{name: values}), Y)
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", lambdak.IdentifierWarning)
        SpectralRegressor(**QUICK).fit(X.assign(**{name: values}), Y)


@pytest.mark.parametrize("case", ORDINARY)
def test_other_columns_are_no_identifiers(case):
    assert reason(*ORDINARY[case]) is None


def test_arrays_single_columns_short_tables_and_listed_categories_do_not_warn():
    row = np.arange(ROWS)
    for table, settings in (
        (np.column_stack([row, Y]), {}),
        (pd.DataFrame({"day": row}), {}),
        (pd.DataFrame({"day": row, "size": Y})[:40], {}),
        (pd.DataFrame({"day": row, "size": Y}), {"categorical_features": ["day"]}),
    ):
        SpectralRegressor(**QUICK, **settings).fit(table, Y[: len(table)])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_column_that_is_text_by_one_cell_is_named_with_the_cell_and_its_row(library):
    power = [str(50 + i % 40) for i in range(ROWS)]
    power[37] = "?"
    table = library({"size": Y, "power": power})
    words = (
        r"column 'power' is read as text because of '\?' in row 37, although 99 of 100 cells are numbers: correct "
        r"such cells, or make them missing with pandas.to_numeric\(X\['power'\], errors='coerce'\); if it is text"
    )
    with pytest.warns(StrayTextWarning, match=words):
        SpectralRegressor(**QUICK).fit(table, Y)
    SpectralRegressor(**QUICK, categorical_features=["power"]).fit(table, Y)
    power[40] = "n/a"
    with pytest.warns(StrayTextWarning, match=r"because of '\?' in row 37 and 1 more"):
        SpectralRegressor(**QUICK).fit(library({"size": Y, "power": power}), Y)


def test_numbers_as_text_codes_and_ordinary_text_do_not_warn():
    for values in (
        [str(i % 60) for i in range(ROWS)],
        ["unknown" if i == 3 else str(i % 4) for i in range(ROWS)],
        ["other" if i % 3 else str(i) for i in range(ROWS)],
        ["a" if i % 2 else "b" for i in range(ROWS)],
    ):
        assert stray_text(read_table(pd.DataFrame({"x": values})).cells(0)) is None
