"""In a real browser, the changes that the page finds do change the decision, in the page and in Python."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from report_cases import KINDS, X, Y, fitted, page_row, python, table_row

from lambdak import SpectralRegressor

CLASSES = ("binary", "multiclass", "ordinal")
ROWS = (3, 40, 101)


def goal(opened, kind, row, shift=0.4):
    """Whether a row of the table reaches what the page is asked for; the page is at the row then."""
    model = fitted(kind)
    opened.set(page_row(model, row.iloc[0]))
    if kind in CLASSES:
        before = model.predict(row)[0]
        return lambda rows: model.predict(rows) != before
    now = model.predict(row)[0]
    target = float(f"{now + shift * (1 if now < model.predict(X).mean() else -1):.3g}")
    opened.page.fill("#goal-number", str(target))
    return lambda rows: model.predict(rows) >= target if now < target else model.predict(rows) <= target


def applied(opened, button):
    """The row that a button leads to, and what the page shows of it."""
    button.click()
    return opened.page.evaluate("lambdak.row()"), opened.page.inner_text("#prediction")


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_that_is_applied_reaches_the_goal_in_the_page_and_in_python(visit, kind):
    opened, model, found = visit(kind), fitted(kind), 0
    for place in ROWS:
        row = X.iloc[[place]].reset_index(drop=True)
        reached = goal(opened, kind, row)
        start = page_row(model, row.iloc[0])
        for i, name in enumerate(X.columns):
            opened.set(start)
            line = opened.changes()[name]
            if line["apply"] != "apply":
                continue
            cells, shown = applied(opened, opened.page.locator(f"#apply-{i}"))
            assert [k for k in range(len(start)) if cells[k] != start[k]] == [i]
            after = table_row(model, cells)
            assert reached(after)[0]
            assert line["then"] == shown
            said = re.match(r"\S+", shown.replace("−", "-"))[0]
            expected = model.predict(after)[0]
            assert said == str(expected) if kind in CLASSES else float(said) == pytest.approx(expected, rel=1e-4)
            found += 1
    assert found >= 2


@pytest.mark.parametrize("kind", ["regressor", "linear", "convex", "poisson", "binary", "quantiles"])
def test_no_other_value_of_the_column_is_closer_and_what_is_proven_is_true(visit, kind):
    opened, model, proven = visit(kind), fitted(kind), 0
    for place, shift in itertools.product(ROWS, (0.4, -4.0)):
        row = X.iloc[[place]].reset_index(drop=True)
        reached = goal(opened, kind, row, shift)
        lines = opened.changes()
        for name, column in zip(X.columns[:2], model.model_.encoder.columns[:2], strict=True):
            if np.isnan(row[name][0]):
                assert lines[name]["change to"] == "missing: it stays so"
                continue
            values = np.linspace(column.low, column.high, 2001)
            values = np.unique(values.round()) if name == "whole" else values
            enough = values[reached(pd.concat([row] * len(values)).assign(**{name: values}))]
            if lines[name]["apply"] == "apply":
                to = float(lines[name]["change to"].replace("−", "-"))
                assert abs(to - row[name][0]) <= np.abs(enough - row[name][0]).min() + 2e-4 * np.ptp(values)
            else:
                assert not len(enough)
                said = lines[name]["change to"]
                assert re.fullmatch(r"no value found|no (value of it|whole number) does \(proven\)", said)
                proven += "proven" in lines[name]["change to"]
    assert proven or kind == "binary"


def test_two_columns_are_found_where_one_is_not_enough(visit):
    opened, model = visit("regressor"), fitted("regressor")
    row = X.iloc[[40]].reset_index(drop=True)
    opened.set(page_row(model, row.iloc[0]))
    alone = [
        model.predict(pd.concat([row] * len(values)).assign(**{name: values})).max()
        for name, values in {name: X[name].dropna().unique() for name in X.columns}.items()
    ]
    target = max(alone) + 0.05
    opened.page.fill("#goal-number", str(target))
    text = opened.searched().page.inner_text("#decision-text")
    assert "no single column is enough; two are: " in text
    cells, _ = applied(opened, opened.page.locator("#apply-pair"))
    after = table_row(model, cells)
    assert model.predict(after)[0] >= target
    assert (after != row).sum(axis=1)[0] == 2
    opened.page.fill("#goal-number", str(10 * Y.max()))
    assert "no pair of columns that was tried" in opened.searched().page.inner_text("#decision-text")


def test_a_class_can_be_chosen_and_that_of_the_row_is_reached_already(visit):
    opened, model = visit("multiclass"), fitted("multiclass")
    opened.set(page_row(model, X.iloc[3]))
    for label in model.classes_.tolist():
        opened.page.select_option("#goal-class", label=str(label))
        text = opened.searched().page.inner_text("#decision-text")
        if label == model.predict(X.iloc[[3]])[0]:
            assert "That is the goal already." in text
        elif opened.page.locator("#decision tbody button").count():
            cells, _ = applied(opened, opened.page.locator("#decision tbody button").first)
            assert model.predict(table_row(model, cells))[0] == label
            opened.set(page_row(model, X.iloc[3]))
    opened.page.select_option("#goal-class", label="any other")


def test_locked_columns_stay_as_they_are_whatever_row_comes(visit):
    opened = visit("binary")
    opened.set(page_row(fitted("binary"), X.iloc[3]))
    opened.searched().page.evaluate("document.querySelector('#decision-rest').open = true")
    opened.page.locator("#lock-0").focus()
    opened.page.keyboard.press("Space")
    assert opened.changes()["whole"]["change to"] == "locked"
    assert opened.page.evaluate("document.activeElement.id") == "lock-0"
    opened.set(page_row(fitted("binary"), X.iloc[40]))
    assert opened.changes()["whole"]["change to"] == "locked"
    assert opened.page.locator("#lock-0").is_checked()
    opened.page.keyboard.press("Space")
    assert opened.changes()["whole"]["change to"] != "locked"


def test_the_prediction_of_the_typical_row_is_the_target_until_one_is_typed(visit):
    opened = visit("poisson")
    opened.page.fill("#goal-number", "")
    opened.page.select_option("#example", "0")
    opened.set(opened.page.evaluate("lambdak.row()"))
    assert "Type the prediction that you want to reach" in opened.searched().page.inner_text("#decision-text")
    assert opened.page.locator("#decision-title").inner_text() == "What would change the prediction"
    opened.page.select_option("#example", "5")
    typical = float(opened.searched().page.get_attribute("#goal-number", "placeholder").split(": ")[1])
    assert f"at {'most' if opened.predict()[1][0] > typical else 'least'} {typical:g}"[:10] in opened.page.inner_text(
        "#decision-text"
    )


def test_many_columns_are_cut_until_all_are_wanted(visit):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(200, 40))
    model = SpectralRegressor(max_iter=2, n_estimators=1, dim=5, random_state=0, n_jobs=1).fit(wide, wide.sum(axis=1))
    opened = visit("forty columns", model, wide)
    opened.page.fill("#goal-number", str(float(opened.predict()[1][0]) + 0.05))
    assert len(opened.changes()) == 15
    some = {name for name, own in opened.changes().items() if own["apply"] == "apply"}
    opened.page.check("#decision-all")
    every = opened.changes()
    assert len(every) == 40
    assert len([own for own in every.values() if own["apply"] == "apply"]) >= len(some) > 0
    row = np.asarray(opened.page.evaluate("lambdak.row()"), float)
    here = python(model, row[None])[1][0, 0]
    assert every[next(iter(every))]["then"] != f"{here:.6g}"
