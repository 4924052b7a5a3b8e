"""The value of a monotone column that reaches a prediction.

Tests ``inverting``.
"""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import SMALL, X, Y, fitted
from hand_made_models import by_hand
from move_cases import row_at, with_cells

from lambdak import SpectralRegressor
from lambdak.model.readout import readouts

KINDS = ["regressor", "convex", "poisson up", "binary", "quantiles", "ordinal"]


def model_of(kind):
    if kind == "poisson up":
        return SpectralRegressor("poisson", monotonic_cst={"income": 1}, **SMALL).fit(X, np.maximum(Y, 0))
    return fitted(kind)


def prediction_of(model, frame, output=None):
    """One prediction of each row, spelled independently: cumulative probabilities of ordered classes."""
    names = model.model_.output_names
    k = len(names) // 2 if output is None else output
    if hasattr(model, "predict_quantiles"):
        return model.predict_quantiles(frame)[:, k]
    if not hasattr(model, "predict_proba"):
        return model.predict(frame)
    proba = model.predict_proba(frame)
    return proba[:, 1] if len(names) == 1 else proba[:, : k + 1].sum(axis=1)


@pytest.mark.parametrize("kind", KINDS)
def test_value_reaches_the_target_and_its_neighbour_does_not(kind):
    model, rng = model_of(kind), np.random.default_rng(0)
    for i in range(12):
        row = row_at(i)
        low, high = np.sort(prediction_of(model, with_cells(row, 2, income=[0.5, 12.0])))
        output = 1 if kind == "ordinal" else None
        found = model.inverse(row, "income", float(rng.uniform(low, high)), output=output)
        here, toward = float(row["income"].iloc[0]), found.value
        back = np.nextafter(found.value, here)
        there, before, now = prediction_of(model, with_cells(row, 3, income=[toward, back, here]))
        assert found.prediction == pytest.approx(there, abs=1e-14)
        if kind != "ordinal":  # whose probabilities are sums here, and rounded
            up = now < found.target
            assert (there >= found.target) == up or there == found.target
            assert before < found.target if up else before > found.target


@pytest.mark.parametrize("k", [0, 1, 2])
def test_output_picks_the_quantile(k):
    model, row = fitted("quantiles"), row_at()
    found = model.inverse(row, "income", 1.4, output=(0.1, 0.5, 0.9)[k])
    after = model.predict_quantiles(with_cells(row, 1, income=[found.value]))
    assert after[0, k] == pytest.approx(1.4, abs=1e-12)


def test_output_picks_the_class():
    model, row = fitted("binary"), row_at()
    found = model.inverse(row, "income", 0.25, output="no")
    after = model.predict_proba(with_cells(row, 1, income=[found.value]))
    assert after[0, 0] == found.prediction
    assert after[0, 0] == pytest.approx(0.25, abs=1e-12)
    assert "the probability of class 'no'" in str(found)


def test_no_value_reaches_a_target_outside_of_the_reachable_interval():
    model, row = fitted("binary"), row_at()
    found = model.inverse(row, "income", 1.5)
    over = model.predict_proba(with_cells(row, 400, income=np.linspace(-5, 50, 400)))[:, 1]
    assert found.value is None
    assert found.reachable == (over.min(), over.max())
    assert "no value of income reaches 1.5" in str(found)


def test_a_falling_column_is_inverted_too():
    model, row = fitted("regressor"), row_at(1)
    low, high = np.sort(model.predict(with_cells(row, 2, age=[20.0, 75.0])))
    assert low < high
    found = model.inverse(row, "age", float((low + high) / 2))
    assert model.predict(with_cells(row, 1, age=[found.value]))[0] == pytest.approx((low + high) / 2, abs=1e-12)


def test_a_column_that_continues_straight_is_followed_beyond_its_range():
    model, row = fitted("convex"), row_at()
    top = X["income"].max()
    target = float(model.predict(with_cells(row, 1, income=[top]))[0]) + 50
    found = model.inverse(row, "income", target)
    assert found.value > top
    assert found.prediction == pytest.approx(target, rel=1e-12)


def test_a_missing_cell_starts_at_the_low_end():
    model = fitted("regressor")
    row = with_cells(row_at(), 1, age=[np.nan])
    low, high = np.sort(model.predict(with_cells(row, 2, age=[20.0, 75.0])))
    found = model.inverse(row, "age", float((low + high) / 2))
    assert found.current is None
    assert found.prediction == pytest.approx((low + high) / 2, abs=1e-12)


def test_a_row_at_the_target_stays():
    model, row = fitted("regressor"), row_at()
    now = float(model.predict(row)[0])
    assert model.inverse(row, "income", now).value == row["income"].iloc[0]


def test_a_column_that_is_proven_monotone_needs_no_promise():
    rising = by_hand(np.diag([0.0, 1.0, 2.0]), [np.eye(3), np.diag([1.0, -1.0, 0.0])], index=1)
    found = rising.inverse(np.array([0.0, 0.0]), "x0", 1.5)
    assert found.value == pytest.approx(0.5, abs=1e-12)
    with pytest.raises(ValueError, match=r"column 'x1' is not monotone.*monotonic_cst.*minimize"):
        rising.inverse(np.array([0.0, 0.0]), "x1", 1.5)


def test_a_column_without_effect_reaches_only_what_is_predicted():
    flat = by_hand(np.eye(2), [np.zeros((2, 2)), np.eye(2)])
    found = flat.inverse([0.0, 0.0], "x0", 2.0)
    assert found.value is None
    assert found.reachable == pytest.approx((1.0, 1.0), abs=1e-14)


def test_offset_moves_the_prediction():
    model, row = fitted("regressor"), row_at()
    plain, moved = model.inverse(row, "income", 1.5), model.inverse(row, "income", 2.0, offset=0.5)
    assert moved.value == pytest.approx(plain.value, rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "column", "message"),
    [
        ("free", "income", "column 'income' is not monotone"),
        ("regressor", "kind", "column 'kind' is a category"),
        ("multiclass", "income", "several classes"),
        ("regressor", "salary", "column must be one of the model's columns.*'salary'"),
    ],
)
def test_errors_name_the_column_and_the_way_out(kind, column, message):
    with pytest.raises(ValueError, match=message):
        fitted(kind).inverse(row_at(), column, 1.0)


def test_rows_come_as_mappings_series_arrays_and_tables():
    model, row = fitted("regressor"), row_at()
    values = {
        model.inverse(own, "income", 1.5).value
        for own in (row, row.iloc[0], row.iloc[0].to_dict(), row.to_numpy()[0], row.to_numpy())
    }
    assert len(values) == 1
    with pytest.raises(ValueError, match="row must be a single row; got 2 rows"):
        model.inverse(X.iloc[:2], "income", 1.5)
    with pytest.raises(ValueError, match="'age' is missing"):
        model.inverse(row.iloc[0].drop("age").to_dict(), "income", 1.5)


def test_target_must_be_a_number():
    with pytest.raises(ValueError, match="target must be a number"):
        fitted("regressor").inverse(row_at(), "income", float("nan"))


def test_words_name_what_is_predicted():
    assert "the probability of class 'yes'" in str(fitted("binary").inverse(row_at(), "income", 0.8))
    assert readouts(fitted("quantiles").model_)[1].name in str(fitted("quantiles").inverse(row_at(), "income", 1.4))


def test_ordered_classes_need_to_know_which():
    with pytest.raises(ValueError, match="class up to which the probability counts"):
        fitted("ordinal").inverse(row_at(), "income", 0.5)
