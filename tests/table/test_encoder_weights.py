"""Weights of rows count as repetition, to the last bit.

Tests ``seen``.
"""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from bits import bits, repeat
from encoder_cases import mixed_table, quick, weird_columns
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from lambdak.table.encoder import TableEncoder


@pytest.mark.parametrize("n_knots", [0, 6])
def test_a_weight_counts_as_repetition_and_weight_zero_as_absence(n_knots):
    X, weight = mixed_table(), np.random.default_rng(1).integers(0, 4, 300)
    weight[0] = 0  # the only row with this city
    weighted = TableEncoder(n_knots=n_knots).fit(X, sample_weight=weight)
    assert bits(weighted) == bits(TableEncoder(n_knots=n_knots).fit(repeat(X, weight)))
    assert weighted.columns[-1].levels == ("Bern", "Oslo", "Rome")


CELLS = {
    "spiky": st.one_of(st.sampled_from([0.0, -0.0, 1.0, 1e300, -1e-300, None]), st.floats(-9, 9)),
    "count": st.one_of(st.none(), st.integers(-3, 12)),
    "whole": st.integers(2**60, 2**60 + 3),
    "city": st.one_of(st.none(), st.sampled_from(["Rome", "Oslo", "Bern", "Ulm"])),
    "owner": st.one_of(st.none(), st.booleans()),
}
DTYPES = {"spiky": pa.float64(), "count": pa.int8(), "whole": pa.int64(), "city": pa.string(), "owner": pa.bool_()}
MAKES = {
    "pandas": pa.Table.to_pandas,
    "pandas, nullable": lambda table: table.to_pandas().convert_dtypes(),
    "pandas, categories": lambda table: table.to_pandas().astype({"city": "category", "count": "category"}),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
    "objects": lambda table: pl.from_arrow(table).to_numpy().astype(object),
    "numbers": lambda table: pl.from_arrow(table)[:, :3].to_numpy(),
}


@st.composite
def weighted_tables(draw):
    rows = draw(st.integers(1, 30))
    cells = {name: draw(st.lists(kind, min_size=rows, max_size=rows)) for name, kind in CELLS.items()}
    weight = draw(hnp.arrays(np.int64, rows, elements=st.integers(0, 40)).filter(np.any))
    return pa.table(cells, schema=pa.schema(DTYPES)), weight


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
@pytest.mark.filterwarnings("ignore:column .* levels:UserWarning")  # pooled, because that is what is tried
@settings(max_examples=60, deadline=None)
@given(
    weighted_tables(),
    st.sampled_from([0, 3, "auto"]),
    st.sampled_from(["from_dtype", None, [1, 2]]),
    st.integers(1, 4),
    st.integers(0, 9),
)
def test_whole_weights_are_repetition_to_the_last_bit_in_any_make_and_order(make, case, n_knots, listed, most, seed):
    X, weight = make(case[0]), case[1]
    settings = {"n_knots": n_knots, "categorical_features": listed, "min_level_count": 30, "max_categories": most}
    weighted = TableEncoder(**settings).fit(X, weight)
    assert bits(weighted) == bits(TableEncoder(**settings).fit(repeat(X, weight, seed)))
    assert bits(TableEncoder(**settings).fit(X)) == bits(TableEncoder(**settings).fit(X, np.ones(len(weight))))


@pytest.mark.slow
@quick
@given(weird_columns(), st.sampled_from([0, 3, "auto"]), st.data())
def test_the_order_of_rows_with_any_weights_does_not_matter(X, n_knots, data):
    weight = data.draw(hnp.arrays(np.float64, len(X), elements=st.floats(0, 1e6)).filter(np.any))
    order = np.random.default_rng(0).permutation(len(X))
    fitted, shuffled = (TableEncoder(n_knots=n_knots) for _ in range(2))
    assert bits(fitted.fit(X, weight)) == bits(shuffled.fit(X[order], weight[order]))


def test_rows_of_weight_zero_decide_neither_the_kind_of_a_column_nor_what_it_may_hold():
    X = np.array([[1.0, 1.0], ["?", np.inf], [2.0, 2.0]], dtype=object)
    assert bits(TableEncoder().fit(X, [1, 0, 1])) == bits(TableEncoder().fit([[1.0, 1.0], [2.0, 2.0]]))
    with pytest.raises(ValueError, match=r"column 'x1' contains infinity .* in row 1: replace it"):
        TableEncoder().fit(X, [9, 5, 0])


def test_weights_count_as_rows_for_the_number_of_knots():
    X = np.arange(100.0)[:, None]
    knots = [
        len(TableEncoder().fit(X, sample_weight).columns[0].knots) for sample_weight in (None, 2, np.full(100, 4.5))
    ]
    assert knots == [4, 5, 11]


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        (np.ones(4), r"sample_weight must have 3 entries, one per row of X; got 4"),
        (np.ones((3, 1)), r"sample_weight must have 3 entries, one per row of X; got shape \(3, 1\)"),
        ([1.0, -1.0, 1.0], "sample_weight must not be negative; got -1.0 at row 1"),
        ([0.0, 0.0, 0.0], "sample_weight must have a positive entry; got zeros only: every row would be ignored"),
        (0.0, "sample_weight must have a positive entry; got zeros only"),
        ([1.0, np.nan, 1.0], "sample_weight must be finite; got nan at row 1"),
        ([1.0, 1.0, -np.inf], "sample_weight must be finite; got -inf at row 2"),
    ],
)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_wrong_weights_are_refused(sample_weight, message, make):
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(make(np.ones((3, 1))), sample_weight=sample_weight)
