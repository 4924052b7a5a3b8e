"""In a real browser, the page predicts what Python predicts, whatever its reader does."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from report_cases import IMAGE, KINDS, SCRIPT, SMALL, X, Y, fitted, python, some_rows
from scipy import sparse
from sklearn.base import clone

from lambdak import SpectralOrdinalClassifier, SpectralRegressor
from lambdak.shapes import OutputRange
from lambdak.table.category_levels import OTHER


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_predicts_what_python_predicts(visit, kind):
    opened = visit(kind)
    rows, cells = some_rows(fitted(kind))
    assert OTHER in fitted(kind).model_.encoder.columns[2].levels
    found = opened.page.evaluate("rows => rows.map((row) => { lambdak.set(row); return lambdak.predict(); })", cells)
    scores, seen = python(fitted(kind), rows)
    np.testing.assert_allclose([own["scores"] for own in found], scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose([own["predictions"] for own in found], seen, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "ordinal"])
def test_the_page_names_the_class_that_python_predicts(visit, kind):
    opened = visit(kind)
    rows, cells = some_rows(fitted(kind))
    show = "row => { lambdak.set(row); return document.getElementById('prediction').textContent; }"
    shown = [opened.page.evaluate(show, row).rsplit(" (", 1)[0] for row in cells]
    assert shown == [str(label) for label in fitted(kind).predict(rows)]
    title = {"ordinal": "Median class"}.get(kind, "Most probable class")
    assert opened.page.inner_text("#prediction-title").lower() == title.lower()


def test_the_log_odds_of_two_ordered_classes_are_those_of_the_lower_one(visit):
    model = SpectralOrdinalClassifier(**SMALL).fit(X, np.where(Y > 4, "high", "a low one"))
    opened = visit("two ordered classes", model, X)
    chance = 1 / (1 + np.exp(-opened.predict()[0][0]))
    assert "log-odds of class a low one" in opened.page.text_content("#raw")
    shown = opened.page.inner_text("#prediction")
    assert shown.startswith("a low one" if chance >= 0.5 else "high")


def test_moving_the_controls_moves_the_prediction_as_python_says(visit):
    model = fitted("regressor")
    opened = visit("regressor")
    opened.control(0, "input[type=number]").fill("3.75")
    opened.control(1, "input[type=range]").fill("0.5")
    opened.control(2, "select").select_option(IMAGE)
    opened.control(3, "label[title=b]").click()
    row = pd.DataFrame({"whole": [3.75], SCRIPT: [0.5], "level": [IMAGE], "kind": ["b"]})
    row.loc[0, SCRIPT] = opened.page.evaluate("lambdak.row()[1]")
    assert row.loc[0, SCRIPT] == pytest.approx(0.5, abs=0.01)
    np.testing.assert_allclose(opened.predict()[0], python(model, row)[0][0], rtol=1e-9)
    opened.control(1, "input[type=checkbox]").check()
    opened.control(2, "select").select_option("(missing)")
    row.loc[0, [SCRIPT, "level"]] = [np.nan, None]
    np.testing.assert_allclose(opened.predict()[0], python(model, row)[0][0], rtol=1e-9)
    shown = float(opened.page.inner_text("#prediction").replace("−", "-"))
    assert shown == pytest.approx(python(model, row)[1][0, 0], rel=1e-4)


def test_a_start_row_from_the_table_is_that_row(visit):
    model = fitted("quantiles")
    opened = visit("quantiles")
    for place in (1, 7, 50):
        opened.page.select_option("#example", str(place))
        text = opened.page.locator(f"#example option[value='{place}']").inner_text()
        row = int(re.search(r"\d+", text)[0])
        assert text == f"row {row} (actual {Y[row]:.6g})".replace("-", "−")
        np.testing.assert_allclose(opened.predict()[0], python(model, X.iloc[[row]])[0][0], rtol=1e-9)


def test_the_page_works_by_keyboard(visit):
    opened = visit("regressor")
    opened.set([3.0, 0.2, 0, 1])
    opened.control(0, "input[type=range]").focus()
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.evaluate("lambdak.row()[0]") == 4.0
    unnamed = "e => !(e.labels.length || e.ariaLabel || e.getAttribute('aria-labelledby'))"
    controls = opened.page.locator("main input, main select")
    assert controls.count() > 8
    assert not controls.evaluate_all(f"all => all.some({unnamed})")


def test_a_wide_sparse_model_of_many_columns_opens_and_can_be_filtered(visit):
    wide = sparse.random(80, 300, 0.05, format="csr", random_state=0, dtype=np.float64)
    model = SpectralRegressor(**SMALL | {"n_estimators": 1}).fit(wide, np.asarray(wide.sum(axis=1)).ravel())
    opened = visit("wide", model, wide)
    assert opened.page.inner_text("#shown") == "120 of 300 columns, the most influential first"
    opened.page.fill("#filter", "x299")
    opened.control(299, "input[type=number]").fill("0.5")
    row = np.zeros((1, 300))
    row[0, 299] = 0.5
    np.testing.assert_allclose(opened.predict()[0], python(model, row)[0][0], rtol=1e-9)


@pytest.mark.parametrize("kind", ["regressor", "quantiles", "binary"])
def test_the_page_keeps_predictions_in_the_range_that_was_requested(visit, kind):
    middle = python(fitted(kind), X)[1]
    low, high = (0.3, 0.6) if kind == "binary" else np.quantile(middle, [0.2, 0.7])
    model = clone(fitted(kind)).set_params(constraints=[OutputRange(low, high)])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column .* levels|.* targets are outside", UserWarning)
        model.fit(X, (Y > 4) if kind == "binary" else Y)
    opened = visit(f"{kind} in a range", model, X)
    rows, cells = some_rows(model)
    found = opened.page.evaluate("rows => rows.map((row) => { lambdak.set(row); return lambdak.predict(); })", cells)
    _, seen = python(model, rows)
    np.testing.assert_allclose([own["predictions"] for own in found], seen, rtol=1e-9, atol=1e-9)
    assert {low, high} <= {*np.ravel([own["predictions"] for own in found])}
