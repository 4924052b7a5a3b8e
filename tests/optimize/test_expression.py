"""Expressions and constraints as users write them."""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import fitted
from scipy.optimize import LinearConstraint

from lambdak.optimize import column, predicted
from lambdak.optimize.minimum.expression import evaluate, parse, read_constraints


def test_arithmetic_of_columns_is_that_of_numbers():
    own = 2 * (column("a") - 3) / 4 - (1 - column("b")) * 5 + column("a")
    assert own.linear == {"a": 1.5, "b": 5.0}
    assert own.constant == pytest.approx(-6.5)


def test_a_prediction_times_a_column_is_evaluated_from_what_predict_returns():
    model = fitted("regressor")
    row = dict(zip(model.model_.encoder.feature_names, _cells(model), strict=True))
    name = next(own.name for own in model.model_.encoder.columns if own.is_number)
    value = evaluate((column(name) - 2.0) * predicted(model) - 3 * column(name), row)
    prediction = float(model.model_.predict(_table(model, row))[0])
    assert value == pytest.approx((row[name] - 2.0) * prediction - 3 * row[name], rel=1e-14)


def _cells(model):
    return [own.median if own.is_number else own.levels[0] for own in model.model_.encoder.columns]


def _table(model, row):
    from lambdak.table.read import one_row

    return one_row(list(row.values()), model.model_.encoder.feature_names)


def test_products_of_two_columns_or_predictions_are_refused():
    model = fitted("regressor")
    for make in (
        lambda: column("a") * column("b"),
        lambda: predicted(model) * predicted(model),
        lambda: (column("a") * predicted(model)) * column("b"),
        lambda: column("a") / 0,
    ):
        with pytest.raises(TypeError):
            make()


@pytest.mark.parametrize(
    ("text", "linear", "constant"),
    [
        ("2*tv + radio <= 100", {"tv": 2.0, "radio": 1.0}, -100.0),
        ("100 >= 2*tv + radio", {"tv": 2.0, "radio": 1.0}, -100.0),
        ("tv >= -(radio - 3)/2", {"tv": -1.0, "radio": -0.5}, 1.5),
        ("`my price` < 3", {"my price": 1.0}, -3.0),
    ],
)
def test_texts_become_limits(text, linear, constant):
    (limit,) = parse(text, {})
    assert dict(limit.expression.linear) == linear
    assert limit.expression.constant == constant
    assert limit.relation == "<="
    assert repr(limit) == text


def test_a_chain_of_comparisons_is_two_limits_and_an_equation_one():
    assert len(parse("10 <= dose <= 20", {})) == 2
    assert parse("a + b == 1", {})[0].relation == "=="


@pytest.mark.parametrize(
    "text", ["a + b", "a <=", "a**2 <= 3", "a <= b/c", "f(a) <= 3", "a != 3", "a <= 'x'", "a*b <= 1"]
)
def test_texts_that_are_no_limits_are_refused_with_themselves(text):
    with pytest.raises(ValueError, match="constraint"):
        parse(text, {})


def test_a_name_in_a_text_may_be_a_model():
    model = fitted("binary")
    (limit,) = parse("risk <= 0.05", {"risk": model})
    assert limit.expression.products
    assert limit.expression.constant == -0.05


def test_scipys_linear_constraints_are_about_the_free_columns():
    limits = read_constraints(LinearConstraint([[1, 2], [0, 1]], [-np.inf, 3], [4, 3]), ["a", "b"], {})
    assert [dict(limit.expression.linear) for limit in limits] == [{"a": 1, "b": 2}, {"b": 1}, {"b": -1}]
    with pytest.raises(ValueError, match="must have 3 columns"):
        read_constraints(LinearConstraint([[1, 2]], 0, 1), ["a", "b", "c"], {})


def test_other_constraints_are_refused():
    for given in (3, [3], {"a": 3}):
        with pytest.raises((TypeError, ValueError)):
            read_constraints(given, ["a"], {})


def test_outputs_are_named_by_label_or_level():
    several, two = fitted("multiclass"), fitted("binary")
    labels = several.classes_.tolist()
    assert predicted(several, labels[1]).products[0].predicted.output == 1
    with pytest.raises(ValueError, match="output must be a class"):
        predicted(several)
    assert predicted(two, two.classes_.tolist()[0]).constant == 1.0
    with pytest.raises(ValueError, match="output must be None"):
        predicted(fitted("regressor"), 1)
    with pytest.raises(TypeError, match="fitted estimator"):
        predicted("model")
