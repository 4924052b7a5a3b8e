"""The layout of plots: many columns, long and strange names, legends, colours, files."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fitted_models import SMALL, fitted
from hand_made_models import by_hand, symmetric
from plot_cases import FAN, names, plots, plt, rendered

from lambdak import SpectralRegressor

pytestmark = pytest.mark.usefixtures("closed_figures")
HARD_NAMES = [
    "$x$",
    "a_b^c",
    r"\frac{1",
    "two\nlines\tand a tab",
    "100 % & <b>",
    "$",
    "a very long name " * 9,
    r"\$",
    " ",
]


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    model = by_hand(symmetric(rng, 3), [symmetric(rng, 3, 0.1) for _ in range(40)])
    table = rng.uniform(-1, 1, (12, 40))
    return model.explain_global(table), model.explain_local(table)


def test_of_many_levels_the_strongest_are_shown_and_the_rest_counted():
    effect = fitted("wide").explain_global()["code"]
    ax = plots.draw_effect(effect)
    strongest = np.argsort(-effect.norm)[:15]
    assert set(names(ax)) == {effect.x[i] for i in strongest}
    assert "125 more levels are not shown" in ax.get_xlabel()
    assert rendered(ax)


@pytest.mark.slow
def test_many_columns_are_cut_and_the_rest_is_counted(many):
    whole, rows = many
    ax = plots.draw_strengths(whole)
    assert len(ax.patches) == 15
    assert "25 more columns are not shown" in ax.get_xlabel()
    assert rendered(ax)
    ax = plots.draw_interactions(whole)
    assert len(ax.patches) == 15
    assert "765 more pairs are not shown" in ax.get_xlabel()
    assert rendered(ax)
    ax = plots.draw_waterfall(rows, 1)
    assert len(ax.patches) == 15
    assert names(ax)[-1] == "26 other columns"
    assert ax.patches[-1].get_x() + ax.patches[-1].get_width() == pytest.approx(rows.score[1], abs=1e-6)
    assert rendered(ax)


@pytest.fixture(scope="module")
def hard():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.normal(size=120) for name in HARD_NAMES})
    table["$level$"] = rng.choice(["$a", r"\b{$", "c\nd"], 120)
    y = pd.Series(table.iloc[:, 0] * table.iloc[:, 1])
    model = SpectralRegressor(**SMALL | {"max_iter": 1}).fit(table, y)
    return model.explain_global(table), model.explain_local(table[:1])


@pytest.mark.slow
def test_no_name_is_read_as_markup_or_too_long(hard):
    whole, rows = hard
    for effect in whole.effects:
        ax = plots.draw_effect(effect)
        title = ax.get_title()
        assert len(title) <= 32
        assert "\n" not in title
        assert rendered(ax)
    for ax in (plots.draw_strengths(whole), plots.draw_interactions(whole), plots.draw_waterfall(rows)):
        for text in names(ax):
            assert len(text) < 50
            assert not re.search(r"(?<!\\)\$|\n", text)
        assert rendered(ax)


@pytest.mark.parametrize("draw", ["draw_strengths", "draw_interactions"])
@pytest.mark.parametrize("own", [True, False])
def test_a_legend_lies_neither_on_bars_nor_on_the_title(many, draw, own):
    whole, _ = many
    full = replace(
        whole,
        effects=tuple(replace(each, proven=1.0, observed=1.0, within_range=True) for each in whole.effects),
        interactions=tuple(replace(each, coupling=1.0, joint=1.0) for each in whole.interactions),
    )
    ax = getattr(plots, draw)(full, None if own else plots.side_by_side(2)[0])
    ax.figure.draw_without_rendering()
    legend = ax.get_legend().get_window_extent()
    assert not legend.overlaps(ax.get_window_extent())
    assert not legend.overlaps(ax.title.get_window_extent())
    assert legend.y1 < ax.figure.bbox.y1


def test_a_long_name_keeps_both_ends():
    years = [f"customer_average_monthly_balance_{year}" for year in (2019, 2020, 2021)]
    for longest in (12, 16, 20, 28):
        short = [plots._short(name, longest) for name in years]
        assert len(set(short)) == 3
        assert {len(name) for name in short} == {longest}
        assert all(name[0] == "c" and "…" in name for name in short)
    assert plots._short("a" * 28) == "a" * 28


def test_colours_are_those_of_okabe_and_ito_and_differ_in_lightness():
    assert (plots.BLUE, plots.SKY, plots.RED) == ("#0072B2", "#56B4E9", "#D55E00")

    def lightness(colour):
        rgb = np.array(plt.matplotlib.colors.to_rgb(colour))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    steps = sorted(lightness(colour) for colour in (plots.BLUE, plots.SKY, plots.DARK))
    assert np.diff(steps).min() > 0.05  # told apart without any colour vision, too


def test_saving_writes_a_png_and_closes_the_figure(tmp_path):
    ax = plots.draw_fan(FAN)
    plots.save(ax, tmp_path / "fan.png")
    assert (tmp_path / "fan.png").read_bytes().startswith(b"\x89PNG")
    assert not plt.get_fignums()
    ax.remove()
    with pytest.raises(ValueError, match="ax must be on a figure"):
        plots.save(ax, tmp_path / "again.png")
