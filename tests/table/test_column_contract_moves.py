"""The contract of columns, continued: how a column can move, and in which coordinates it is trained."""

from __future__ import annotations

import numpy as np
import pytest
from column_cases import CASES, contract, dense, inside_hull, numeric, written

# ---- its moves -------------------------------------------------------------------------------------------------


@contract
def test_increments_sum_up_to_the_way_from_the_lowest_to_the_highest_cell(case):
    column = case.column
    steps, lengths = column.increments().toarray(), column.lengths()
    assert (steps.shape, lengths.shape) == ((column.n_steps, column.width), (column.n_steps,))
    if not column.n_steps:
        assert not column.is_number or column.low == column.high
        return
    slopes = steps / lengths[:, None]
    np.testing.assert_allclose(
        np.diff(column.nodes()) @ slopes, case.dense(column.high) - case.dense(column.low), atol=1e-14
    )
    middle = (column.nodes()[1:] + column.nodes()[:-1]) / 2
    np.testing.assert_allclose(written(column, middle, "write_slopes_"), slopes, atol=1e-14)
    np.testing.assert_allclose(column.bends().toarray(), np.diff(slopes, axis=0), atol=1e-14)
    assert column.n_ramps == (column.n_steps if len(column.corners()) else 0)


@numeric
@pytest.mark.parametrize("tolerance", [0.0, 0.2, 1.5, 50.0])
def test_differences_within_a_tolerance_are_in_the_hull_of_those_nearby(case, tolerance):
    rng, column = np.random.default_rng(0), case.column
    a = rng.uniform(-6, 8, 300)
    moves = dense(case, a + tolerance * rng.uniform(-1, 1, 300)) - dense(case, a)
    listed = column.nearby(tolerance)
    assert listed.shape[1] == column.width
    assert inside_hull(moves, np.concatenate([listed, -listed]))


@contract
def test_without_a_tolerance_any_change_is_nearby(case):
    rows, listed = dense(case, case.cells), case.column.nearby(None)
    if case.column.bounded:
        moves = (rows[:, None] - rows).reshape(-1, case.column.width)
        assert inside_hull(moves, np.concatenate([listed, -listed, np.zeros((1, case.column.width))]))


# ---- in which coordinates it is trained ------------------------------------------------------------------------


@contract
def test_ramps_describe_all_columns_up_to_a_constant(case):
    column, ramps = case.column, case.column.ramps()
    assert len(ramps) == column.width
    rank = np.linalg.matrix_rank(ramps) if ramps.shape[1] else 0
    assert rank == ramps.shape[1]
    constant = dense(case, column.nodes()[:1] if column.is_number else ()).reshape(-1, column.width)
    assert np.linalg.matrix_rank(np.concatenate([ramps.T, constant])) == column.width


@contract
def test_a_straight_column_has_no_bends_and_is_free_where_a_cell_is_missing(case):
    column, straight = case.column, case.column.straight()
    np.testing.assert_allclose(column.bends() @ straight, 0, atol=1e-14)
    if column.missing >= 0:
        assert np.eye(column.width)[column.missing - column.start].tolist() in straight.T.tolist()


@contract
def test_coordinates_are_counted_as_the_matrices_have_them(case):
    column, hinged = case.column, case.column.n_ramps
    assert column.n_free == column.ramps().shape[1]
    assert column.n_straight == column.straight().shape[1]
    assert column.n_rising() == column.rising().shape[1]
    for sign in (-1, 0, 1) if hinged else ():
        assert column.n_rising(1, sign) == column.hinged(sign).shape[1]


@contract
def test_rising_is_the_inverse_of_increments(case):
    spread = case.column.rising()
    assert spread.shape[1] == case.column.n_steps
    assert (spread >= 0).all()
    np.testing.assert_array_equal(case.column.increments()[:, : len(spread)] @ spread, np.eye(case.column.n_steps))


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.column.n_ramps])
@pytest.mark.parametrize("sign", [-1, 0, 1])
def test_hinges_bend_one_way_and_with_a_sign_go_one_way(case, sign):
    column, hinges = case.column, case.column.hinged(sign)
    assert hinges.shape[1] == column.n_ramps - (sign == 0)
    assert (column.bends()[:, : len(hinges)] @ hinges >= -1e-14).all()
    assert (sign * (column.increments()[:, : len(hinges)] @ hinges) >= -1e-14).all()
