"""Monotone columns stay at their best end, whoever promises it.

Tests ``problem``.
"""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import fitted
from hand_made_models import by_hand, symmetric
from optimize_cases import score_of

from lambdak.optimize import minimize
from lambdak.optimize.minimum.pinning import pin

NONE = np.zeros(2, bool)


@pytest.mark.parametrize("sign", [1, -1])
def test_promised_columns_are_pinned_where_the_score_is_lowest(sign):
    score = score_of(fitted("regressor"), ["income", "age"], sign=sign)  # rises with income, falls with age
    found, charge = pin(score, NONE)
    assert [len(axis.points) for axis in found.axes] == [1, 1]
    ends = [axis.points[0] for axis in found.axes]
    assert ends == ([score.axes[0].low, score.axes[1].high] if sign > 0 else [score.axes[0].high, score.axes[1].low])
    rng = np.random.default_rng(0)
    x = np.stack([rng.uniform(axis.low, axis.high, 2000) for axis in score.axes], axis=1)
    assert score.values(x).min() >= found.values(np.array([ends]))[0] - charge - score.error
    assert charge < 1e-9 * score.size.max() * np.abs(score.weights).sum()


def test_what_something_else_depends_on_and_what_is_not_monotone_is_left_alone():
    score = score_of(fitted("regressor"), ["income", "age"])
    assert [len(axis.points) > 1 for axis in pin(score, np.array([True, False]))[0].axes] == [True, False]
    free = score_of(fitted("free"), ["income", "age"])
    assert all(len(axis.points) > 1 for axis in pin(free, NONE)[0].axes)


def test_matrices_decide_and_not_promises():
    rng = np.random.default_rng(1)
    step = symmetric(rng, 4)
    model = by_hand(symmetric(rng, 4), [step - np.linalg.eigvalsh(step)[0] * np.eye(4), symmetric(rng, 4)], index=1)
    found = minimize(model, ["x0", "x1"], gap=1e-6)
    assert found.row["x0"] == -1.0
    x = rng.uniform(-1, 1, (20_000, 2))
    assert model.predict(x).min() >= found.bound
