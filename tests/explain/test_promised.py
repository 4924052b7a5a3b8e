"""What was promised of columns is said and drawn wherever their effects are, whatever the shape."""

from __future__ import annotations

import pytest
from shape_cases import CONSTRAINTS, shaped, shaped_table

from lambdak.shapes import Concave, Valley


@pytest.fixture(scope="module")
def table():
    return shaped_table()[0]


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_every_shape_is_said_of_its_columns_without_the_words_raw_score(name, table):
    model, _ = shaped(CONSTRAINTS[name])
    explanation = model.explain_global(table)
    columns = model.model_.encoder.columns
    for shape in model.model_.promises.shapes:
        words = shape.words(table.columns, "the prediction")
        for i in shape.about(columns):
            effect = explanation[table.columns[i]]
            direction = shape.bent(columns[i]) in ((1, 0), (-1, 0)) and not shape.nodes()
            said = [line for line in effect.promised if line.replace("the prediction", "") in _spoken(words)]
            assert bool(said) or (direction and effect.sign)
            assert f"promised: {said[0]}" in str(effect) if said else "which never" in str(effect)
    text = str(explanation)
    assert "raw score" not in text
    assert all(f"\n  {words}" in text for words in explanation.promised)


def _spoken(words):
    return words.replace("the raw score", "").replace("a raw score", "").replace("the prediction", "")


def test_frames_have_what_was_promised_only_where_something_was(table):
    free, bound = (shaped(own)[0].explain_global(table).to_frame() for own in (None, [Concave("income")]))
    assert "promised" not in free
    found = dict(zip(bound["column"], bound["promised"], strict=True))
    assert found.pop("income") == (
        "every further unit of income adds at most as much to the prediction as the one before (concave)"
    )
    assert set(found.values()) == {""}


def test_the_turn_of_a_valley_is_marked_and_said_below_the_picture(table):
    pytest.importorskip("matplotlib").use("Agg")
    model, _ = shaped([Valley("age", at=40), Concave("income")])
    explanation = model.explain_global(table)
    assert explanation["age"].named == (40.0,)
    assert explanation["income"].named == ()
    ax = explanation["age"].plot()
    marks = [line for line in ax.lines if line.get_label() == "named by the promise"]
    assert [list(mark.get_xdata()) for mark in marks] == [[40.0, 40.0]]
    below = ax.get_xlabel().replace("\n", " ")
    assert "promised: the prediction never rises as age rises up to 40, and never falls after it" in below
    other = explanation["income"].plot()
    assert "promised: every further unit of income" in other.get_xlabel().replace("\n", " ")
    assert "named by the promise" not in [line.get_label() for line in other.lines]
    pytest.importorskip("matplotlib.pyplot").close("all")
