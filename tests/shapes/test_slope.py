"""MaxSlope: rows tried one by one, spellings, what a limit of zero leaves, accuracy, and files whose slopes grew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from checker_cases import exit_code, verdicts
from hostile_cases import refuse, sealed
from shape_cases import CONSTRAINTS, shaped

from lambdak import SpectralRegressor
from lambdak import shapes as s
from lambdak.store._header import describe
from lambdak.store._values import encode

SUBJECTS = {"a slope": "income", "slope along a direction": "age, income", "slopes of all columns": "all columns"}


def slope_claims(model, **how):
    return [claim for claim in model.certify(**how).claims if claim.kind == "slope"]


@pytest.mark.parametrize("spelling", ["income", 1, {"income": 1}, {1: 2.0}, None])
def test_no_two_rows_are_further_apart_than_the_limit_times_their_distance(spelling):
    limit = 0.1
    model, X = shaped([s.MaxSlope(spelling, limit)], max_iter=20)
    grid = np.sort(np.concatenate([np.linspace(-5, 40, 300), model.model_.encoder.columns[1].knots]))
    tried = X.iloc[np.repeat([0, 1, 11], len(grid))].assign(income=np.tile(grid, 3))
    seen = model.predict(tried)
    steep = np.abs(np.diff(seen.reshape(3, -1), axis=1)) / np.diff(grid)
    allowed = limit / (2.0 if spelling == {1: 2.0} else 1.0)
    assert np.nanmax(steep[:, np.diff(grid) > 1e-6]) <= allowed * (1 + 1e-9)
    assert np.nanmax(steep[:, np.diff(grid) > 1e-6]) > 0.5 * allowed  # and it is used


def test_no_step_along_a_direction_moves_the_score_by_more_than_the_limit():
    limit = 0.02
    model, X = shaped([s.MaxSlope({"age": 1, "income": -0.1}, limit)], max_iter=20)
    rng, some = np.random.default_rng(0), X.dropna().iloc[:60]
    most = 0.0
    for t in [*rng.uniform(-30, 30, 40), 1e-3, 200.0]:
        moved = some.assign(age=some["age"] + t, income=some["income"] - 0.1 * t)
        most = max(most, np.abs(model.predict(moved) - model.predict(some)).max() / abs(t))
    assert 0.3 * limit < most <= limit * (1 + 1e-9)
    alone = [np.abs(np.diff(model.predict(some.iloc[[0, 0]].assign(income=[1.0, 1.1])))) / 0.1]
    assert slope_claims(model)[0].value <= limit < 10 * max(alone)[0]  # of income alone more is allowed


def test_a_limit_of_zero_leaves_what_a_missing_cell_does():
    model, X = shaped([s.MaxSlope("age", 0)], max_iter=20)
    row = X.iloc[[1]]
    seen = [model.predict(row.assign(age=age))[0] for age in (0.0, 25.0, 61.7, 1e9)]
    assert len({*seen}) == 1
    assert model.predict(row.assign(age=np.nan))[0] != seen[0]
    assert slope_claims(model)[0].value == 0.0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: s.MaxSlope("age", -1.0),
        lambda: s.MaxSlope("age", "1"),
        lambda: s.MaxSlope("age", np.nan),
        lambda: s.MaxSlope({}, 1.0),
        lambda: s.MaxSlope({"age": 0}, 1.0),
        lambda: s.MaxSlope({"age": np.inf}, 1.0),
        lambda: s.MaxSlope({"age": True}, 1.0),
        lambda: s.MaxSlope(["age", "income"], 1.0),
    ],
)
def test_a_limit_that_says_nothing_is_refused(wrong):
    with pytest.raises((ValueError, TypeError), match="MaxSlope"):
        wrong()


def test_a_direction_names_every_column_once_by_name_or_position():
    with pytest.raises(ValueError, match="must name every column once"):
        shaped([s.MaxSlope({"age": 1, 0: 2}, 1.0)])
    by_name, by_position = s.MaxSlope({"income": -1, "age": 2}, 1.0), s.MaxSlope({0: 2, 1: -1}, 1.0)
    assert shaped([by_name])[0].model_.promises == shaped([by_position])[0].model_.promises


def test_a_true_limit_costs_nothing_with_many_rows_and_a_false_one_flattens():
    rng = np.random.default_rng(0)

    def table(rows):
        X = pd.DataFrame({"x": rng.uniform(0, 10, rows), "z": rng.normal(size=rows), "w": rng.normal(size=rows)})
        return X, 0.5 * np.abs(X["x"] - 4) + np.sin(X["z"]) * X["w"] + 0.3 * rng.normal(size=rows)

    (X, y), (unseen, target) = table(1000), table(2000)
    scores = [
        SpectralRegressor(effort="fast", random_state=0, constraints=own).fit(X, y).score(unseen, target)
        for own in (None, [s.MaxSlope("x", 0.5)], [s.MaxSlope("x", 0.1)])
    ]
    assert scores[1] > scores[0] - 0.005
    assert scores[2] < scores[0] - 0.1


def test_close_knots_do_not_flatten_the_column():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0, 1, 300), 0.5 + 1e-9 * rng.random(300)])
    y = x + 0.05 * rng.normal(size=600)
    model = SpectralRegressor(effort="fast", random_state=0, constraints=[s.MaxSlope(0, 1.5)]).fit(x[:, None], y)
    assert np.ptp(model.predict([[0.05], [0.95]])) > 0.7


@pytest.mark.parametrize("which", ["a slope", "slope along a direction", "slopes of all columns"])
def test_a_file_that_promises_a_smaller_slope_is_refused_by_lambdak_and_refuted_by_the_checker(which, tmp_path):
    model, _ = shaped(CONSTRAINTS[which])
    header, tensors = describe(model._saved())
    assert exit_code(sealed(header, tensors)) == 0
    fewer = [replace(own, limit=0.4 * own.limit) if isinstance(own, s.MaxSlope) else own for own in CONSTRAINTS[which]]
    header["parameters"]["constraints"] = encode(fewer, "constraints")
    assert verdicts(sealed(header, tensors))["slope", SUBJECTS[which]] == "refuted"
    refuse(tmp_path, sealed(header, tensors), f"what was requested of '{SUBJECTS[which]}' is not proven")


def test_a_file_in_which_one_piece_grew_is_refused_by_lambdak_and_refuted_by_the_checker(tmp_path):
    model, _ = shaped([s.MaxSlope("income", 0.05)])
    header, tensors = describe(model._saved())
    column = model.model_.encoder.columns[1]
    tensors["coef"] = tensors["coef"].copy()
    tensors["coef"][:, column.stop - 1, 0] += 1.0
    assert verdicts(sealed(header, tensors))["slope", "income"] == "refuted"
    refuse(tmp_path, sealed(header, tensors), "what was requested of 'income' is not proven")
