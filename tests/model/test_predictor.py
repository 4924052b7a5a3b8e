"""A predictor says of one row, bit for bit, what the estimator says of a table with that row."""

from __future__ import annotations

import datetime
import multiprocessing
import pickle
import subprocess
import sys
from collections import ChainMap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from fitted_models import KINDS, fitted, rows_of, table

from lambdak import SpectralRegressor
from lambdak.eigen import runtime
from lambdak.losses.contract import Predicts

ROW = {"income": 2.5, "age": 40.0, "region": "north", "kind": "a"}
ODD = [
    {}, {"income": -5.0}, {"income": 1e6}, {"age": None}, {"age": float("nan"), "region": None}, {"region": "odd"},
    {"region": "nowhere"}, {"kind": None}, {"kind": "z"}, {"income": 3}, {"income": True}, {"age": np.float32(30.1)},
    {"age": np.int64(30)}, {"income": 0.0}, {"income": -0.0}, {"region": np.str_("south")}, {"income": 10**30},
    {"age": pd.NA},
]  # fmt: skip
REFUSED = [
    {"income": "2.5"}, {"income": float("inf")}, {"income": 10**400}, {"income": [1.0]}, {"income": Decimal(2)},
    {"income": datetime.date(2020, 1, 1)}, {"kind": 1}, {"kind": b"a"}, {"region": ["north"]}, {"kind": 2.5j},
]  # fmt: skip


def some_rows(kind):
    """Cells of some rows of the training table, and beyond its range, its levels and its types."""
    X = rows_of(kind)
    if kind == "sparse":
        return [*X.toarray()[:10].tolist(), [None, 2.0, -7.0, 0.0], [1, True, np.float64(3), 2]]
    rows = X.head(12).to_dict("records")
    return [*rows, *(rows[0] | odd for odd in ODD if not odd.keys() - rows[0].keys())]


def one(kind, row):
    """A table of one row."""
    return np.array([row], object) if kind == "sparse" else pd.DataFrame([row], dtype=object)


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_has_the_bits_of_a_table_with_that_row(kind):
    model, predictor = fitted(kind), fitted(kind).predictor()
    rows = some_rows(kind)
    for row in rows:
        X = one(kind, row)
        wanted = model.predict(X).tolist()[0]
        assert [predictor(row), predictor.predict(row)] == [wanted, wanted]
        assert isinstance(predictor(row), type(wanted))
        np.testing.assert_array_equal(predictor.raw(row), model.model_.raw(X)[0])
        if hasattr(model, "predict_proba"):
            assert list(predictor.predict_proba(row).items()) == list(
                zip(model.classes_.tolist(), model.predict_proba(X)[0].tolist(), strict=True)
            )
        if hasattr(model, "predict_quantiles"):
            assert predictor.predict_quantiles(row) == tuple(model.predict_quantiles(X)[0].tolist())
    assert predictor.many(rows) == [predictor(row) for row in rows]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "sparse"])
def test_a_tuple_is_a_row_in_the_order_of_training(kind):
    predictor = fitted(kind).predictor()
    for row in some_rows(kind):
        cells = [row[name] for name in predictor.columns]
        assert predictor(row) == predictor(tuple(cells)) == predictor(cells) == predictor(np.array(cells, object))


@pytest.mark.parametrize("odd", REFUSED, ids=str)
def test_a_wrong_cell_is_refused_as_in_a_table(odd):
    model, row = fitted("regressor"), ROW | odd
    with pytest.raises((TypeError, ValueError)) as wanted:
        model.predict(pd.DataFrame({name: pd.Series([cell], dtype=object) for name, cell in row.items()}))
    for ask in (model.predictor(), lambda row: model.predictor().many([row])):
        with pytest.raises(wanted.type) as found:
            ask(row)
        assert str(found.value) == str(wanted.value)
        assert repr(next(iter(odd))) in str(found.value)


def test_keys_that_the_model_does_not_know_are_ignored_and_missing_ones_named():
    predictor = fitted("regressor").predictor()
    assert predictor(ROW | {"id": 7, 3: "x"}) == predictor(ROW) == predictor(ChainMap({}, ROW))
    less = {name: cell for name, cell in ROW.items() if name != "age"} | {"ages": 4}
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- ages\n.*now missing:\n- age\n"):
        predictor(less)
    with pytest.raises(ValueError, match="X has 3 features, but lambdak is expecting 4 features"):
        predictor((1.0, 2.0, "north"))
    with pytest.raises(ValueError, match=r"^row 1: The feature names"):
        predictor.many([ROW, less])
    for wrong in ("abcd", 3.0, pd.Series(ROW), np.zeros((1, 4))):
        with pytest.raises(TypeError, match="a row must be a dict from names of columns to cells, or a tuple"):
            predictor(wrong)


def test_many_names_the_row_of_a_wrong_cell():
    with pytest.raises(ValueError, match=r"column 'income' contains infinity .* in row 2"):
        fitted("regressor").predictor().many([ROW, ROW, ROW | {"income": float("inf")}])
    assert fitted("regressor").predictor().many([]) == []


@pytest.mark.parametrize("odd", REFUSED, ids=str)
def test_many_refuses_the_row_that_is_refused_alone_and_in_its_words(odd):
    predictor, wrong = fitted("regressor").predictor(), ROW | odd
    with pytest.raises((TypeError, ValueError)) as alone:
        predictor(wrong)
    for other in (ROW, tuple(ROW.values()), ROW | {"kind": "unseen"}):
        with pytest.raises(alone.type) as found:
            predictor.many([other, wrong, other])
        words = str(alone.value)
        said = words.replace("in row 0", "in row 1") if "in row 0" in words else f"row 1: {words}"
        assert str(found.value) == said


@pytest.mark.parametrize("kernel", [True, False])
def test_many_answers_each_row_as_alone_whatever_its_neighbours_are(monkeypatch, kernel):
    if not kernel:
        monkeypatch.setattr(runtime, "_kernel", None)
    predictor = fitted("multiclass").predictor()
    rows = [tuple(ROW.values()), ROW, [2.5, 40.0, "north", 5], ROW | {"kind": None}, np.array([1.0, 2.0, 3.0, 4.0])]
    assert predictor.many(rows) == [predictor(row) for row in rows]
    assert predictor.many(rows[::-1]) == [predictor(row) for row in rows[::-1]]
    with pytest.raises(TypeError, match=r"^row 2: a row must be a dict"):
        predictor.many([*rows[:2], "abcd"])


def test_a_level_of_the_wrong_type_is_refused_by_name_and_unseen_in_a_tuple():
    """As in tables: what was found by its name is checked, what was found by its place may be an array of objects."""
    model = fitted("regressor")
    with pytest.raises(ValueError, match="column 'kind' must hold strings, as in training; got 5"):
        model.predictor()(ROW | {"kind": 5})
    row = np.array([[2.5, 40.0, "north", 5]], object)
    assert model.predictor()((2.5, 40.0, "north", 5)) == model.model_.predict(row)[0]


def test_a_table_without_names_has_rows_with_the_names_that_it_got():
    X, y = table()
    model = SpectralRegressor(effort="fast", max_iter=2, dim=3, random_state=0).fit(X.to_numpy(), y)
    predictor = model.predictor()
    assert predictor.columns == ("x0", "x1", "x2", "x3")
    assert predictor({"x3": "a", "x2": "north", "x1": 40.0, "x0": 2.5}) == predictor((2.5, 40.0, "north", "a"))
    alone = SpectralRegressor(effort="fast", max_iter=2, dim=3, random_state=0).fit(X[["income"]], y)
    assert alone.predictor()({"income": 2.5}) == alone.predict(pd.DataFrame({"income": [2.5]}))[0]


@pytest.mark.parametrize("kind", ["regressor", "poisson"])
def test_an_offset_is_that_of_predict(kind):
    model, predictor, X = fitted(kind), fitted(kind).predictor(), pd.DataFrame([ROW])
    for offset in (0.3, 2, np.float32(0.1), -0.0):
        assert predictor(ROW, offset) == model.predict(X, offset=[offset])[0]
        assert predictor.many([ROW, ROW | {"age": None}], offset)[0] == predictor(ROW, offset)
        np.testing.assert_array_equal(predictor.raw(ROW, offset=offset), model.model_.raw(X, [offset])[0])
    for wrong in (float("nan"), 1e305, "x"):
        with pytest.raises(ValueError, match="offset must") as wanted:
            model.predict(X, offset=[wrong])
        with pytest.raises(ValueError, match="offset must") as found:
            predictor(ROW, wrong)
        assert str(found.value) == str(wanted.value)
    with pytest.raises(ValueError, match="offset cannot be given with loss='log_loss' of several outputs"):
        fitted("multiclass").predictor()(ROW, 0.5)


def test_what_a_model_does_not_have_is_refused():
    with pytest.raises(AttributeError, match="predict_proba needs a classifier; the model is a SpectralRegressor"):
        fitted("regressor").predictor().predict_proba(ROW)
    with pytest.raises(AttributeError, match="predict_quantiles needs quantiles; the model is a SpectralClassifier"):
        fitted("binary").predictor().predict_quantiles(ROW)
    assert fitted("quantiles").predictor().quantile_levels == (0.1, 0.5, 0.9)
    assert fitted("binary").predictor().classes == ("no", "yes")


def test_without_a_kernel_it_says_what_predict_says(monkeypatch):
    monkeypatch.setattr(runtime, "_kernel", None)
    model = fitted("multiclass")
    assert model.predictor().raw(ROW) == tuple(model.model_.raw(pd.DataFrame([ROW]))[0].tolist())


def test_it_never_changes_and_a_pickle_of_it_has_no_frames():
    model = fitted("binary")
    predictor = model.predictor()
    with pytest.raises(FrozenInstanceError):
        predictor.model = None
    data = pickle.dumps(predictor)
    assert not any(name in data for name in (b"pandas", b"narwhals", b"polars"))
    other = pickle.loads(data)
    assert [other.predict_proba(row) for row in some_rows("binary")] == [
        predictor.predict_proba(row) for row in some_rows("binary")
    ]
    assert repr(other) == "Predictor(SpectralClassifier, 4 columns)"


@pytest.mark.parametrize("kind", ["regressor", "multiclass", "quantiles"])
def test_threads_that_share_a_predictor_get_the_bits_of_serial_calls(kind):
    predictor, rows = fitted(kind).predictor(), some_rows(kind)
    wanted = [predictor.raw(row) for row in rows]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: [predictor.raw(row) for row in rows], range(200)))
    assert all(each == wanted for each in found)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_gets_the_same_bits():
    predictor, rows = fitted("multiclass").predictor(), some_rows("multiclass")
    wanted = [predictor.raw(row) for row in rows]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_raw_scores, (predictor, rows)).get(60) == wanted


def _raw_scores(predictor, rows):
    return [predictor.raw(row) for row in rows]


@pytest.mark.slow
def test_no_library_for_tables_is_needed(tmp_path):
    path = tmp_path / "model.safetensors"
    fitted("regressor").save(path)
    code = (
        "import sys\nfor name in ('pandas', 'polars', 'pyarrow'): sys.modules[name] = None\n"
        f"import lambdak\nprint(lambdak.load({str(path)!r}).predictor()({ROW!r}))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert shown.stdout.split() == [repr(fitted("regressor").predictor()(ROW))]


def test_predicting_kinds_are_all_covered():
    assert {fitted(kind).model_.loss.predicts for kind in KINDS} == set(Predicts) - {Predicts.TIMES}  # have curves


def test_quantiles_at_any_level_are_those_of_the_table():
    model, levels = fitted("quantiles"), [0.02, 0.4, 0.97]
    rows = [dict(row) for _, row in rows_of("quantiles").iloc[:5].iterrows()]
    found = [model.predictor().predict_quantiles(row, levels) for row in rows]
    np.testing.assert_array_equal(found, model.predict_quantiles(rows_of("quantiles").iloc[:5], levels))
