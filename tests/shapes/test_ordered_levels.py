"""Levels in an order share strength with their neighbours, without any constraint, in memory and in a file."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lambdak import SpectralRegressor, load
from lambdak import shapes as s
from lambdak.store._header import FORMAT, describe

LEVELS = [f"g{i:02d}" for i in range(14)]


def table(rows, seed, ordered, levels=LEVELS):
    rng = np.random.default_rng(seed)
    rank = rng.integers(0, len(LEVELS), rows)
    names = pd.Categorical(np.array(LEVELS)[rank], levels, ordered=ordered)
    X = pd.DataFrame({"g": names, "x": rng.normal(size=rows)})
    return X, np.sin(rank / 4) + 0.5 * X["x"].to_numpy(), rng.normal(size=rows)


def error(seed, ordered, levels=LEVELS):
    (X, truth, noise), (other, wanted, _) = (table(rows, seed + rows, ordered, levels) for rows in (160, 1000))
    model = SpectralRegressor(effort="fast", random_state=0).fit(X, truth + noise)
    return np.mean((model.predict(other) - wanted) ** 2)


def test_an_order_helps_where_neighbours_are_alike_and_shuffled_levels_do_not():
    shuffled = np.random.default_rng(0).permutation(LEVELS).tolist()
    found = np.array([[error(seed, True), error(seed, False), error(seed, True, shuffled)] for seed in range(8)])
    in_order, without, wrong = found.mean(axis=0)
    assert in_order < 0.9 * without
    assert in_order < 0.8 * wrong


def test_a_level_with_a_single_row_is_predicted_from_its_neighbours():
    X, truth, noise = table(400, 0, True)
    level, y = LEVELS[6], truth + 0.2 * noise
    own = np.flatnonzero(X["g"] == level)
    y[own[0]] += 4.0  # an outlier, of all that is known of the level
    rows = np.setdiff1d(np.arange(400), own[1:])
    row = pd.DataFrame({"g": [level], "x": [0.0]})
    errors = []
    for ordered in (True, False):
        kept = X.iloc[rows].assign(g=pd.Categorical(X["g"].iloc[rows], LEVELS, ordered=ordered))
        model = SpectralRegressor(effort="fast", random_state=0).fit(kept, y[rows])
        errors.append(abs(model.predict(row.assign(g=pd.Categorical(row["g"], LEVELS)))[0] - np.sin(6 / 4)))
    assert errors[0] < errors[1]


def test_a_file_keeps_the_order_and_training_continues_from_it(tmp_path):
    X, truth, noise = table(200, 0, True)
    X.loc[::9, "g"] = None
    settings = {"effort": "fast", "max_iter": 2, "random_state": 0}
    model = SpectralRegressor(**settings).fit(X, truth + noise)
    assert describe(model._saved())[0]["format"] == FORMAT
    model.save(tmp_path / "model", training_state=True)
    again = load(tmp_path / "model")
    assert again.model_.encoder.columns[0].order == tuple(LEVELS)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    ours, theirs = (own.partial_fit(X, truth).predict(X) for own in (model, again))
    np.testing.assert_array_equal(ours, theirs)


def test_a_table_without_orders_is_trained_and_saved_as_before():
    X, truth, noise = table(200, 0, False)
    model = SpectralRegressor(effort="fast", max_iter=2, random_state=0).fit(X, truth + noise)
    column = model.model_.encoder.columns[0]
    np.testing.assert_array_equal(column.ramps(), np.eye(column.width))
    assert describe(model._saved())[0]["format"] == FORMAT


def test_steps_between_levels_reach_every_value_but_the_constant():
    X, truth, _ = table(300, 1, True)
    X.loc[::7, "g"] = None
    column = SpectralRegressor(effort="fast", max_iter=1, random_state=0).fit(X, truth).model_.encoder.columns[0]
    ramps = column.ramps()
    assert ramps.shape == (column.width, column.n_free)
    assert np.linalg.matrix_rank(np.column_stack([ramps, np.ones(column.width)])) == column.width


def test_another_order_may_be_promised_than_the_table_has():
    X, truth, noise = table(200, 0, True)
    model = SpectralRegressor(constraints=[s.Rising("g", LEVELS[::-1])], effort="fast", max_iter=2, random_state=0)
    assert model.fit(X, truth + noise).certify().holds
