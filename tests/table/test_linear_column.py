"""Linear columns are standardised, and clamped or straight beyond the training range."""

import numpy as np
import pytest
from encoder_cases import mixed_table

from lambdak.table.encoder import TableEncoder


@pytest.mark.parametrize("clamp", [True, False])
def test_a_linear_column_is_standardised_and_clamped_to_the_training_range_if_set(clamp):
    X = np.random.default_rng(0).gamma(2.0, size=(200, 2))
    encoder = TableEncoder(n_knots=0, clamp=clamp).fit(X)
    new = np.random.default_rng(1).normal(scale=9.0, size=(50, 2))
    read = np.clip(new, X.min(axis=0), X.max(axis=0)) if clamp else new
    expected = (read - X.mean(axis=0)) / X.std(axis=0)
    design = encoder.transform(new, dtype=np.float64)
    np.testing.assert_allclose(design.weights[:, 1:], expected, rtol=1e-12)
    np.testing.assert_array_equal(design.ids, np.tile([0, 1, 2], (50, 1)))
    assert [column.kind for column in encoder.columns] == ["linear", "linear"]


def test_named_columns_can_be_linear_beside_curves():
    encoder = TableEncoder(linear=["smooth", "gaps"]).fit(mixed_table())
    assert [column.kind for column in encoder.columns] == ["linear", "curve", "linear", "curve", "category"]
    gaps = encoder.columns[2]
    assert (gaps.stop - gaps.start, gaps.missing) == (2, gaps.start + 1)


def test_linear_must_name_columns_that_are_no_categories():
    with pytest.raises(ValueError, match="linear must name columns of the table, such as 'smooth'; got 'nope'"):
        TableEncoder(linear=["nope"]).fit(mixed_table())
    with pytest.raises(ValueError, match="column 'gaps' is in linear and in categorical_features"):
        TableEncoder(linear=["gaps"], categorical_features=["gaps"]).fit(mixed_table())


@pytest.mark.parametrize("cells", [[3.0, 3.0], [np.nan, np.nan], [3.0, np.nan]])
def test_a_line_over_one_number_has_no_slope_to_train(cells):
    column = TableEncoder(n_knots=0, clamp=False).fit(np.array(cells)[:, None]).columns[0]
    assert column.rising().shape == (1, 0)
    np.testing.assert_array_equal(column.ramps(), np.eye(column.width)[:, 1:])
