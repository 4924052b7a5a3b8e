"""Bands, levels and periods: every row is in one, names say which, and nothing hostile comes through.

Tests ``columns``.
"""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdak.governance.performance.bands import LevelBands, NumberBands, banding, number_bands, quantile_codes
from lambdak.governance.performance.columns import periods
from lambdak.table.cells import array_cells


def cells(values):
    return array_cells("x", np.asarray(values))


@given(st.lists(st.floats(-1e300, 1e300) | st.just(float("nan")), min_size=1, max_size=80), st.integers(1, 12))
def test_each_number_lies_in_the_band_that_its_ends_say(values, most):
    x = np.array(values)
    found = number_bands(x, None, most)
    assert (np.diff(found.ends) > 0).all()
    assert len(found.names) == len(found.ends) + 1
    ends = np.array([-np.inf, *found.ends[1:], np.inf])
    for value, code in zip(x, found.codes(cells(x)), strict=True):
        if np.isnan(value):
            assert found.names[code] == "missing"
        else:
            assert ends[code] <= value < ends[code + 1]


def test_bands_hold_about_the_same_weight_and_have_short_names():
    rng = np.random.default_rng(0)
    x, weight = rng.normal(0, 1, 5000), rng.uniform(0, 2, 5000)
    found = number_bands(x, weight, 10)
    mass = np.bincount(found.codes(cells(x)), weight)
    assert mass == pytest.approx(weight.sum() / 10, rel=0.12)
    assert max(len(f"{end:g}") for end in found.ends[1:]) <= 6


def test_a_spike_is_never_split_and_few_numbers_are_bands_of_their_own():
    spike = number_bands(np.array([0.0] * 900 + list(range(1, 101))), None, 5)
    assert spike.names[0] == "≤ 0"
    assert number_bands(np.array([4.0, 5.0, 7.0]), None, 5).names == ("≤ 4", "5–6", "≥ 7", "missing")
    assert number_bands(np.array([0.5, 1.5]), None, 5).names == ("0.5", "1.5", "missing")
    assert number_bands(np.array([np.nan]), None, 5).names == ("all numbers", "missing")
    assert number_bands(np.array([1000.0, 25000.0]), None, 5).names == ("1,000", "25,000", "missing")
    assert number_bands(np.array([3.0, 4.0]), None, 1).names == ("all numbers", "missing")


def test_rows_without_weight_choose_no_band():
    x = np.array([1.5, 2.5, 99.5])
    assert number_bands(x, np.array([1.0, 1.0, 0.0]), 5).names == ("1.5", "2.5", "missing")


@given(st.lists(st.tuples(st.integers(0, 6), st.floats(0.1, 5)), min_size=1, max_size=50), st.integers(1, 12))
def test_quantiles_rise_with_the_score_and_equal_scores_share_one(rows, bins):
    score, weight = (np.array(part, float) for part in zip(*rows, strict=True))
    codes = quantile_codes(score, weight, bins)
    order = np.argsort(score, kind="stable")
    assert (np.diff(codes[order]) >= 0).all()
    assert codes.min() >= 0
    assert codes.max() < bins
    for value in np.unique(score):
        assert len(set(codes[score == value])) == 1


def test_deciles_of_distinct_scores_are_those_of_pandas():
    score = np.random.default_rng(0).permutation(1000).astype(float)
    assert (quantile_codes(score, np.ones(1000), 10) == pd.qcut(score, 10, labels=False)).all()


def test_levels_that_look_like_other_groups_are_told_apart():
    own = array_cells("x", np.array(["missing", None, "a\nb", "new levels", "$x$"], object))
    found = banding(own, None)
    assert isinstance(found, LevelBands)
    names = [found.names[code] for code in found.codes(own)]
    assert names == ["missing (2)", "missing", "a\\nb", "new levels (2)", "$x$"]
    assert len(set(found.names)) == len(found.names)
    unseen = array_cells("x", np.array(["other"], object))
    assert found.names[found.codes(unseen)[0]] == "new levels"
    assert isinstance(banding(cells([1, 2, 3]), None), NumberBands)


DATES = ["2023-11-30", "2024-01-01", "2024-02-29"]


@pytest.mark.parametrize(
    "time",
    [
        np.array(DATES, "datetime64[D]"),
        np.array(DATES),
        [datetime.date.fromisoformat(date) for date in DATES],
        pd.to_datetime(pd.Series(DATES)),
        pd.to_datetime(pd.Series(DATES)).dt.tz_localize("Europe/Paris"),
        pd.Series(pd.PeriodIndex(DATES, freq="M")),
        pl.Series(DATES).str.to_date(),
        pl.Series(DATES).str.to_datetime(),
        pl.Series(DATES).to_arrow(),
    ],
    ids=lambda time: f"{type(time).__module__}.{type(time).__name__}",
)
def test_dates_of_any_library_become_periods(time):
    found = periods(time, 3, "month")
    assert found.names == ("2023-11", "2023-12", "2024-01", "2024-02", "missing")
    assert found.codes.tolist() == [0, 2, 3]


def test_periods_are_as_long_as_is_readable():
    def kind(days):
        return periods(np.array(["2020-01-01"], "datetime64[D]") + np.array([0, days]), 2).names[0]

    assert [kind(days) for days in (10, 400, 3000, 9000)] == ["2020-01-01", "2020-01", "2020-Q1", "2020"]
    gone = np.array(["2020-05-01", "NaT"], "datetime64[D]")
    assert periods(gone, 2, "quarter").names == ("2020-Q2", "missing")
    assert periods(gone, 2).codes.tolist() == [0, 1]
    assert periods(np.array(["NaT"], "datetime64[D]"), 1).names == ("missing",)


def test_what_is_no_date_counts_periods_as_it_is():
    assert periods([2021, 2019, 2021], 3).names == ("2019", "2021", "missing")
    assert periods(["2019/20", None, "2018/19"], 3).names == ("2018/19", "2019/20", "missing")
    assert periods([2021.0, np.nan], 2).names == ("2021", "missing")


@pytest.mark.parametrize(
    ("time", "period", "message"),
    [
        (["2024-02-30"], "month", "time must hold dates such as 2024-02-29"),
        ([1.0, 2.0], "auto", r"time must have 1 entry, one per row of X; got 2"),
        ([1], "decade", "period must be one of 'auto', 'day', 'month', 'quarter', 'year'; got 'decade'"),
    ],
)
def test_times_that_are_none_are_refused(time, period, message):
    with pytest.raises(ValueError, match=message):
        periods(time, 1, period)


def test_too_many_periods_are_refused():
    with pytest.raises(ValueError, match="at most 1000 periods; got 2000 distinct values"):
        periods(np.arange(2000) / 7, 2000)
    long = np.array(["1900-01-01", "2024-01-01"], "datetime64[D]")
    with pytest.raises(ValueError, match="time must span at most 1000 periods"):
        periods(long, 2, "month")
