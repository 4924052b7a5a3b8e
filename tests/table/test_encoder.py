"""A design row holds, for every column, the entries whose weighted sum is the column's matrix curve."""

import copy
import pickle
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from bits import bits, repeat
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from lambdak.table.cells import LARGEST
from lambdak.table.encoder import OTHER, Column, Design, TableEncoder
from lambdak.table.read import read_table

quick = settings(max_examples=150, deadline=None)
weird = st.one_of(st.floats(-LARGEST, LARGEST), st.sampled_from([0.0, -0.0, 5e-324, -5e-324, LARGEST, 1.0, np.nan]))


def weird_columns(max_rows=40):
    return st.integers(1, max_rows).flatmap(lambda rows: hnp.arrays(np.float64, (rows, 1), elements=weird))


def evaluate(design, entries):
    """A(x) = Σ_s w_s C[id_s], without the constant."""
    return np.einsum("rs,rs...->r...", design.weights[:, 1:], entries[design.ids[:, 1:]])


def exact_interpolation(x, knots, heights, clamp=True):
    """Rational arithmetic, because np.interp overflows between knots that are very close or very far apart."""
    x, knots = Fraction(x), [Fraction(knot) for knot in knots]
    x = min(max(x, knots[0]), knots[-1]) if clamp else x
    for j in range(len(knots) - 1):
        if x <= knots[j + 1] or j == len(knots) - 2:
            t = (x - knots[j]) / (knots[j + 1] - knots[j])
            return float((1 - t) * Fraction(heights[j]) + t * Fraction(heights[j + 1]))
    return heights[0]


def mixed_table(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "smooth": rng.normal(size=rows),
            "spiky": np.where(rng.random(rows) < 0.9, 0.0, rng.lognormal(size=rows)),
            "gaps": np.where(rng.random(rows) < 0.2, np.nan, rng.integers(0, 5, rows)),
            "constant": 7.0,
            "city": rng.choice(["Bern", "Oslo", "Rome"], rows),
        }
    )
    X.loc[0, "city"] = "Ulm"
    return X


# ---- numeric columns


@quick
@given(weird_columns(), weird_columns(), st.integers(2, 12))
@example(np.array([[0.0], [5e-324], [LARGEST]]), np.array([[5e-324], [LARGEST], [-LARGEST]]), 3)
def test_a_curve_is_linear_interpolation_between_its_knots(train, X, n_knots):
    encoder = TableEncoder(n_knots=n_knots).fit(train)
    (column,) = encoder.columns
    entries = np.random.default_rng(0).normal(size=encoder.n_design)
    got = evaluate(encoder.transform(X, dtype=np.float64), entries)
    x = np.where(np.isnan(X[:, 0]), column.median, X[:, 0])
    for row, value in enumerate(x):
        if np.isnan(X[row, 0]) and column.missing >= 0:
            assert got[row] == entries[column.missing]
            continue
        expected = exact_interpolation(value, column.knots, entries[column.start :])
        assert got[row] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@quick
@given(
    hnp.arrays(np.int64, st.tuples(st.integers(1, 40), st.just(1)), elements=st.integers(-20, 20)),
    hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.just(1)), elements=st.floats(-100, 100)),
    st.integers(2, 12),
)
def test_without_clamp_a_curve_goes_on_with_the_slope_of_its_end_pieces(train, X, n_knots):
    encoder = TableEncoder(n_knots=n_knots, clamp=False).fit(train)
    (column,) = encoder.columns
    entries = np.random.default_rng(0).normal(size=encoder.n_design)
    got = evaluate(encoder.transform(X, dtype=np.float64), entries)
    expected = [exact_interpolation(x, column.knots, entries[column.start :], clamp=False) for x in X[:, 0]]
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-11)


def test_outside_of_the_knots_the_end_pieces_stay_active_or_the_end_knots_alone():
    X, new = [[0.0], [1.0], [3.0]], [[-1.0], [2.0], [7.0], [np.nan]]
    beyond = TableEncoder(clamp=False).fit(X).transform(new)
    assert beyond.ids.tolist() == [[0, 1, 2], [0, 2, 3], [0, 2, 3], [0, 2, 3]]
    assert beyond.weights[:, 1:].tolist() == [[2.0, -1.0], [0.5, 0.5], [-2.0, 3.0], [1.0, 0.0]]
    assert TableEncoder().fit(X).transform(new).weights[[0, 2], 1:].tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("n_knots", [2, 5, 32, "auto"])
def test_every_hat_is_one_at_its_knot_and_zero_at_the_others(n_knots):
    X = np.random.default_rng(0).normal(size=(500, 1))
    encoder = TableEncoder(n_knots=n_knots).fit(X)
    (column,) = encoder.columns
    grid = np.linspace(-4, 4, 1001)[:, None]
    Z = encoder.transform(grid, dtype=np.float64).to_sparse(encoder.n_design).toarray()
    for j, hat in enumerate(np.eye(len(column.knots))):
        np.testing.assert_allclose(Z[:, column.start + j], np.interp(grid[:, 0], column.knots, hat), atol=1e-14)
    at_knots = encoder.transform(column.knots[:, None]).to_sparse(encoder.n_design).toarray()
    np.testing.assert_array_equal(at_knots[:, 1:], np.eye(len(column.knots)))


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


@quick
@given(weird_columns(), st.sampled_from([0, 3, "auto"]))
def test_a_larger_value_never_moves_back_along_the_curve(train, n_knots):
    encoder = TableEncoder(n_knots=n_knots).fit(train)
    x = np.sort(train[~np.isnan(train[:, 0])], axis=0)
    if len(x):
        along = evaluate(encoder.transform(x, dtype=np.float64), np.arange(float(encoder.n_design)))
        assert (np.diff(along) >= 0).all()


def test_few_distinct_values_get_one_knot_each():
    X = np.array([[3.0], [1.0], [1.0], [8.0]])
    assert TableEncoder().fit(X).columns[0].knots.tolist() == [1.0, 3.0, 8.0]


def test_a_value_that_holds_most_rows_has_its_own_knot_and_the_rest_share_the_others():
    rng = np.random.default_rng(0)
    gain = np.where(rng.random(5000) < 0.92, 0.0, rng.choice([2_000.0, 5_000.0, 7_000.0, 15_000.0], 5000))
    gain[:200] = rng.uniform(-100, 20_000, 200)
    knots = TableEncoder(n_knots=12).fit(gain[:, None]).columns[0].knots
    assert {0.0, 2_000.0, 5_000.0, 7_000.0, 15_000.0, gain.min(), gain.max()} <= set(knots)
    assert len(knots) == 12


@pytest.mark.parametrize("n_knots", [0, 2, "auto"])
def test_a_constant_column_has_one_entry_which_is_always_the_same(n_knots):
    encoder = TableEncoder(n_knots=n_knots).fit(np.full((20, 1), 3.0))
    design = encoder.transform([[3.0], [5.0], [np.nan], [-1.0]])
    assert design.ids.tolist() == [[0, 1]] * 4
    assert (design.weights[:, 1] == (1.0 if n_knots else 0.0)).all()
    assert encoder.columns[0].n_ramps == 0


@pytest.mark.parametrize("n_knots", [0, 4])
def test_a_column_without_any_number_is_all_missing_and_still_takes_numbers_later(n_knots):
    encoder = TableEncoder(n_knots=n_knots).fit(np.full((9, 1), np.nan))
    design = encoder.transform([[np.nan], [2.0]])
    assert design.ids[:, 1].tolist() == [encoder.columns[0].missing, 1]
    assert np.isfinite(design.weights).all()
    assert encoder.columns[0].low == encoder.columns[0].high == 0.0


@pytest.mark.parametrize("clamp", [True, False])
def test_a_linear_column_is_standardised_and_clamped_to_the_training_range_when_asked(clamp):
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


# ---- the whole row


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


def test_fit_changes_neither_the_table_nor_depends_on_the_order_of_its_rows():
    X = mixed_table()
    before = X.copy()
    encoder, shuffled = TableEncoder().fit(X), TableEncoder().fit(X.sample(frac=1, random_state=0))
    pd.testing.assert_frame_equal(X, before)
    for column, other in zip(encoder.columns, shuffled.columns, strict=True):
        assert (type(column), column.start, column.stop) == (type(other), other.start, other.stop)
        np.testing.assert_equal(column.saved(), other.saved())


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


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
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
    settings = {"n_knots": n_knots, "categorical_features": listed, "min_level_count": 30, "max_levels": most}
    weighted = TableEncoder(**settings).fit(X, weight)
    assert bits(weighted) == bits(TableEncoder(**settings).fit(repeat(X, weight, seed)))
    assert bits(TableEncoder(**settings).fit(X)) == bits(TableEncoder(**settings).fit(X, np.ones(len(weight))))


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
        (np.ones(4), r"sample_weight must have shape \(3,\), one entry per row of X; got \(4,\)"),
        (np.ones((3, 1)), r"sample_weight must have shape \(3,\), one entry per row of X; got \(3, 1\)"),
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


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda encoder: pickle.loads(pickle.dumps(encoder))])
def test_a_copy_encodes_alike(clone):
    encoder = TableEncoder().fit(mixed_table())
    twin = clone(encoder)
    assert twin.columns[-1].levels[-1] is OTHER
    np.testing.assert_array_equal(twin.transform(mixed_table()).ids, encoder.transform(mixed_table()).ids)


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
        with pytest.raises(ValueError, match="X has 3 features, but TableEncoder is expecting 4 features as input"):
            encoder.transform(make(np.ones((5, 3))))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_knots": 1}, ValueError, r"n_knots must be 0 \(linear columns\) or at least 2; got 1"),
        ({"n_knots": -1}, ValueError, r"n_knots must be in \[0, 4096\); got -1"),
        ({"n_knots": "many"}, ValueError, "n_knots must be \"auto\" or an int; got 'many'"),
        ({"n_knots": 2.5}, TypeError, "n_knots must be an int; got 2.5"),
        ({"min_level_count": 0}, ValueError, r"min_level_count must be in \[1, "),
        ({"max_levels": 0}, ValueError, r"max_levels must be in \[1, "),
    ],
)
def test_wrong_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        TableEncoder(**settings)


def test_linear_must_name_columns_that_are_no_categories():
    with pytest.raises(ValueError, match="linear must name columns of the table, such as 'smooth'; got 'nope'"):
        TableEncoder(linear=["nope"]).fit(mixed_table())
    with pytest.raises(ValueError, match="column 'gaps' is in linear and in categorical_features"):
        TableEncoder(linear=["gaps"], categorical_features=["gaps"]).fit(mixed_table())


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


# ---- slopes


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
def test_outside_of_the_range_there_is_a_slope_only_if_the_column_goes_on(clamp, moves):
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
