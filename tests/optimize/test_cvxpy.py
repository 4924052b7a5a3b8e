"""Models inside CVXPY: the same numbers as predict, and the same optimum as our own method."""

from __future__ import annotations

import builtins

import numpy as np
import pandas as pd
import pytest
from convex_cases import clock
from fitted_models import NUMBERS, SMALL, X, Y, fitted

from lambdak import SpectralRegressor
from lambdak.model.readout import readouts
from lambdak.optimize.axes import make_axis
from lambdak.optimize.convex.cvxpy import to_cvxpy
from lambdak.optimize.convex.solver import minimize_convex
from lambdak.optimize.linear import LinearRows
from lambdak.optimize.scores import restrict

cp = pytest.importorskip("cvxpy")
CLOSE = 1e-5
ROW = {"income": 3.0, "age": 40.0, "region": "north", "kind": "a"}
FREE = ("income", "age")
OTHERS = {name: cell for name, cell in ROW.items() if name not in FREE}


def ends(model):
    columns = [column for column in model.model_.encoder.columns if column.name in FREE]
    return np.array([column.low for column in columns]), np.array([column.high for column in columns])


def variables():
    return {name: cp.Variable() for name in FREE}


def predicted(model, x):
    return model.predict(pd.DataFrame([ROW | dict(zip(FREE, x, strict=True))]))[0]


@pytest.mark.parametrize(("name", "is_top"), [("convex", True), ("concave", False)])
@pytest.mark.parametrize("at", [(0.5, 30.0), (6.0, 70.0)])
def test_an_expression_has_the_value_of_predict(name, is_top, at):
    model, x = fitted(name), variables()
    expression = to_cvxpy(model, x, OTHERS)
    assert expression.is_convex() if is_top else expression.is_concave()
    for own, value in zip(x.values(), at, strict=True):
        own.value = value
    assert expression.value == pytest.approx(predicted(model, at), abs=CLOSE)


@pytest.mark.parametrize(("name", "sign"), [("convex", 1), ("concave", -1)])
@pytest.mark.parametrize("limit", [None, 60.0])
def test_cvxpy_finds_the_same_optimum(name, sign, limit):
    model, x = fitted(name), variables()
    low, high = ends(model)
    goal = cp.Minimize if sign > 0 else cp.Maximize
    limits = [x["income"] >= low[0], x["income"] <= high[0], x["age"] >= low[1], x["age"] <= high[1]]
    limits += [] if limit is None else [10 * x["income"] + x["age"] >= limit]
    problem = cp.Problem(goal(to_cvxpy(model, x, OTHERS)), limits)
    assert problem.is_dcp()
    problem.solve(solver="CLARABEL")

    columns = [column for column in model.model_.encoder.columns if column.name in FREE]
    score = restrict(model.model_, readouts(model.model_)[0], [make_axis([c], None, False) for c in columns], OTHERS)
    least = np.array([-np.inf if limit is None else limit])
    linear = LinearRows(np.array([[10.0, 1.0]]), least, np.array([np.inf]), ("10 income + age",))
    found = minimize_convex(score if sign > 0 else score.negative(), linear, clock(1e-6))
    assert found.bound - CLOSE <= sign * problem.value <= found.value + CLOSE
    assert sign * predicted(model, found.x) == pytest.approx(found.value, abs=1e-9)


def test_straight_columns_need_no_hinges_and_a_vector_is_enough():
    model, x = fitted("straight"), cp.Variable(2)
    expression = to_cvxpy(model, x)
    x.value = NUMBERS.to_numpy()[5]
    assert expression.is_convex()
    assert expression.value == pytest.approx(model.predict(NUMBERS.iloc[[5]])[0], abs=1e-9)
    assert {variable.id for variable in expression.variables()} == {x.id}


def test_a_log_link_is_convex_too():
    rows = NUMBERS.to_numpy()
    model = SpectralRegressor("poisson", shape="convex", **SMALL).fit(rows, np.maximum(Y, 0))
    x = cp.Variable(2)
    prediction, raw = to_cvxpy(model, x), to_cvxpy(model, x, raw_score=True)
    x.value = rows[3]
    assert prediction.is_convex()
    assert prediction.value == pytest.approx(model.predict(rows[3:4])[0], rel=CLOSE)
    assert raw.value == pytest.approx(np.log(model.predict(rows[3:4])[0]), abs=CLOSE)


def test_a_logit_link_asks_for_the_raw_score():
    from lambdak import SpectralClassifier

    rows = NUMBERS.to_numpy()
    model = SpectralClassifier(shape="convex", **SMALL).fit(rows, Y > 1.5)
    x = cp.Variable(2)
    with pytest.raises(ValueError, match="raw_score=True"):
        to_cvxpy(model, x)
    x.value = rows[3]
    chance = model.predict_proba(rows[3:4])[0, 1]
    raw = to_cvxpy(model, x, raw_score=True)
    assert raw.value == pytest.approx(np.log(chance / (1 - chance)), abs=CLOSE)


@pytest.mark.parametrize(
    ("x", "fixed", "words"),
    [
        ({"income": 0, "region": 0}, {"age": 1, "kind": "a"}, "give the cells of 'region' in fixed"),
        ({"income": 0}, {"region": "north", "kind": "a"}, "'age' missing"),
        ({"salary": 0}, {}, "does not know: 'salary'"),
    ],
)
def test_columns_are_checked(x, fixed, words):
    with pytest.raises(ValueError, match=words):
        to_cvxpy(fitted("convex"), x, fixed)


def test_a_vector_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="one entry for each of the 4 columns"):
        to_cvxpy(fitted("convex"), cp.Variable(3))


def test_a_model_that_is_neither_convex_nor_concave_is_refused():
    with pytest.raises(ValueError, match='shape="convex"'):
        to_cvxpy(fitted("free"), variables(), OTHERS)


def test_without_cvxpy_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name == "cvxpy":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"lambdak\[optimize\]"):
        to_cvxpy(fitted("straight"), {"income": 1.0, "age": 2.0})


def test_the_table_of_the_cases_has_these_columns():
    assert tuple(X.columns) == tuple(ROW)
