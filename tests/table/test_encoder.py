"""The encoder: columns are found by name, wrong settings are refused, and nothing of it can be set."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from bits import bits
from encoder_cases import mixed_table
from scipy import sparse

from lambdak.table.category_levels import OTHER
from lambdak.table.encoder import TableEncoder
from lambdak.table.read import read_table

# ---- the whole row ---------------------------------------------------------------------------------------------


def test_fit_changes_neither_the_table_nor_depends_on_the_order_of_its_rows():
    X = mixed_table()
    before = X.copy()
    encoder, shuffled = TableEncoder().fit(X), TableEncoder().fit(X.sample(frac=1, random_state=0))
    pd.testing.assert_frame_equal(X, before)
    for column, other in zip(encoder.columns, shuffled.columns, strict=True):
        assert (type(column), column.start, column.stop) == (type(other), other.start, other.stop)
        np.testing.assert_equal(column.saved(), other.saved())


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda encoder: pickle.loads(pickle.dumps(encoder))])
def test_a_copy_encodes_alike(clone):
    encoder = TableEncoder(min_level_count=5).fit(mixed_table())
    twin = clone(encoder)
    assert twin.columns[-1].levels[-1] is OTHER
    np.testing.assert_array_equal(twin.transform(mixed_table()).ids, encoder.transform(mixed_table()).ids)


def test_what_an_encoder_remembers_for_short_tables_is_not_pickled():
    encoder = TableEncoder().fit(mixed_table())
    before = pickle.dumps(encoder)
    encoder.transform(mixed_table()[:1])
    assert pickle.dumps(encoder) == before


def test_columns_are_found_by_name_whatever_their_order_and_company():
    X = mixed_table()
    encoder = TableEncoder().fit(X)
    design, other = encoder.transform(X), encoder.transform(X[X.columns[::-1]].assign(extra="?"))
    np.testing.assert_array_equal(design.ids, other.ids)
    np.testing.assert_array_equal(design.weights, other.weights)
    by_position = encoder.transform(X.to_numpy(dtype=object))
    np.testing.assert_array_equal(design.ids, by_position.ids)


def test_names_that_went_missing_are_listed():
    encoder = TableEncoder().fit(mixed_table())
    with pytest.raises(ValueError, match="should match those that were passed during fit") as error:
        encoder.transform(mixed_table().rename(columns={"city": "town"}).drop(columns="gaps"))
    assert str(error.value).endswith(
        "Feature names unseen at fit time:\n- town\nFeature names seen at fit time, yet now missing:\n- city\n- gaps\n"
    )
    wide = TableEncoder().fit(pd.DataFrame(np.ones((2, 8)), columns=list("abcdefgh")))
    with pytest.raises(ValueError, match=r"yet now missing:\n- b\n- c\n- d\n- e\n- f\n- \.\.\.\n$"):
        wide.transform(pd.DataFrame({"a": [1.0]}))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_wrong_number_of_columns_is_refused_in_scikit_learns_words(make):
    for encoder in (TableEncoder().fit(np.ones((5, 4))), TableEncoder().fit(sparse.csr_array(np.ones((5, 4))))):
        with pytest.raises(ValueError, match="X has 3 features, but lambdak is expecting 4 features as input"):
            encoder.transform(make(np.ones((5, 3))))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_knots": 1}, ValueError, r"n_knots must be 0 \(linear columns\) or at least 2; got 1"),
        ({"n_knots": -1}, ValueError, r"n_knots must be in \[0, 4096\); got -1"),
        ({"n_knots": "many"}, ValueError, "n_knots must be \"auto\" or an int; got 'many'"),
        ({"n_knots": 2.5}, TypeError, "n_knots must be an int; got 2.5"),
        ({"min_level_count": 0}, ValueError, r"min_level_count must be in \[1, "),
        ({"max_categories": 0}, ValueError, r"max_categories must be in \[1, "),
    ],
)
def test_wrong_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        TableEncoder(**settings)


def test_transform_needs_fit_first_and_a_float_dtype():
    with pytest.raises(ValueError, match=r"not fitted yet: call fit\(X\) first"):
        TableEncoder().transform(np.ones((2, 2)))
    with pytest.raises(TypeError, match="dtype must be float32 or float64; got int64"):
        TableEncoder().fit(np.ones((2, 2))).transform(np.ones((2, 2)), dtype=np.int64)


def test_a_failed_fit_keeps_the_fitted_state():
    encoder = TableEncoder().fit(mixed_table())
    with pytest.raises(ValueError, match="infinity"):
        encoder.fit([[1.0], [np.inf]])
    assert encoder.n_features == 5


def test_fit_returns_another_encoder_and_leaves_this_one():
    settings = TableEncoder(n_knots=3)
    first, second = settings.fit(mixed_table()), settings.fit([[1.0], [2.0]])
    assert (settings.n_features, first.n_features, second.n_features) == (0, 5, 1)
    assert first.fit([[1.0], [2.0]]).n_features == 1
    assert first.n_features == 5
    with pytest.raises(ValueError, match="not fitted yet"):
        settings.transform([[1.0]])


@pytest.mark.parametrize("name", ["n_knots", "clamp", "linear", "columns", "from_names", "from_sparse", "new"])
def test_nothing_of_an_encoder_can_be_set(name):
    for encoder in (TableEncoder(), TableEncoder().fit(mixed_table())):
        with pytest.raises(AttributeError):
            setattr(encoder, name, ())


def test_names_can_be_given_to_the_columns_of_a_table_that_had_none():
    X = np.random.default_rng(0).normal(size=(50, 2))
    named, plain = TableEncoder().fit(pd.DataFrame(X, columns=["a", "b"])), TableEncoder().fit(X)
    renamed = plain.renamed(["a", "b"])
    assert bits(renamed) == bits(named)
    assert (renamed.from_names, plain.from_names) == (True, False)
    assert renamed.transform(pd.DataFrame({"b": X[:, 1], "a": X[:, 0]})).ids.tolist() == plain.transform(X).ids.tolist()


# ---- slopes ----------------------------------------------------------------------------------------------------


def test_positions_are_found_by_name_or_else_by_position():
    X = mixed_table()
    encoder = TableEncoder(n_knots=4).fit(X)
    turned = X[X.columns[::-1]].assign(more=0.0)
    assert encoder.positions(read_table(turned)) == [4, 3, 2, 1, 0]
    assert encoder.positions(read_table(X.to_numpy(object))) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="yet now missing"):
        encoder.positions(read_table(X.drop(columns="city")))
    with pytest.raises(ValueError, match="expecting 5 features"):
        encoder.positions(read_table(np.zeros((1, 3))))


def test_requested_numbers_inside_the_training_range_become_knots_whatever_else_is_chosen():
    X = np.random.default_rng(0).normal(size=(500, 3))
    nodes = {0: [0.123, 99.0], "x1": [-0.5], 2: [1.0]}
    plain = TableEncoder(n_knots=6).fit(X)
    encoder = TableEncoder(n_knots=6, nodes=nodes).fit(X)
    for i, inside in enumerate(([0.123], [-0.5], [1.0])):
        assert encoder.columns[i].knots.tolist() == sorted([*plain.columns[i].knots.tolist(), *inside])


def test_requested_knots_of_a_column_that_continues_straight_have_no_other_knot_close_to_them():
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    encoder = TableEncoder(n_knots=5, straight=[0], nodes={0: [2.0 + 1e-9, 3.0]}).fit(x[:, None])
    assert encoder.columns[0].knots.tolist() == [0.0, 1.0, 2.0 + 1e-9, 3.0, 4.0]


def test_a_linear_column_and_a_category_have_no_requested_knots():
    X = [[0.0, "a"], [4.0, "b"], [8.0, "b"]]
    encoder = TableEncoder(n_knots=0, nodes={0: [1.0], 1: [2.0]}).fit(X)
    assert [column.kind for column in encoder.columns] == ["linear", "category"]
