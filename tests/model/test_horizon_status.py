"""Who had an event by a horizon: weights of censored rows go to those that are like them."""

import numpy as np
import pytest
from survival_cases import fitted_survival, simulated

from lambdak.model.horizon_status import status_at


def lines_of(time, event):
    return np.column_stack([event, np.zeros(len(time)), time, time]).astype(float)


def test_without_censoring_every_row_counts_once():
    happened, weight = status_at(lines_of([1.0, 2.0, 3.0], [1, 1, 1]), 2.0)
    assert happened.tolist() == [True, True, False]
    assert weight.tolist() == [1.0, 1.0, 1.0]


def test_rows_that_were_censored_before_hand_their_weight_on():
    happened, weight = status_at(lines_of([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1]), 3.5)
    assert happened.tolist() == [True, False, True, False]
    np.testing.assert_allclose(weight, [1.0, 0.0, 1.5, 1.5])  # two of three that were seen at 2 are seen on


def test_the_weighted_share_is_that_of_the_known_law():
    rng = np.random.default_rng(0)
    true, seen = rng.exponential(size=20_000), rng.exponential(2.0, size=20_000)
    happened, weight = status_at(lines_of(np.minimum(true, seen), true <= seen), 1.0)
    assert np.average(happened, weights=weight) == pytest.approx(1 - np.exp(-1), abs=0.015)
    assert weight.sum() == pytest.approx(20_000, rel=0.02)


def test_performance_at_a_horizon_takes_them():
    model, (X, time, event) = fitted_survival(), simulated(150, 1)
    happened, weight = model.status_at((time, event), 0.7)
    found = model.performance(X, happened, sample_weight=weight, horizon=0.7, n_resamples=0)
    assert "ROC AUC" in str(found)


def test_intervals_and_late_entries_are_refused():
    lines = lines_of([1.0, 2.0], [1, 1])
    lines[1, 1] = 0.5
    with pytest.raises(
        ValueError, match="without late entry, to know who had an event by a horizon; got others at row 1"
    ):
        status_at(lines, 1.0)
