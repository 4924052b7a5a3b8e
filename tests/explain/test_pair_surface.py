"""What two columns do together: against predictions of rows that were changed by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from fitted_models import X, fitted
from plot_cases import plots, rendered

from lambdak.explain import pair_surface

pytestmark = pytest.mark.usefixtures("closed_figures")
ROWS = X[:20]


def mean_score(model, **cells):
    return float(np.mean(model.model_.raw(ROWS.assign(**cells))))


@pytest.mark.parametrize("kind", ["free", "poisson", "additive"])
def test_effects_are_mean_changes_of_rows_whose_two_cells_are_set(kind):
    model = fitted(kind)
    surface = pair_surface(model.model_, ROWS, "income", "kind")
    assert surface.columns == ("income", "kind")
    assert surface.kinds == ("number", "category")
    assert surface.effect.shape == surface.joint.shape == (len(surface.x), len(surface.y))
    a, b = surface.x[5], surface.y[1]
    other, typical = surface.y[0], surface.reference[0]
    expected = mean_score(model, income=a, kind=b) - mean_score(model, income=a, kind=other)
    assert surface.effect[5, 1] - surface.effect[5, 0] == pytest.approx(expected, abs=1e-9)
    assert surface.reference == (model.model_.encoder.columns[0].median, "average level")
    own = mean_score(model, income=a, kind="never seen") - mean_score(model, income=typical, kind="never seen")
    both = mean_score(model, income=a, kind=b) - mean_score(model, income=typical, kind="never seen")
    alone = mean_score(model, income=typical, kind=b) - mean_score(model, income=typical, kind="never seen")
    assert surface.effect[5, 1] == pytest.approx(both, abs=1e-9)
    assert surface.joint[5, 1] == pytest.approx(both - own - alone, abs=1e-9)


def test_columns_that_do_not_interact_have_no_joint_part():
    surface = fitted("additive").explain_global(X).pair("income", "age")
    assert np.abs(surface.joint).max() < 1e-9
    assert np.abs(surface.effect).max() > 0.1


def test_rows_are_where_they_were_seen():
    surface = fitted("free").explain_global(ROWS).pair("region", "age")
    ages = ROWS["age"].to_numpy()
    np.testing.assert_array_equal(surface.seen[:, 1], ages)
    at = {"north": surface.x.index("north"), "south": surface.x.index("south")}
    assert surface.seen[:, 0][ROWS["region"] == "north"].tolist() == [at["north"]] * int(
        (ROWS["region"] == "north").sum()
    )
    assert pair_surface(fitted("free").model_, None, "region", "age").seen.shape == (0, 2)


def test_of_many_levels_those_that_move_most_are_kept_and_the_rest_counted():
    surface = fitted("wide").explain_global().pair("code", "income")
    assert len(surface.x) == 12
    assert surface.hidden == (128, 0)
    means = surface.effect.mean(axis=1)
    assert (np.diff(surface.effect[:, 0]) >= -1e-9).mean() > 0.5  # in order of their effect
    assert means[0] < means[-1]


def test_it_prints_where_both_columns_do_most():
    surface = fitted("free").explain_global(X).pair("income", "kind")
    text = str(surface)
    assert text.startswith("income and kind act together most at income = ")
    assert "against income = " in text
    assert "the average level of kind" in text
    assert repr(surface) == text


def test_the_numbers_are_plain_data():
    surface = fitted("binary").explain_global(X, output="no").pair("age", "income")
    data = json.loads(json.dumps(surface.to_dict(), allow_nan=False))
    assert data["columns"] == ["age", "income"]
    assert data["output"] == "class 'no'"
    np.testing.assert_allclose(data["effect"], surface.effect)
    frame = surface.to_frame()
    assert len(frame) == surface.effect.size
    assert list(frame.columns) == ["age", "income", "effect", "joint"]
    assert type(frame).__module__.startswith("pandas")


@pytest.mark.parametrize(
    ("pair", "words"), [(("income", "incom"), "Did you mean 'income'"), (("age", "age"), "must be two columns")]
)
def test_a_pair_that_is_none_is_refused(pair, words):
    with pytest.raises(ValueError, match=words):
        fitted("free").explain_global().pair(*pair)


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="X must have at least one row to observe, or be None; got none"):
        pair_surface(fitted("free").model_, X[:0], "income", "age")


@pytest.mark.parametrize("kind", ["free", "poisson", "binary"])
def test_a_map_names_its_columns_and_what_it_shows(kind):
    overall = fitted(kind).explain_global(X)
    ax = overall.plot_pair("income", "region")
    assert ax.get_title() == "income and region together"
    assert ax.get_xlabel() == "income"
    bar = ax.figure.axes[1].get_ylabel()
    words = {"poisson": "factor of the prediction", "binary": "change in log-odds of class 'yes'"}
    assert bar.startswith(words.get(kind, "change in prediction"))
    assert "against income = " in bar
    own = plots.side_by_side(2)[1]
    assert overall.plot_pair("income", "region", joint_only=True, ax=own) is own
    assert "that only both have" in own.figure.axes[-1].get_ylabel()
    assert rendered(ax)
