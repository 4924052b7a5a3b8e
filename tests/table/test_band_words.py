"""Bands of numbers are worded once, wherever they are read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from desk_cases import X, Y, desk_model

from lambdak import SpectralRegressor
from lambdak.governance.performance.bands import number_bands
from lambdak.table.band_words import band_words, number_words

WORDS = {
    (None, 3, True): "≤ 2",
    (3, 5, True): "3–4",
    (3, 4, True): "3",
    (2.5, 4.5, True): "3–4",
    (-3, 0, True): "-3 to -1",
    (5, None, True): "≥ 5",
    (3.2, 3.8, True): "[3.2, 3.8)",
    (20_000, 30_000, True): "20,000–29,999",
    (0.5, 1, False): "[0.5, 1)",
    (None, None, True): "all numbers",
}


@pytest.mark.parametrize("band", WORDS)
def test_whole_numbers_are_spans_and_others_intervals(band):
    assert band_words(*band) == WORDS[band]


def test_two_values_are_their_bands():
    assert [band_words(None, 0.7, False, (0.5, 1.5)), band_words(0.7, None, False, (0.5, 1.5))] == ["0.5", "1.5"]


def test_numbers_keep_all_their_digits():
    for number in (1 / 3, 1234567.25, 1e-300, -0.5):
        assert float(number_words(number).replace(",", "")) == number


def test_tables_performance_and_drift_say_the_same():
    card = desk_model().scorecard(X, Y, good="yes", time_limit=0.5, bands={"late": [0, 1, 3], "lines": [3, 5, 6]})
    rows = {table.name: [row.label for row in table.sides[0] if row.kind == "band"] for table in card}
    assert rows["late"] == ["≤ -1", "0", "1–2", "≥ 3"]
    assert rows["lines"] == ["≤ 2", "3–4", "5", "≥ 6"]
    assert rows["owner"] == ["0", "1"]
    assert number_bands(np.array([0, 1, 1, 0.0]), None, 10).names == ("0", "1", "missing")
    assert card.cutoffs.labels()[-1].startswith("≤ ")
    assert "–" in card.cutoffs.labels()[1]


def test_ordered_categories_stand_in_their_order():
    sizes = pd.Categorical(["large", "small", "medium"] * 20, ["small", "medium", "large"], ordered=True)
    model = SpectralRegressor(effort="fast", max_iter=2, n_estimators=1, dim=1).fit(
        pd.DataFrame({"size": sizes}), range(60)
    )
    table = model.relativities(time_limit=0.5)["size"]
    assert [row.level for row in table.sides[0] if row.kind == "level"] == ["small", "medium", "large"]
