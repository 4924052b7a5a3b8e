"""Coordinates of free columns, and linear constraints on them."""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import fitted

from lambdak.optimize.axes import Axis, make_axis
from lambdak.optimize.linear import LinearRows, conflict, lowest_point, propagate


def columns(kind="free"):
    return {own.name: own for own in fitted(kind).model_.encoder.columns}


def test_an_axis_has_the_knots_within_its_bounds_and_the_bounds():
    own = columns()["income"]
    axis = make_axis([own], (own.low + 1.0, None), False)
    assert axis.low == own.low + 1.0
    assert axis.high == own.high
    assert set(own.nodes()[own.nodes() > own.low + 1.0]) <= set(axis.points)


def test_whole_numbers_have_whole_points_on_both_sides_of_every_knot():
    own = columns()["age"]
    axis = make_axis([own], None, True)
    assert (axis.points == np.round(axis.points)).all()
    for knot in own.nodes()[1:-1]:
        assert {np.floor(knot), np.ceil(knot)} <= set(axis.points)
    with pytest.raises(ValueError, match="hold no whole number"):
        make_axis([own], (20.2, 20.8), True)


def test_vertices_are_ends_and_points_between_and_halves_cover_the_interval():
    axis = Axis("x", np.array([0.0, 1.0, 2.0, 4.0]))
    low, high = np.array([0.5, 0.0, 3.0, 2.0]), np.array([2.5, 4.0, 3.5, 2.0])
    vertices = axis.vertices(low, high)
    assert [sorted(set(row)) for row in vertices] == [[0.5, 1.0, 2.0, 2.5], [0, 1, 2, 4], [3, 3.5], [2]]
    end, begin = axis.split(low[:3], high[:3])
    assert (end == begin).all()
    assert ((low[:3] < end) & (end < high[:3])).all()
    whole = Axis("n", np.array([0.0, 3.0, 7.0]), (), True)
    end, begin = whole.split(np.array([0.0, 4.0, 6.0]), np.array([7.0, 7.0, 7.0]))
    assert (begin == end + 1).all()
    assert ((end >= [0, 4, 6]) & (begin <= 7)).all()


def random_rows(rng, count, axes):
    matrix = rng.normal(size=(count, axes)) * (rng.random((count, axes)) < 0.7)
    middle = matrix @ rng.uniform(-1, 1, axes)
    return LinearRows(matrix, np.where(rng.random(count) < 0.3, middle - 0.3, -np.inf), middle + 0.2, ("row",) * count)


@pytest.mark.parametrize("seed", range(20))
def test_shortened_boxes_keep_every_point_that_meets_the_constraints(seed):
    rng = np.random.default_rng(seed)
    rows, whole = random_rows(rng, 3, 4), np.array([False, False, True, False])
    low = rng.uniform(-3, 0, (10, 4))
    high = low + rng.uniform(0, 3, (10, 4))
    low[:, 2], high[:, 2] = np.floor(low[:, 2]), np.ceil(high[:, 2])
    new_low, new_high, kept = propagate(rows.one_sided(), low, high, whole)
    x = low[:, None] + rng.random((10, 3000, 4)) * (high - low)[:, None]
    x[:, :, 2] = np.rint(x[:, :, 2])
    meets = rows.hold(x.reshape(-1, 4)).reshape(10, -1)
    inside = ((x >= new_low[:, None] - 1e-12) & (x <= new_high[:, None] + 1e-12)).all(axis=2)
    assert not (meets & ~(inside & kept[:, None])).any()


def test_rows_that_exclude_each_other_are_found_and_no_others():
    rows = LinearRows(
        np.array([[1.0, 1.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), np.full(4, -np.inf),
        np.array([5.0, 0.3, -0.7, 1.0]), ("sum", "at most", "at least", "other"),
    )  # fmt: skip
    low, high, whole = np.zeros(2), np.ones(2), np.zeros(2, bool)
    assert set(conflict(rows, low, high, whole)) == {"at most", "at least"}
    assert conflict(rows.take([0, 1, 3]), low, high, whole) == ()
    assert conflict(LinearRows(np.ones((1, 2)), np.array([9.0]), np.array([9.0]), ("nine",)), low, high, whole) == (
        "nine",
    )
    assert lowest_point(rows.take([0]), np.array([1.0, -1.0]), low, high, whole).tolist() == [0.0, 1.0]


def test_halves_on_either_side_of_a_jump_hold_all_that_may_be_chosen_and_nothing_between():
    axis = Axis("x", np.arange(6.0), jumps=np.array([False, True, False, True, True]))
    boxes, seen = [(0.0, 5.0)], []
    while boxes:
        low, high = boxes.pop()
        seen.append((low, high))
        if high - low < 0.3:
            continue
        end, begin = axis.split(np.array([low]), np.array([high]))
        assert low <= end[0] <= begin[0] <= high
        if begin[0] > end[0]:  # exactly one jump is left out
            assert begin[0] == end[0] + 1
            assert axis.jumps[int(end[0])]
        boxes += [(low, float(end[0])), (float(begin[0]), high)]
    smallest = [own for own in seen if own[1] - own[0] < 0.3]
    grid = np.linspace(0, 5, 1001)
    held = [any(low <= x <= high for low, high in smallest) for x in grid]
    assert held == [not any(axis.jumps[p] and p < x < p + 1 for p in range(5)) for x in grid]


def test_the_nearest_coordinate_is_never_within_a_jump():
    axis = Axis("x", np.arange(4.0), jumps=np.array([False, True, False]))
    np.testing.assert_array_equal(
        axis.nearest(np.array([-1.0, 0.5, 1.4, 1.6, 2.5, 9.0])), [0.0, 0.5, 1.0, 2.0, 2.5, 3.0]
    )
