"""Linear constraints: what is called impossible is impossible, whatever the units of the columns."""

from __future__ import annotations

import numpy as np
import pytest
from hand_made_models import by_hand, symmetric

from lambdak.optimize import minimize
from lambdak.optimize.linear import LinearRows, conflict, lowest_point


def rows_of(matrix, low, high):
    matrix = np.atleast_2d(np.array(matrix, float))
    texts = tuple(f"row {i}" for i in range(len(matrix)))
    return LinearRows(matrix, np.array(low, float), np.array(high, float), texts)


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1.0, 1e9, 1e12, 1e200])
def test_the_units_of_a_column_do_not_make_a_constraint_impossible(unit):
    rows = rows_of([[1.0 / unit, 1.0]], [0.75], [0.75])
    low, high, whole = np.zeros(2), np.array([unit, 0.5]), np.zeros(2, bool)
    assert conflict(rows, low, high, whole) == ()
    point = lowest_point(rows, np.array([1.0 / unit, 0.0]), low, high, whole)
    assert rows.hold(point[None])[0]
    assert conflict(rows_of([[1.0 / unit, 1.0]], [1.75], [1.75]), low, high, whole) == ("row 0",)


def test_whole_numbers_that_no_equation_allows_are_named():
    rows = rows_of([[2.0, 4.0]], [3.0], [3.0])
    assert conflict(rows, np.zeros(2), np.full(2, 9.0), np.ones(2, bool)) == ("row 0",)
    assert conflict(rows, np.zeros(2), np.full(2, 9.0), np.zeros(2, bool)) == ()


@pytest.mark.parametrize("index", [1, 2])
def test_a_small_coefficient_of_a_large_column_is_no_zero(index):
    rng = np.random.default_rng(0)
    model = by_hand(symmetric(rng, 3), [symmetric(rng, 3, 1e-10)], index, low=0.0, high=1e10)
    found = minimize(model, "x0", constraints="1e-10*x0 >= 0.5")
    assert found.status == "optimal"
    assert found.row["x0"] >= 5e9 * (1 - 1e-8)
