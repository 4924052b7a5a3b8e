"""Slopes of a design in its numbers, against finite differences."""

import numpy as np
import pytest
from encoder_cases import mixed_table, quick, weird_columns
from hypothesis import given
from hypothesis import strategies as st

from lambdak.table.encoder import TableEncoder


@pytest.mark.parametrize("clamp", [True, False])
@pytest.mark.parametrize("n_knots", [0, 5])
def test_slopes_are_derivatives_of_the_design(clamp, n_knots):
    X = mixed_table()
    encoder = TableEncoder(n_knots=n_knots, clamp=clamp).fit(X)
    rng = np.random.default_rng(0)
    rows = X.sample(60, random_state=0).reset_index(drop=True)
    rows["smooth"] = rng.uniform(-5, 5, 60)  # also outside of the range
    rows["spiky"] = rng.uniform(0.01, 3, 60)
    rows["gaps"] = np.where(rng.random(60) < 0.3, np.nan, rng.uniform(0.1, 3.9, 60))
    slopes, step = encoder.slopes(rows).to_sparse(encoder.n_design).toarray(), 1e-7
    for column in encoder.columns:
        own = slice(column.start, column.stop)
        if not column.is_number:
            np.testing.assert_array_equal(
                slopes[:, own], encoder.transform(rows).to_sparse(encoder.n_design).toarray()[:, own]
            )
            continue
        ends = [
            encoder.transform(rows.assign(**{column.name: rows[column.name] + side}), np.float64)
            .to_sparse(encoder.n_design)
            .toarray()[:, own]
            for side in (step, -step)
        ]
        np.testing.assert_allclose(slopes[:, own], (ends[0] - ends[1]) / (2 * step), atol=1e-5)
        assert not slopes[np.isnan(rows[column.name]), own].any()


@quick
@given(weird_columns(), st.integers(2, 12))
def test_at_a_knot_the_slope_is_that_to_its_right_and_at_the_last_that_to_its_left(train, n_knots):
    encoder = TableEncoder(n_knots=n_knots).fit(train)
    (column,) = encoder.columns
    with np.errstate(over="ignore"):
        design = encoder.slopes(column.knots[:, None])
        lengths = np.diff(column.knots)
    if not len(lengths):
        assert not design.weights[:, 1:].any()
        return
    pieces = np.minimum(np.arange(len(column.knots)), len(lengths) - 1)
    np.testing.assert_array_equal(design.ids[:, 1:] - column.start, np.column_stack([pieces, pieces + 1]))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(design.weights[:, 2], 1.0 / lengths[pieces])
    np.testing.assert_array_equal(design.weights[:, 1], -design.weights[:, 2])


@pytest.mark.parametrize(("clamp", "moves"), [(True, False), (False, True)])
def test_outside_of_the_range_there_is_a_slope_only_if_the_column_continues(clamp, moves):
    encoder = TableEncoder(n_knots=3, clamp=clamp).fit([[0.0, 1.0], [1.0, 1.0], [4.0, 1.0]])
    weights = encoder.slopes([[-1.0, 0.0], [5.0, 2.0]]).weights[:, 1:3]
    assert weights.any(axis=1).tolist() == [moves, moves]
    if moves:
        np.testing.assert_allclose(weights[:, 1], [1.0, 1 / 3])
    assert not encoder.slopes([[2.0, 1.0]]).weights[:, 3:].any()  # a constant column has none


def test_slopes_have_the_slots_of_the_design_and_find_columns_by_name():
    X = mixed_table()
    encoder = TableEncoder(n_knots=4).fit(X)
    design, slopes = encoder.transform(X, np.float64), encoder.slopes(X[X.columns[::-1]])
    assert slopes.weights.dtype == np.float64
    active = slopes.weights != 0
    np.testing.assert_array_equal(slopes.ids[active], design.ids[active])
    np.testing.assert_array_equal(slopes.weights, encoder.slopes(X).weights)
