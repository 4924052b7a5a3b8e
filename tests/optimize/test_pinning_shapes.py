"""Columns with a shape are searched only where a score can be lowest: as a dense grid finds it, in fewer boxes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from optimize_cases import score_of

from lambdak import SpectralRegressor
from lambdak.optimize import minimize
from lambdak.optimize.minimum import problem
from lambdak.optimize.minimum.pinning import pin
from lambdak.shapes import Concave, Convex, OutputRange, Peak, Valley

COLUMNS = ["age", "temperature", "noise"]
SHAPES = {
    "turns": [Valley("age", at=45), Peak("temperature", at=20)],
    "both bends": [Convex("age", "noise"), Concave("temperature")],
    "all concave": [Concave()],
}


@cache
def model(name):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "age": rng.uniform(18, 80, 300), "temperature": rng.uniform(-5, 35, 300), "noise": rng.normal(size=300),
    })  # fmt: skip
    y = np.abs(X["age"] - 45) / 10 - np.abs(X["temperature"] - 20) / 10 + np.sin(2 * X["noise"]) * X["age"] / 40
    settings = {"effort": "fast", "n_estimators": 2, "max_iter": 40, "dim": 5, "random_state": 0}
    return SpectralRegressor(constraints=SHAPES[name], **settings).fit(X, y)


def grid(fitted):
    axes = [np.unique([*own.nodes(), *np.linspace(own.low, own.high, 15)]) for own in fitted.model_.encoder.columns]
    return pd.DataFrame(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3), columns=COLUMNS)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_the_result_is_that_of_a_dense_grid_and_of_the_whole_box(name, maximize, monkeypatch):
    fitted = model(name)
    found = minimize(fitted, COLUMNS, maximize=maximize, gap=1e-3)
    seen = fitted.predict(grid(fitted))
    monkeypatch.setattr(problem, "pin", lambda score, used: (score, 0.0))
    whole = minimize(fitted, COLUMNS, maximize=maximize, gap=1e-3)
    sign = -1 if maximize else 1
    assert sign * found.bound <= (sign * seen).min()
    assert sign * found.value <= (sign * seen).min() + 1e-3 * np.abs(seen).max()
    assert found.value == pytest.approx(whole.value, rel=2e-3)
    assert found.trace[-1].work <= whole.trace[-1].work


def test_a_valley_is_pinned_to_its_turn_and_a_peak_to_its_ends():
    score = score_of(model("turns"), COLUMNS)
    low, _ = pin(score, np.zeros(3, bool))
    assert low.axes[0].points.tolist() == [45.0]
    assert low.axes[1].points.tolist() == [score.axes[1].low, score.axes[1].high]
    assert low.axes[1].jumps.tolist() == [True]
    assert low.axes[2].points.tolist() == score.axes[2].points.tolist()
    high, _ = pin(score.negative(), np.zeros(3, bool))
    assert high.axes[0].points.tolist() == [score.axes[0].low, score.axes[0].high]
    assert high.axes[1].points.tolist() == [20.0]


def test_a_concave_column_is_lowest_at_an_end_whatever_the_index():
    score = score_of(model("both bends"), COLUMNS)
    found, charge = pin(score, np.zeros(3, bool))
    assert [len(axis.points) for axis in found.axes][1] == 2
    assert all(len(axis.points) > 2 for axis in (found.axes[0], found.axes[2]))
    rng = np.random.default_rng(1)
    x = np.stack([rng.uniform(axis.low, axis.high, 2000) for axis in score.axes], axis=1)
    ends = [np.column_stack([x[:, 0], np.full(2000, end), x[:, 2]]) for end in found.axes[1].points]
    lowest = np.minimum(*(score.values(own) for own in ends))
    assert (score.values(x) >= lowest - charge - score.error).all()


def test_an_end_of_the_range_of_predictions_ends_the_search():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.normal(size=200) for name in COLUMNS})
    y = 3 * X["age"] + X["temperature"] * X["noise"]
    settings = {"effort": "fast", "n_estimators": 2, "max_iter": 20, "dim": 5, "random_state": 0}
    fitted = SpectralRegressor(constraints=[OutputRange(-2.0, 3.0)], **settings).fit(X, y.clip(-2, 3))
    for maximize, end in ((True, 3.0), (False, -2.0)):
        found = minimize(fitted, COLUMNS, maximize=maximize, bounds=dict.fromkeys(COLUMNS, (-9.0, 9.0)))
        assert found.value == found.bound == end
        assert fitted.predict(pd.DataFrame([found.row])[COLUMNS])[0] == end


def test_where_other_things_depend_on_a_column_or_numbers_are_whole_all_of_it_stays():
    score = score_of(model("turns"), COLUMNS)
    used, _ = pin(score, np.ones(3, bool))
    assert [len(axis.points) for axis in used.axes] == [len(axis.points) for axis in score.axes]
    found = minimize(model("turns"), COLUMNS, whole=["temperature"], maximize=False, gap=1e-3)
    assert found.row["temperature"] == int(found.row["temperature"])
    cells = np.arange(np.ceil(score.axes[1].low), np.floor(score.axes[1].high) + 1)
    rest = {name: [found.row[name]] * len(cells) for name in ("age", "noise")}
    seen = model("turns").predict(pd.DataFrame({**rest, "temperature": cells})[COLUMNS])
    assert found.value <= seen.min() + 1e-3 * np.abs(seen).max()
