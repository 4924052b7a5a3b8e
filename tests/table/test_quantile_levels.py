"""``table.curve_column``: quantile levels as one more column."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.losses import LevelPinball, Quantile
from lambdak.table.curve_column import level_column, with_levels
from lambdak.table.encoder import TableEncoder

LEVELS = (0.1, 0.5, 0.8)


def test_every_row_appears_once_for_each_level_with_the_levels_entry_added():
    encoder = TableEncoder(n_knots=3).fit([[0.0], [1.0], [2.0]])
    design = encoder.transform([[0.5], [2.0]])
    whole = with_levels(design, encoder.n_design, 3).to_sparse(encoder.n_design + 3).toarray()
    np.testing.assert_array_equal(whole[:, : encoder.n_design], np.repeat(design.to_sparse(4).toarray(), 3, axis=0))
    np.testing.assert_array_equal(whole[:, encoder.n_design :], np.tile(np.eye(3), (2, 1)))


def test_the_level_is_a_curve_with_the_levels_as_knots():
    column = level_column(LEVELS, 7)
    assert (column.name, column.kind, column.start, column.stop) == ("quantile level", "curve", 7, 10)
    assert column.knots.tolist() == list(LEVELS)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_loss_of_a_row_is_that_of_its_own_quantile(dtype):
    rng = np.random.default_rng(0)
    raw, y = rng.standard_normal((2, 4, 6)).astype(dtype)
    q = rng.choice(LEVELS, (4, 6))
    loss, target = LevelPinball(), np.stack([y, q], axis=-1)
    slope = loss.gradient(raw, target)
    assert slope.dtype == dtype
    for i in range(4):
        for j in range(6):
            one = Quantile(q[i, j])
            assert slope[i, j] * 6 == pytest.approx(one.gradient(raw[i, j : j + 1], y[i, j : j + 1])[0], rel=1e-6)
    expected = [
        np.mean([Quantile(q[i, j]).value(raw[i, j : j + 1], y[i, j : j + 1]) for j in range(6)]) for i in range(4)
    ]
    np.testing.assert_allclose(loss.value(raw, target), expected, rtol=1e-5)
