"""Dates: refused with the call that expands them, and that call.

Tests ``table/dates``.
"""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import lambdak
from lambdak import DateExpander, SpectralRegressor

STAMPS = pd.date_range("2023-11-28 06:00", periods=60, freq="31h")
SIZE = np.linspace(0, 1, 60)
NAMES = ["size", "sold_year", "sold_month", "sold_weekday", "sold_days"]
TEXT = [stamp.isoformat() for stamp in STAMPS]
DAYS = [stamp.date() for stamp in STAMPS]
KINDS = {
    "pandas": lambda: pd.DataFrame({"size": SIZE, "sold": STAMPS}),
    "pandas with a time zone": lambda: pd.DataFrame({"size": SIZE, "sold": STAMPS.tz_localize("Europe/Paris")}),
    "pandas dates": lambda: pd.DataFrame({"size": SIZE, "sold": pd.Series(DAYS, dtype=object)}),
    "pandas text": lambda: pd.DataFrame({"size": SIZE, "sold": TEXT}),
    "pandas category": lambda: pd.DataFrame({"size": SIZE, "sold": pd.Categorical(TEXT)}),
    "polars Datetime": lambda: pl.DataFrame({"size": SIZE, "sold": STAMPS.to_pydatetime().tolist()}),
    "polars Date": lambda: pl.DataFrame({"size": SIZE, "sold": DAYS}),
    "polars text": lambda: pl.DataFrame({"size": SIZE, "sold": [str(day) for day in DAYS]}),
    "polars category": lambda: pl.DataFrame({"size": SIZE, "sold": pl.Series(map(str, DAYS), dtype=pl.Categorical)}),
    "pyarrow": lambda: pa.table({"size": SIZE, "sold": DAYS}),
}
QUICK = {"effort": "fast", "max_iter": 1, "dim": 2, "n_estimators": 1, "random_state": 0}


def cells(table, name):
    return np.asarray(pd.DataFrame(table)[name] if isinstance(table, pd.DataFrame) else table[name], float)


@pytest.mark.parametrize("kind", KINDS)
def test_dates_are_refused_with_the_call_that_expands_them(kind):
    words = (
        r"column 'sold' is (a date|dates as text) \(.*\): expand it into numbers with "
        r"lambdak.DateExpander\(\).fit_transform\(X\), or in a pipeline, "
        r"make_pipeline\(lambdak.DateExpander\(\), model\)"
    )
    with pytest.raises(TypeError, match=words):
        SpectralRegressor(**QUICK).fit(KINDS[kind](), SIZE)


@pytest.mark.parametrize("kind", KINDS)
def test_dates_become_year_month_weekday_and_days(kind):
    given = KINDS[kind]()
    expander = DateExpander().fit(given)
    found = expander.transform(given)
    assert type(found) is type(given)
    assert list(getattr(found, "column_names", found.columns)) == NAMES == expander.get_feature_names_out().tolist()
    assert expander.columns_ == ["sold"]
    whole = kind in ("pandas dates", "polars Date", "polars text", "polars category", "pyarrow")
    for name, wanted in {
        "sold_year": [stamp.year for stamp in STAMPS],
        "sold_month": [stamp.month for stamp in STAMPS],
        "sold_weekday": [stamp.weekday() for stamp in STAMPS],
        "sold_days": [(day - datetime.date(1970, 1, 1)).days + (0 if whole else stamp.hour / 24)
                      for day, stamp in zip(DAYS, STAMPS, strict=True)],
    }.items():  # fmt: skip
        np.testing.assert_allclose(cells(found, name), wanted)


@pytest.mark.slow
def test_a_pipeline_fits_predicts_and_is_saved(tmp_path):
    X = KINDS["pandas"]()
    pipeline = make_pipeline(DateExpander(), SpectralRegressor(**QUICK)).fit(X, SIZE)
    assert pipeline[-1].feature_names_in_.tolist() == NAMES == pipeline[:-1].get_feature_names_out().tolist()
    lambdak.save(pipeline, tmp_path / "pipeline.skops")
    assert (lambdak.load(tmp_path / "pipeline.skops").predict(X) == pipeline.predict(X)).all()
    assert clone(pipeline[0]).get_params()["parts"] == ("year", "month", "weekday", "days")


def test_missing_dates_stay_missing_and_parts_and_columns_can_be_chosen():
    X = pd.DataFrame({"sold": [pd.NaT, *STAMPS[:2]], "text": [None, "2024-01-01", "2024-02-01"]})
    found = DateExpander(columns=["text"], parts=["days"]).fit_transform(X)
    assert found.columns.tolist() == ["sold", "text_days"]
    assert found["text_days"].isna().tolist() == [True, False, False]
    assert DateExpander().fit_transform(X).isna().sum(axis=1).tolist() == [8, 0, 0]


def test_columns_may_be_labelled_with_numbers():
    X = pd.DataFrame({0: STAMPS, 1: SIZE})
    assert DateExpander(parts=["year"]).fit_transform(X).columns.tolist() == ["0_year", 1]


def test_what_cannot_be_expanded_is_refused_by_name():
    X = KINDS["pandas"]()
    with pytest.raises(ValueError, match=r"got 'solt'\. Did you mean 'sold'"):
        DateExpander(columns=["solt"]).fit(X)
    with pytest.raises(ValueError, match="must hold dates, such as '2024-01-31'; got 'soon' in row 1"):
        DateExpander(columns=["sold"]).fit_transform(pd.DataFrame({"sold": ["2024-01-31", "soon"]}))
    with pytest.raises(ValueError, match="column 'sold_year' is there already"):
        DateExpander().fit_transform(X.assign(sold_year=1))
    with pytest.raises(ValueError, match=r"parts must be some of .*; got \['hour'\]"):
        DateExpander(parts=["hour"]).fit(X)
    with pytest.raises(ValueError, match=r"parts must be some of .*, each once; got \['year', 'year'\]"):
        DateExpander(parts=["year", "year"]).fit(X)
    with pytest.raises(ValueError, match=r"columns must be a list of names; got 'sold': use \['sold'\]"):
        DateExpander(columns="sold").fit(X)
    with pytest.raises(TypeError, match="X must be a table with names of columns; got ndarray"):
        DateExpander().fit(X.to_numpy())


def test_text_of_dates_may_be_kept_as_a_category():
    X = pd.DataFrame({"size": SIZE, "month": [f"2024-0{1 + i % 3}-01" for i in range(60)]})
    model = SpectralRegressor(**QUICK, categorical_features=["month"]).fit(X, SIZE)
    assert not model.model_.encoder.columns[1].is_number
