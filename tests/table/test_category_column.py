"""A category has one matrix per level; rare levels share one, and missing cells have their own.

Tests ``category_levels``.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdak import SpectralRegressor
from lambdak.table.category_levels import OTHER
from lambdak.table.encoder import TableEncoder

quick = settings(max_examples=150, deadline=None)


def test_categories_are_dummy_variables():
    cities = np.random.default_rng(0).choice(["Rome", "Oslo", "Bern"], 90)
    encoder = TableEncoder().fit(pd.DataFrame({"city": cities}))
    Z = encoder.transform(pd.DataFrame({"city": cities})).to_sparse(encoder.n_design).toarray()
    dummies = pd.get_dummies(cities)
    assert encoder.columns[0].levels == tuple(dummies.columns)
    np.testing.assert_array_equal(Z[:, 1:], dummies.to_numpy())


@quick
@given(st.lists(st.one_of(st.none(), st.text(max_size=2), st.booleans(), st.integers(-9, 9)), min_size=1, max_size=40))
def test_a_level_round_trips_through_its_design_column(cells):
    X = np.empty((len(cells), 1), dtype=object)
    X[:, 0] = cells
    encoder = TableEncoder(categorical_features=[0], min_level_count=1).fit(X)
    design = encoder.transform(X)
    assert [encoder.columns[0].levels[i - 1] for i in design.ids[:, 1]] == cells
    assert (design.weights == 1).all()


def test_levels_come_in_natural_order_with_missing_and_other_last():
    cells = [10, 9, "b", "a", None, 2.5] * 6 + ["rare"]
    encoder = TableEncoder(min_level_count=2).fit([[cell] for cell in cells])
    assert encoder.columns[0].levels == (2.5, 9, 10, "a", "b", None, OTHER)
    assert encoder.columns[0].missing == 6


@pytest.mark.parametrize("as_batches", [False, True])
def test_ordered_levels_come_in_their_order_in_explanations_and_tables(as_batches):
    sizes = ["small", "medium", "large"]
    X = pd.DataFrame({"size": pd.Categorical(sizes * 20, ["tiny", *sizes], ordered=True)})
    y = np.tile([1.0, 2.0, 4.0], 20)
    model = SpectralRegressor(effort="fast", max_iter=3, random_state=0)
    model.fit([X.assign(target=y)[:30], X.assign(target=y)[30:]], "target") if as_batches else model.fit(X, y)
    assert model.model_.encoder.columns[0].levels == tuple(sizes)
    assert list(model.explain_global(X).effects[0].x) == sizes


def test_rare_levels_are_pooled_and_unseen_ones_join_them():
    encoder = TableEncoder(min_level_count=5).fit([["a"]] * 5 + [["b"]] * 4 + [["c"]] * 7)
    assert encoder.columns[0].levels == ("a", "c", OTHER)
    design = encoder.transform([["a"], ["b"], ["new"], [None]])
    assert design.ids[:, 1].tolist() == [1, 3, 3, 3]
    assert (design.weights == 1).all()


def test_levels_are_rare_or_frequent_by_the_sum_of_their_weights():
    X, sample_weight = [["a"], ["b"], ["b"], ["c"], ["d"], [None]], [6, 2.5, 2.5, 4.9, 0, 0]
    encoder = TableEncoder(min_level_count=5).fit(X, sample_weight)
    assert encoder.columns[0].levels == ("a", "b", OTHER)
    with pytest.warns(UserWarning, match="pooled"):
        assert TableEncoder(max_categories=2).fit(X, sample_weight).columns[0].levels == ("a", OTHER)
    assert TableEncoder().fit(X, sample_weight).columns[0].levels == ("a", "b", "c")


def test_only_the_most_frequent_levels_stay_beyond_max_categories_and_a_warning_says_so():
    cells = ["a"] * 5 + ["b"] * 9 + ["c"] * 7 + ["d"] * 7 + ["e"] * 7
    with pytest.warns(UserWarning, match=r"column 'x0' has 5 levels, more than 4: .* raise max_categories to 5"):
        encoder = TableEncoder(max_categories=4).fit([[cell] for cell in cells])
    assert encoder.columns[0].levels == ("b", "c", "d", OTHER)
    assert TableEncoder(max_categories=5).fit([[cell] for cell in cells]).columns[0].levels == tuple("abcde")


def test_levels_are_never_pooled_unless_it_is_requested():
    cells = [f"level {i:04}" for i in range(3000)]
    assert TableEncoder().fit([[cell] for cell in cells]).columns[0].levels == tuple(cells)


def test_more_levels_than_a_model_can_hold_are_pooled_with_a_warning(monkeypatch):
    monkeypatch.setattr("lambdak.table.category_column.MAX_LEVELS", 3)
    monkeypatch.setattr("lambdak.table.encoder.MAX_LEVELS", 3)
    with pytest.warns(UserWarning, match=r"column 'x0' has 5 levels, more than 3: .* group its levels before"):
        encoder = TableEncoder().fit([[cell] for cell in "aabbcde"])
    assert encoder.columns[0].levels == ("a", "b", OTHER)


def test_an_unseen_level_has_weight_zero_where_nothing_was_pooled():
    encoder = TableEncoder().fit([["a"]] * 5 + [["b"]] * 5)
    design = encoder.transform([["new"], [None], ["b"]])
    assert design.weights[:, 1].tolist() == [0.0, 0.0, 1.0]
    assert design.ids[:, 1].tolist() == [1, 1, 2]


def test_a_category_of_integers_is_found_again_among_floats():
    X = pd.DataFrame({"code": np.repeat([4, 7, 2**60 + 1], 6)})
    encoder = TableEncoder(categorical_features=["code"]).fit(X)
    assert encoder.columns[0].levels == (4, 7, 2**60 + 1)
    design = encoder.transform(pd.DataFrame({"code": [7.0, np.nan, 4.0]}))
    assert design.ids[:, 1].tolist() == [2, 1, 1]
    assert design.weights[:, 1].tolist() == [1.0, 0.0, 1.0]
