"""From trained parameters to a model: centred categories, and quantiles that move without crossing."""

from __future__ import annotations

import numpy as np
import pytest
from fit_cases import X, Y

from lambdak import SpectralQuantileRegressor, SpectralRegressor
from lambdak.training import finish

QUICK = {"effort": "fast", "max_iter": 3, "random_state": 0}
LEVELS = (0.1, 0.5, 0.9)


@pytest.fixture
def shifts(monkeypatch):
    """What quantiles were moved by, before and after."""
    seen, original = [], finish.shift_quantiles_

    def watched(coef, draft, shift):
        before = coef.copy()
        original(coef, draft, shift)
        seen.append((before, coef.copy(), draft, shift))

    monkeypatch.setattr("lambdak.training.fit.shift_quantiles_", watched)
    return seen


def test_the_levels_of_a_category_have_a_mean_of_zero_over_the_rows():
    table = np.column_stack([np.round(2 * X[:, 0]), X[:, 1]])
    model = SpectralRegressor(categorical_features=[0], **QUICK).fit(table, Y).model_
    column = model.encoder.columns[0]
    share = model.encoder.transform(table).to_sparse(model.encoder.n_design).mean(axis=0)[column.start : column.stop]
    levels = model.coef[:, column.start : column.stop]
    assert np.abs(levels).max() > 0.01
    np.testing.assert_allclose(np.einsum("p,mpw->mw", share, levels), 0, atol=1e-5 * np.abs(levels).max())


def test_quantiles_move_in_order_by_multiples_of_the_identity(shifts):
    model = SpectralQuantileRegressor(LEVELS, **QUICK).fit(X, Y)
    ((before, after, draft, shift),) = shifts
    assert (np.diff(shift) >= 0).all()
    moved = after - before
    diagonal = np.cumsum(np.arange(1, draft.dim + 1)) - 1  # of a packed lower triangle
    np.testing.assert_array_equal(moved[:, : draft.encoder.n_design], 0)
    np.testing.assert_array_equal(np.delete(moved, diagonal, axis=2), 0)
    expected = np.broadcast_to(shift[:, None], moved[:, draft.encoder.n_design :, diagonal].shape)
    np.testing.assert_allclose(moved[:, draft.encoder.n_design :, diagonal], expected, atol=1e-6)
    assert (np.diff(model.predict_quantiles(X), axis=1) >= 0).all()
