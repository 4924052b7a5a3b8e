"""Valley and Peak: where they turn, what training chooses (``training/settling``), and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hostile_cases import sealed
from shape_cases import TASKS, shaped, shaped_table
from sklearn.base import clone

import lambdak.certify
from lambdak import SpectralRegressor, load
from lambdak import shapes as s
from lambdak.shapes.turning import misfits_of_turns
from lambdak.store._header import describe

CHECKER = Path(lambdak.certify.__file__).parent / "lambdak_check.py"


def turn_of(model):
    (own,) = [shape for shape in model.model_.promises.shapes if isinstance(shape, s.Valley | s.Peak)]
    return own.at


def goes(values, sign):
    return (sign * np.diff(values) >= -1e-12 * np.abs(values).max()).all()


@pytest.mark.parametrize(("make", "sign"), [(s.Valley, 1), (s.Peak, -1)])
@pytest.mark.parametrize("at", [45, 33.3])
def test_predictions_go_one_way_before_a_turn_and_the_other_way_after_it(make, sign, at):
    model, X = shaped([make("age", at=at)])
    for row in X.dropna().index[:8]:
        before, after = (
            X.loc[[row] * 200].assign(age=grid) for grid in (np.linspace(0, at, 200), np.linspace(at, 99, 200))
        )
        assert goes(model.predict(before), -sign)
        assert goes(model.predict(after), sign)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("settings", [{}, {"effort": "fast", "n_knots": 9}])
def test_training_finds_the_turn_in_the_middle_of_a_valley(task, settings):
    model, _ = shaped([s.Valley("age")], task, **settings)
    assert abs(turn_of(model) - 45) < 8
    assert clone(model).constraints == [s.Valley("age")] == model.constraints


def test_a_chosen_turn_is_a_knot_and_survives_files_in_which_the_parameter_stays_what_the_user_gave(tmp_path):
    model, X = shaped([s.Rising("income"), s.Valley("age")])
    assert turn_of(model) in model.model_.encoder.columns[0].knots
    model.save(tmp_path / "one")
    again = load(tmp_path / "one")
    assert again.constraints == [s.Rising("income"), s.Valley("age")]
    assert again.model_.promises == model.model_.promises
    again.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert f"up to {turn_of(model):.6g}" in str(again.certify())
    assert turn_of(again.fit(X, shaped_table()[1])) == turn_of(model)


def test_a_turn_is_chosen_where_a_table_has_too_many_design_columns_for_an_additive_function(monkeypatch):
    monkeypatch.setattr("lambdak.training.negative_gradient._MOST_REMOVED", 0)
    model, _ = shaped([s.Valley("age")])
    assert abs(turn_of(model) - 45) < 12


def test_a_turn_that_is_given_stays_where_training_chooses_another():
    model, _ = shaped([s.Valley("age"), s.Peak("income", at=3.25)])
    valley, peak = model.model_.promises.shapes
    assert (valley.chosen, peak) == (True, s.Peak(1, at=3.25))


def test_the_same_shape_by_name_and_by_position_is_one_in_the_certificate_and_for_the_checker(tmp_path):
    model, _ = shaped([s.Valley("age", at=45), s.Valley(0, at=45.0)])
    assert len(model.model_.promises.shapes) == 1
    model.save(tmp_path / "model")
    arguments = [sys.executable, "-I", "-S", str(CHECKER), str(tmp_path / "model"), "--json"]
    found = json.loads(subprocess.run(arguments, capture_output=True, check=True, text=True).stdout)
    assert [own["kind"] for own in found["claims"] if own["requested"]] == ["valley"]


def nearest_by_search(values, weights, at):
    """A least-squares fit under the order by many projections: Dykstra's algorithm on the pairs of neighbours."""
    x, corrections = values.astype(float), {}
    pairs = [(j, i) if j <= at else (i, j) for i, j in pairwise(range(len(values)))]
    for _ in range(4000):
        for low, high in pairs:
            y = x.copy()
            y[[low, high]] += corrections.get((low, high), 0.0)
            projected = y.copy()
            if y[low] > y[high]:
                pooled = np.average(y[[low, high]], weights=weights[[low, high]])
                projected[[low, high]] = pooled
            corrections[low, high] = y[[low, high]] - projected[[low, high]]
            x = projected
    return float(weights @ (values - x) ** 2)


def test_misfits_are_those_of_the_nearest_valleys():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=7), rng.uniform(0.5, 2.0, 7)
    expected = [nearest_by_search(values, weights, at) for at in range(7)]
    np.testing.assert_allclose(misfits_of_turns(values, weights), expected, atol=1e-6)


def test_a_turn_at_a_level_and_one_that_training_chooses():
    X, y = shaped_table()
    X = X.assign(
        size=pd.Categorical(np.where(y > 3.5, "S", np.where(y > 2.5, "L", "M")), ["S", "M", "L"], ordered=True)
    )
    model = SpectralRegressor(constraints=[s.Valley("size")], effort="fast", max_iter=3, random_state=0).fit(X, y)
    assert turn_of(model) == "M"
    assert "up to M, and never falls after it" in str(model.certify())


def test_missing_cells_and_unseen_levels_promise_nothing_and_cost_nothing():
    X, y = shaped_table()
    X["size"] = X["size"].where(np.arange(len(X)) % 7 > 0)
    model = SpectralRegressor(constraints=[s.Peak("size"), s.Valley("age")], effort="fast", max_iter=3, random_state=0)
    assert model.fit(X, y).certify().holds
    assert model.verify(X, n=300).violations == 0


@pytest.mark.parametrize("constraints", [[s.Valley("age")], [s.Valley("age"), s.Convex("age")], [s.Peak("age", at=60)]])
def test_a_column_without_a_choice_of_turns_is_fitted_or_refused_with_a_way_out(constraints):
    X, y = shaped_table()
    X["age"] = 30.0
    model = SpectralRegressor(constraints=constraints, effort="fast", max_iter=2, random_state=0)
    assert model.fit(X, y).certify().holds


@pytest.mark.parametrize("task", ["mean", "quantiles", "classes"])
def test_a_valley_that_is_convex_keeps_both(task):
    model, X = shaped([s.Valley("age"), s.Convex("age")], task)
    assert [own.kind for own in model.certify().claims if own.requested][:2] == ["valley", "convex"]
    assert model.certify().holds
    assert model.verify(X, n=300).violations == 0


def test_a_raw_score_that_falls_with_predictions_is_no_convex_valley():
    with pytest.raises(ValueError, match=r"Valley.'age', at=45.*Convex.'age'.*leave one out"):
        shaped([s.Valley("age", at=45), s.Convex("age")], "order")


REFUSED = {
    "one side of a line": ([s.Valley("age", at=45)], {"n_knots": 0}, "needs a knot at its turn.*n_knots=2"),
    "two turns": ([s.Valley("age", at=45), s.Valley("age", at=50)], {}, "'age' has one turn"),
    "both kinds": ([s.Valley("age"), s.Peak("age")], {}, "'age' has one turn"),
    "only rising": ([s.Valley("age", at=45), s.Rising("age")], {}, "flat on one side.*clip"),
    "bent the other way": ([s.Valley("age"), s.Concave("age")], {}, "leave 'age' flat"),
    "outside of a straight one": ([s.Valley("age", at=99), s.Convex("age")], {}, "must turn inside"),
    "no order": ([s.Valley("grade")], {}, "needs numbers or an order.*ordered=True"),
    "no such level": ([s.Valley("size", at="XL")], {}, "must be a level"),
    "a level of numbers": ([s.Valley("age", at="old")], {}, "must be a number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_turn_is_refused_with_both_sides_and_the_way_out(name):
    constraints, settings, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        shaped(constraints, **settings)


@pytest.mark.parametrize("at", [np.nan, np.inf, True, 10**400])
def test_a_turn_is_a_finite_number_or_a_level(at):
    with pytest.raises(ValueError, match="at of Valley must be a finite number"):
        s.Valley("age", at=at)


def test_numbers_of_numpy_are_numbers_of_python():
    assert s.Valley("age", at=np.int64(45)) == s.Valley("age", at=45)
    assert repr(s.Peak("age", at=np.float64(0.5))) == "Peak('age', at=0.5)"


def test_a_turn_far_from_the_knots_of_the_data_costs_one_knot():
    plain, _ = shaped(None)
    model, _ = shaped([s.Valley("age", at=45.678)])
    knots, others = (own.model_.encoder.columns[0].knots.tolist() for own in (model, plain))
    assert knots == sorted([*others, 45.678])


@pytest.mark.parametrize("name", ["Valley", "Peak"])
def test_the_checker_refutes_a_model_whose_turn_was_moved(name, tmp_path):
    model, _ = shaped([getattr(s, name)("age", at=45)])
    other = model.model_.encoder.columns[0].knots[2]
    header, tensors = describe(model._saved())
    header["parameters"]["constraints"][0]["shape"][1]["dict"][1][1] = other
    (tmp_path / "moved").write_bytes(sealed(header, tensors))
    arguments = [sys.executable, "-I", "-S", str(CHECKER), str(tmp_path / "moved"), "--json"]
    found = json.loads(subprocess.run(arguments, capture_output=True, check=False, text=True).stdout)
    assert [own["verdict"] for own in found["claims"] if own["requested"]] == ["refuted"]
    with pytest.raises(ValueError, match="not proven"):
        load(tmp_path / "moved")
