"""Bounds hold for what predict returns where rounding is at its worst, and whenever a search ends."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fitted_models import changed, fitted
from hand_made_models import by_hand, symmetric
from optimize_cases import grid_of, typical_row

from lambdak.optimize import column, minimize, predicted
from lambdak.optimize.minimum.descent import Incumbent
from lambdak.shapes import Rising


def rows_of(*columns):
    """All combinations."""
    return np.array(list(itertools.product(*columns)))


def turned(rng, diagonal):
    """A symmetric matrix with these eigenvalues, in random directions."""
    q, _ = np.linalg.qr(rng.normal(size=(len(diagonal), len(diagonal))))
    return q, (q * diagonal) @ q.T


# ---- rounding ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("maximize", [False, True])
def test_fixed_columns_that_cancel_out_leave_their_rounding(maximize):
    rng = np.random.default_rng(0)
    _, large = turned(rng, 1e15 * rng.normal(size=3))
    small = [symmetric(rng, 3) for _ in range(5)]
    model = by_hand(small[4], [large, -large, *small[2:4]], index=1)
    found = minimize(model, ["x2", "x3"], fixed={"x0": 1.0, "x1": 1.0}, maximize=maximize, gap=1e-6, time_limit=9)
    values = model.predict(rows_of([1.0], [1.0], *[np.linspace(-1, 1, 41)] * 2))
    assert found.status == "stalled"
    assert (values <= found.bound).all() if maximize else (values >= found.bound).all()


def test_a_monotone_column_that_is_pinned_leaves_its_rounding():
    rng = np.random.default_rng(0)
    q, small = turned(rng, np.array([-1.0, 1.0, 2.0]))
    model = by_hand(small, [0.1 * small, 1e14 * np.outer(q[:, 2], q[:, 2])], index=0, low=0.0)
    found = minimize(model, ["x0", "x1"])
    assert (model.predict(rows_of(np.linspace(0, 1, 101), np.linspace(0, 1, 101))) >= found.bound).all()


@pytest.mark.parametrize("shape", ["free", "convex"])
def test_a_constant_that_cancels_out_leaves_its_rounding(shape):
    rng = np.random.default_rng(1)
    model = by_hand(symmetric(rng, 3, 1e-6), [symmetric(rng, 3, 1e-6)], index=2 if shape == "convex" else 1)
    own = changed(model, start=np.full(1, 1e9 + 1 / 3))
    objective = predicted(own) - (1e9 + 1 / 3) + 1e-9 * column("x0")
    found = minimize(objective, "x0", time_limit=9)
    assert found.status == "stalled"
    x = np.linspace(-1, 1, 2001)
    assert (-(1e9 + 1 / 3) + 1e-9 * x + own.predict(x[:, None]) >= found.bound).all()


def test_a_factor_that_cancels_out_leaves_its_rounding():
    rng = np.random.default_rng(2)
    model = by_hand(symmetric(rng, 3), [symmetric(rng, 3, 1e-8)], 1, low=1e8, high=1e8 + 1e-6)
    third, centre = 1 / 3, (1e8 + 1e-6) / 3
    found = minimize((third * column("x0") - centre) * predicted(model), "x0")
    x = np.linspace(1e8, 1e8 + 1e-6, 3001)
    assert ((third * x - centre) * model.predict(x[:, None]) >= found.bound).all()


def test_an_equation_of_whole_numbers_that_floats_miss_in_the_last_digit():
    rng = np.random.default_rng(3)
    for _ in range(8):
        model = by_hand(symmetric(rng, 3), [symmetric(rng, 3) for _ in range(3)], 1, low=0.0, high=4.0)
        names = ["x0", "x1", "x2"]
        found = minimize(model, names, constraints="0.1*x0 + 0.2*x1 + 0.3*x2 == 1.2", whole=names, time_limit=9)
        rows = rows_of(*[np.arange(5.0)] * 3)
        values = model.predict(rows[rows @ [1, 2, 3] == 12])
        assert found.bound <= values.min() == found.value
        assert found.status == "optimal"


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_extreme_targets_need_no_warning(size):
    rng = np.random.default_rng(4)
    model = by_hand(symmetric(rng, 4), [symmetric(rng, 4) for _ in range(2)], index=1)
    own = changed(model, scale=size)
    found = minimize(own, ["x0", "x1"], gap=1e-2)
    assert found.status == "optimal"
    values = own.predict(rows_of(np.linspace(-1, 1, 60), np.linspace(-1, 1, 60)))
    assert (values >= found.bound).all()


@pytest.mark.parametrize("kind", ["binary", "poisson"])
def test_a_prediction_that_underflows_to_zero_is_at_least_zero(kind):
    model = changed(fitted(kind), start=np.full(1, -1000.0))
    row = typical_row(model)
    found = minimize(model, ["income", "age"], fixed=row, constraints=[predicted(model) >= 0.0])
    assert found.status == "optimal"
    assert found.value == found.bound == 0.0


def test_forged_promises_pin_nothing():
    model = fitted("free")
    columns = model.model_.encoder.columns
    signs = tuple(Rising(i) for i, own in enumerate(columns) if own.is_number)
    forged = model.model_.replace(promises=replace(model.model_.promises, shapes=signs))
    free = [own.name for own in columns if own.is_number][:2]
    own, true = (minimize(each, free, fixed=typical_row(model), gap=1e-3) for each in (forged, model))
    assert (own.value, own.bound) == (true.value, true.bound)
    assert model.predict(grid_of(model, free, 40)).min() >= own.bound


# ---- interrupts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["free", "convex"])
def test_an_interrupt_at_any_moment_leaves_a_true_bound(kind):
    model, free = fitted(kind), ["income", "age", "region"]
    least = model.predict(grid_of(model, free, 15)).min()
    for first in range(12):
        calls = itertools.count()

        def stop(moment, calls=calls, first=first):
            if next(calls) >= first:
                raise KeyboardInterrupt

        found = minimize(model, free, fixed=typical_row(model), progress=stop)
        assert found.bound <= least
        assert found.status in ("interrupted", "optimal")
        if found.row is not None:
            assert float(model.predict(pd.DataFrame([found.row])[list(model.feature_names_in_)])[0]) == found.value


def test_an_interrupt_before_the_first_bound_returns(monkeypatch):
    def stop(self, rng):
        raise KeyboardInterrupt

    monkeypatch.setattr(Incumbent, "begin", stop)
    found = minimize(fitted("free"), ["income"], fixed=typical_row(fitted("free")))
    assert found.status == "interrupted"
    assert (found.row, found.bound) == (None, -np.inf)
    assert "interrupted" in str(found)


# ---- comparisons -------------------------------------------------------------------------------------------------


def test_a_chain_of_comparisons_does_not_lose_its_first_half():
    with pytest.raises(TypeError, match="write a <= b <= c as two constraints"):
        _ = 1 <= column("b") <= 2


def test_numbers_of_numpy_leave_comparisons_to_expressions():
    limit = np.float64(3) <= column("b")
    assert limit.expression.linear == {"b": -1.0}
    assert (np.float64(2) * column("b")).linear == {"b": 2.0}


def test_predictions_that_are_all_zero_by_underflow_are_optimal_at_once():
    model = changed(fitted("poisson"), start=np.full(1, -1000.0))
    objective = (column("income") - 1.0) * predicted(model)
    found = minimize(objective, ["income", "age"], fixed=typical_row(model), time_limit=60)
    assert (found.status, found.value) == ("optimal", 0.0)
