"""Of a sparse table only the non-zeros are active, and they mean what the dense table means."""

import numpy as np
import pytest
from bits import bits, repeat
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from lambdak.table.encoder import TableEncoder


def counts(rows=40, width=30, seed=0):
    X = np.random.default_rng(seed).poisson(0.2, size=(rows, width)).astype(float)
    X[:, 0] = 0.0
    X[0] = 0.0
    return X


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
def test_only_non_zeros_of_a_sparse_table_are_active(form):
    X = counts()
    design = TableEncoder().fit(sparse.csr_array(X)).transform(sparse.coo_array(X).asformat(form), dtype=np.float64)
    scale = np.sqrt((X**2).sum(axis=0) / np.maximum((X > 0).sum(axis=0), 1))
    expected = np.column_stack([np.ones(len(X)), X / np.where(scale > 0, scale, 1.0)])
    np.testing.assert_allclose(design.to_sparse(31).toarray(), expected, rtol=1e-12)
    assert design.ids.shape[1] == 1 + (X > 0).sum(axis=1).max()
    padding = design.weights == 0
    assert (design.ids[padding] == 0).all()
    assert padding.sum() == design.ids.size - len(X) - (X > 0).sum()


def test_a_table_of_zeros_and_ones_stays_as_it_is():
    X = (counts() > 0).astype(np.int8)
    encoder = TableEncoder().fit(sparse.csr_matrix(X))
    np.testing.assert_array_equal(encoder.transform(sparse.csr_matrix(X)).to_sparse(31).toarray()[:, 1:], X)
    assert all(column.kind == "linear" and column.center == 0 and column.scale == 1 for column in encoder.columns)


@pytest.mark.parametrize("clamp", [True, False])
def test_dense_rows_after_a_sparse_fit_mean_the_same_as_sparse_rows(clamp):
    encoder = TableEncoder(clamp=clamp).fit(sparse.csr_array(counts()))
    X = counts(seed=1) * np.random.default_rng(2).choice([-1.0, 1.0, 9.0], (40, 30))
    sparse_design, dense_design = encoder.transform(sparse.csr_array(X)), encoder.transform(X)
    np.testing.assert_array_equal(sparse_design.to_sparse(31).toarray(), dense_design.to_sparse(31).toarray())


def test_sparse_rows_after_a_dense_fit_mean_the_same_as_dense_rows():
    encoder = TableEncoder().fit(counts())
    design, expected = encoder.transform(sparse.csc_array(counts(seed=1))), encoder.transform(counts(seed=1))
    np.testing.assert_array_equal(design.ids, expected.ids)
    np.testing.assert_array_equal(design.weights, expected.weights)


def test_missing_cells_of_a_sparse_table_have_their_own_entry_or_count_as_zero():
    X = np.array([[1.0, np.nan, 0.0], [0.0, 2.0, 3.0]])
    encoder = TableEncoder().fit(sparse.csr_array(X))
    assert [(column.start, column.stop, column.missing) for column in encoder.columns] == [
        (1, 2, -1),
        (2, 4, 3),
        (4, 5, -1),
    ]
    Z = encoder.transform(sparse.csr_array(np.full((1, 3), np.nan))).to_sparse(encoder.n_design).toarray()
    np.testing.assert_array_equal(Z, [[1, 0, 0, 1, 0]])


def test_stored_zeros_and_repeated_cells_of_a_sparse_table_change_nothing():
    repeated = sparse.coo_array(([1.0, 1.0, 0.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    encoder = TableEncoder().fit(repeated)
    assert encoder.columns[0].high == 2.0
    assert encoder.transform(repeated).ids.tolist() == [[0, 1], [0, 0]]
    assert repeated.nnz == 3


def test_weights_of_sparse_rows_count_as_repetition():
    X, weight = counts(), np.random.default_rng(3).integers(0, 4, 40)
    encoder = TableEncoder().fit(sparse.csr_array(X), sample_weight=weight)
    assert bits(encoder) == bits(TableEncoder().fit(sparse.csr_array(repeat(X, weight))))
    expected = np.sqrt(weight @ X**2 / np.maximum(weight @ (X > 0), 1))
    np.testing.assert_allclose([column.scale for column in encoder.columns][1:], expected[1:], rtol=1e-14)


cells = st.one_of(st.sampled_from([0.0, 0.0, 1.0, np.nan, 1e300, -1e-300]), st.floats(-9, 9))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 30), st.integers(1, 4))
def test_whole_weights_of_sparse_rows_are_repetition_to_the_last_bit(form, data, rows, width):
    X = data.draw(hnp.arrays(np.float64, (rows, width), elements=cells))
    weight = data.draw(hnp.arrays(np.int64, rows, elements=st.integers(0, 40)).filter(np.any))
    weighted = TableEncoder().fit(sparse.coo_array(X).asformat(form), weight)
    assert bits(weighted) == bits(TableEncoder().fit(sparse.csr_array(repeat(X, weight))))
    unweighted, ones = TableEncoder().fit(sparse.csr_array(X)), TableEncoder().fit(sparse.csr_array(X), np.ones(rows))
    assert bits(unweighted) == bits(ones)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 30))
def test_the_order_of_sparse_rows_with_any_weights_does_not_matter(data, rows):
    X = data.draw(hnp.arrays(np.float64, (rows, 2), elements=cells))
    weight = data.draw(hnp.arrays(np.float64, rows, elements=st.floats(0, 1e6)).filter(np.any))
    order = np.random.default_rng(0).permutation(rows)
    fitted = TableEncoder().fit(sparse.csr_array(X), weight)
    assert bits(fitted) == bits(TableEncoder().fit(sparse.csr_array(X[order]), weight[order]))


def test_sparse_rows_of_weight_zero_may_hold_anything():
    X = sparse.csr_array([[1.0, 0.0], [np.inf, np.nan], [0.0, 2.0]])
    assert bits(TableEncoder().fit(X, [1, 0, 1])) == bits(TableEncoder().fit(X[[0, 2]]))


def test_sparse_tables_have_no_categories():
    with pytest.raises(ValueError, match="categorical_features must be None for sparse X"):
        TableEncoder(categorical_features=[0]).fit(sparse.csr_array(counts()))


def test_infinity_is_refused_with_its_row_in_fit_and_transform():
    X = np.zeros((5, 3))
    X[3, 1] = -np.inf
    message = r"column 'x1' contains infinity or a value too large; got -inf in row 3: replace"
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(sparse.csr_array(X), [1.0, 0.0, 2.0, 1.0, 0.5])
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(sparse.csr_array(np.eye(3))).transform(sparse.csr_array(X))
