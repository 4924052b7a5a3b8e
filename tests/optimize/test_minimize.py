"""Proven optima: against grids of rows that predict is asked about, and what users are told.

Tests ``branch``, ``frontier``, ``minimizing`` and ``result``.
"""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import pytest
from fitted_models import fitted
from hand_made_models import by_hand, symmetric
from optimize_cases import grid_of, typical_row
from sklearn.pipeline import make_pipeline

from lambdak import SpectralRegressor
from lambdak.optimize import column, minimize, predicted
from lambdak.optimize.frontier import Moment

matplotlib.use("Agg")
GAP = 1e-3


def least(model, rows, output=0):
    """What predict says of rows, one output."""
    seen = np.asarray(model.model_.loss.link.predictions(np.asarray(model.model_.raw(rows)).reshape(len(rows), -1)))
    return seen[:, output]


def check(found, values, maximize):
    sign = -1 if maximize else 1
    best = (sign * values).min()
    assert sign * found.bound <= best
    assert found.status == "optimal"
    assert sign * found.value <= best + GAP * abs(best) * 1.01 + 1e-9
    assert found.gap <= GAP


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(
    "kind", ["free", "regressor", "convex", "concave", "linear", "additive", "poisson", "binary", "capped"]
)
def test_the_optimum_of_a_grid_is_within_the_bounds(kind, maximize):
    model, free = fitted(kind), ["income", "region", "age"]
    found = minimize(model, free, fixed=typical_row(model), maximize=maximize, gap=GAP)
    check(found, least(model, grid_of(model, free, 25)), maximize)
    own = pd.DataFrame([found.row])[list(model.feature_names_in_)]
    assert float(least(model, own)[0]) == found.value
    assert found.chosen == {name: found.row[name] for name in free}


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(
    ("kind", "output", "position"), [("multiclass", 2, 2), ("quantiles", 0.9, 2), ("ordinal", 0, 0)]
)
def test_outputs_are_chosen_by_name(kind, output, position, maximize):
    model, free = fitted(kind), ["income", "age"]
    labels = model.model_.classes
    name = output if labels is None else labels.tolist()[output]
    found = minimize(model, free, fixed=typical_row(model), output=name, maximize=maximize, gap=GAP)
    check(found, least(model, grid_of(model, free, 40), position), maximize)


@pytest.mark.parametrize("maximize", [False, True])
def test_a_prediction_times_a_column(maximize):
    model, free = fitted("poisson"), ["income", "age"]
    rows = grid_of(model, free, 60)
    middle = float(rows["income"].median())
    revenue = (column("income") - middle) * predicted(model) + 0.1 * column("age")
    found = minimize(revenue, free, fixed=typical_row(model), maximize=maximize, gap=GAP)
    check(found, (rows["income"] - middle) * least(model, rows) + 0.1 * rows["age"], maximize)


def test_a_sum_of_models_with_different_columns():
    first, second = fitted("free"), fitted("straight")
    row = {**typical_row(first), **typical_row(second)}
    free = ["income", next(iter(second.model_.encoder.feature_names))]
    found = minimize(predicted(first) + 2 * predicted(second), list(dict.fromkeys(free)), fixed=row, gap=GAP)
    rows = pd.DataFrame([found.row])
    parts = (float(least(own, rows[list(own.model_.encoder.feature_names)])[0]) for own in (first, second))
    assert found.value == pytest.approx(sum(a * b for a, b in zip((1, 2), parts, strict=True)))


def test_linear_constraints_by_text_hold_and_cost_something():
    model, free = fitted("free"), ["income", "age"]
    low, high = (model.model_.encoder.columns[0].low, model.model_.encoder.columns[0].high)
    text = f"income <= {low + 0.3 * (high - low)!r}"
    found = minimize(model, free, fixed=typical_row(model), constraints=text, maximize=True, gap=GAP)
    rows = grid_of(model, free, 60)
    check(found, least(model, rows[rows["income"] <= low + 0.3 * (high - low)]), True)
    assert found.row["income"] <= low + 0.3 * (high - low) + 1e-9 * abs(high)


def test_a_model_as_a_constraint_is_met_by_what_it_predicts():
    cost, risk, free = fitted("free"), fitted("binary"), ["income", "age", "region"]
    rows = grid_of(cost, free, 25)
    chance = least(risk, rows)
    level = float(np.quantile(chance, 0.3))
    found = minimize(
        cost,
        free,
        fixed=typical_row(cost),
        constraints=f"risk <= {level!r}",
        models={"risk": risk},
        maximize=True,
        gap=GAP,
    )
    check(found, least(cost, rows)[chance <= level], True)
    assert least(risk, pd.DataFrame([found.row])[list(rows.columns)])[0] <= level


def test_whole_numbers_and_given_levels_only():
    model = fitted("free")
    level = next(own for own in model.model_.encoder.columns if own.name == "region").levels[1]
    found = minimize(
        model, ["age", "region"], {"region": [level]}, fixed=typical_row(model), whole=["age"], maximize=True, gap=GAP
    )
    assert found.row["region"] == level
    assert isinstance(found.row["age"], int)
    rows = grid_of(model, ["age"], 3, {"region": level})
    rows = pd.concat([rows.iloc[[0]].assign(age=float(age)) for age in _whole(model, "age")])
    check(found, least(model, rows), True)


def _whole(model, name):
    own = next(each for each in model.model_.encoder.columns if each.name == name)
    return range(int(np.ceil(own.low)), int(np.floor(own.high)) + 1)


# ---- what cannot be done -----------------------------------------------------------------------------------------


def test_constraints_that_exclude_each_other_are_named():
    model = fitted("free")
    found = minimize(
        model,
        ["income", "age"],
        fixed=typical_row(model),
        constraints=["income + age <= 1000000", "age >= 70", "age <= 30"],
    )
    assert found.status == "infeasible"
    assert found.row is None
    assert set(found.conflict) <= {"age >= 70", "age <= 30"}
    assert "age" in str(found)
    with pytest.raises(ValueError, match="no row meets"):
        found.to_frame()


def test_a_prediction_that_no_row_has_is_infeasible_and_proven():
    model = fitted("binary")
    found = minimize(model, ["income", "age"], fixed=typical_row(model), constraints=[predicted(model) >= 0.9999999])
    assert found.status == "infeasible"
    assert "0.9999999" in str(found)


def test_a_column_without_end_is_named():
    model = fitted("free")
    price = column("income") * predicted(model)
    with pytest.raises(ValueError, match="'income' has no upper bound"):
        minimize(price, ["income"], {"income": (0, np.inf)}, fixed=typical_row(model))
    found = minimize(
        model, ["income"], {"income": (None, np.inf)}, fixed=typical_row(model)
    )  # constant beyond its range
    assert found.row["income"] <= model.model_.encoder.columns[0].high


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"free": []}, "free must name at least one"),
        ({"free": ["incme"]}, "free must name columns, such as 'income'.* Did you mean 'income'"),
        ({"fixed": {"aeg": 3.0}}, "'age'.* neither free nor fixed.*"),
        ({"constraints": "incme <= 3"}, "'incme' .*Did you mean 'income'"),
        ({"bounds": {"income": (np.nan, 2)}}, "'income' must be numbers"),
        ({"bounds": {"income": ("a", "b")}}, "'income' must be \\(low, high\\)"),
        ({"free": ["region"], "bounds": {"region": 3}}, "'region' must be some of its levels"),
        ({"bounds": {"income": (0, 1e17)}, "whole": ["income"]}, "'income' must be at most 2"),
        ({"free": ["income", "income"]}, "every column once"),
        ({"fixed": None}, "neither free nor fixed: give them in fixed"),
        ({"bounds": {"age": (1, 2)}}, "'age' has bounds but is not free"),
        ({"bounds": {"income": (2, 1)}}, "'income' must have the lower number first"),
        ({"bounds": {"income": 3}}, "'income' must be \\(low, high\\)"),
        ({"free": ["region"], "bounds": {"region": ["moon"]}}, "'region' must be some of its levels"),
        ({"constraints": "height <= 3"}, "'height' (is neither|are neither)"),
        ({"constraints": "region <= 3", "free": ["region"]}, "'region' is a category"),
        ({"gap": 0}, "gap"),
        ({"time_limit": -1}, "time_limit"),
        ({"whole": ["region"]}, "not free"),
    ],
)
def test_errors_name_the_column_and_the_way_out(options, message):
    model = fitted("free")
    given = {"free": ["income"], "fixed": typical_row(model), **options}
    with pytest.raises(ValueError, match=message):
        minimize(model, given.pop("free"), **given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"free": None}, "free must name the columns"),
        ({"bounds": 12}, "bounds must be a mapping"),
        ({"fixed": "row"}, "fixed must be a mapping"),
        ({"model": SpectralRegressor()}, "not fitted: call fit first"),
        ({"model": make_pipeline(SpectralRegressor())}, "Pipeline: give its last step"),
        ({"model": "m"}, "got str"),
    ],
)
def test_errors_name_what_is_of_another_kind(options, message):
    model = fitted("free")
    given = {"model": model, "free": ["income"], "fixed": typical_row(model), **options}
    with pytest.raises(TypeError, match=message):
        minimize(given.pop("model"), given.pop("free"), **given)


# ---- what is told ------------------------------------------------------------------------------------------------


def test_a_time_limit_and_an_interrupt_return_the_best_row_with_its_bound():
    rng = np.random.default_rng(0)
    model = by_hand(symmetric(rng, 5), [symmetric(rng, 5) for _ in range(6)], index=2)
    names = list(model.model_.encoder.feature_names)
    short = minimize(model, names, gap=1e-9, time_limit=0.2)
    assert short.status == "time limit"
    assert short.row is not None
    assert short.bound < short.value
    moments = []

    def stop(moment):
        moments.append(moment)
        if len(moments) == 3:
            raise KeyboardInterrupt

    stopped = minimize(model, names, gap=1e-9, progress=stop)
    assert stopped.status == "interrupted"
    assert stopped.row is not None
    assert all(isinstance(moment, Moment) for moment in moments)
    assert stopped.bound <= short.value


def test_bounds_of_a_trace_only_rise_and_values_only_fall():
    model = fitted("free")
    found = minimize(model, ["income", "age", "region"], fixed=typical_row(model), gap=GAP)
    value, bound = ([moment[i] for moment in found.trace] for i in (1, 2))
    assert value == sorted(value, reverse=True)
    assert bound == sorted(bound)
    ax = found.plot()
    assert [line.get_label() for line in ax.get_lines()] == ["best row found", "proven bound"]
    assert "proven" in str(found)
    assert list(found.to_frame().columns) == list(found.row)


def test_rows_may_be_tables_series_and_arrays():
    model = fitted("free")
    row = typical_row(model)
    table = pd.DataFrame([row])
    values = {
        minimize(model, "income", fixed=given).value
        for given in (row, table, table.iloc[0], [row[name] for name in table.columns])
    }
    assert len(values) == 1
    with pytest.raises(ValueError, match="one row; got 2"):
        minimize(model, "income", fixed=pd.concat([table, table]))


def test_threads_and_repetition_change_nothing():
    model = fitted("free")
    first, second = (minimize(model, ["income", "age"], fixed=typical_row(model)) for _ in range(2))
    assert (first.value, first.bound, first.row) == (second.value, second.bound, second.row)
