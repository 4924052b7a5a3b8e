"""Pictures of tables: drawn without a warning, with what they say, whatever the names are."""

from __future__ import annotations

import numpy as np
import pytest
from factor_table_cases import hostile_model
from fitted_models import WIDE, X, Y, fitted
from plot_cases import plt, rendered


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "form"), [("poisson", "bands"), ("free", "interpolated")])
def test_all_tables_are_on_one_figure(kind, form):
    tables = fitted(kind).relativities(X, np.maximum(Y, 0), form=form, time_limit=0.1)
    axes = tables.plot()
    assert len(axes) == 4
    assert [ax.get_title(loc="left").split(":")[0] for ax in axes] == ["income", "age", "region", "kind"]
    assert len({ax.figure for ax in axes}) == 1
    assert rendered(axes[0])


def test_bands_are_drawn_at_their_values():
    tables = fitted("poisson").relativities(X, np.maximum(Y, 0), time_limit=0.1)
    ax = tables.plot("income")
    bands = [row.kind for row in tables["income"].sides[0]].count("band")
    (steps,) = [patch for patch in ax.patches if hasattr(patch, "get_data")]
    np.testing.assert_array_equal(steps.get_data().values, tables["income"].value[:bands])
    assert len(ax.get_xticks()) == len(tables["income"].value)
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {
        "exposure", "relativity", "expected, one-way", "observed, one-way",
    }  # fmt: skip


def test_two_way_tables_are_maps():
    tables = fitted("poisson").relativities(X, two_way=1, time_limit=0.1)
    ax = tables.plot(tables.tables[-1].columns)
    assert ax.images[0].get_array().shape == tables.tables[-1].value.shape
    assert rendered(ax)


def test_points_stand_above_rows_and_unseen_levels_have_a_name_of_their_own():
    ax = fitted("binary").scorecard(X, np.where(Y > 1.5, "yes", "no"), time_limit=0.1).plot("region")
    assert "rows" in {text.get_text() for text in ax.get_legend().get_texts()}
    assert ax.get_xticklabels()[-1].get_text() == "any other"


def test_without_rows_there_is_no_exposure_and_nothing_observed():
    ax = fitted("poisson").relativities(time_limit=0.1).plot("age")
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"relativity"}


def test_of_many_levels_those_with_most_exposure_are_drawn():
    ax = fitted("wide").relativities(WIDE, time_limit=0.1).plot("code")
    assert len(ax.get_xticks()) == 24
    assert "117 rows with less exposure are not shown" in ax.get_xlabel()


@pytest.mark.slow
def test_hostile_names_are_drawn_as_they_are():
    model, table, y = hostile_model()
    assert rendered(model.relativities(table, y, two_way=1, time_limit=0.1).plot()[0])


def test_scorecards_and_cut_offs_are_drawn():
    own = fitted("binary").scorecard(X, np.where(Y > 1.5, "yes", "no"), time_limit=0.1)
    assert len(own.plot()) == 4
    ax = own.cutoffs.plot()
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), own.cutoffs.bad_rate)
    assert "Gini" in ax.get_title(loc="left")
    assert rendered(ax)
