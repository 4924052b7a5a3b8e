"""Axes follow where the rows are: far tails are compressed, reachable, and told."""

from __future__ import annotations

import numpy as np
import pytest
from desk_cases import X, desk_model

from lambdak.table.encoder import TableEncoder
from lambdak.table.number_scale import NumberScale

FAR = NumberScale(-4000.0, -1.0, 1.0, 50000.0)
BOTH = np.array([-4000.0, -30.0, -1.0, -0.3, 0.0, 1.0, 1.1, 700.0, 50000.0])


@pytest.mark.parametrize("scale", [FAR, NumberScale(0.0, 0.0, 2.0, 90.0), NumberScale(0.0, 0.0, 3.0, 3.0)])
def test_places_rise_with_numbers_and_lead_back(scale):
    x = BOTH[(scale.low <= BOTH) & (scale.high >= BOTH)]
    places = scale.places(x)
    assert (np.diff(places) > 0).all()
    np.testing.assert_allclose(scale.numbers(places), x, rtol=1e-9, atol=1e-9)
    assert (scale.places([scale.low, scale.high]) == [0.0, 1.0]).all()


def test_the_rows_have_most_of_the_axis_wherever_the_last_one_lies():
    scale = desk_model().model_.encoder.columns[3].axis_scale
    ends = scale.places(np.quantile(X["ratio"], [0.05, 0.95]))
    assert ends[1] - ends[0] > 0.25 > 50 * (np.ptp(np.quantile(X["ratio"], [0.05, 0.95])) / scale.high)
    assert scale.high == X["ratio"].max()  # which is still on it


@pytest.mark.parametrize("sample", ["normal", "uniform", "exponential", "two values", "constant"])
def test_usual_columns_stay_as_they_are(sample):
    rng = np.random.default_rng(0)
    draw = {
        "normal": rng.normal(size=900), "uniform": rng.uniform(size=900), "exponential": rng.exponential(size=900),
        "two values": rng.integers(0, 2, 900), "constant": np.ones(900),
    }[sample]  # fmt: skip
    assert TableEncoder().fit(draw[:, None]).columns[0].axis_scale.is_even


def test_spikes_do_not_hide_the_other_rows():
    rng = np.random.default_rng(0)
    gains = np.where(rng.random(2000) < 0.92, 0.0, rng.uniform(1000, 9000, 2000))
    gains[0] = 99999.0
    scale = TableEncoder().fit(gains[:, None]).columns[0].axis_scale
    assert scale.places(9000.0) - scale.places(1000.0) > 0.2


def test_a_line_has_the_same_axis_as_a_curve():
    curve, line = (TableEncoder(n_knots).fit(X[["ratio"]]).columns[0].axis_scale for n_knots in ("auto", 0))
    assert curve == line


def test_knots_tell_where_a_file_does_not():
    column = TableEncoder().fit(X[["ratio"]]).columns[0]
    assert not NumberScale.of(column.nodes(), None, False).is_even


def test_ticks_are_round_apart_and_whole_where_numbers_are():
    ticks = FAR.ticks(4)
    assert {-1.0, 0.0, 1.0, 10000.0} <= {*ticks}
    assert any(tick < -1.0 for tick in ticks)
    assert np.diff(FAR.places(ticks)).min() > 0.08
    assert all(tick == round(tick) for tick in NumberScale(0.0, 0.0, 3.0, 3.0, True).ticks(6))
