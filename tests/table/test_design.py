"""A design: the weighted sum of a row's entries is its matrix, in arrays as the kernel reads them."""

import sys

import numpy as np
import pandas as pd
import pytest
from encoder_cases import evaluate, mixed_table

from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.table.encoder import TableEncoder


def test_a_row_is_the_sum_of_the_curves_of_its_columns():
    X = mixed_table()
    encoder = TableEncoder(n_knots=7).fit(X)
    entries = np.random.default_rng(0).normal(size=(encoder.n_design, 3, 3))
    expected = np.zeros((len(X), 3, 3))
    for column in encoder.columns:
        part = TableEncoder(n_knots=7).fit(X[[column.name]])
        own = np.concatenate([np.zeros((1, 3, 3)), entries[column.start : column.stop]])
        expected += evaluate(part.transform(X[[column.name]], dtype=np.float64), own)
    np.testing.assert_allclose(evaluate(encoder.transform(X, dtype=np.float64), entries), expected, atol=1e-12)


def test_slot_zero_is_the_constant_and_owners_lead_back_to_the_columns():
    encoder = TableEncoder().fit(mixed_table())
    design = encoder.transform(mixed_table())
    assert (design.ids[:, 0] == 0).all()
    assert (design.weights[:, 0] == 1).all()
    slots = np.repeat(np.arange(5), [column.n_slots for column in encoder.columns])
    assert (encoder.owners[design.ids[:, 1:]] == slots).all()
    assert encoder.owners[0] == -1
    assert len(encoder.owners) == encoder.n_design
    for i, column in enumerate(encoder.columns):
        assert (np.flatnonzero(encoder.owners == i) == np.arange(column.start, column.stop)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_design_arrays_are_contiguous_and_of_the_kernels_types(dtype):
    design = TableEncoder().fit(mixed_table()).transform(mixed_table(), dtype=dtype)
    assert design.ids.dtype == np.int32
    assert design.weights.dtype == dtype
    assert design.ids.flags.c_contiguous
    assert design.weights.flags.c_contiguous


def test_taking_rows_of_a_design_is_the_design_of_the_rows():
    encoder = TableEncoder().fit(mixed_table())
    design = encoder.transform(mixed_table())
    part, expected = design.take(np.arange(5, 9)), encoder.transform(mixed_table()[5:9])
    np.testing.assert_array_equal(part.ids, expected.ids)
    np.testing.assert_array_equal(part.weights, expected.weights)
    assert len(part) == 4
    assert len(encoder.transform(mixed_table()[:0])) == 0


def test_a_table_is_encoded_column_by_column_and_not_cell_by_cell():
    rng = np.random.default_rng(0)
    rows = 50_000
    X = pd.DataFrame({f"n{i}": rng.normal(size=rows) for i in range(6)})
    for i in range(4):
        X[f"c{i}"] = pd.Categorical.from_codes(rng.integers(0, 20, rows), [f"level {j}" for j in range(20)])
    calls = []
    sys.setprofile(lambda frame, event, given: calls.append(event))
    try:
        TableEncoder().fit(X).transform(X)
    finally:
        sys.setprofile(None)
    assert len(calls) < rows  # of some ten cells each


def test_column_and_design_are_frozen():
    encoder = TableEncoder().fit(mixed_table())
    assert isinstance(encoder.columns[0], Column)
    assert isinstance(encoder.transform(mixed_table()), Design)
    with pytest.raises(AttributeError):
        encoder.columns[0].start = 3
    assert repr(encoder) == f"TableEncoder(5 columns, {encoder.n_design} design columns)"


def test_every_design_column_has_a_name_that_tells_its_cell():
    X = pd.DataFrame({"age": [20.0, 30.0, np.nan] * 5, "weight": [1.0, 2.0, 4.0] * 5, "city": ["a", "b", None] * 5})
    encoder = TableEncoder(n_knots=2, linear=("weight",)).fit(X)
    names = encoder.get_feature_names_out().tolist()
    expected = ["constant", "age=20", "age=30", "age=missing", "weight", "city=a", "city=b", "city=missing"]
    assert names == expected
    assert len(names) == encoder.n_design
