"""Local explanations in words, as frames, and from tables of every make.

Tests ``wording``.
"""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fitted_models import NUMBERS, SPARSE, X, Y, fitted, rows_of
from hand_made_models import by_hand, symmetric
from local_cases import ROWS, repeated_at_zero
from scipy import sparse
from score_cases import frame_of

from lambdak import SpectralRegressor
from lambdak.table.category_levels import OTHER

# ---- slopes ----------------------------------------------------------------------------------------------------


def test_words_tell_the_units_of_the_score():
    binary = fitted("binary").explain_local(X.head(1))
    assert "In log-odds of class 'yes' the difference is" in binary.why()
    assert "Raw score (log-odds)" in binary.why(details=True)
    assert "log-odds" not in fitted("regressor").explain_local(X.head(1)).why(details=True)


def test_mathematics_is_told_only_if_requested():
    local = fitted("regressor").explain_local(X.head(1))
    for word in ("eigenvalue", "slope", "Raw score", "knot"):
        assert word not in local.why()
        assert word in local.why(details=True)


def test_what_the_baseline_is_is_said():
    model = fitted("regressor")
    middle = "The baseline is the median of each number and the average level of each category."
    assert middle in model.explain_local(X.head(1)).why()
    assert "The baseline is the row that was given as baseline." in model.explain_local(X.head(1), X[3:4]).why()
    numbers = by_hand(np.eye(2), [np.eye(2)]).explain_local([[1.0]])
    assert "The baseline is the median of each number.\n" in numbers.why()


def test_numbers_are_written_as_the_target_is():
    table, rng = X[["income", "kind"]], np.random.default_rng(0)
    prices = np.round(150_000 + 40_000 * table["income"] + rng.normal(0, 5000, len(table)), -2)
    text = (
        SpectralRegressor(effort="fast", max_iter=3, random_state=0).fit(table, prices).explain_local(table[:1]).why()
    )
    assert re.search(r"The prediction is \d{3},\d{3}; that of the baseline is \d{3},\d{3}\.", text)
    assert re.search(r"\n +[+-]\d{1,3},\d{3}  income = ", text)
    assert "e+" not in text
    cents = SpectralRegressor(effort="fast", max_iter=3, random_state=0).fit(table, prices / 100 + 0.25)
    assert re.search(r"is \d,\d{3}\.\d{2}; that", cents.explain_local(table[:1]).why())
    counts = SpectralRegressor("poisson", effort="fast", max_iter=3, random_state=0).fit(table, rng.poisson(0.2, 240))
    text = counts.explain_local(table[:1]).why()
    assert re.search(r"The prediction is 0\.\d{3,4};", text)
    assert re.search(r"\n +×[\d.]+  ", text)


@pytest.mark.parametrize("size", [1e-6, 0.02, 1.0, 4e5])
def test_digits_follow_the_differences_and_parts_add_up_as_they_are_printed(size):
    table, rng = X[["income", "age", "kind"]], np.random.default_rng(0)
    target = 12.0 + size * (0.3 * table["income"] - (table["kind"] == "a") + rng.normal(0, 0.1, len(table)))
    model = SpectralRegressor(effort="fast", max_iter=8, random_state=0).fit(table, target)
    local = model.explain_local(table[:6])
    for row in range(6):
        lines = local.why(row).replace(",", "").splitlines()
        predicted, base = map(Decimal, re.findall(r"-?\d+\.?\d*", lines[0])[-2:])
        difference = Decimal(re.search(r"The difference of ([+-]\S+) is", local.why(row).replace(",", ""))[1])
        parts = [Decimal(found[1]) for line in lines if (found := re.match(r" +([+-]\d\S*) ", line))]
        assert parts
        assert sum(parts) == difference == predicted - base
        assert float(difference) == pytest.approx(
            local.score[row] - local.baseline_score[row], rel=0.02, abs=0.01 * size
        )
    low, high = re.search(
        r"between (\S+) and (\S+?)\. Now", str(local.take(0).what_if("income")).replace(",", "")
    ).groups()
    assert float(high) - float(low) == pytest.approx(
        local.what_if("income").upper[0] - local.what_if("income").lower[0], rel=0.05
    )


def test_log_odds_add_up_as_they_are_printed():
    local = fitted("binary").explain_local(X[:6])
    for row in range(6):
        text = local.why(row, top=1)
        parts = [Decimal(found[1]) for line in text.splitlines() if (found := re.match(r" +([+-]\d\S*) ", line))]
        assert sum(parts) == Decimal(re.search(r"the difference is (\S+), the sum of", text)[1])


def test_parts_that_are_written_add_up_and_nothing_is_hidden_without_saying_so():
    rng = np.random.default_rng(1)
    model = by_hand(symmetric(rng, 3), [symmetric(rng, 3) for _ in range(30)])
    local = model.explain_local(rng.uniform(-1, 1, (1, 30)))
    text = local.why(top=3)
    parts = [float(line.split()[0]) for line in text.splitlines() if re.match(r" +[+-]\d", line)]
    assert len(parts) == 4
    assert sum(parts) == pytest.approx(local.score[0] - local.baseline_score[0], abs=0.03)
    hidden = int(re.search(r"(\d+) other columns together \(\+[\d.]+ and -[\d.]+\)", text)[1])
    silent = re.search(r"(\d+) other columns? changes? nothing", text)
    assert 3 + hidden + (int(silent[1]) if silent else 0) == 30
    assert f"More is hidden than shown: why(0, top={3 + hidden})" in text
    assert "More is hidden" not in local.why(top=29)
    assert len(local.why(top=8).splitlines()) <= 3 + 9 + 2 + 1
    with pytest.raises(ValueError, match="top must be in"):
        local.why(top=0)


def test_explanations_print_as_words():
    local = fitted("regressor").explain_local(X.head(5))
    assert str(local).startswith("Row 0: The prediction is")
    assert str(local).endswith("… and 2 more rows: why(row) explains each")
    assert str(local).startswith(repr(local).rpartition("\n")[0])
    assert str(fitted("regressor").explain_local(X.head(1))) == fitted("regressor").explain_local(X.head(1)).why()


# ---- repeated eigenvalues --------------------------------------------------------------------------------------


def test_words_say_where_the_eigenvalue_is_repeated():
    local = repeated_at_zero().explain_local([[0.0, 0.4], [0.5, 0.1]])
    first, second = (local.why(row, details=True) for row in (0, 1))
    assert "The eigenvalue is repeated: the model may have a kink here" in first
    assert "slope within ±2" in first
    assert "The eigenvalue is simple (gap 1.12)" in second
    assert "within ±" not in second


# ---- words, frames, tables -------------------------------------------------------------------------------------


def test_words_name_the_strongest_columns_their_cells_and_a_proven_interval():
    model = fitted("regressor")
    local = model.explain_local(X[:ROWS])
    for row in range(ROWS):
        text = local.why(row)
        first = local.columns[np.abs(local.attribution[row]).argmax()]
        lines = text.splitlines()
        assert f"{first} = {local.cells[row][local.columns.index(first)]}" in lines[4]
        assert f"{local.prediction[row]:.2f}" in lines[0] or f"{local.prediction[row]:.3f}" in lines[0]
        assert any(line.startswith("Proven: ") and first in line for line in lines)
        what_if = local.what_if(first)
        low, high = map(float, re.search(r"stays between (\S+) and (\S+)\.\n?$", text).groups())
        assert low <= what_if.lower[row] < what_if.upper[row] <= high
        assert [low, high] == pytest.approx([what_if.lower[row], what_if.upper[row]], abs=0.011)


def test_many_columns_are_summed_up_in_words():
    rng = np.random.default_rng(0)
    model = by_hand(symmetric(rng, 3), [symmetric(rng, 3) for _ in range(9)])
    assert "5 other columns together" in model.explain_local(rng.uniform(-1, 1, (1, 9))).why(top=4)


def test_the_words_about_a_category_hold_for_every_level():
    model = fitted("wide")
    rows = rows_of("wide")[:60]
    local = model.explain_local(rows)
    row = next(i for i in range(60) if np.abs(local.attribution[i]).argmax() == 0)
    assert "Proven: whatever code is" in local.why(row)
    table = pd.DataFrame({"code": pd.Categorical([0, 1] * 60), "income": 0.0})
    numbers = SpectralRegressor(effort="fast", max_iter=2, dim=3).fit(table, np.tile([0.0, 1.0], 60))
    assert "whatever code is" in numbers.explain_local(table[:1]).why()


def test_words_about_a_class_name_it():
    text = fitted("binary").explain_local(X[:1]).why()
    assert text.startswith("The probability of class 'yes' is")


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_is_not_there_is_refused(row):
    local = fitted("free").explain_local(X[:3])
    for ask in (local.why, local.game, local.plot):
        with pytest.raises(ValueError, match=r"row must be in \[0, 3\)"):
            ask(row)


CONVERTED = {"pandas": lambda t: t, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.mark.parametrize("library", CONVERTED)
def test_frames_are_of_the_library_of_the_table_and_explanations_the_same(library):
    model = fitted("free")
    local, straight = model.explain_local(CONVERTED[library](X[:5])), model.explain_local(X[:5])
    frame = local.to_frame()
    assert type(frame).__module__.startswith(library)
    frame = frame if library == "pandas" else frame.to_pandas()
    assert len(frame) == 5 * 4
    assert frame["column"].tolist() == ["income", "age", "region", "kind"] * 5
    assert frame["row"].tolist() == np.repeat(np.arange(5), 4).tolist()
    for name in ("attribution", "influence", "influence_bound"):
        np.testing.assert_allclose(frame[name].to_numpy().reshape(5, 4), getattr(straight, name), atol=1e-12)
    np.testing.assert_allclose(frame["prediction"][::4], straight.prediction)
    np.testing.assert_allclose(frame["gap"][::4], straight.gap)
    assert not frame["repeated"].any()
    assert frame["cell"][2] == "rare"


def test_an_array_comes_back_as_a_frame_too():
    model = SpectralRegressor(effort="fast", max_iter=2, dim=3).fit(NUMBERS.to_numpy(), Y)
    frame = model.explain_local(NUMBERS.to_numpy()[:3]).to_frame()
    assert frame["column"].tolist() == ["x0", "x1"] * 3


def test_columns_may_come_in_any_order():
    model = fitted("free")
    turned = model.explain_local(X[X.columns[::-1]][:5])
    np.testing.assert_array_equal(turned.attribution, model.explain_local(X[:5]).attribution)
    assert turned.cells == model.explain_local(X[:5]).cells


def test_sparse_and_dense_rows_are_explained_the_same():
    model = fitted("sparse")
    assert sparse.issparse(SPARSE)
    local, dense = model.explain_local(SPARSE[:6]), model.explain_local(SPARSE[:6].toarray())
    for name in ("prediction", "attribution", "influence"):
        np.testing.assert_array_equal(getattr(local, name), getattr(dense, name))
    np.testing.assert_allclose(local.prediction, model.predict(SPARSE[:6]), rtol=1e-4, atol=1e-5)
    assert local.to_frame()["column"].tolist() == ["x0", "x1", "x2", "x3"] * 6


def test_cells_are_shown_as_they_came():
    rows = frame_of(fitted("free"), [[1.25, np.nan, None, "never seen"]])
    local = fitted("free").explain_local(rows)
    assert local.cells == (("1.25", "missing", "missing", "never seen"),)
    assert local.kinds == ("number", "number", "category", "category")
    assert OTHER in fitted("free").model_.encoder.columns[2].levels


def test_no_rows_are_no_trouble():
    local = fitted("multiclass").explain_local(X[:0])
    assert len(local) == 0
    assert local.attribution.shape == (0, 4)
    assert len(local.to_frame()) == 0
