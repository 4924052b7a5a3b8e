"""How every public result looks: short where Python prints it, and HTML in a notebook. Also ``table/shown``."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fitted_models import X, Y
from result_cases import public_results, results

from lambdak import SpectralRegressor
from lambdak.table.shown import Shown, result_html

PICTURED = {"lorenz", "calibration", "roc", "explain_global", "explain_local", "performance", "drift", "compare"}
AXE = Path(__file__).parents[1] / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
HOSTILE = "<script>alert(1)</script>"


class Page(HTMLParser):
    """Which tags a piece of HTML has, with their attributes, and whether all that are opened are closed."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_there_is_a_case_for_every_public_result(cases):
    assert public_results() <= {type(result) for result in cases.values()}


@pytest.fixture(scope="module")
def cases():
    return results()


def test_what_python_prints_is_short_and_in_words(cases):
    for name, result in cases.items():
        shown = repr(result)
        assert len(shown) <= 2_500, name
        assert shown.count("\n") <= 24, name
        assert "array([" not in shown, name
        assert " object at 0x" not in shown, name


def test_notebooks_show_the_same_words_without_a_script_and_in_the_colours_of_the_page(cases):
    for name, result in cases.items():
        html = result._repr_html_()
        page = Page(html)
        for line in str(result).split("\n")[:5]:
            assert line.strip() in page.text, name
        check_harmless(page, html, name)
        frame = page.tags[0][1]
        assert (frame["role"], bool(frame["aria-label"])) == ("group", True), name
        assert "color:inherit" in frame["style"]
        assert "background:transparent" in frame["style"]
        assert not re.findall(r"#(?:000000|333333|ffffff)", html), name  # which a dark page would hide, or be torn by
        assert all(own.get("tabindex") == "0" for tag, own in page.tags if tag == "pre")  # scrolls by keyboard


def check_harmless(page, html, name):
    """Nothing that runs, that is fetched, or that changes the page around it."""
    assert not {tag for tag, _ in page.tags} & {"script", "style", "link", "iframe", "metadata"}, name
    assert not [key for _, own in page.tags for key in own if key.startswith("on")], name
    assert not re.search(r"https?://(?!www\.w3\.org/)", html), name


def test_a_result_that_people_would_rather_see_has_its_picture_with_a_name(cases):
    for name in sorted(PICTURED):
        html = cases[name]._repr_html_()
        page = Page(html)
        pictures = [own for tag, own in page.tags if own.get("role") == "img"]
        assert len(pictures) == 1, name
        assert pictures[0]["aria-label"], name
        assert "svg" in {tag for tag, _ in page.tags}, name
        assert "currentColor" in html, name


def test_pictures_leave_no_figure_open(cases):
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    cases["lorenz"]._repr_html_()
    assert pyplot.get_fignums() == before


def test_without_matplotlib_there_are_words_alone(cases, monkeypatch):
    monkeypatch.setattr("lambdak.table.shown.find_spec", lambda name: None)
    assert "svg" not in {tag for tag, _ in Page(cases["lorenz"]._repr_html_()).tags}


def test_a_result_without_anything_to_draw_has_words_alone():
    class Empty(Shown):
        def __str__(self):
            return "nothing"

        def plot(self, ax=None):
            raise ValueError("there is nothing to draw")

    assert "svg" not in {tag for tag, _ in Page(Empty()._repr_html_()).tags}


def test_long_results_say_how_much_more_there_is():
    class Long(Shown):
        def __str__(self):
            return "\n".join(["title", *(f"  line {i}" for i in range(300))])

    assert repr(Long()).split("\n")[-1] == "… and 277 more lines: print shows them"
    assert "… and 101 more lines" in result_html(Long())


def test_names_of_columns_are_never_obeyed():
    rows = X[["kind", "income"]].rename(columns={"income": HOSTILE})
    model = SpectralRegressor(effort="fast", max_iter=1, n_estimators=1, dim=2).fit(rows, Y)
    for result in (model.explain_global(rows[:20]), model.explain_local(rows[:2]), model.certify()):
        assert "script" not in {tag for tag, _ in Page(result._repr_html_()).tags}


def test_results_without_words_of_their_own_name_their_fields(cases):
    text = str(cases["interactions"])
    assert text.startswith("Interaction\n")
    assert re.search(r"\n  first +income\n|\n  second +income\n", text)


def test_equality_and_copies_of_results_are_as_before(cases):
    claim = cases["certify().claims"]
    assert replace(claim) == claim
    assert replace(claim, subject="another") != claim


@pytest.mark.skipif(not AXE.is_file(), reason="axe is not installed: .ci/programs does it")
@pytest.mark.parametrize(("paper", "ink"), [("#ffffff", "#111111"), ("#111111", "#dddddd")])
def test_everybody_can_read_results_on_light_and_dark_pages(browser, cases, tmp_path, paper, ink):
    shown = "".join(f"<section>{result._repr_html_()}</section>" for result in cases.values())
    colours = f"background:{paper};color:{ink}"
    text = f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Results</title><body style="{colours}"><main>'
    (tmp_path / "results.html").write_text(f"{text}<h1>Results</h1>{shown}</main></body></html>")
    page = browser.new_page()
    page.goto((tmp_path / "results.html").as_uri())
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    assert [
        (own["id"], own["nodes"][0]["html"][:300]) for own in found if own["impact"] in ("serious", "critical")
    ] == []
