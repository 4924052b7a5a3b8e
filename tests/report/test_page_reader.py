"""In a real browser, a reader who has never seen a report finds the way: one screen, sorted sliders, known charts."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reader_cases import other_model, wide_model, wide_table
from report_cases import Visit, X, Y, fitted, page_row, python

import lambdak
from lambdak.model.mean_effects import mean_effects

AXE = Path(__file__).parents[2] / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
SEVERE = ("serious", "critical")


@pytest.fixture(scope="module")
def wide_path(tmp_path_factory):
    table, y = wide_table()
    path = tmp_path_factory.mktemp("wide") / "report.html"
    return wide_model().report(path, table[:200], y[:200], X_test=table[200:], y_test=y[200:], n_resamples=0)


@pytest.fixture(scope="module")
def wide(browser, wide_path):
    """The report of 30 columns, open."""
    opened = Visit.of(browser.new_page(viewport={"width": 1280, "height": 900}), wide_path)
    yield opened
    assert opened.problems == []


@pytest.fixture(scope="module")
def both_path(tmp_path_factory):
    table, y = wide_table()
    path = tmp_path_factory.mktemp("both") / "report.html"
    models = {"ours": wide_model(), "theirs": other_model()}
    return lambdak.compare_report(path, models, table[:200], y[:200], n_resamples=0)


def names(opened):
    return opened.page.locator(".control .name").all_inner_texts()


def test_the_first_screen_answers_and_then_comes_try_it(wide, browser, wide_path):
    phone = Visit.of(browser.new_page(viewport={"width": 390, "height": 844}), wide_path)
    for opened, height in ((wide, 900), (phone, 844)):
        place = "e => e.getBoundingClientRect().bottom + scrollY"
        assert opened.page.locator(".answers").evaluate(place) < height
        first = opened.page.locator("main > section").first
        assert first.get_attribute("id") == "try"
    assert wide.page.evaluate("document.documentElement.scrollHeight") < 7000
    assert phone.page.evaluate("document.documentElement.scrollHeight") < 7000
    assert phone.problems == []


def test_sliders_come_by_influence_and_identifiers_last_with_a_flag(wide):
    model, (table, _) = wide_model().model_, wide_table()
    typical = mean_effects(model, model.encoder.transform(table[:200], np.float64))
    order = [name for name in table.columns[np.argsort(-typical, kind="stable")] if name != "customer_id"]
    assert names(wide) == [*order, "customer_id"]
    assert "looks like an identifier" in wide.control(0, ".flag").inner_text()
    assert wide.page.locator(".flag").count() == 1


def test_twelve_effects_are_there_and_the_rest_is_folded(wide):
    assert wide.page.locator("#effect-charts .effect").count() == 12
    assert wide.page.locator("#more-charts .effect").count() == 0
    wide.page.locator("#more-effects > summary").click()
    wide.page.locator("#more-charts .effect").last.wait_for()  # folds open a little later than they are clicked
    assert wide.page.locator("#more-charts .effect").count() == 18
    wide.page.locator("#more-effects > summary").click()
    assert wide.page.locator("#importance-chart svg").get_attribute("aria-label").count("proven") == 12


def test_effects_show_where_the_data_lie(wide):
    chart = wide.page.locator("#effect-charts .chart").first
    chart.scroll_into_view_if_needed()
    chart.locator(".rug").first.wait_for(state="attached")
    table = wide_table()[0][:200]
    name = wide.page.locator("#effect-charts h3").first.inner_text()
    drawn = chart.evaluate("e => [e.drawn.bins ?? e.drawn.counts, e.drawn.edges]")
    if drawn[1]:
        counts = np.histogram(table[name], np.array(drawn[1]))[0]
        assert counts.tolist() == drawn[0]
    else:
        assert sorted(drawn[0]) == sorted(table[name].value_counts())


def test_the_reset_button_goes_back_to_the_row_that_was_chosen(wide):
    before = wide.page.evaluate("lambdak.row()")
    wide.control(5, "input[type=number]").fill("1234")
    assert wide.page.evaluate("lambdak.row()") != before
    wide.page.locator("#reset").click()
    assert wide.page.evaluate("lambdak.row()") == before


def test_a_value_outside_of_the_training_range_is_noted(wide):
    column = wide_model().model_.encoder.columns[5]
    note = wide.control(5, ".range-note")
    assert note.is_hidden()
    wide.control(5, "input[type=number]").fill("9999")
    assert f"Outside of the training range ({column.low:.1f} to {column.high:.1f})" in note.inner_text()
    assert "amount_3" in wide.page.inner_text("#outside")
    wide.page.locator("#reset").click()
    assert note.is_hidden()
    assert wide.page.locator("#outside").is_hidden()


def test_the_page_opens_at_a_real_row_and_others_are_found_by_name(wide):
    table, y = wide_table()
    cells = wide.page.evaluate("lambdak.row()")
    assert (table["customer_id"] == cells[0]).sum() == 1
    assert wide.page.locator("#example option").first.inner_text() == f"the typical row ({cells[0]})"
    wide.page.fill("#find-row", "5001")
    found = wide.page.locator("#example option").all_inner_texts()
    assert len(found) == 10
    wide.page.keyboard.press("Enter")
    row = table.index[table["customer_id"] == int(found[0][:5])][0]
    assert wide.page.evaluate("lambdak.row()") == page_row(wide_model(), table.loc[row])
    assert f"actual {y[row]:,.0f}" in found[0]
    wide.page.fill("#find-row", "")
    wide.page.select_option("#example", "0")


def test_numbers_in_the_page_have_separators_and_no_exponents(wide):
    text = wide.page.inner_text("body") + " ".join(wide.page.locator("svg text").all_text_contents())
    assert re.search(r"\d{3},\d{3}", wide.page.inner_text("#prediction"))
    assert not re.search(r"\d[eE][+-]?\d", text)


def test_the_waterfall_adds_up_and_is_that_of_explain_local(wide):
    model, (table, _) = wide_model(), wide_table()
    for row in (7, 150):
        wide.set(page_row(model, table.loc[row]))
        wide.page.wait_for_timeout(200)
        drawn = wide.page.evaluate("document.querySelector('#shares-chart').drawn")
        local = model.explain_local(table.loc[[row]])
        assert drawn["start"]["value"] == pytest.approx(local.baseline_score[0], rel=1e-9)
        assert drawn["end"]["value"] == pytest.approx(model.predict(table.loc[[row]])[0], rel=1e-6)
        assert drawn["start"]["value"] + sum(drawn["steps"]) == pytest.approx(drawn["end"]["value"], rel=1e-6)
        shares = np.sort(np.abs(local.attribution[0]))[::-1]
        np.testing.assert_allclose(np.abs(drawn["steps"][:-1]), shares[: len(drawn["steps"]) - 1], rtol=1e-2)
    wide.page.select_option("#example", "0")


def test_a_pair_of_columns_is_chosen_by_a_click_and_its_surface_is_the_prediction(wide):
    model, (table, _) = wide_model(), wide_table()
    wide.page.locator("#pairs-chart").scroll_into_view_if_needed()
    cells = wide.page.locator("#pairs-chart .cell")
    cells.last.wait_for()
    assert cells.count() == 12 * 11 // 2
    cells.nth(30).click()
    chosen = wide.page.locator("#pair option:checked").inner_text()
    tip = wide.page.locator("#pairs-chart .cell.chosen").get_attribute("data-tip")
    assert tip.startswith(chosen)
    wide.page.wait_for_timeout(200)
    across, up = chosen.split(" and ")
    values = np.array(wide.page.evaluate("document.querySelector('#surface-chart').drawn.values"))
    row = table[table["customer_id"] == wide.page.evaluate("lambdak.row()")[0]]
    columns = {column.name: column for column in model.model_.encoder.columns}
    last = {name: own.high if own.is_number else own.levels[-1] for name, own in columns.items()}
    corner = row.assign(**{name: last[name] for name in (across, up)})
    assert values[-1, -1] == pytest.approx(python(model, corner)[1][0, 0], rel=1e-9)


def test_charts_of_the_task_are_there(wide):
    titles = wide.page.locator("#performance-charts h3").all_inner_texts()
    assert titles[:2] == ["Predicted against actual", "Residuals: actual minus predicted"]
    assert wide.page.locator("#performance-charts svg").count() == 3


def test_several_classes_open_on_the_most_likely_one_and_name_it_everywhere(visit):
    model, opened = fitted("multiclass"), visit("multiclass")
    rows = X.iloc[[3, 40, 101, 17]]
    for (_, row), label in zip(rows.iterrows(), model.predict(rows), strict=True):
        opened.set(page_row(model, row))
        opened.page.wait_for_timeout(150)
        assert f"log-odds of {label};" in opened.page.inner_text("#shares-note")
        assert opened.page.inner_text("#effects-note").startswith(f"The probability of {label} along each column")
        assert f"the probability of {label} stays between" in opened.page.inner_text("#whatif-text")
        assert opened.page.inner_text("#surface-title").startswith(f"The probability of {label}")
        bars = opened.page.evaluate("document.querySelector('#outputs-chart').drawn")
        assert bars["names"] == [str(own) for own in model.classes_]
        assert sum(bars["values"]) == pytest.approx(1)
    opened.page.select_option("#output", label="2")
    assert "log-odds of 2;" in opened.page.locator("#shares-note", has_text="log-odds of 2;").inner_text()
    opened.page.select_option("#output", label="the most likely class")


def test_effects_of_a_class_are_its_probabilities_within_their_band(visit):
    model, opened = fitted("multiclass"), visit("multiclass")
    opened.set([3.0, 0.2, 0, 1])
    chart = opened.page.locator('.effect[data-column="0"] .chart')
    chart.scroll_into_view_if_needed()
    opened.page.wait_for_timeout(300)
    drawn = chart.evaluate("({ drawn: { low, high, seen, x } }) => ({ low, high, seen, x })")
    level = model.model_.encoder.columns[2].levels[0]
    row = pd.DataFrame({"whole": drawn["x"], X.columns[1]: 0.2, "level": level, "kind": "b"})
    place = int(np.argmax(python(model, row.assign(whole=3.0))[1][0]))
    np.testing.assert_allclose(drawn["seen"], python(model, row)[1][:, place], rtol=1e-9)
    assert (np.array(drawn["low"]) <= np.array(drawn["seen"]) + 1e-12).all()
    assert (np.array(drawn["seen"]) <= np.array(drawn["high"]) + 1e-12).all()


def test_classes_have_a_roc_curve_and_calibration(visit):
    opened = visit("binary")
    titles = opened.page.locator("#performance-charts h3").all_inner_texts()
    assert [title.split(":")[0] for title in titles] == ["ROC curve", "Calibration"]
    label = opened.page.locator("#performance-charts svg").first.get_attribute("aria-label")
    assert re.search(r"class good AUC 0\.\d+", label)


def test_what_is_static_is_there_without_javascript(browser, wide_path):
    page = browser.new_page(java_script_enabled=False)
    page.goto(wide_path.as_uri())
    text = page.inner_text("body")
    for words in ("What it predicts", "How well it predicts", "✓ proven", "Sliders and charts need JavaScript"):
        assert words in text
    page.locator("#importance summary").first.click()
    assert page.locator("#importance tbody tr").first.is_visible()


def test_paper_shows_no_controls_and_all_charts(wide):
    wide.page.emulate_media(media="print")
    assert wide.page.locator("#reset").is_hidden()
    assert wide.page.locator("nav").is_hidden()
    assert wide.page.locator("input[type=range]").first.is_hidden()
    assert len(wide.page.pdf()) > 50_000
    wide.page.emulate_media(media="screen")


def test_two_models_run_side_by_side(browser, both_path):
    table, _ = wide_table()
    opened = Visit(browser.new_page())
    opened.watch(both_path.as_uri())
    opened.page.goto(both_path.as_uri())
    opened.page.locator("#effect-charts svg").first.wait_for()
    for row in (3, 111):
        opened.set(page_row(wide_model(), table.loc[row]))
        found = opened.page.evaluate("lambdak.predict()")
        models = (wide_model(), other_model())
        expected = [model.predict(table.loc[[row], model.feature_names_in_])[0] for model in models]
        np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-6)
        shown = [float(opened.page.inner_text(f"#{key}").replace(",", "")) for key in ("prediction", "prediction-1")]
        np.testing.assert_allclose(shown, expected, rtol=1e-4)
    assert opened.problems == []


@pytest.mark.skipif(not AXE.is_file(), reason="axe is not installed: .ci/programs does it")
@pytest.mark.parametrize(("kind", "scheme", "width"), [("report", "light", 1280), ("comparison", "dark", 390)])
def test_everybody_can_use_the_page(browser, tmp_path, kind, scheme, width):
    models = {"ours": fitted("multiclass"), "theirs": fitted("multiclass")}
    target, path = np.digitize(Y, [2.0, 4.0, 6.0]), tmp_path / "report.html"
    if kind == "report":
        models["ours"].report(path, X, target, n_resamples=0)
    else:
        lambdak.compare_report(path, models, X, target, n_resamples=0)
    page = browser.new_page(bypass_csp=True, color_scheme=scheme, viewport={"width": width, "height": 844})
    page.goto(path.as_uri())
    page.locator("main svg").first.wait_for(state="attached")
    page.evaluate("document.querySelectorAll('details').forEach((own) => { own.open = true; })")
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    assert [(own["id"], own["nodes"][0]["html"][:200]) for own in found if own["impact"] in SEVERE] == []


CUT = """() => [...document.querySelectorAll("svg .name-text")].filter((own) => {
  const svg = own.closest("svg").getBoundingClientRect(), box = own.getBoundingClientRect();
  return box.width && (box.left < svg.left - 0.5 || box.bottom > svg.bottom + 0.5);
}).map((own) => own.textContent)"""


@pytest.fixture(scope="module")
def wide_letters(browser, tmp_path_factory):
    """The report of eleven columns, whose names are long and have wide letters, open on a small screen."""
    rng = np.random.default_rng(0)
    names = ["NumberOfTime30-59DaysPastDueNotWorse", "NUMBER OF WWWWW MMMMM CREDITS", *(f"Column{i}" for i in range(9))]
    table = pd.DataFrame(rng.normal(size=(120, 11)), columns=names)
    model = lambdak.SpectralRegressor(effort="fast", max_iter=2, n_estimators=1, dim=3, random_state=0)
    model.fit(table, table.sum(axis=1))
    path = model.report(tmp_path_factory.mktemp("letters") / "report.html", table, n_resamples=0)
    opened = Visit.of(browser.new_page(viewport={"width": 1100, "height": 800}), path)
    yield opened
    assert opened.problems == []


def test_names_of_wide_letters_are_not_cut_off(wide_letters):
    page = wide_letters.page
    assert page.locator("svg .name-text").count() > 10
    assert page.evaluate(CUT) == []


def test_a_list_that_scrolls_says_how_many_columns_lie_further_down(wide_letters):
    page = wide_letters.page
    below = page.locator("#more").text_content()
    assert re.fullmatch(r"↓ \d+ more below: scroll this list", below)
    page.evaluate("() => { const list = document.getElementById('controls'); list.scrollTop = list.scrollHeight; }")
    page.locator("#more:empty").wait_for(state="attached")  # a function to wait for is one that the policy may stop
