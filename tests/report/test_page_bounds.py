"""In a real browser, what the page calls proven is proven, and influences and slopes are those that Python finds."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from report_cases import SCRIPT, SMALL, X, fitted, page_row, python, some_rows, with_matrices

from lambdak import SpectralRegressor
from lambdak.eigen.packing import packed_size, sym, unsym


@pytest.mark.parametrize("kind", ["regressor", "linear", "convex", "multiclass"])
def test_what_if_intervals_hold_all_values_and_are_not_wide(visit, kind):
    model = fitted(kind)
    opened = visit(kind)
    rows, cells = some_rows(model, 3)
    for (_, row), own in zip(rows.iterrows(), cells, strict=True):
        opened.set(own)
        for i, (low, high) in {0: (-1.0, 9.5), 1: (-1.2, 0.7)}.items():
            many = pd.DataFrame([row] * 400).assign(
                **{model.model_.encoder.columns[i].name: np.linspace(low, high, 400)}
            )
            scores = python(model, many.reset_index(drop=True))[0]
            for output, score in enumerate(scores.T):
                bottom, top = opened.page.evaluate(f"lambdak.whatIf({output}, {i}, {low}, {high})")
                assert bottom <= score.min()
                assert score.max() <= top
                assert top - bottom <= 1.2 * (score.max() - score.min()) + 0.05 * scores.std()


def test_what_if_of_a_category_is_the_range_over_its_levels(visit):
    model = fitted("regressor")
    opened = visit("regressor")
    opened.set(page_row(model, X.iloc[0]))
    scores = python(model, pd.concat([X.iloc[[0]].assign(kind=kind) for kind in ("a", "b", "unseen")]))[0]
    np.testing.assert_allclose(opened.page.evaluate("lambdak.whatIf(0, 3, null, null)"), [scores.min(), scores.max()])
    opened.page.select_option("#whatif-column", "3")
    text = opened.page.locator("#whatif-text", has_text="With kind at any of its levels")
    text.wait_for()
    opened.page.wait_for_timeout(200)
    low, high = map(
        float, re.search(r"stays between ([-\d.]+) and ([-\d.]+)\. ", text.inner_text().replace("−", "-")).groups()
    )
    assert low <= scores.min()
    assert scores.max() <= high


def influences(opened):
    """Name → (length of its bar, what pointing at it shows)."""
    found = opened.small_changes()
    texts = [text.replace("−", "-") for text in found["texts"]]
    return {name: own for name, *own in zip(found["names"], found["values"], texts, strict=True)}


@pytest.mark.parametrize("start", [(3.3, 0.2), (7.9, 9.0), (-2.0, -9.0)])
def test_influences_are_changes_of_the_raw_score_and_pointing_at_them_shows_slopes(visit, start):
    model = fitted("regressor")
    opened = visit("regressor")
    opened.set([*start, 0, 1])
    found = influences(opened)
    level = model.model_.encoder.columns[2].levels[0]
    row = pd.DataFrame({"whole": [start[0]], SCRIPT: [start[1]], "level": [level], "kind": ["b"]})
    here = python(model, row)[0][0, 0]
    for name, column in zip(X.columns[:2], model.model_.encoder.columns[:2], strict=True):
        step = (column.high - column.low) / 10 * (1 if row[name][0] <= column.high * 0.9 + column.low * 0.1 else -1)
        change = python(model, row.assign(**{name: row[name] + step}))[0][0, 0] - here
        length, text = found[name]
        assert length == pytest.approx(np.sign(step) * change, rel=1e-9, abs=1e-11)
        sides = [python(model, row.assign(**{name: row[name] + side}))[0][0, 0] for side in (1e-5, -1e-5)]
        slope = float(re.search(r"slope here \+?(\S+) per unit", text)[1])
        assert slope == pytest.approx((sides[0] - sides[1]) / 2e-5, rel=1e-3, abs=1e-6)
    average = python(model, row.assign(kind="unseen"))[0][0, 0]
    assert found["kind"][0] == pytest.approx(here - average, rel=1e-9, abs=1e-11)
    assert "slope" not in found["kind"][1]


def test_an_influence_is_within_the_bound_of_its_column_where_a_short_piece_is_steep(visit):
    x = np.exp(2 * np.random.default_rng(0).normal(size=300))
    model = SpectralRegressor(**SMALL).fit(pd.DataFrame({"long tail": x}), np.log(x))
    (column,) = model.model_.encoder.columns
    wide = (column.high - column.low) / 10
    width = column.knots[2] - column.knots[1]
    assert width < wide / 20
    lifted = slice(column.start + 2, column.start + len(column.knots))  # all scores rise within the second piece
    coef = model.model_.coef.copy()
    coef[:, lifted, : packed_size(model.model_.dim)] += 3 * unsym(np.eye(model.model_.dim))
    model = with_matrices(model, coef)
    bound = model.feature_strengths_[0]
    opened = visit("steep", model)
    for at in (column.knots[1], column.knots[1] + width / 2):
        opened.set([float(at)])
        length, text = influences(opened)["long tail"]
        slope = float(re.search(r"slope here \+?(\S+) per unit", text)[1])
        assert 0 < length <= bound
        assert slope * wide > 2 * bound


def test_changes_and_slopes_are_there_as_a_table_too(visit):
    opened = visit("regressor")
    opened.small_changes()
    opened.page.locator("#slopes summary").click()
    opened.set([3.3, 0.2, 0, 1])
    found = influences(opened)
    rows = opened.page.locator("#slopes tbody tr")
    assert rows.count() == len(X.columns)
    shown = {row.locator("th").get_attribute("title"): row.locator("td").all_inner_texts() for row in rows.all()}
    change, slope = (text.replace("−", "-") for text in shown["whole"])
    assert found["whole"][1] == f"{change}; slope here {slope} per unit"
    assert shown["kind"][1] == "–"


def test_bounds_of_columns_that_are_not_clamped_are_said_to_be_those_within_the_range(visit):
    for kind, numbers in (("convex", True), ("regressor", False)):
        notes = visit(kind).page.locator(".effect")
        for i, column in enumerate(fitted(kind).model_.encoder.columns):
            text = notes.and_(visit(kind).page.locator(f'[data-column="{i}"]')).locator(".note").inner_text()
            assert "by at most" in text
            assert text.endswith("within the training range") == (numbers and column.kind != "category")


def test_a_band_holds_the_change_that_any_row_shows(visit):
    model = fitted("regressor")
    opened = visit("regressor")
    opened.set([3.0, 0.2, 0, 1])
    opened.page.locator('.effect[data-column="1"]').scroll_into_view_if_needed()
    chart = opened.page.locator('.effect[data-column="1"] .chart')
    chart.locator("svg").wait_for()
    opened.page.wait_for_timeout(300)
    drawn = chart.evaluate("({ drawn: { low, high, seen, x } }) => ({ low, high, seen, x })")
    low, high, curve, x = (np.array(drawn[part]) for part in ("low", "high", "seen", "x"))
    here = opened.predict()[0][0]
    rows = some_rows(model)[0]
    before = python(model, rows.assign(**{SCRIPT: 0.2}))[0][:, 0]
    for at, bottom, top, value in zip(x, low, high, curve, strict=True):
        change = python(model, rows.assign(**{SCRIPT: at}))[0][:, 0] - before
        assert bottom - here - 1e-9 <= change.min()
        assert change.max() <= top - here + 1e-9
        assert bottom - 1e-9 <= value <= top + 1e-9


def test_a_repeated_eigenvalue_gives_bounds_on_the_slope_and_says_so(visit):
    first = fitted("linear").model_.encoder.columns[0]
    kept = fitted("linear").model_.coef[:, first.start].copy()
    coef = np.zeros_like(fitted("linear").model_.coef)
    coef[:, first.start] = kept
    model = with_matrices(fitted("linear"), coef)
    opened = visit("repeated", model)
    opened.set([first.center, 0.0, -1, -1])
    length, text = influences(opened)["whole"]
    opened.page.locator("#influence-note", has_text="(nearly) repeated").wait_for()
    ends = np.linalg.eigvalsh(sym(kept[:, : packed_size(model.model_.dim)].astype(float)))[:, [0, -1]]
    bounds = model.model_.scale * model.model_.weights @ ends / first.scale
    range_ = re.search(r"slope here between \+?(\S+) and \+?(\S+) per unit", text)
    np.testing.assert_allclose([float(range_[1]), float(range_[2])], bounds, rtol=1e-3)
    rows = pd.DataFrame({"whole": [first.center, first.center + (first.high - first.low) / 10]})
    low, high = python(model, rows.assign(**{SCRIPT: 0.0, "level": "unseen", "kind": "unseen"}))[0][:, 0]
    assert length == pytest.approx(high - low, rel=1e-9)


@pytest.mark.parametrize(("gap", "repeated"), [(0.0, True), (1e-8, True), (1e-7, False)])
def test_page_and_python_agree_on_when_an_eigenvalue_is_repeated(visit, gap, repeated):
    coef = np.zeros_like(fitted("linear").model_.coef)
    coef[:, 0, : packed_size(5)] = unsym(np.diag([-1.0, 0.0, gap, 0.5, 1.0]))
    model = with_matrices(fitted("linear"), coef)
    opened = visit(f"gap {gap}", model)
    opened.small_changes()
    note = opened.page.locator("#influence-note")
    assert ("(nearly) repeated in 2 of 2 members" in note.inner_text()) == repeated
    assert model.explain_local(X[:1]).repeated.all() == repeated
