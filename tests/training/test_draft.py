"""Problems in units that suit training: large numbers are subtracted in float64, rare events are as frequent ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fit_cases import X, Y, new

from lambdak.training.draft import Draft
from lambdak.training.rows import GivenRows

COUNTS = np.random.default_rng(1).poisson(2.0, len(Y)).astype(float)


def problem_of(loss, y, offset=None, **changes):
    """The problem of these rows for a model that was fitted to them, with other attributes."""
    model = new(loss=loss, max_iter=1).fit(X, y, offset=offset).model_
    rows = GivenRows(X, y, offset=offset).encoded(model.encoder)
    changes.setdefault("start", model.loss.start(rows.y, rows.weight, rows.offset))  # as before training
    draft = replace(Draft.of(model), **changes)
    return draft, rows, draft.problem(rows)


@pytest.mark.parametrize("far", [16777217.0, 1e12])
def test_offsets_of_an_identity_link_are_subtracted_in_float64(far):
    _, _, problem = problem_of("squared_error", Y + far, np.full(len(Y), far))
    assert problem.offset is None
    plain = problem_of("squared_error", (Y + far) - far)[2]
    np.testing.assert_allclose(np.sort(problem.y), np.sort(plain.y), atol=1e-12)


@pytest.mark.parametrize("far", [0.0, 40.0, 1e8])
def test_the_offset_of_a_log_link_is_near_zero_in_float32_and_raw_scores_are_the_same(far):
    offset = far + np.linspace(-1.0, 1.0, len(Y))
    draft, rows, problem = problem_of("poisson", COUNTS, offset)
    assert problem.offset.dtype == np.float32
    assert np.abs(problem.offset).max() < 64
    values = np.zeros((1, len(rows.y), 1))
    np.testing.assert_allclose(problem.raw(values, slice(None))[0], draft.start + rows.offset, atol=1e-6)


@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
@pytest.mark.parametrize("unit", [1e-300, 1e-12, 1.0, 1e9])
def test_rare_events_are_counted_in_units_of_their_mean_which_changes_no_raw_score(loss, unit):
    draft, rows, problem = problem_of(loss, unit * COUNTS)
    mean = problem.y.mean()
    assert mean == rows.y.mean() if unit >= 1.0 else 0.5 <= mean <= 4.0
    start, y = float(problem.start[0]), rows.y
    assert start == pytest.approx(draft.start[0] + np.log(mean / y.mean()), abs=1e-9)
    slope = problem.loss.gradient(np.full((1, len(y)), start + 0.3), problem.y)
    same = problem_of(loss, COUNTS)[2]
    reference = same.loss.gradient(np.full((1, len(y)), float(same.start[0]) + 0.3), same.y)
    np.testing.assert_allclose(np.sort(slope / slope.std()), np.sort(reference / reference.std()), rtol=1e-6, atol=1e-9)


def test_no_event_at_all_and_few_large_ones_stay_finite():
    for y in (
        np.zeros(len(Y)),
        np.where(np.arange(len(Y)) == 3, 1e15, 0.0),
        np.where(np.arange(len(Y)) == 3, 1e-300, 0.0),
    ):
        problem = problem_of("poisson", y)[2]
        assert np.isfinite(problem.y.astype(np.float32)).all()
        assert np.isfinite(problem.start).all()
