"""Pictures: every one can be drawn for every kind of table, labels do not overlap, the legend is off the data."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from fitted_models import SMALL
from plot_cases import plots, plt, rendered
from portfolio_cases import CLAIMS, LATE, POLICIES, YEARS, default, frequency

from lambdak import SpectralRegressor

HOSTILE = [
    "$x$",
    "two\nlines",
    r"\frac{1",
    "</script>",
    "a very long name " * 9,
    "'; DROP TABLE x; --",
    " ",
    "100 % & <b>",
]
TARIFF = np.linspace(0.2, 0.9, 600)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def extents(texts):
    return [text.get_window_extent() for text in texts if text.get_text()]


def overlap(boxes):
    """Whether neighbours overlap; labels that are turned are compared by where they begin."""
    return any(a.x1 > b.x0 + 1 for a, b in pairwise(boxes))


def check(ax):
    """Draw it, and look at ticks, legend and title."""
    figure = ax.figure
    figure.draw_without_rendering()
    labels = [text for text in ax.get_xticklabels() if text.get_text()]
    if labels and labels[0].get_rotation() == 0:
        assert not overlap(extents(labels))
    for own in figure.axes:
        boxes = sorted(extents(own.get_yticklabels()), key=lambda box: box.y0)
        assert not any(a.y1 > b.y0 + 1 for a, b in pairwise(boxes))
    legend, title = ax.get_legend().get_window_extent(), ax.title.get_window_extent()
    assert not legend.overlaps(ax.get_window_extent())
    assert not legend.overlaps(title)
    assert title.y1 <= figure.bbox.y1 + 1
    assert title.x0 >= -1
    assert title.x1 <= figure.bbox.x1 + 1
    assert rendered(ax)


@pytest.fixture(scope="module")
def found():
    return frequency().performance(POLICIES, CLAIMS, exposure=YEARS, n_resamples=0)


@pytest.mark.parametrize("what", ["lift", "calibration", "lorenz", "region", "age"])
def test_performance_is_drawn(found, what):
    check(found.plot(what))


@pytest.mark.slow
def test_time_and_roc_are_drawn(found):
    days = np.datetime64("2020-01-01") + np.arange(600)
    ax = found.by_time(days, period="day").plot()
    assert len(ax.get_xticklabels()) <= 40
    check(ax)
    check(default().performance(POLICIES, LATE, n_resamples=0).plot("roc"))


@pytest.mark.slow
def test_comparison_and_drift_are_drawn():
    both = frequency().compare(TARIFF, POLICIES, CLAIMS, exposure=YEARS, n_resamples=0)
    for what in ("double_lift", "changes", "region", "age"):
        check(both.plot(what))
    check(both.by("power").plot())
    drift = frequency().drift(POLICIES, POLICIES[:200])
    check(drift.plot())
    check(drift.plot("age"))
    check(drift.prediction.plot())


def test_lines_lie_above_the_bars_of_exposure(found):
    ax = found.plot("region")
    bars = next(own for own in ax.figure.axes if own is not ax)
    assert ax.get_zorder() > bars.get_zorder()
    assert not ax.patch.get_visible()
    assert [bar.get_height() for bar in bars.patches] == pytest.approx(found.by("region").exposure.tolist())
    assert bars.get_ylim()[1] > 2 * max(bar.get_height() for bar in bars.patches)
    assert (ax.get_ylabel(), bars.get_ylabel()) == ("claims per years", "years")


def test_axes_of_the_user_are_drawn_on(found):
    own = plots.side_by_side(2)
    assert found.lift().plot(own[0]) is own[0]
    assert frequency().drift(POLICIES, POLICIES).plot(ax=own[1]) is own[1]


@pytest.fixture(scope="module")
def hard():
    """A model whose columns and 60 levels have hostile names, and 80 columns."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.normal(size=400) for name in HOSTILE})
    levels = [f"{HOSTILE[i % 8]} {i}" for i in range(60)]
    table["$level$\n"] = rng.choice(levels, 400, p=np.arange(1, 61) / 1830)
    for i in range(71):
        table[f"column_{i}"] = rng.normal(size=400)
    model = SpectralRegressor("poisson", **SMALL | {"max_iter": 1, "dim": 1}).fit(table, rng.poisson(1.0, 400))
    return model, table


@pytest.mark.slow
def test_hostile_names_many_levels_and_many_columns_fit(hard):
    model, table = hard
    y = pd.Series(np.arange(400) % 3, name="y\n$\\frac{")
    found = model.performance(table, y, sample_weight=pd.Series(np.ones(400), name="$w$" * 30), n_resamples=0)
    both = model.compare(1.0, table, y, n_resamples=0)
    for column in HOSTILE[:6]:
        check(found.by(column, bands=3).plot())
    check(both.changes_by("$level$\n").plot())
    ax = found.by("$level$\n").plot()
    left = table["$level$\n"].nunique() - 24
    assert ax.get_xticklabels()[-1].get_text() == f"… and {left} more levels"
    assert len(ax.get_xticklabels()) == 25
    drift = model.drift(table, table[:100])
    ax = drift.plot()
    assert "65 more columns with a smaller PSI are not shown" in ax.get_xlabel()
    check(ax)
    check(drift.plot("$level$\n"))
    for own in (found.lift(), found.calibration(), found.lorenz(), both.double_lift(), both.changes()):
        check(own.plot())


@pytest.mark.parametrize("scale", [1e-9, 1e12])
def test_any_scale_has_readable_ticks(scale):
    rate = frequency().predict(POLICIES)
    found = frequency().performance(POLICIES, rate * min(scale, 1e9), sample_weight=np.full(600, scale), n_resamples=0)
    for own in (found.lift(), found.by("region"), found.calibration()):
        ax = own.plot()
        check(ax)
        assert all(len(text.get_text()) <= 14 for text in ax.get_yticklabels())


@pytest.mark.slow
def test_flat_predictions_one_row_and_no_claims_are_drawn():
    one = frequency().performance(POLICIES[:1], [1.0], n_resamples=0)
    none = frequency().performance(POLICIES, np.zeros(600), n_resamples=0)
    for own in (one.lift(), one.calibration(), one.by("age"), one.lorenz(), none.lift(), none.by("region")):
        check(own.plot())
