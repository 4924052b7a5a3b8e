"""In a real browser, the page is readable everywhere, and nothing that it was given runs or is loaded."""

from __future__ import annotations

import re
from importlib.resources import files

from report_cases import IMAGE, SCRIPT, Visit, X, fitted

from lambdak.export.javascript.engine import ENGINE
from lambdak.report import comparison, live_page, write_report
from lambdak.report.sections import PAGE, PageSection


def test_hostile_names_stay_text(visit):
    opened = visit("binary")
    opened.page.locator("#effects").scroll_into_view_if_needed()
    opened.page.locator("#matrix-details summary").click()
    opened.page.wait_for_timeout(300)
    assert opened.control(1, ".name").inner_text() == SCRIPT
    assert IMAGE in opened.control(2, "select").inner_text()
    assert SCRIPT in opened.page.locator("#certificate").inner_text()
    assert opened.page.locator("img, [onerror]").count() == 0
    assert opened.page.locator("script").count() == 2
    texts = opened.page.locator("svg text").all_text_contents()
    assert any("<bad>" in text for text in texts)
    assert any("<script>" in text for text in texts)


def test_colours_follow_the_readers_scheme_and_paper_shows_what_is_folded(visit):
    opened = visit("multiclass")
    colour = "getComputedStyle(document.querySelector('#shares-chart text')).fill"
    light = opened.page.evaluate(colour)
    opened.page.emulate_media(color_scheme="dark")
    assert opened.page.evaluate(colour) != light
    opened.page.emulate_media(media="print")
    assert opened.page.evaluate(colour) == light
    width = "document.querySelector('#shares-chart svg').clientWidth"
    opened.page.emulate_media(media="screen", color_scheme="light")
    wide = opened.page.evaluate(width)
    opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator(".effect svg").count() == len(X.columns)
    assert (
        opened.page.locator("#certificate details[open]").count() == opened.page.locator("#certificate details").count()
    )
    assert opened.page.evaluate(width) != wide
    opened.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert opened.page.evaluate(width) == wide
    assert opened.page.locator("details[open]:not(#all-pairs)").count() == 0


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
    opened.searched().page.evaluate("document.querySelectorAll('details').forEach((own) => { own.open = true; })")
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 390
    tables = opened.page.locator(".scroll, .table")
    assert tables.count() >= 4
    assert tables.evaluate_all("all => all.every((e) => e.scrollWidth <= e.clientWidth)")
    row = opened.page.locator("#data tbody tr").first
    heads = row.locator("td, th").evaluate_all("all => all.map((e) => [e.dataset.name, e.getBoundingClientRect()])")
    assert [head for head, _ in heads] == ["Column", "Missing", "Content"]
    assert all(box["left"] >= 0 and box["right"] <= 390 for _, box in heads)
    assert [box["top"] for _, box in heads] == sorted({box["top"] for _, box in heads})


def test_every_script_is_part_of_the_page():
    page = files("lambdak.report") / "page"
    names = {path.relative_to(page).with_suffix("").as_posix() for path in page.rglob("*.js")}
    sections = {f"sections/{section.key}" for section in PAGE if section.script}
    assert names | set(ENGINE) == sections | {*live_page._PARTS, "app", *comparison._SCRIPTS}


def test_a_section_that_draws_is_one_script_and_one_line(browser, tmp_path, monkeypatch):
    script = """
        class ExtraSection extends Section {
          static id = "extra";
          static link = "More";
          static title = "One more section";
          settle() { this.body.textContent = `row of ${this.app.row.length} cells`; }
        }
        Section.add(ExtraSection);"""
    read = live_page.page_file
    monkeypatch.setattr(live_page, "PAGE", (*PAGE, PageSection("extra", script=True)))
    monkeypatch.setattr(live_page, "page_file", lambda name: script if name == "sections/extra.js" else read(name))
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
    texts = [opened.page.inner_text(part) for part in ("header", "#try", "#certificate", "#effects")]
    assert not any(word in text for text in texts for word in ("matrix", "matrices", "gap", "λ"))
    opened.page.locator("#inside summary").click()
    opened.page.locator("#spectrum-chart svg").wait_for()
    assert "read from eigenvalue 3 of 5" in opened.page.inner_text("#gap")
