"""In a real browser, the page is readable everywhere, and nothing that it was given runs or is loaded."""

from __future__ import annotations

import re
from importlib.resources import files

from report_cases import IMAGE, SCRIPT, Visit, X, fitted

from lambdak.report import html, write_report


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


def test_certificate_says_in_words_what_is_proven_and_what_was_requested(visit):
    text = visit("regressor").page.locator("#certificate").inner_text()
    assert "1 of 2 claims is proven, 1 is not" in text
    assert "✓ proven, requested" in text
    assert "✗ not proven" in text


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
    tables = opened.searched().page.locator(".scroll")
    assert tables.count() == 3
    assert tables.evaluate_all("all => all.every((e) => e.scrollWidth <= e.clientWidth)")
    row = opened.page.locator("#certificate tbody tr").first
    heads = row.locator("td, th").evaluate_all("all => all.map((e) => [e.dataset.head, e.getBoundingClientRect()])")
    assert [head for head, _ in heads][3:] == ["number", "rounding margin", "how it was checked"]
    assert all(box["left"] >= 0 and box["right"] <= 390 for _, box in heads)
    assert [box["top"] for _, box in heads] == sorted({box["top"] for _, box in heads})


def test_every_script_is_part_of_the_page():
    page = files("lambdak.report") / "page"
    names = {path.relative_to(page).with_suffix("").as_posix() for path in page.rglob("*.js")}
    assert names == {*html._PARTS, *(f"sections/{name}" for name in html._SECTIONS), "app"}


def test_a_new_section_is_one_file_and_one_name(browser, tmp_path, monkeypatch):
    script = """
        class ExtraSection extends Section {
          static id = "extra";
          static link = "More";
          static title = "One more section";
          settle() { this.body.textContent = `row of ${this.app.row.length} cells`; }
        }
        Section.add(ExtraSection);"""
    read = html._read
    monkeypatch.setattr(html, "_SECTIONS", (*html._SECTIONS, "extra"))
    monkeypatch.setattr(html, "_read", lambda name: script if name == "sections/extra.js" else read(name))
    write_report(fitted("regressor").model_, tmp_path / "report.html")
    opened = Visit.of(browser.new_page(), tmp_path / "report.html")
    opened.page.locator("nav a", has_text="More").click()
    opened.page.locator("#extra", has_text=f"row of {len(X.columns)} cells").wait_for()
    assert opened.page.inner_text("#extra h2") == "One more section"
    assert opened.problems == []


def test_only_fixed_text_of_the_page_is_read_as_markup():
    scripts = [path.read_text(encoding="utf-8") for path in (files("lambdak.report") / "page").rglob("*.js")]
    assert sum(text.count("innerHTML") for text in scripts) == 1
    other = re.compile(r"outerHTML|insertAdjacentHTML|document\.write|markup = `[^`]*\$\{")
    assert not any(other.search(text) for text in scripts)


def test_the_mathematics_is_one_click_away(visit):
    opened = visit("poisson")
    texts = [opened.page.inner_text(f"#{part}") for part in ("about", "try", "effects")]
    assert not any(word in text for text in texts for word in ("matrix", "gap", "λ"))
    opened.page.locator("#inside summary").click()
    opened.page.locator("#spectrum-chart .main-svg").first.wait_for()
    assert "read from eigenvalue 3 of 5" in opened.page.inner_text("#gap")
