"""Plots: each returns the Axes it drew on, what it drew is the data, and no name breaks it."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from fitted_models import SMALL, X, fitted
from hand_made_models import by_hand, symmetric

from lambdak import SpectralRegressor
from lambdak.cli.demo_results import Fan

pytest.importorskip("matplotlib").use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
plots = pytest.importorskip("lambdak.explain.plots")

FAN = Fan(
    "price",
    (0.1, 0.5, 0.9),
    quantiles=np.add.outer(np.arange(6.0), [-1.0, 0.0, 1.0]),
    y=np.array([0.0, 9.0, 2.0, -9.0, 4.0, 5.0]),
    crossings=(0, 3),
)
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


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def whole():
    return fitted("regressor").explain_global(X)


@pytest.fixture(scope="module")
def rows():
    return fitted("regressor").explain_local(X[:5])


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    model = by_hand(symmetric(rng, 3), [symmetric(rng, 3, 0.1) for _ in range(40)])
    table = rng.uniform(-1, 1, (12, 40))
    return model.explain_global(table), model.explain_local(table)


DRAWN = {
    "the effect of a number": (lambda whole, rows: whole["income"], "draw_effect"),
    "the effect of a number with gaps": (lambda whole, rows: whole["age"], "draw_effect"),
    "the effect of a category": (lambda whole, rows: whole["region"], "draw_effect"),
    "strengths": (lambda whole, rows: whole, "draw_strengths"),
    "interactions": (lambda whole, rows: whole, "draw_interactions"),
    "a waterfall": (lambda whole, rows: rows, "draw_waterfall"),
    "a fan": (lambda whole, rows: FAN, "draw_fan"),
}


def line(ax, label):
    (found,) = [line for line in ax.lines if line.get_label() == label]
    return found.get_xydata().T


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def rendered(ax):
    return plots.png(ax).startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("what", DRAWN)
def test_each_draws_on_the_given_axes_or_makes_its_own(what, whole, rows):
    pick, name = DRAWN[what]
    data, draw = pick(whole, rows), getattr(plots, name)
    ax = plots.side_by_side(2)[1]
    assert draw(data, ax=ax) is ax
    assert not ax.figure.axes[0].has_data()
    own = draw(data)
    assert isinstance(own, plt.Axes)
    assert own is not ax
    for each in (ax, own):
        assert each.has_data()
        assert each.get_xlabel()
        assert each.get_title()
        assert len(each.get_legend().get_texts()) >= 2
    assert rendered(own)


def test_explanations_draw_themselves(whole, rows):
    assert whole.plot().get_title() == "What each column can do"
    assert "income" in whole["income"].plot().get_title()
    assert rows.plot(2).get_title().startswith("Row 2")
    ax = plots.side_by_side(1)[0]
    assert whole.plot(ax) is whole["income"].plot(ax) is rows.plot(0, ax) is ax


def test_an_effect_shows_its_mean_its_band_and_where_most_rows_are(whole):
    effect = whole["income"]
    ax = plots.draw_effect(effect)
    np.testing.assert_array_equal(line(ax, "mean of the rows"), [effect.x, effect.effect])
    bands = {band.get_label(): band.get_paths()[0].vertices[:, 1] for band in ax.collections}
    proven, seen = bands["proven: no row can leave"], bands["90 % of the rows"]
    assert (proven.min(), proven.max()) == pytest.approx((effect.low.min(), effect.high.max()))
    assert (seen.min(), seen.max()) == pytest.approx((effect.observed_low.min(), effect.observed_high.max()))
    assert ax.get_title() == "income: never falls"
    assert plots.draw_effect(whole["age"]).get_title() == "age: never rises"
    assert f"{effect.reference:.4g}" in ax.get_ylabel()


def test_missing_cells_have_a_line_of_their_own(whole):
    label = "mean if the cell is missing"
    assert line(plots.draw_effect(whole["age"]), label)[1].tolist() == [whole["age"].missing] * 2
    assert label not in [each.get_label() for each in plots.draw_effect(whole["income"]).lines]


def test_a_category_shows_its_levels(whole):
    effect = whole["region"]
    ax = plots.draw_effect(effect)
    assert names(ax) == ["north", "south", "missing", "other"]
    np.testing.assert_array_equal(line(ax, "mean of the rows"), [effect.effect, range(4)])
    assert ax.get_title() == "region"


def test_of_many_levels_the_strongest_are_shown_and_the_rest_counted():
    effect = fitted("wide").explain_global()["code"]
    ax = plots.draw_effect(effect)
    strongest = np.argsort(-effect.norm)[:15]
    assert set(names(ax)) == {effect.x[i] for i in strongest}
    assert "125 more levels are not shown" in ax.get_xlabel()
    assert rendered(ax)


def test_the_strongest_column_is_on_top_with_its_bound_and_what_was_seen(whole):
    ax = plots.draw_strengths(whole)
    shown = whole.effects[::-1]
    assert [bar.get_width() for bar in ax.patches] == [each.proven for each in shown]
    assert line(ax, "largest change that was seen")[0].tolist() == [each.observed for each in shown]
    marks = {"income": "income ↑", "age": "age ↓"}
    assert names(ax) == [marks.get(each.column, each.column) for each in shown]
    bare = plots.draw_strengths(fitted("regressor").explain_global())
    assert line(bare, "change seen on the typical row").shape == (2, 4)


def test_interactions_show_couplings_and_what_was_observed_or_commutators(whole):
    ax = plots.draw_interactions(whole)
    shown = whole.interactions[::-1]
    assert [bar.get_width() for bar in ax.patches] == [each.coupling for each in shown]
    assert line(ax, "joint effect that was observed")[0].tolist() == [each.joint for each in shown]
    assert names(ax)[-1] == f"{shown[-1].first} × {shown[-1].second}"
    bare = fitted("regressor").explain_global()
    ax = plots.draw_interactions(bare)
    assert [bar.get_width() for bar in ax.patches] == [each.commutator for each in bare.interactions[::-1]]
    assert not ax.lines


@pytest.mark.slow
def test_a_model_of_one_column_can_be_drawn():
    model = by_hand(np.eye(2), [np.diag([1.0, 0.5])])
    for explanation in (model.explain_global(), model.explain_global([[0.5], [0.1]])):
        assert rendered(plots.draw_interactions(explanation))
        assert rendered(plots.draw_strengths(explanation))
        assert rendered(plots.draw_effect(explanation.effects[0]))
    assert rendered(plots.draw_waterfall(model.explain_local([[0.5]])))


def test_a_constant_column_can_be_drawn():
    table = X[["income"]].assign(same=3.0)
    model = SpectralRegressor(**SMALL).fit(table, table["income"])
    assert rendered(plots.draw_effect(model.explain_global(table)["same"]))


def test_a_waterfall_goes_from_the_baseline_to_the_row(rows):
    ax = plots.draw_waterfall(rows, 3)
    bars = ax.patches
    shares = sorted(rows.attribution[3], key=abs, reverse=True)
    assert [bar.get_width() for bar in bars] == pytest.approx(shares)
    assert bars[0].get_x() == pytest.approx(rows.baseline_score[3])
    for before, after in pairwise(bars):
        assert after.get_x() == pytest.approx(before.get_x() + before.get_width())
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(rows.score[3], abs=1e-6)
    assert names(ax)[0].startswith(rows.columns[np.abs(rows.attribution[3]).argmax()] + " = ")
    rising = [plt.matplotlib.colors.same_color(bar.get_facecolor(), plots.BLUE) for bar in bars]
    assert rising == [share > 0 for share in shares]
    assert f"{rows.prediction[3]:.4g}" in ax.get_title()
    assert "class 'yes'" in plots.draw_waterfall(fitted("binary").explain_local(X[:1])).get_xlabel()


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


def test_a_fan_shows_its_bands_its_median_and_which_rows_are_outside():
    ax = plots.draw_fan(FAN)
    np.testing.assert_array_equal(line(ax, "median"), [np.arange(6), np.arange(6)])
    np.testing.assert_array_equal(line(ax, "observed"), [[0, 2, 4, 5], [0, 2, 4, 5]])
    np.testing.assert_array_equal(line(ax, "observed, outside"), [[1, 3], [9, -9]])
    (band,) = ax.collections
    assert band.get_label() == "80 % of the rows should be inside"
    edges = band.get_paths()[0].vertices[:, 1]
    assert (edges.min(), edges.max()) == (-1.0, 6.0)
    assert ax.get_ylabel() == "price"
    assert rendered(plots.draw_fan(replace(FAN, target="price in $, not in $")))


def test_a_reach_that_is_negative_by_rounding_is_drawn_as_none(whole):
    effect = whole["region"]
    off = replace(effect, low=np.nextafter(effect.effect, np.inf), high=np.nextafter(effect.effect, -np.inf))
    assert rendered(plots.draw_effect(off))


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


def test_the_words_of_a_proven_bound_say_how_far_it_goes(whole):
    def words(explanation):
        return [text.get_text() for text in plots.draw_strengths(explanation).get_legend().get_texts()]

    assert "proven: no change does more" in words(whole)
    assert "proven: no change does more within the training range" in words(fitted("convex").explain_global())


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
