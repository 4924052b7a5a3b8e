"""Which rows a global explanation looks at, of tables of every make, and the frames it becomes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from effect_cases import change
from fitted_models import SPARSE, X, fitted
from hand_made_models import by_hand, symmetric
from score_cases import cells_of, frame_of, random_cells

from lambdak.table.category_levels import OTHER


def test_without_rows_the_baseline_is_looked_at():
    model = fitted("free")
    found = model.explain_global()
    baseline = [
        model.model_.encoder.columns[0].median,
        model.model_.encoder.columns[1].median,
        "never seen",
        "never seen",
    ]
    assert found.rows == 0
    effect = found["age"]
    assert OTHER in model.model_.encoder.columns[2].levels  # so "never seen" is pooled there, and the average is not
    assert np.isnan(effect.slope_median)
    np.testing.assert_array_equal(effect.observed_low, effect.effect)
    column = model.model_.encoder.columns[3]
    moved = change(model, [*baseline[:2], "never seen", "a"], 3, "a", 0)
    assert found["kind"].low[0] - 1e-9 <= moved <= found["kind"].high[0] + 1e-9
    assert column.levels == ("a", "b")


def test_at_most_three_hundred_rows_are_looked_at():
    model = fitted("free")
    many = pd.concat([X] * 3, ignore_index=True)
    assert model.explain_global(many).rows == 300


def test_another_output_can_be_requested():
    model = fitted("multiclass")
    assert model.explain_global(X).output == "class 0"
    other = model.explain_global(X[:5], output=2)
    assert other.output == "class 2"
    moved = [change(model, cells_of("multiclass", row), 0, other["income"].x[0], 2) for row in range(5)]
    assert other["income"].effect[0] == pytest.approx(np.mean(moved))
    assert fitted("quantiles").explain_global().output == "quantile 0.5"
    with pytest.raises(ValueError, match=r"output must be a class of \[0, 1, 2, 3\]; got 4"):
        model.explain_global(X, output=4)


def test_an_unknown_column_is_a_key_error_that_lists_the_others():
    with pytest.raises(KeyError, match="income"):
        fitted("free").explain_global()["incom"]


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="X must have at least one row"):
        fitted("free").explain_global(X[:0])


@pytest.mark.parametrize("convert", [lambda t: t, pl.from_pandas, pa.Table.from_pandas])
def test_frames_are_of_the_library_of_the_table(convert):
    found = fitted("free").explain_global(convert(X))
    frame, pairs = found.to_frame(), found.interactions_to_frame()
    assert type(frame) is type(pairs) is type(convert(X))
    frame, pairs = (each if isinstance(each, pd.DataFrame) else each.to_pandas() for each in (frame, pairs))
    assert frame["column"].tolist() == [each.column for each in found.effects]
    np.testing.assert_array_equal(frame["tightness"], [each.tightness for each in found.effects])
    np.testing.assert_array_equal(pairs["coupling"], [each.coupling for each in found.interactions])
    assert pairs.columns.tolist() == ["first", "second", "commutator", "coupling", "joint", "h_statistic"]


def test_sparse_rows_are_looked_at_like_dense_ones():
    model = fitted("sparse")
    found, dense = model.explain_global(SPARSE), model.explain_global(SPARSE.toarray())
    for ours, theirs in zip(found.effects, dense.effects, strict=True):
        np.testing.assert_array_equal(ours.effect, theirs.effect)
    assert len(found.to_frame()) == 4


def test_columns_may_come_in_any_order_with_levels_that_were_never_seen():
    model = fitted("free")
    cells = random_cells(model, 20, seed=9)
    rows = frame_of(model, cells)
    np.testing.assert_array_equal(
        model.explain_global(rows)["age"].effect, model.explain_global(rows[rows.columns[::-1]])["age"].effect
    )


# ---- importance, and what is printed -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["regressor", "binary"])
def test_importance_is_the_mean_effect_over_the_rows_and_the_order_of_tables(kind):
    model = fitted(kind)
    found = model.explain_global(X)
    by_name = {each.column: each.importance for each in found.effects}
    names = [column.name for column in model.model_.encoder.columns]
    np.testing.assert_allclose([by_name[name] for name in names], model.feature_importances_, rtol=1e-6)
    assert found.to_frame()["importance"].tolist() == sorted(by_name.values(), reverse=True)
    assert np.isnan([each.importance for each in model.explain_global().effects]).all()


def test_it_prints_as_a_table_in_the_words_of_users():
    text = str(fitted("binary").explain_global(X))
    lines = text.splitlines()
    assert lines[0] == "What each column does to the log-odds of class 'yes', over 240 rows"
    assert lines[1].split() == ["mean", "effect", "largest", "seen", "proven", "limit"]
    assert lines[2].strip().startswith(fitted("binary").explain_global(X).effects[0].column)
    assert "income ↑" in text
    assert repr(fitted("binary").explain_global(X)) == text
    factors = str(fitted("poisson").explain_global(X))
    assert factors.startswith("What each column does to the prediction, as a factor")
    assert "×1." in factors
    bare = str(fitted("poisson").explain_global())
    assert "mean effect" not in bare
    assert "proven limit" in bare


def test_columns_that_are_not_printed_are_counted():
    rng = np.random.default_rng(0)
    model = by_hand(symmetric(rng, 3), [symmetric(rng, 3, 0.1) for _ in range(20)] + [np.zeros((3, 3))] * 2)
    text = str(model.explain_global(rng.uniform(-1, 1, (8, 22))))
    assert "… and 5 weaker columns" in text
    assert "2 columns have no effect at all" in text


def test_one_column_says_what_it_does():
    text = str(fitted("regressor").explain_global(X)["income"])
    assert text.startswith("income: what it does to the prediction, which never falls with it")
    assert "proven: no change of it moves it by more than" in text
