"""In a real browser, the page computes what Python computes, and nothing that it was given runs or is loaded."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from report_cases import CERTIFICATE, IMAGE, KINDS, SCRIPT, SMALL, X, Y, fitted, page_row, python, some_rows
from scipy import sparse

from lambdak import SpectralRegressor
from lambdak.eigen.packing import packed_size, sym, unsym
from lambdak.report import write_report
from lambdak.table.columns import OTHER


@dataclass
class Visit:
    """A page that was opened, and what happened in it that should not."""

    page: object
    problems: list[str] = field(default_factory=list)

    def predict(self):
        found = self.page.evaluate("lambdak.predict()")
        return np.array(found["scores"]), np.array(found["predictions"])

    def set(self, row):
        self.page.evaluate("row => lambdak.set(row)", row)

    def control(self, i, part):
        return self.page.locator(f'[data-column="{i}"].control {part}')

    def watch(self, address):
        note = self.problems.append
        self.page.on("console", lambda message: note(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: note(str(error)))
        self.page.on("dialog", lambda dialog: (note(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: request.url == address or note(f"request {request.url[:80]}"))


@pytest.fixture(scope="module")
def pages(browser, tmp_path_factory):
    """A function that opens the report of a model, or finds it opened: the same page serves several tests."""
    visits = {}

    def open_page(name, model, *data, **window):
        if name not in visits:
            path = tmp_path_factory.mktemp("report") / "report.html"
            write_report(model, path, *data, certificate=CERTIFICATE)
            visits[name] = Visit(browser.new_page(**window))
            visits[name].watch(path.as_uri())
            visits[name].page.goto(path.as_uri())
            visits[name].page.locator("#influence-chart .main-svg").first.wait_for()
        return visits[name]

    return open_page


@pytest.fixture
def visit(pages):
    """As ``pages``, for a kind of model; nothing may have gone wrong when the test ends."""
    opened = []

    def open_kind(kind, *other, **window):
        target = {"binary": np.where(Y > 4, "good", "<bad>"), "regressor": Y, "quantiles": Y}.get(kind)
        name = f"{kind} {window}"
        data = other or (fitted(kind), X, target)
        opened.append(pages(name, *data, **window))
        return opened[-1]

    yield open_kind
    assert [problem for found in opened for problem in found.problems] == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_predicts_what_python_predicts(visit, kind):
    opened = visit(kind)
    rows, cells = some_rows(fitted(kind))
    assert OTHER in fitted(kind).encoder_.columns[2].levels
    found = opened.page.evaluate("rows => rows.map((row) => { lambdak.set(row); return lambdak.predict(); })", cells)
    scores, seen = python(fitted(kind), rows)
    np.testing.assert_allclose([own["scores"] for own in found], scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose([own["predictions"] for own in found], seen, rtol=1e-9, atol=1e-9)


def test_moving_the_controls_moves_the_prediction_as_python_says(visit):
    model = fitted("regressor")
    opened = visit("regressor")
    opened.control(0, "input[type=number]").fill("3.75")
    opened.control(1, "input[type=range]").fill("0.5")
    opened.control(2, "select").select_option(IMAGE)
    opened.control(3, "select").select_option("b")
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
        assert text == f"row {row} (actual value {Y[row]:.6g})"
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


@pytest.mark.parametrize("kind", ["regressor", "linear", "convex", "multiclass"])
def test_what_if_intervals_hold_all_values_and_are_not_wide(visit, kind):
    model = fitted(kind)
    opened = visit(kind)
    rows, cells = some_rows(model, 3)
    for (_, row), own in zip(rows.iterrows(), cells, strict=True):
        opened.set(own)
        for i, (low, high) in {0: (-1.0, 9.5), 1: (-1.2, 0.7)}.items():
            many = pd.DataFrame([row] * 400).assign(**{model.encoder_.columns[i].name: np.linspace(low, high, 400)})
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
    low, high = map(float, re.findall(r"[-\d.e]+(?=[,\]])", text.inner_text().replace("−", "-")))
    assert low <= scores.min()
    assert scores.max() <= high


def influences(opened):
    """Name → (length of its bar, what pointing at it tells)."""
    found = opened.page.evaluate(
        "new Promise(done => requestAnimationFrame(() => setTimeout(() => {"
        "const t = document.querySelector('#influence-chart').data[0];"
        "done(t.hovertext.map((text, i) => [text, t.x[i]])); })))"
    )
    parts = [(*text.split(":", 1), length) for text, length in found]
    return {name: (length, text.replace("−", "-")) for name, text, length in parts}


def page_name(name):
    return name.replace("<", "&lt;").replace(">", "&gt;")


@pytest.mark.parametrize("start", [(3.3, 0.2), (7.9, 9.0), (-2.0, -9.0)])
def test_influences_are_changes_of_the_score_and_pointing_at_them_tells_slopes(visit, start):
    model = fitted("regressor")
    opened = visit("regressor")
    opened.set([*start, 0, 1])
    found = influences(opened)
    level = model.encoder_.columns[2].levels[0]
    row = pd.DataFrame({"whole": [start[0]], SCRIPT: [start[1]], "level": [level], "kind": ["b"]})
    here = python(model, row)[0][0, 0]
    for name, column in zip(X.columns[:2], model.encoder_.columns[:2], strict=True):
        step = (column.high - column.low) / 10 * (1 if row[name][0] <= column.high * 0.9 + column.low * 0.1 else -1)
        change = python(model, row.assign(**{name: row[name] + step}))[0][0, 0] - here
        length, text = found[page_name(name)]
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
    (column,) = model.encoder_.columns
    wide = (column.high - column.low) / 10
    width = column.knots[2] - column.knots[1]
    assert width < wide / 20
    lifted = slice(column.start + 2, column.start + len(column.knots))  # all scores rise within the second piece
    model.coef_[:, lifted, : packed_size(model.dim_)] += 3 * unsym(np.eye(model.dim_))
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
    opened.page.locator("#slopes summary").click()
    opened.set([3.3, 0.2, 0, 1])
    found = influences(opened)
    rows = opened.page.locator("#slopes tbody tr")
    assert rows.count() == len(X.columns)
    shown = {row.locator("th").get_attribute("title"): row.locator("td").all_inner_texts() for row in rows.all()}
    change, slope = (text.replace("−", "-") for text in shown["whole"])
    assert found["whole"][1] == f" {change}; slope here {slope} per unit"
    assert shown["kind"][1] == "–"


def test_bounds_of_columns_that_are_not_clamped_are_said_to_be_those_within_the_range(visit):
    for kind, numbers in (("convex", True), ("regressor", False)):
        notes = visit(kind).page.locator(".effect")
        for i, column in enumerate(fitted(kind).encoder_.columns):
            text = notes.and_(visit(kind).page.locator(f'[data-column="{i}"]')).locator(".note").inner_text()
            assert "by at most" in text
            assert text.endswith("within the training range") == (numbers and column.kind != "category")


def test_hostile_names_stay_text(visit):
    opened = visit("binary")
    opened.page.locator("#effects").scroll_into_view_if_needed()
    opened.page.locator("#matrix-details summary").click()
    opened.page.wait_for_timeout(300)
    assert opened.page.locator(".control .name").nth(1).inner_text() == SCRIPT
    assert IMAGE in opened.control(2, "select").inner_text()
    assert SCRIPT in opened.page.locator("#certificate").inner_text()
    assert opened.page.locator("img, [onerror]").count() == 0
    assert opened.page.locator("script").count() == 3
    texts = opened.page.locator(".js-plotly-plot text").all_text_contents()
    assert any("<bad>" in text for text in texts)
    assert any("<script>" in text for text in texts)


def test_a_band_holds_the_change_that_any_row_shows(visit):
    model = fitted("regressor")
    opened = visit("regressor")
    opened.set([3.0, 0.2, 0, 1])
    opened.page.locator('.effect[data-column="1"]').scroll_into_view_if_needed()
    chart = opened.page.locator('.effect[data-column="1"] .chart')
    chart.locator(".main-svg").first.wait_for()
    opened.page.wait_for_timeout(300)
    low, high, curve = (
        np.array(part) for part in chart.evaluate("e => e.data.slice(0, 3).map((t) => Array.from(t.y))")
    )
    x = chart.evaluate("e => Array.from(e.data[2].x)")
    here = opened.predict()[0][0]
    rows = some_rows(model)[0]
    before = python(model, rows.assign(**{SCRIPT: 0.2}))[0][:, 0]
    for at, bottom, top, value in zip(x, low, high, curve, strict=True):
        change = python(model, rows.assign(**{SCRIPT: at}))[0][:, 0] - before
        assert bottom - here - 1e-9 <= change.min()
        assert change.max() <= top - here + 1e-9
        assert bottom - 1e-9 <= value <= top + 1e-9


def test_a_repeated_eigenvalue_tells_bounds_on_the_slope_and_says_so(visit):
    model = deepcopy(fitted("linear"))
    first = model.encoder_.columns[0]
    kept = model.coef_[:, first.start].copy()
    model.coef_[:] = 0.0
    model.coef_[:, first.start] = kept
    opened = visit("repeated", model)
    opened.set([first.center, 0.0, -1, -1])
    opened.page.locator("#influence-note", has_text="(nearly) repeated").wait_for()
    length, text = influences(opened)["whole"]
    ends = np.linalg.eigvalsh(sym(kept[:, : packed_size(model.dim_)].astype(float)))[:, [0, -1]]
    bounds = model.scale_ * model.weights_ @ ends / first.scale
    told = re.search(r"slope here between \+?(\S+) and \+?(\S+) per unit", text)
    np.testing.assert_allclose([float(told[1]), float(told[2])], bounds, rtol=1e-3)
    rows = pd.DataFrame({"whole": [first.center, first.center + (first.high - first.low) / 10]})
    low, high = python(model, rows.assign(**{SCRIPT: 0.0, "level": "unseen", "kind": "unseen"}))[0][:, 0]
    assert length == pytest.approx(high - low, rel=1e-9)


def test_colours_follow_the_readers_scheme_and_paper_shows_every_curve(visit):
    opened = visit("multiclass")
    colour = "document.querySelector('#influence-chart').layout.font.color"
    light = opened.page.evaluate(colour)
    opened.page.emulate_media(color_scheme="dark")
    opened.page.wait_for_timeout(200)
    assert opened.page.evaluate(colour) != light
    opened.page.emulate_media(color_scheme="light")
    width = "document.querySelector('#influence-chart .main-svg').clientWidth"
    wide = opened.page.evaluate(width)
    opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator(".effect .main-svg").count() >= len(X.columns)
    assert opened.page.evaluate(width) != wide
    opened.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert opened.page.evaluate(width) == wide


def test_certificate_says_in_words_what_holds(visit):
    text = visit("regressor").page.locator("#certificate").inner_text()
    assert "1 of 2 claims hold, 1 do not" in text
    assert "✓ holds" in text
    assert "✗ does not hold" in text


def test_a_policy_stops_scripts_that_are_not_the_pages_own(visit):
    opened = visit("regressor")
    opened.page.evaluate("""() => {
        const script = document.createElement('script');
        script.textContent = 'window.intruder = true';
        document.body.append(script);
    }""")
    assert opened.page.evaluate("window.intruder === undefined")
    assert any("Content Security Policy" in problem for problem in opened.problems)
    opened.problems.clear()


def test_nothing_sticks_out_of_a_phone(visit):
    opened = visit("multiclass", viewport={"width": 390, "height": 800}, color_scheme="dark")
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 390
    assert opened.page.locator("#controls").evaluate("e => e.scrollWidth <= e.clientWidth")
    tables = opened.page.locator(".scroll")
    assert tables.count() == 2
    assert tables.evaluate_all("all => all.every((e) => e.scrollWidth <= e.clientWidth)")
    row = opened.page.locator("#certificate tbody tr").first
    heads = row.locator("td, th").evaluate_all("all => all.map((e) => [e.dataset.head, e.getBoundingClientRect()])")
    assert [head for head, _ in heads][3:] == ["number", "rounding margin", "how it was checked"]
    assert all(box["left"] >= 0 and box["right"] <= 390 for _, box in heads)
    assert [box["top"] for _, box in heads] == sorted({box["top"] for _, box in heads})


def test_a_wide_sparse_model_of_many_columns_opens_and_can_be_filtered(visit):
    wide = sparse.random(80, 300, 0.05, format="csr", random_state=0, dtype=np.float64)
    model = SpectralRegressor(**SMALL | {"n_estimators": 1}).fit(wide, np.asarray(wide.sum(axis=1)).ravel())
    opened = visit("wide", model, wide)
    assert opened.page.inner_text("#shown") == "120 of 300 columns shown"
    opened.page.fill("#filter", "x299")
    opened.control(299, "input[type=number]").fill("0.5")
    row = np.zeros((1, 300))
    row[0, 299] = 0.5
    np.testing.assert_allclose(opened.predict()[0], python(model, row)[0][0], rtol=1e-9)
