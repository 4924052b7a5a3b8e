"""The page computes what Python computes, in a real browser, and holds nothing but its own scripts."""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.columns import OTHER
from lambdak.readout import predictions, readouts
from lambdak.report import write_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'
SMALL = {"max_iter": 2, "n_estimators": 2, "dim": 5, "random_state": 0, "n_jobs": 1}
CLAIM = {"kind": "monotone", "subject": SCRIPT, "value": 0.5, "margin": None, "how": IMAGE, "details": {}}
CERTIFICATE = {
    "model": "m",
    "holds": False,
    "claims": [
        {**CLAIM, "statement": f"never falls with {SCRIPT}", "held": True},
        {**CLAIM, "statement": "is convex", "held": False},
    ],
}


def table(rows=240, seed=0):
    """Numbers with and without gaps, a category with gaps and pooled levels, and one of a single kind."""
    rng = np.random.default_rng(seed)
    whole, gappy = rng.integers(0, 9, rows).astype(float), rng.normal(size=rows)
    gappy[rng.random(rows) < 0.2] = np.nan
    level = rng.choice(["red", IMAGE, None, "rare"], rows, p=[0.5, 0.3, 0.18, 0.02]).astype(object)
    level[:2] = "rare"
    X = pd.DataFrame({"whole": whole, SCRIPT: gappy, "level": level, "kind": rng.choice(["a", "b"], rows)})
    y = pd.Series(whole + 2 * np.nan_to_num(gappy) * (level == "red") + rng.normal(size=rows), name="out<b>come</b>")
    return X, y


X, Y = table()


@cache
def fitted(kind):
    """A small model of each kind; what it has learned does not matter."""
    cuts = np.digitize(Y, [2.0, 4.0, 6.0])
    return {
        "regressor": lambda: SpectralRegressor(monotonic_cst={"whole": 1}, **SMALL).fit(X, Y),
        "linear": lambda: SpectralRegressor(n_knots=0, **SMALL).fit(X, Y),
        "convex": lambda: SpectralRegressor(shape="convex", **SMALL).fit(X, Y),
        "poisson": lambda: SpectralRegressor("poisson", **SMALL).fit(X, np.maximum(Y, 0)),
        "binary": lambda: SpectralClassifier(**SMALL).fit(X, np.where(Y > 4, "good", "<bad>")),
        "multiclass": lambda: SpectralClassifier(**SMALL).fit(X, cuts),
        "quantiles": lambda: SpectralQuantileRegressor((0.1, 0.5, 0.9), **SMALL).fit(X, Y),
        "ordinal": lambda: SpectralOrdinalClassifier(**SMALL | {"dim": 7}).fit(X, cuts),
    }[kind]()


KINDS = ["regressor", "linear", "convex", "poisson", "binary", "multiclass", "quantiles", "ordinal"]


def python(model, rows):
    """Scores and predictions in float64, (rows, outputs) each."""
    design = model.encoder_.transform(rows, np.float64)
    outputs = readouts(model)
    scores = np.stack([output.score(output.packed(design)) for output in outputs], axis=-1)
    return scores, predictions(outputs[0].link, scores)


def some_rows(model, count=25, seed=1):
    """Rows with gaps, numbers outside of the range, and levels that training has not seen."""
    rng = np.random.default_rng(seed)
    rows = X.sample(count, random_state=seed).reset_index(drop=True)
    rows["whole"] = rng.uniform(-3, 12, count)
    rows.loc[0, "whole"] = np.nan
    rows.loc[1, "level"] = "never seen"
    rows.loc[2, "kind"] = "never seen"
    rows.loc[3, "kind"] = None
    return rows, [page_row(model, row) for _, row in rows.iterrows()]


def page_row(model, row):
    """A row as the page keeps it, by the rules of the encoder's documentation."""
    cells = []
    for column in model.encoder_.columns:
        cell = row[column.name]
        gap = cell is None or cell != cell
        if column.kind != "category":
            cells.append(None if gap else float(cell))
        else:
            places = list(column.levels)
            known = None if gap else cell
            other = places.index(OTHER) if OTHER in places else -1
            cells.append(places.index(known) if known in places else other)
    return cells


# ---- what needs no browser ------------------------------------------------------------------------------------------


def written(tmp_path, model, *data, **more):
    write_report(model, tmp_path / "report.html", *data, **more)
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def payload_of(text):
    found = re.search(r'<script type="application/json" id="payload">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1], parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))


def test_markup_in_names_never_reaches_the_html(tmp_path):
    text = written(tmp_path, fitted("regressor"), X, Y, certificate=CERTIFICATE)
    assert SCRIPT not in text
    assert IMAGE not in text
    assert "<b>come" not in text
    assert payload_of(text)["columns"][1]["name"] == SCRIPT


def test_page_is_under_six_megabytes_plus_the_model(tmp_path):
    text = written(tmp_path, fitted("multiclass"), X)
    model = sum(len(block["base64"]) for block in payload_of(text)["model"]["blocks"])
    assert len(text.encode()) < 6e6 + model


def test_page_names_no_inline_handler_and_allows_only_its_own_scripts(tmp_path):
    text = written(tmp_path, fitted("regressor"))
    own = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"\son\w+\s*=", own)
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', text)[1]
    assert "default-src &#x27;none&#x27;" in policy
    assert policy.count("sha256-") == 2
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert "unsafe-eval" not in policy


def test_shared_matrices_are_embedded_once_and_in_the_dtype_of_the_model(tmp_path):
    model = fitted("ordinal")
    found = payload_of(written(tmp_path, model))["model"]
    assert len(found["blocks"]) == len(found["families"]) == 1
    assert found["blocks"][0]["dtype"] == model.coef_.dtype.name == "float32"
    assert len(payload_of(written(tmp_path, fitted("multiclass")))["model"]["blocks"]) == 4


def test_targets_that_do_not_belong_to_the_rows_are_refused(tmp_path):
    model = fitted("regressor")
    with pytest.raises(ValueError, match="y must have 240 entries"):
        written(tmp_path, model, X, Y[:-1])
    with pytest.raises(ValueError, match="X must be given with y"):
        written(tmp_path, model, None, Y)
    assert not list(tmp_path.iterdir())


def test_missing_plotly_is_told_with_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r"pip install 'lambdak\[report\]'"):
        written(tmp_path, fitted("regressor"))


@pytest.mark.parametrize(("kind", "target", "names"), [
    ("regressor", Y, ["R²", "mean absolute error"]),
    ("poisson", np.maximum(Y, 0), ["R²", "mean poisson deviance"]),
    ("binary", np.where(Y > 4, "good", "<bad>"), ["accuracy", "log-loss", "AUC"]),
    ("quantiles", Y, ["coverage of quantile 0.1", "mean pinball loss"]),
])  # fmt: skip
def test_metrics_suit_the_task(tmp_path, kind, target, names):
    found = {
        metric["name"]: metric["value"] for metric in payload_of(written(tmp_path, fitted(kind), X, target))["metrics"]
    }
    assert set(names) <= set(found)
    assert all(value is not None for value in found.values())


def test_metrics_agree_with_scikit_learn(tmp_path):
    model = fitted("regressor")
    found = payload_of(written(tmp_path, model, X, Y))["metrics"][0]
    assert found["value"] == pytest.approx(model.score(X, Y))


# ---- in the browser -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: install Debian's package chromium")
    with playwright.sync_playwright() as engine:
        yield engine.chromium.launch(executable_path=CHROMIUM, args=FLAGS)


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
        row = int(re.search(r"\d+", opened.page.locator(f"#example option[value='{place}']").inner_text())[0])
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
    opened.page.locator("#whatif-text", has_text="With kind at any of its levels").wait_for()


def test_influences_are_the_slopes_of_the_score(visit):
    model = fitted("regressor")
    opened = visit("regressor")
    opened.set([3.3, 0.2, 0, 1])
    found = opened.page.evaluate(
        "new Promise(done => requestAnimationFrame(() => setTimeout(() => {"
        "const t = document.querySelector('#influence-chart').data[0];"
        "done(Object.fromEntries(t.hovertext.map((text, i) => [text.split(':')[0], t.x[i]]))); })))"
    )
    row = pd.DataFrame({"whole": [3.3], SCRIPT: [0.2], "level": [model.encoder_.columns[2].levels[0]], "kind": ["b"]})
    for name, column in zip(X.columns[:2], model.encoder_.columns[:2], strict=True):
        sides = [python(model, row.assign(**{name: row[name] + step}))[0][0, 0] for step in (1e-5, -1e-5)]
        slope = (sides[0] - sides[1]) / 2e-5 * (column.high - column.low) / 10
        assert found[name.replace("<", "&lt;").replace(">", "&gt;")] == pytest.approx(slope, rel=1e-4, abs=1e-6)


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
