"""The rows that a search takes, the cells that it tries, and what rounding may do to them.

Tests ``attack`` and ``cells``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fitted_models import SMALL, SPARSE, X, Y, fitted, rows_of, with_columns
from hand_made_models import by_hand

from lambdak import SpectralRegressor
from lambdak.certify.attack import spread, together
from lambdak.certify.cells import EXTREME, nodes_of, numbers_to_try, random_numbers
from lambdak.certify.search import Rows, Search, allowed
from lambdak.table.cells import LARGEST


def search_of(kind, n=10):
    return Search.around(fitted(kind).model_, rows_of(kind), n)


def frame(search, rows):
    """Rows of a search as a user would write them."""
    columns = {}
    for pool, values in zip(search.pools, rows.columns, strict=True):
        columns[pool.column.name] = values if pool.column.is_number else [pool.levels[int(code)] for code in values]
    return pd.DataFrame(columns)


@pytest.mark.parametrize("kind", ["regressor", "linear", "convex", "multiclass", "quantiles", "ordinal"])
def test_outputs_are_those_that_users_see(kind):
    model, search = fitted(kind), search_of(kind)
    rows = search.rows(200)
    X_user = frame(search, rows)
    if kind == "quantiles":
        np.testing.assert_array_equal(search.predict(rows), model.predict_quantiles(X_user))
    elif hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(search.predict(rows), model.predict_proba(X_user))
        np.testing.assert_array_equal(model.classes_[search.labels(rows)], model.predict(X_user))
    else:
        np.testing.assert_array_equal(search.predict(rows)[:, 0], model.predict(X_user))
    if kind == "ordinal":
        above = 1.0 - np.cumsum(model.predict_proba(X_user), axis=1)[:, :-1]
        np.testing.assert_allclose(search.ordered(rows), above, atol=1e-12)


def test_random_rows_mix_the_cells_of_different_rows():
    search = search_of("linear")
    whole, rows = (frame(search, own).astype(object).fillna("missing") for own in (given(search), search.rows(80)))
    seen = set(whole.itertuples(index=False))
    as_given = [row in seen for row in rows.itertuples(index=False)]
    assert all(as_given[1::2])
    assert not all(as_given[::4])
    for name in whole:
        assert set(rows[name][::4]) <= set(whole[name])
    assert not set(rows["income"][2::4]) <= set(whole["income"])


def given(search):
    return Rows(np.array([pool.seen for pool in search.pools]))


def test_numbers_to_try_are_at_and_beside_knots_far_away_and_zero():
    column = search_of("free").pools[0].column
    tried = numbers_to_try(column)
    assert set(column.knots) <= set(tried)
    assert {float(np.nextafter(knot, side)) for knot in column.knots for side in (-np.inf, np.inf)} <= set(tried)
    assert {-EXTREME, EXTREME, 0.0} <= set(tried)
    assert np.signbit(tried[tried == 0]).any()
    assert not np.signbit(tried[tried == 0]).all()
    assert (np.diff(nodes_of(column)) > 0).all()


def test_every_level_a_missing_cell_and_a_level_that_was_never_seen_are_tried():
    pool = search_of("free").pools[2]
    assert {"north", "south", "rare", "odd", None} <= set(pool.levels)
    (unseen,) = set(pool.levels) - {"north", "south", "rare", "odd", None}
    assert isinstance(unseen, str)
    assert pool.tried.tolist() == list(range(len(pool.levels)))


@pytest.mark.parametrize("levels", [[1, 2, 3], [True, False, None], [0.5, None, 1e300]])
def test_levels_that_are_numbers_are_tried_as_numbers(levels):
    rows = pd.DataFrame({"level": np.resize(np.array(levels, object), 60)})
    model = SpectralRegressor(categorical_features=["level"], **SMALL).fit(rows, np.arange(60.0))
    pool = Search.around(model.model_, rows).pools[0]
    unseen = pool.levels[-1]
    assert unseen not in levels
    assert not isinstance(unseen, str)
    assert model.verify(rows, n=50).violations == 0


def test_a_column_of_which_a_bound_speaks_in_its_range_is_tried_there():
    clamped, straight = (search_of(kind).pools[0] for kind in ("free", "convex"))
    assert clamped.own.max() > clamped.column.high or np.nanmax(clamped.own) == EXTREME
    assert np.nanmax(straight.own) == straight.column.high
    assert np.nanmax(straight.tried) > straight.column.high
    assert np.isnan(straight.own).any()


def test_numbers_of_columns_as_wide_as_numbers_go_are_read():
    rows = np.array([[-LARGEST], [0.0], [LARGEST]] * 20)
    model = SpectralRegressor(**SMALL | {"max_iter": 1}).fit(rows, Y[:60])
    column = model.model_.encoder.columns[0]
    assert np.abs(numbers_to_try(column)).max() <= LARGEST
    assert np.abs(random_numbers(np.random.default_rng(0), column, 100)).max() <= LARGEST
    assert model.verify(rows, n=50).violations == 0


def test_rounding_grows_with_the_distance_of_numbers_from_their_range():
    search = search_of("convex")
    column, rows = search.pools[0].column, Rows(np.array([pool.seen[:1].repeat(3) for pool in search.pools]))
    inside, far = (rows.put(0, np.full(3, x)) for x in (column.low, column.high + 1e3 * column.lengths()[-1]))
    assert (search.error([far]) > 100 * search.error([inside])).all()
    np.testing.assert_array_equal(search.error([inside, far]), search.error([far]))


@pytest.mark.parametrize("kind", ["free", "convex", "multiclass"])
def test_what_computing_can_do_is_bounded_as_in_the_certificate(kind):
    search, (first, *_) = search_of(kind), fitted(kind).certify().claims
    assert (search.error([search.rows(5)]) > 0).all()
    if kind != "convex":  # which is not clamped: its rows may be anywhere
        assert (search.error([search.rows(5)]) == first.margin).all()


def test_bounds_include_what_computing_can_do_already():
    search, claims = search_of("free"), fitted("free").certify().claims
    points = [search.rows(5)]
    for each in claims:
        two = 0.0 if each.kind == "influence" else 2 * each.margin
        assert (allowed(each, search, points) == two).all()


def test_matrices_that_are_no_numbers_allow_for_nothing():
    model = fitted("regressor").model_
    coef = model.coef.copy()
    coef[0, 3] = np.nan
    search = Search.around(model.replace(coef=coef), X)
    assert (search.error([search.rows(5)]) == 0).all()


def test_points_are_predicted_together_and_rows_are_spread_over_cells():
    search = search_of("free")
    first, second = search.rows(3), search.rows(3)
    np.testing.assert_array_equal(
        search.raw(together((first, second))), np.concatenate([search.raw(first), search.raw(second)])
    )
    rows = spread(first, 0, np.array([1.0, 2.0]))
    assert rows.columns[0].tolist() == [1.0, 2.0] * 3
    assert rows.columns[3].tolist() == np.repeat(first.columns[3], 2).tolist()


def test_columns_that_continue_straight_are_searched_beyond_their_range():
    model = by_hand(np.zeros((2, 2)), [np.diag([1.0, 0.5])])
    straight = with_columns(model, [replace(model.model_.encoder.columns[0], clamp=False)])
    columns = [Search.around(own.model_, SPARSE[:, :1]).numeric()[0] for own in (model, straight)]
    assert [numbers_to_try(column).max() > 1e4 for column in columns] == [True, False]
    assert numbers_to_try(columns[1]).max() > 1e3
