"""Bounds of prices on boxes: no point of a box that reaches the goal is cheaper.

Tests ``nearest``.
"""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import X
from move_cases import shaken

from lambdak.optimize.changes.distances import may_reach
from lambdak.optimize.changes.goals import Region, chosen, class_goal, other_class_goal, raw_limits, threshold_goal
from lambdak.optimize.changes.nearest import box_bounds
from lambdak.optimize.changes.rows import Surroundings, axis_around, movable, read_rows
from lambdak.optimize.relaxation import Boxes

GOALS = {
    "free": lambda model, row: threshold_goal(chosen(model, None), ">=", 1.5),
    "poisson": lambda model, row: threshold_goal(chosen(model, None), "<=", 1.0),
    "binary": lambda model, row: class_goal(model, 0),
    "multiclass": lambda model, row: class_goal(model, 2),
    "several": lambda model, row: other_class_goal(model, 1),
    "ordinal": lambda model, row: class_goal(model, 1),
}


def surroundings(row):
    columns = movable(row, ["income", "age", "region", "kind"])
    axes = tuple(axis_around(column, row.cells[column.name]) for column in columns)
    return Surroundings(axes, np.array([axis.coordinate(row.cells[axis.name]) for axis in axes]))


def random_boxes(around, rng, n):
    """Boxes of all sizes, whole where the axes are."""
    whole = np.array([axis.whole for axis in around.axes])
    ends = np.sort(rng.uniform(around.low, around.high, (2, n, len(around.low))), axis=0)
    low, high = np.where(whole, np.floor(ends[0]), ends[0]), np.where(whole, np.ceil(ends[1]), ends[1])
    small = rng.random(n)[:, None] < 0.5
    return low, np.where(small & ~whole, low + 0.1 * (high - low), high)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("kind", GOALS)
def test_no_point_of_a_box_is_cheaper_than_its_bound(kind, largest):
    rng = np.random.default_rng(0)
    for seed in range(3):
        model = shaken("multiclass" if kind == "several" else kind, seed).model_
        row = read_rows(model, X.iloc[[seed + 3]].fillna({"age": 40.0, "region": "south"}))[0]
        around, goal = surroundings(row), GOALS[kind](model, row)
        price = around.price({axis.name: 1 / (axis.high - axis.low + 0.5) for axis in around.axes}, largest)
        region = Region.of(goal, row, around.axes)
        low, high = random_boxes(around, rng, 12)
        found, may = box_bounds(region, price, Boxes.between(around.axes, low, high)), may_reach(region, low, high)
        for k in range(len(low)):
            points = rng.uniform(low[k], high[k], (400, len(low[k])))
            points = np.where(price.whole, np.clip(np.rint(points), low[k], high[k]), points)
            points[:100] = np.where(rng.random((100, len(low[k]))) < 0.5, low[k], high[k])
            there = points[goal.reached_at(row, around, points)]
            assert price.total(there).min(initial=np.inf) >= found.price[k]
            assert may[k] or not len(there)


def test_regions_on_shorter_axes_are_the_same():
    model = shaken("free", 0).model_
    row = read_rows(model, X.iloc[[3]].fillna({"age": 40.0, "region": "south"}))[0]
    around = surroundings(row)
    region = Region.of(GOALS["free"](model, row), row, around.axes)
    low, high = around.low.copy(), around.high.copy()
    low[0], high[0], high[2] = 2.0, 5.0, 0.0
    points = np.random.default_rng(0).uniform(low, high, (50, len(low)))
    points = np.where([axis.whole for axis in around.axes], np.rint(points), points)
    np.testing.assert_allclose(region.within(low, high).excess(points), region.excess(points), atol=1e-12)


@pytest.mark.parametrize("limit", [-1.0, 0.0, 1e-12, 0.3, 0.5, 1 - 1e-12, 1.0, 2.0, 1e10, 1e30])
@pytest.mark.parametrize("kind", ["free", "poisson", "binary"])
def test_raw_limits_leave_no_prediction_on_the_wrong_side(kind, limit):
    link = shaken(kind, 0).model_.loss.link
    low, high = raw_limits(link, limit)
    near = [own for own in (low, high) if np.isfinite(own)]
    raw = np.concatenate([np.linspace(-60, 60, 5001), *(own + np.linspace(-1e-9, 1e-9, 2001) for own in near)])
    raw = np.concatenate([raw, np.nextafter(raw, np.inf)])
    there = link.predictions(raw) >= limit
    assert there[raw >= high].all()
    assert not there[raw < low].any()
