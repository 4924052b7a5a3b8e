"""In a real browser, what has two values is chosen, and beside a prediction stands how far off it usually is."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from report_cases import Visit, fitted
from report_cases import X as FEW
from report_cases import Y as FEW_Y

from lambdak import SpectralClassifier, SpectralRegressor

SMALL = {"max_iter": 15, "n_estimators": 2, "dim": 5, "random_state": 0, "n_jobs": 1}
RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "flag": RNG.integers(0, 2, 300), "gappy": RNG.choice([1.0, 2.0, np.nan], 300),
        "answer": RNG.choice(["yes", "no"], 300), "amount": RNG.normal(size=300),
        **{f"other_{i}": RNG.normal(size=300) for i in range(6)},
    }
)  # fmt: skip
Y = 40 * X["flag"] + 10 * (X["answer"] == "yes") + 5 * X["amount"] + 5 * X["gappy"].fillna(0) + RNG.normal(size=300)
MODEL = SpectralRegressor(**SMALL).fit(X[:200], Y[:200])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("choices") / "report.html"
    return MODEL.report(path, X[:200], Y[:200], X_test=X[200:], y_test=Y[200:], n_resamples=0)


@pytest.fixture(scope="module")
def opened(browser, path):
    visit = Visit.of(browser.new_page(viewport={"width": 1280, "height": 900}), path)
    yield visit
    assert visit.problems == []


def test_columns_with_two_values_are_choices_and_others_sliders(opened):
    kinds = [opened.control(i, "input").evaluate_all("all => all.map((own) => own.type)") for i in range(4)]
    assert kinds == [["radio"] * 2, ["radio"] * 3, ["radio"] * 2, ["range", "number"]]
    assert opened.control(0, "label").all_inner_texts() == ["0", "1"]
    assert opened.control(1, "label").all_inner_texts() == ["1", "2", "missing"]
    assert sorted(opened.control(2, "label").all_inner_texts()) == ["no", "yes"]


def test_a_choice_becomes_the_cell_and_the_prediction(opened):
    for flag, gappy, answer in ((1, "2", "yes"), (0, "missing", "no"), (1, "1", "no")):
        opened.control(0, f"label[title='{flag}']").click()
        opened.control(1, f"label[title='{gappy}']").click()
        opened.control(2, f"label[title='{answer}']").click()
        cells = opened.page.evaluate("lambdak.row()")
        assert cells[:2] == [flag, None if gappy == "missing" else float(gappy)]
        row = dict(zip(X.columns, cells, strict=True)) | {"answer": answer}
        assert opened.predict()[1][0] == pytest.approx(MODEL.predict(pd.DataFrame([row]))[0], rel=1e-5)


def test_a_row_shows_its_choice_and_any_other_number_is_written_below(opened):
    cells = opened.page.evaluate("lambdak.row()")
    opened.set([1, 2, *cells[2:]])
    assert opened.control(0, "label:has(:checked)").inner_text() == "1"
    assert opened.control(0, ".note").is_hidden()
    opened.set([0.5, None, *cells[2:]])
    assert opened.control(0, "input:checked").count() == 0
    assert opened.control(0, ".note").inner_text() == "now 0.5"
    assert opened.control(1, "label:has(:checked)").inner_text() == "missing"


def test_the_effect_of_two_values_is_two_points(opened):
    chart = opened.page.locator('.effect[data-column="0"] .chart')
    chart.scroll_into_view_if_needed()
    chart.locator("svg").wait_for()
    drawn = chart.evaluate("({ drawn: { texts, seen, counts } }) => ({ texts, seen, counts })")
    assert drawn["texts"] == ["0", "1"]
    assert drawn["counts"] == X["flag"][:200].value_counts().sort_index().tolist()
    assert drawn["seen"][1] > drawn["seen"][0]


def test_the_usual_error_beside_the_prediction_is_that_of_rows_that_the_fit_did_not_see(opened):
    off = np.quantile(np.abs(Y[200:] - MODEL.predict(X[200:])), 0.8)
    words = f"Usually within ± {off:.3g}: 8 of 10 times on 100 rows that the fit did not see."
    assert opened.page.inner_text("#usual-error") == words
    assert f"8 of 10 are off by at most {off:.3g}" in opened.page.inner_text("header")


def test_nothing_is_said_of_the_usual_error_where_the_fit_has_seen_the_rows(visit):
    assert visit("regressor").page.inner_text("#usual-error") == ""


def test_beside_a_class_stands_how_many_are_right(browser, tmp_path):
    labels = np.where(Y.median() < Y, "high", "low")
    model = SpectralClassifier(**SMALL).fit(X[:200], labels[:200])
    path = model.report(tmp_path / "r.html", X[:200], labels[:200], X_test=X[200:], y_test=labels[200:], n_resamples=0)
    page = Visit.of(browser.new_page(), path).page
    right = (model.predict(X[200:]) == labels[200:]).mean()
    words = f"Of all predictions, {100 * right:.1f} % are right on 100 rows that the fit did not see."
    assert page.inner_text("#usual-error") == words.replace(".0 %", " %")
    stays = re.search(r"stays between ([\d.]+) % and ([\d.]+) %\. ", page.inner_text("#whatif-text"))
    assert 0 <= float(stays[1]) <= float(stays[2]) <= 100
    page.close()


def test_phones_fold_what_is_not_needed_at_once_and_paper_has_it(browser, path):
    phone = Visit.of(browser.new_page(viewport={"width": 390, "height": 844}), path)
    assert phone.page.locator(".effect").locator("visible=true").count() == 3
    assert phone.page.locator("#next-effects > summary").inner_text() == f"The next {len(X.columns) - 3} columns"
    assert phone.page.locator("#performance .card").locator("visible=true").count() == 1
    assert phone.page.locator("#pairs-chart").is_hidden()
    phone.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert phone.page.locator("#next-charts svg").count() == len(X.columns) - 3
    assert phone.page.locator("#more-performance-charts svg").count() == 2
    assert phone.problems == []


def test_columns_that_are_not_enough_are_folded(visit):
    opened = visit("regressor", fitted("regressor"), FEW, FEW_Y)
    opened.page.fill("#goal-number", str(float(opened.predict()[1][0]) + 0.4))
    lines = opened.changes()
    found = opened.page.locator("#decision-columns tbody tr").count()
    assert found == sum(own["apply"] == "apply" for own in lines.values())
    assert opened.page.locator("#decision-others tbody tr").count() == len(lines) - found
    assert opened.page.locator("#decision-others").is_hidden()
