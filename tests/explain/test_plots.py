"""Plots: each returns the Axes it drew on, and what it drew is the data.

Tests ``plots``: ``canvas``, ``model`` and ``rows``.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from fitted_models import SMALL, X, fitted
from hand_made_models import by_hand
from plot_cases import FAN, names, plots, plt, rendered

from lambdak import SpectralRegressor

pytestmark = pytest.mark.usefixtures("closed_figures")
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
    assert whole.plot().get_title() == "What each column does"
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
    assert ax.get_ylabel() == f"change in prediction\nagainst income = {effect.reference:.4g}"


def test_missing_cells_have_a_line_of_their_own(whole):
    label = "mean if the cell is missing"
    assert line(plots.draw_effect(whole["age"]), label)[1].tolist() == [whole["age"].missing] * 2
    assert label not in [each.get_label() for each in plots.draw_effect(whole["income"]).lines]


def test_a_category_shows_its_levels(whole):
    effect = whole["region"]
    ax = plots.draw_effect(effect)
    order = np.argsort(effect.effect)
    assert names(ax) == [effect.x[i] for i in order]
    np.testing.assert_array_equal(line(ax, "mean of the rows"), [effect.effect[order], range(4)])
    assert ax.get_title() == "region"


def test_the_strongest_column_is_on_top_with_its_bound_and_what_was_seen(whole):
    ax = plots.draw_strengths(whole)
    shown = whole.effects[::-1]
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == [each.proven for each in shown] + [each.importance for each in shown]
    assert line(ax, "largest change that was seen")[0].tolist() == [each.observed for each in shown]
    marks = {"income": "income ↑", "age": "age ↓"}
    assert names(ax) == [marks.get(each.column, each.column) for each in shown]
    bare = plots.draw_strengths(fitted("regressor").explain_global())
    assert line(bare, "change seen at the baseline").shape == (2, 4)


def test_interactions_show_what_was_observed_and_couplings_or_commutators(whole):
    ax = plots.draw_interactions(whole)
    shown = whole.interactions[::-1]
    assert [bar.get_width() for bar in ax.patches] == [each.joint for each in shown]
    coupled = line(ax, "how strongly they are coupled, from the model")[0].tolist()
    assert coupled == [each.coupling for each in shown]
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
    assert f"{rows.prediction[3]:.2f}" in ax.get_title()
    assert "class 'yes'" in plots.draw_waterfall(fitted("binary").explain_local(X[:1])).get_xlabel()


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


def test_the_words_of_a_proven_bound_say_how_far_it_goes(whole):
    def words(explanation):
        return [text.get_text() for text in plots.draw_strengths(explanation).get_legend().get_texts()]

    assert "proven: no change does more" in words(whole)
    assert "proven: no change does more within the training range" in words(fitted("convex").explain_global())


def test_a_waterfall_has_one_line_for_all_columns_that_do_nothing():
    table = X[["income", "age"]].assign(one=1.0, two=2.0, built=1950 + np.arange(len(X)) % 70)
    model = SpectralRegressor(max_influence={"built": 0}, **SMALL).fit(table, table["income"].fillna(0.0))
    labels = names(plots.draw_waterfall(model.explain_local(table[:1])))
    assert "3 other columns" in labels
    assert not any(label.startswith(("one", "two", "built")) for label in labels)


def test_ticks_of_years_have_no_separators_and_those_of_large_cells_do():
    assert plots.canvas.Separated(1e4).format_ticks([1950.0, 2000.0]) == ["1950", "2000"]
    assert plots.canvas.Separated(1e4).format_ticks([0.0, 5000.0, 10000.0]) == ["0", "5,000", "10,000"]
