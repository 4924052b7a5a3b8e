"""Lower bounds on boxes, against many points of each."""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import fitted
from optimize_cases import NUMBERS, score_of

from lambdak.optimize.relaxation import MOST_STEPS, Boxes, relax

KINDS = ["free", "regressor", "convex", "concave", "linear", "additive", "poisson", "binary", "multiclass", "quantiles"]


def random_boxes(rng, axes, count, width):
    low, high = np.empty((count, len(axes))), np.empty((count, len(axes)))
    for i, axis in enumerate(axes):
        centre, half = rng.uniform(axis.low, axis.high, count), 0.5 * width * (axis.high - axis.low)
        low[:, i], high[:, i] = np.clip(centre - half, axis.low, axis.high), np.clip(centre + half, axis.low, axis.high)
        if axis.whole:
            low[:, i], high[:, i] = np.floor(low[:, i]), np.ceil(high[:, i])
    return low, high


def points_in(rng, axes, low, high, count):
    """Random points, corners, and whole numbers where they must be."""
    share = np.where(rng.random((len(low), count, 1)) < 0.5, rng.random((len(low), count, len(axes))), 0.0)
    share = np.where(share == 0.0, rng.integers(0, 2, share.shape), share)
    x = low[:, None] + share * (high - low)[:, None]
    return np.where([axis.whole for axis in axes], np.rint(x), x)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_box_of_a_search_has_a_closer_bound_that_no_point_is_below(kind):
    rng = np.random.default_rng(3)
    for sign in (1, -1):
        score = score_of(fitted(kind), [*NUMBERS, "region"], sign=sign)
        low, high = random_boxes(rng, score.axes, 1, 1.0)
        later, first = (
            relax(score, Boxes.between(score.axes, low, high), steps).lowest()[0] for steps in (3, MOST_STEPS)
        )
        values = score.values(points_in(rng, score.axes, low, high, 4000)[0])
        assert later - 1e-9 * score.size.max() <= first <= values.min()


def test_sharing_out_what_columns_have_in_common_raises_the_bound_of_a_wide_box():
    score = score_of(fitted("free"), [*NUMBERS, "region"])
    low, high = (np.array([[getattr(axis, end) for axis in score.axes]]) for end in ("low", "high"))
    none, some = (relax(score, Boxes.between(score.axes, low, high), steps).lowest()[0] for steps in (0, MOST_STEPS))
    assert some > none + 0.01


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("width", [1.0, 0.2, 0.01, 0.0])
@pytest.mark.parametrize("kind", KINDS)
def test_no_point_of_a_box_is_below_its_bound(kind, width, joint):
    rng = np.random.default_rng(0)
    for sign in (1, -1):
        score = score_of(fitted(kind), [*NUMBERS, "region"], sign=sign)
        low, high = random_boxes(rng, score.axes, 12, width)
        found = relax(score, Boxes.between(score.axes, low, high, joint))
        x = points_in(rng, score.axes, low, high, 200)
        values = score.values(x.reshape(-1, x.shape[-1])).reshape(len(low), -1)
        assert (found.lowest() <= values.min(axis=1)).all()


def test_bounds_close_with_the_square_of_the_box():
    rng = np.random.default_rng(1)
    score = score_of(fitted("free"), list(NUMBERS))
    slack = []
    for width in (0.02, 0.01):
        low, high = random_boxes(rng, score.axes, 200, width)
        inside = np.all([axis.count_between(low[:, i], high[:, i]) == 0 for i, axis in enumerate(score.axes)], axis=0)
        low, high = low[inside], high[inside]
        corners = np.stack([np.where(mask, low, high) for mask in np.ndindex(*(2,) * len(score.axes))], axis=1)
        least = score.values(corners.reshape(-1, low.shape[1])).reshape(len(low), -1).min(axis=1)
        bound = relax(score, Boxes.between(score.axes, low, high)).lowest()
        slack.append(np.mean(least - bound - 2 * score.error))
    assert slack[1] < 0.4 * slack[0]


def test_all_combinations_of_vertices_are_closer_than_the_sum_over_columns():
    rng = np.random.default_rng(2)
    score = score_of(fitted("free"), list(NUMBERS))
    low, high = random_boxes(rng, score.axes, 40, 0.1)
    apart, joint = (relax(score, Boxes.between(score.axes, low, high, own)).lowest() for own in (False, True))
    assert (joint >= apart - 1e-9).all()
    assert joint.mean() > apart.mean()


def test_a_box_of_one_point_has_its_value():
    score = score_of(fitted("free"), list(NUMBERS))
    x = np.array([[axis.points[len(axis.points) // 2] for axis in score.axes]])
    bound = relax(score, Boxes.between(score.axes, x, x)).lowest()
    assert 0 <= score.values(x)[0] - bound[0] < 1e-9 * score.size.max()
