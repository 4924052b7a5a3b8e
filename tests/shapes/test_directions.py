"""RisingAlong and Dominates: what they say of rows, in which knots, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hostile_cases import sealed
from shape_cases import TASKS, shaped, shaped_table

import lambdak.certify
from lambdak import SpectralRegressor, load
from lambdak import shapes as s
from lambdak.shapes.directions import MOST_STATEMENTS
from lambdak.shapes.spreads import Generated, spreads
from lambdak.store import ModelFileError
from lambdak.store._header import describe

CHECKER = Path(lambdak.certify.__file__).parent / "lambdak_check.py"


def along(model, X, direction, reach=30.0):
    """Predictions at rows and further along a direction, inside of the training range and far beyond it."""
    rng = np.random.default_rng(1)
    rows = X.loc[rng.choice(X.dropna().index, 300)].reset_index(drop=True)
    rows[list(direction)] += rng.normal(size=(300, len(direction))) * reach
    beyond = rows.copy()
    for name, weight in direction.items():
        beyond[name] += weight * rng.exponential(reach, 300)[0]
    return model.predict(rows), model.predict(beyond)


@pytest.mark.parametrize("task", ["mean", "counts", "order"])
@pytest.mark.parametrize(
    ("shape", "direction"),
    [
        (s.Dominates("income", "age"), {"income": 1, "age": -1}),
        (s.RisingAlong({"age": 1, "dose": -0.5}), {"age": 1, "dose": -0.5}),
        (s.RisingAlong({"age": -1, "dose": 2, "income": 3.5}), {"age": -1, "dose": 2, "income": 3.5}),
    ],
)
def test_predictions_never_fall_along_a_direction(shape, direction, task):
    model, X = shaped([shape], task)
    before, after = along(model, X, direction)
    assert (after >= before - 1e-9 * np.abs(before)).all()
    assert (after > before).any()


def test_dominance_is_a_direction():
    one, other = (shaped([own])[0] for own in (s.Dominates("income", "age"), s.RisingAlong({"income": 1, "age": -1})))
    X, _ = shaped_table()
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_a_column_that_falls_far_is_allowed_where_another_makes_up_for_it():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, (800, 2)), columns=["a", "b"])
    y = 3 * X["a"] - 2 * X["b"] + 0.1 * rng.normal(size=800)
    model = SpectralRegressor(constraints=[s.RisingAlong({"a": 1, "b": 1})], effort="fast", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.98
    assert model.certify().holds


@pytest.mark.parametrize("n_knots", ["auto", 36, 200])
@pytest.mark.parametrize("columns", [2, 3, 5])
def test_columns_have_few_enough_knots_for_their_statements_to_be_proven(n_knots, columns):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(3000, 6)), columns=list("abcdef"))
    shape = s.RisingAlong(dict.fromkeys(list("abcdef")[:columns], 1))
    model = SpectralRegressor(constraints=[shape], n_knots=n_knots, effort="fast", max_iter=1, random_state=0)
    model.fit(X, X.sum(axis=1))
    encoder = model.model_.encoder
    (placed,) = model.model_.promises.shapes
    count = len(placed.statements(encoder.columns))
    assert MOST_STATEMENTS / 2**columns < count <= MOST_STATEMENTS
    assert len(encoder.columns[5].knots) == min({"auto": 36}.get(n_knots, n_knots), len(encoder.columns[5].knots))
    assert model.certify().holds


@pytest.mark.parametrize("n_knots", [0, 2])
def test_lines_and_columns_without_bends_have_directions_too(n_knots):
    X, y = shaped_table()
    X["flat"] = 3.0
    constraints = [s.RisingAlong({"income": 1, "dose": -2, "flat": 1}), s.Dominates("income", "age")]
    model = SpectralRegressor(constraints=constraints, n_knots=n_knots, effort="fast", max_iter=3, random_state=0)
    assert model.fit(X, y).certify().holds
    assert model.certify(exact=True).holds
    assert model.verify(X, n=300).violations == 0


def test_a_column_that_may_do_nothing_leaves_what_is_said_of_the_other():
    constraints = [s.Dominates("income", "dose"), s.MaxInfluence("dose", 0.0)]
    model, X = shaped(constraints)
    assert model.certify().holds
    grid = X.dropna().iloc[[0] * 50].assign(income=np.linspace(-5, 50, 50))
    assert (np.diff(model.predict(grid)) >= 0).all()
    columns = model.model_.encoder.columns
    (own,) = spreads(model.model_.promises.shapes, columns, 1)
    rest = own.without({2})
    assert np.abs(rest.weights[columns[2].start - rest.start :]).max() == 0


def test_columns_that_vanish_leave_a_model_that_keeps_its_promise():
    X, y = shaped_table(400)
    noise = pd.DataFrame(np.random.default_rng(3).normal(size=(400, 12)), columns=[f"n{i}" for i in range(12)])
    X = X.join(noise)
    constraints = [s.Dominates("income", "n0"), s.Dominates("n1", "n2")]
    model = SpectralRegressor(constraints=constraints, alpha=0.05, effort="fast", max_iter=8, random_state=0)
    assert model.fit(X, y).certify().holds


REFUSED = {
    "both ways": ([s.Dominates("age", "dose"), s.Dominates("dose", "age")], "neither rise nor fall along this line"),
    "in another unit": (
        [s.RisingAlong({"age": 1, "dose": -2}), s.RisingAlong({"dose": 1, "age": -0.5})],
        "neither rise nor fall along this line",
    ),
    "a category": ([s.Dominates("age", "grade")], "needs a column of numbers, but 'grade' is a category"),
    "no such column": ([s.RisingAlong({"age": 1, "doze": 1})], "Did you mean 'dose'"),
    "the same twice": ([s.RisingAlong({"age": 1, 0: -1})], "every column once"),
    "nothing is left": (
        [s.Falling("age"), s.Rising("dose"), s.Dominates("age", "dose")],
        r"between them some steps must be zero: .*Falling.'age'.*leave one out",
    ),
    "columns apart": (
        [s.Interactions([["age", "income"], ["dose", "grade"]]), s.RisingAlong({"age": 1, "dose": 1, "income": 1})],
        "group with all columns",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_contradicts_a_direction_is_refused_with_both_sides_and_the_way_out(name):
    constraints, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        shaped(constraints)


@pytest.mark.parametrize("wrong", [{"a": 1}, {"a": 0, "b": 1}, {"a": np.inf, "b": 1}, {"a": True, "b": 1}])
def test_a_direction_has_two_columns_or_more_and_numbers(wrong):
    with pytest.raises(ValueError, match="RisingAlong needs"):
        s.RisingAlong(wrong)


def test_a_direction_is_a_dict():
    with pytest.raises(TypeError, match="takes a dict"):
        s.RisingAlong(["a", "b"])


TOGETHER = ["no_interactions", [["income", "dose", "age"]], [["income", "dose"], ["age", "grade"]]]


@pytest.mark.parametrize("groups", TOGETHER)
@pytest.mark.parametrize("task", TASKS)
def test_directions_hold_where_columns_are_kept_apart(groups, task):
    if task == "quantiles" and groups == "no_interactions":  # each column has a term of its own
        with pytest.raises(ValueError, match="group with all columns"):
            shaped([s.Dominates("income", "dose")], task, interaction_cst=groups)
        return
    model, X = shaped([s.Dominates("income", "dose")], task, interaction_cst=groups)
    assert model.certify().holds
    assert model.verify(X, n=100).violations == 0


def test_a_direction_of_columns_that_bend_both_ways_only_adds():
    constraints = [s.Convex("income", "dose"), s.Concave("age"), s.RisingAlong({"income": 1, "age": 2})]
    model, X = shaped(constraints)
    assert model.certify().holds
    assert model.verify(X, n=300).violations == 0


def test_a_file_that_asks_for_millions_of_statements_is_refused_at_once(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 6)), columns=list("abcdef"))
    settings = {"n_knots": 12, "effort": "fast", "max_iter": 1, "random_state": 0}
    model = SpectralRegressor(constraints=[s.Dominates("a", "b")], **settings)
    header, tensors = describe(model.fit(X, X["a"])._saved())
    own = [["columns", {"tuple": list("abcdef")}], ["weights", {"tuple": [1] * 6}]]
    many = {"shape": ["RisingAlong", {"dict": own}]}
    header["parameters"]["constraints"].append(many)
    (tmp_path / "model").write_bytes(sealed(header, tensors))
    with pytest.raises(ModelFileError, match="lower n_knots"):
        load(tmp_path / "model")


@pytest.mark.parametrize("flip", [1, -1])
@pytest.mark.parametrize("name", ["two", "three", "box", "overlap", "valley", "bent"])
def test_generators_keep_every_statement_and_reach_every_direction_of_the_cone(name, flip):
    shapes = {
        "two": [s.Dominates("income", "age")],
        "three": [s.RisingAlong({"age": 2, "income": 1, "dose": -0.3})],
        "box": [s.Rising("income"), s.Rising("age"), s.Dominates("income", "age")],
        "overlap": [s.Dominates("income", "age"), s.RisingAlong({"age": 1, "dose": 3})],
        "valley": [s.Valley("age", at=45), s.Dominates("income", "age")],
        "bent": [s.Concave("income"), s.Rising("dose"), s.RisingAlong({"income": 1, "dose": 1})],
    }[name]
    model, _ = shaped([s.Valley("age", at=45), s.Convex("dose", "income")])
    columns = model.model_.encoder.columns
    (own,) = spreads([shape.placed(columns) for shape in shapes], columns, flip)
    assert isinstance(own, Generated)
    factors = np.array([[float(q.get(j, 0)) for j in range(own.start, own.stop)] for q in own.statements])
    factors /= np.abs(factors).max(axis=1, keepdims=True)
    free = [np.zeros((own.stop - own.start, 0))]
    for i in own.owners:
        column, part = columns[i], own.free(i)
        free.append(np.pad(part, ((column.start - own.start, own.stop - column.stop), (0, 0))))
    every = np.concatenate([own.weights, *free], axis=1)
    assert (factors @ own.weights).min() > -1e-9
    assert np.abs(factors @ np.concatenate(free, axis=1)).max(initial=0.0) < 1e-9
    for column in (columns[i] for i in own.owners):  # and the constants, which the model's own stands for
        every = np.column_stack([every, np.isin(np.arange(own.start, own.stop), np.arange(column.start, column.stop))])
    assert np.linalg.matrix_rank(every) == sum(columns[i].width for i in own.owners)


TAMPERED = {
    "direction": ([s.RisingAlong({"income": 1, "dose": 2})], "income", -1),
    "dominance": ([s.Dominates("income", "dose")], "dose", 1),
    "dominance of a line": ([s.Dominates("income", "dose")], "dose", 1),
    "valley": ([s.Valley("age", at=45)], "age", -1),
    "peak": ([s.Peak("size", at="M")], "size", 1),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_file_that_breaks_a_shape_at_its_last_cell_is_refuted_by_all_programs(name, tmp_path):
    constraints, column, sign = TAMPERED[name]
    model, _ = shaped(constraints, **({"n_knots": 0} if "line" in name else {}))
    header, tensors = describe(model._saved())
    (own,) = [each for each in model.model_.encoder.columns if each.name == column]
    last = {"size": own.known_levels.index("L") if column == "size" else 0}.get(
        column, own.width - 1 - (own.missing >= 0)
    )
    dim = header["dim"]
    tensors["coef"] = tensors["coef"].copy()
    tensors["coef"][1, own.start + last, [i * (i + 3) // 2 for i in range(dim)]] += sign * 9.0
    (tmp_path / "model").write_bytes(sealed(header, tensors))
    arguments = [sys.executable, "-I", "-S", str(CHECKER), str(tmp_path / "model"), "--json"]
    found = json.loads(subprocess.run(arguments, capture_output=True, check=False, text=True).stdout)
    assert [claim["verdict"] for claim in found["claims"] if claim["requested"]] == ["refuted"]
    with pytest.raises(ModelFileError, match="not proven"):
        load(tmp_path / "model")


@pytest.mark.parametrize("shape", [s.Dominates("age", "income"), s.RisingAlong({"age": 0.3, "income": 1.0})], ids=repr)
def test_a_direction_of_columns_that_never_vary_is_proven_in_floats_and_in_integers(shape):
    X, y = shaped_table()
    X = X.assign(age=3.0, income=7.0)
    model = SpectralRegressor(constraints=[shape], effort="fast", max_iter=3, random_state=0).fit(X, y)
    for exact in (False, True):
        (found,) = (own for own in model.certify(exact=exact).claims if own.requested)
        assert found.proven


def test_a_direction_in_a_file_names_every_column_once():
    with pytest.raises(ValueError, match="must name every column once"):
        s.RisingAlong.restored({"columns": ("age", "age", "income"), "weights": (1.0, 2.0, 3.0)})
