"""How exact attributions are: repeated eigenvalues share out evenly, and what cannot be told is estimated and named."""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import KINDS, fitted, rows_of
from hand_made_models import by_hand, symmetric
from local_cases import ROWS


def test_a_repeated_eigenvalue_shares_out_evenly_between_columns():
    local = by_hand(np.eye(2), [np.diag([1.0, 0.0]), np.diag([0.0, 1.0])]).explain_local(np.full((3, 2), 0.5))
    np.testing.assert_allclose(local.attribution, 0.25, atol=1e-12)
    np.testing.assert_allclose(local.score - local.baseline_score, 0.5, atol=1e-12)
    assert (local.error < 1e-9).all()


def test_parts_that_cancel_at_a_repeated_eigenvalue_share_out_evenly():
    model = by_hand(np.diag([1.0, 1.0, 3.0]), [np.diag([1.0, 0.0, 0.0]), np.diag([-1.0, 0.0, 0.0])])
    local = model.explain_local([[0.5, 0.5]])
    np.testing.assert_allclose(local.attribution, [[0.25, -0.25]], atol=1e-9)
    assert local.error[0] < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_the_error_covers_what_the_sum_misses_and_is_far_below_what_would_warn(kind):
    model = fitted(kind)
    local = model.explain_local(rows_of(kind)[:ROWS])
    missed = np.abs(local.attribution.sum(axis=1) - (local.score - local.baseline_score))
    assert (missed <= local.error + 1e-12 * model.model_.scale).all()
    assert (local.error < 1e-6 * model.model_.scale).all()


def test_rows_whose_attributions_cannot_be_told_are_named():
    rng = np.random.default_rng(5)
    parts = [1e3 * np.kron(symmetric(rng, 3), np.eye(2)) + 1e-8 * symmetric(rng, 6) for _ in range(3)]
    model = by_hand(parts[0], parts[1:], index=3)
    with pytest.warns(UserWarning, match=r"attributions of 1 of 2 rows \(row 1\) may be off by up to .*; see `error`"):
        local = model.explain_local([[0.0, 0.0], [1.0, 0.5]])
    assert local.error[0] < 1e-6 < local.error[1]
    assert local.attribution.sum(axis=1) == pytest.approx(local.score - local.baseline_score, abs=1e-6)
    assert set(local.to_frame()["error"]) == set(local.error)
