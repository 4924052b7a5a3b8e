"""The layout of plots: many columns, long and strange names, legends, colours, files."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fitted_models import SMALL, X, fitted, rows_of
from hand_made_models import by_hand, symmetric
from plot_cases import FAN, names, plots, plt, rendered

from lambdak import SpectralClassifier, SpectralRegressor

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
    strongest = np.argsort(-np.abs(effect.effect))[:15]
    assert names(ax) == [effect.x[i] for i in sorted(strongest, key=lambda i: effect.effect[i])]
    assert "125 more levels are not shown" in ax.get_xlabel()
    assert rendered(ax)


@pytest.mark.slow
def test_many_columns_are_cut_and_the_rest_is_counted(many):
    whole, rows = many
    ax = plots.draw_strengths(whole)
    assert len(ax.patches) == 2 * 15
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


def test_pairs_without_a_joint_effect_are_not_drawn_and_counted():
    rng = np.random.default_rng(0)
    model = by_hand(symmetric(rng, 3), [symmetric(rng, 3), symmetric(rng, 3), 0.3 * np.eye(3)])
    ax = plots.draw_interactions(model.explain_global(rng.uniform(-1, 1, (12, 3))))
    assert names(ax) == ["x0 × x1"]
    assert "(2 pairs without any joint effect are not shown)" in ax.get_xlabel()


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
        assert len(title) <= 40
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
        short = [plots.short_name(name, longest) for name in years]
        assert len(set(short)) == 3
        assert {len(name) for name in short} == {longest}
        assert all(name[0] == "c" and "…" in name for name in short)
    assert plots.short_name("a" * 28) == "a" * 28


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


# ---- nothing overlaps: bounding boxes as the renderer has them ------------------------------------------------------


def overlapping(boxes):
    return [(i, j) for i in range(len(boxes)) for j in range(i) if boxes[i].overlaps(boxes[j])]


def check_layout(ax):
    """Tick labels do not touch one another, and the legend lies neither on the data nor on the title."""
    figure = ax.figure
    figure.draw_without_rendering()
    for own in figure.axes:
        for axis in (own.xaxis, own.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            shown = [label for tick in ticks for label in (tick.label1, tick.label2) if label.get_visible()]
            flat = [label for label in shown if label.get_text() and not label.get_rotation()]
            assert not overlapping([label.get_window_extent() for label in flat]), [each.get_text() for each in flat]
            texts = [label.get_text() for label in shown if label.get_text()]
            assert len(texts) == len(set(texts)), texts
        legend, title = own.get_legend(), own.title.get_window_extent()
        if legend is not None:
            box = legend.get_window_extent()
            assert not box.overlaps(own.get_window_extent().expanded(0.999, 0.99))
            assert not box.overlaps(title)
            assert box.x0 >= -1, "the legend begins left of the figure"
            assert box.x1 <= figure.bbox.x1 + 1, "the legend ends right of the figure"
        boxes = [title, own.xaxis.label.get_window_extent(), own.yaxis.label.get_window_extent()]
        for box in boxes:
            assert box.width == 0 or (box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1), box
            assert box.height == 0 or (box.y0 >= -1 and box.y1 <= figure.bbox.y1 + 1), box


@pytest.fixture(scope="module")
def mixed():
    """80 columns, one with 60 levels of long names, large and small numbers, gaps, and a class to predict."""
    rng, rows = np.random.default_rng(0), 400
    table = pd.DataFrame({f"customer_average_monthly_balance_{i:02d}": rng.normal(1e5, 3e4, rows) for i in range(76)})
    table["LIMIT_BAL"] = rng.choice(np.arange(10_000, 800_000, 10_000), rows).astype(float)
    table["share"] = rng.uniform(0, 0.001, rows)
    table["age"] = np.where(rng.random(rows) < 0.1, np.nan, rng.uniform(18, 90, rows))
    kinds = [
        f"{kind} and related services of the {k}th district" for k in range(20) for kind in ("Trade", "Banks", "Roads")
    ]
    table["occupation"] = rng.choice(kinds, rows)
    size = {level: rng.normal() for level in kinds}
    score = table["LIMIT_BAL"] / 2e5 - 2 + 2 * table["occupation"].map(size) + (table["age"].fillna(50) - 50) / 20
    y = np.where(score + 3000 * (table["share"] - 0.0005) > 0, "paid", "default")
    model = SpectralClassifier(**SMALL | {"max_iter": 8, "dim": 2, "n_estimators": 1}).fit(table, y)
    return model.explain_global(table), model.explain_local(table[:2])


@pytest.mark.slow
@pytest.mark.parametrize("column", ["LIMIT_BAL", "share", "occupation"])
def test_the_effects_of_a_wide_table_fit_to_print(mixed, column):
    whole, rows = mixed
    effect = whole[column]
    ax = effect.plot()
    for each in (ax, rows.what_if(column).plot(1)):
        check_layout(each)
    assert "class 'paid'" in (ax.get_ylabel() if effect.kind == "number" else ax.get_xlabel())
    assert "where the rows are" in [text.get_text() for text in ax.get_legend().get_texts()]
    if column == "LIMIT_BAL":
        wanted = f"change in log-odds of class 'paid'\nagainst LIMIT_BAL = {effect.reference:,.0f}"
        assert ax.get_ylabel() == wanted
        assert any("," in label.get_text() for label in ax.get_xticklabels())


@pytest.mark.slow
def test_the_pictures_of_a_wide_table_fit_to_print(mixed):
    whole, rows = mixed
    still = rows.what_if("customer_average_monthly_balance_07").plot()  # a column without any effect
    for ax in (
        whole.plot(),
        whole.plot_interactions(),
        rows.plot(0),
        whole.plot_pair("occupation", "LIMIT_BAL"),
        still,
    ):
        check_layout(ax)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["poisson", "multiclass", "wide"])
def test_the_pictures_of_every_kind_of_model_fit_to_print(kind):
    model, table = fitted(kind), rows_of(kind)
    whole, rows = model.explain_global(table), model.explain_local(table[:2])
    first, second = (effect.column for effect in whole.effects[:2])
    for ax in (rows.plot(1), whole.plot_pair(first, second), model.plot_history(), whole.effects[0].plot()):
        check_layout(ax)


def test_a_fan_fits_to_print():
    check_layout(plots.draw_fan(replace(FAN, y=FAN.y * 1e5, quantiles=FAN.quantiles * 1e5)))


def test_rows_are_drawn_below_the_curve():
    effect = fitted("regressor").explain_global(X)["income"]
    ax = plots.draw_effect(effect)
    bars = ax.patches
    assert len(bars) == len(effect.counts)
    assert sum(bar.get_height() > 0 for bar in bars) == (effect.counts > 0).sum()
    assert effect.counts.sum() == len(X)
    ax.figure.draw_without_rendering()
    top = max(bar.get_window_extent().y1 for bar in bars)
    lowest = ax.transData.transform((0, min(effect.low.min(), effect.observed_low.min())))[1]
    assert top < lowest
    assert not plots.draw_effect(fitted("regressor").explain_global()["income"]).patches


def test_names_that_would_look_alike_keep_the_part_in_which_they_differ():
    kinds = [f"{kind} and related services of the {k}th administrative district" for k in range(20) for kind in "AB"]
    short = plots.distinct_names(kinds)
    assert len(set(short)) == 40
    assert all(len(name) <= 34 for name in short)
    assert all(f"{k}th" in name for name, k in zip(short, np.repeat(range(20), 2), strict=True))
    assert plots.distinct_names(["a" * 60, "a" * 60]) == ["a" * 14 + "…" + "a" * 13, "a" * 14 + "…" + "a" * 13 + " (2)"]
    assert plots.distinct_names(["short", "names"]) == ["short", "names"]
