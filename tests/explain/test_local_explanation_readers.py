"""Rows as people give them, by label or one by one; and explanations in the words of customers.

Tests ``row_words``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lambdak import SpectralClassifier, SpectralRegressor
from lambdak.explain.row_words import RowWords

FEW = {"effort": "fast", "max_iter": 4, "random_state": 0}


@pytest.fixture(scope="module")
def flats():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "area": rng.uniform(20, 140, 300).round(), "town": rng.choice(["x", "y", "z"], 300),
        "floor": rng.integers(0, 9, 300),
    })  # fmt: skip
    return table.set_axis(np.random.default_rng(1).permutation(np.arange(300, 600)))


@pytest.fixture(scope="module")
def rents(flats):
    return (8 * flats["area"] + 10 * flats["floor"] + 50 * (flats["town"] == "x")).round()


@pytest.fixture(scope="module")
def model(flats, rents):
    return SpectralRegressor(**FEW).fit(flats, rents)


@pytest.fixture(scope="module")
def classifier(flats, rents):
    return SpectralClassifier(**FEW).fit(flats, np.where(rents > 600, "high", "low"))


# ---- which row -------------------------------------------------------------------------------------------------------


def test_one_row_may_be_a_series_a_mapping_or_a_list(model, flats):
    wanted = model.explain_local(flats.iloc[[7]])
    row = flats.iloc[7]
    for given in (row, row.to_dict(), pl.from_pandas(flats).row(7, named=True), row.to_numpy(), row.tolist()):
        found = model.explain_local(given)
        assert found.why() == wanted.why()
        np.testing.assert_array_equal(found.attribution, wanted.attribution)
        assert len(found.to_frame()) == 3
    shuffled = {name: row[name] for name in ("town", "floor", "area")}
    assert model.explain_local(shuffled | {"more": 1}).why() == wanted.why()
    one, two = (model.explain_local(flats.iloc[[7]], base) for base in (flats.iloc[3], flats.iloc[[3]]))
    assert one.why() == two.why()


def test_a_row_that_is_none_is_refused_with_the_way_out(model, flats):
    with pytest.raises(ValueError, match=r"'area', 'town', 'floor' is missing: a row of a table is X\.iloc\[i\]"):
        model.explain_local(flats["area"])
    with pytest.raises(TypeError, match=r"a mapping is one row, column → cell; .* pandas\.DataFrame\(X\)"):
        model.explain_local({"area": [50.0, 60.0], "town": ["x", "y"], "floor": [1, 2]})


def test_a_row_is_found_by_its_label(model, flats):
    local = model.explain_local(flats)
    place = flats.index.get_loc(362)
    text = local.why(label=362)
    assert text == local.why(place)
    assert text.startswith(f"Row {place} (index 362): The prediction is ")
    assert text.partition(": ")[2] == model.explain_local(flats.loc[[362]]).why()
    assert local.plot(label=362).get_title().startswith(f"Row {place}:")
    assert str(local).startswith(f"Row 0 (index {flats.index[0]}): The prediction")


def test_a_label_in_place_of_a_position_is_refused_with_the_way_out(model, flats):
    local, place = model.explain_local(flats), flats.index.get_loc(362)
    with pytest.raises(ValueError, match=rf"362 is a label in the index of the table: give label=362, or row={place}$"):
        local.why(362)
    named = model.explain_local(flats[:2].set_axis(["first", "second"]))
    assert named.why(label="second") == named.why(1)
    with pytest.raises(ValueError, match=r"'second' is a label .* give label='second', or row=1"):
        named.plot("second")
    with pytest.raises(ValueError, match="label must be in the index of the table that was explained; got 'third'"):
        named.why(label="third")
    twice = model.explain_local(flats[:2].set_axis([5, 5]))
    with pytest.raises(ValueError, match="label must be that of one row; 5 is the label of 2: give row=0"):
        twice.why(label=5)
    with pytest.raises(ValueError, match=r"label needs rows with labels, .* give row=3 if it is a position"):
        model.explain_local(flats.reset_index(drop=True)).why(label=3)


def test_rows_that_are_counted_from_zero_have_no_labels(model, flats):
    plain = model.explain_local(flats.reset_index(drop=True))
    assert plain.why(3).startswith("The prediction is ")
    assert str(plain).startswith("Row 0: The prediction is ")
    assert model.explain_local(flats.iloc[0]).why().startswith("The prediction is ")


# ---- for whom --------------------------------------------------------------------------------------------------------


def test_texts_and_units_speak_to_a_customer(model, flats, rents):
    local = model.explain_local(flats)
    large = int(flats["area"].argmax())
    text = local.why(
        large, texts={"area": "the size of your flat", "target": "your rent"}, units={"area": "m²", "target": "EUR"}
    )
    first, second, third, *parts = text.splitlines()
    assert first == f"Your rent is {local.prediction[large]:,.0f} EUR."
    average = f"{model.predict(flats).mean():,.0f} EUR"
    middle = f"{local.baseline_prediction[large]:,.0f} EUR"
    assert second == f"With middle values in everything, it would be {middle}. On average it is {average}."
    assert third.startswith("The difference of +")
    assert third.endswith(" EUR is the sum of:")
    assert any(f" EUR  the size of your flat: {flats['area'].iloc[large]:.0f} m²" in part for part in parts)
    assert any("floor: " in part for part in parts)
    assert parts[-1].startswith("Proven: with the size of your flat anywhere between 20 m² and 140 m²")
    assert "your rent stays between" in parts[-1]
    assert "area" not in text
    assert "baseline" not in text


def test_a_probability_is_explained_without_log_odds(classifier, flats):
    local = classifier.explain_local(flats.iloc[[0]], output="high")
    text = local.why(texts={"area": "the size", "target": "the chance of a high rent"}, units={"area": "m²"})
    assert text.startswith("The chance of a high rent is ")
    assert "What makes the difference, the strongest first:\n" in text
    direction = "raises it" if local.attribution[0, 0] > 0 else "lowers it"
    assert f"  {direction}  the size: {flats['area'].iloc[0]:.0f} m²\n" in text
    for word in ("log-odds", "baseline", "column", "class"):
        assert word not in text
    given = classifier.explain_local(flats.iloc[0], flats.iloc[1]).why(texts={})
    assert "In the case that this is compared with, it would be " in given


def test_texts_are_those_of_reasons_and_units_alone_change_no_words(model, flats):
    local = model.explain_local(flats.iloc[0])
    coded = local.why(texts={"area": ("R1", "the size"), 1: "the town"})
    assert coded == local.why(texts={"area": "the size", "town": "the town"})
    assert f"area = {flats['area'].iloc[0]:.0f} m²" in local.why(units={"area": "m²"})
    assert "The baseline is " in local.why(units={"area": "m²"})
    words = RowWords(units={"area": "m²"})
    assert words.pair("area", "missing", "number") == "area = missing"
    assert words.pair("area", "1234567", "number") == "area = 1,234,567 m²"


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"texts": {"aera": "x"}}, "texts: column must be one of .* Did you mean 'area'"),
        ({"texts": {"area": 3}}, "texts: that of column 'area' must be a text, or a code and a text; got 3"),
        ({"texts": "area"}, "texts must map columns to text"),
        ({"units": {"aera": "m²"}}, "units: column must be one of .* Did you mean 'area'"),
        ({"units": {"area": 3}}, "units must map columns to text, such as {'area': 'EUR'}"),
        ({"units": {"target": "EUR"}}, "units must not have one of the target: probabilities"),
    ],
)
def test_wrong_texts_and_units_are_refused(classifier, flats, options, match):
    with pytest.raises((TypeError, ValueError), match=match):
        classifier.explain_local(flats.iloc[0]).why(**options)


def test_the_target_has_the_name_of_its_column_too(flats, rents, tmp_path):
    flats.assign(target="a", rent=rents).to_parquet(tmp_path / "flats.parquet")
    model = SpectralRegressor(**FEW).fit(tmp_path / "flats.parquet", "rent")
    row = flats.assign(target="a").iloc[0]
    text = model.explain_local(row).why(texts={"rent": "your rent", "target": "a column"}, units={"rent": "EUR"})
    assert text.startswith("Your rent is ")
