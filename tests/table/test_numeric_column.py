"""Numbers of any column: weights are finite, constants and missing cells have entries of their own."""

import numpy as np
import pytest
from encoder_cases import mixed_table, quick, weird_columns
from hypothesis import given
from hypothesis import strategies as st

from lambdak.table.encoder import TableEncoder


@quick
@given(weird_columns(), weird_columns(), st.sampled_from([0, 2, 5, "auto"]))
def test_weights_of_any_finite_column_are_finite_and_those_of_a_curve_are_convex(train, X, n_knots):
    encoder = TableEncoder(n_knots=n_knots).fit(train)
    design = encoder.transform(X)
    assert np.isfinite(design.weights).all()
    assert design.ids.min() >= 0
    assert design.ids.max() < encoder.n_design
    if n_knots:
        assert design.weights.min() >= 0
        np.testing.assert_allclose(design.weights[:, 1:].sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("n_knots", [0, 2, "auto"])
def test_a_constant_column_has_one_entry_which_is_always_the_same(n_knots):
    encoder = TableEncoder(n_knots=n_knots).fit(np.full((20, 1), 3.0))
    design = encoder.transform([[3.0], [5.0], [np.nan], [-1.0]])
    assert design.ids.tolist() == [[0, 1]] * 4
    assert (design.weights[:, 1] == (1.0 if n_knots else 0.0)).all()
    assert encoder.columns[0].n_ramps == 0


@pytest.mark.parametrize("n_knots", [0, 4])
def test_a_column_without_any_number_takes_numbers_later_as_it_takes_missing_cells(n_knots):
    encoder = TableEncoder(n_knots=n_knots).fit(np.full((9, 1), np.nan))
    design = encoder.transform([[np.nan], [2.0]])
    assert not encoder.columns[0].has_missing
    assert np.array_equal(design.ids[0], design.ids[1])
    assert np.array_equal(design.weights[0], design.weights[1])
    assert encoder.columns[0].low == encoder.columns[0].high == 0.0


def test_a_missing_number_has_its_own_entry_if_training_had_any():
    encoder = TableEncoder().fit(mixed_table())
    column = encoder.columns[2]
    assert column.missing == column.stop - 1 == column.start + len(column.knots)
    design = encoder.transform(mixed_table().assign(gaps=np.nan))
    assert (design.ids[:, 5:7] == column.missing).all()
    assert (design.weights[:, 5:7] == [1.0, 0.0]).all()


@pytest.mark.parametrize("n_knots", [0, "auto"])
def test_a_missing_number_is_the_training_median_if_training_had_none(n_knots):
    X = np.random.default_rng(0).normal(size=(101, 1))
    encoder = TableEncoder(n_knots=n_knots).fit(X)
    assert encoder.columns[0].missing == -1
    got, expected = encoder.transform([[np.nan]]), encoder.transform([[np.median(X)]])
    np.testing.assert_array_equal(got.ids, expected.ids)
    np.testing.assert_array_equal(got.weights, expected.weights)
