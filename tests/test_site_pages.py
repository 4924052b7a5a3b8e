"""Pages of the built documentation in a browser: accessible, offline, fit for a phone. `make pages` builds them."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SITE = ROOT / "site"
AXE = ROOT / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = ["index", "guide/parameters", "guide/comparison", "gallery/index", "gallery/constraints/plot_monotone"]
EXEMPT = {"definition-list"}  # how Sphinx marks up signatures of several lines
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}

pytestmark = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="the site is not built: make pages does it")


def opened(browser, name, viewport=DESK, scheme="light"):
    """A page and what it asked of a network."""
    page = browser.new_page(viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
    asked: list[str] = []
    page.on(
        "request", lambda request: None if request.url.startswith(("file:", "data:")) else asked.append(request.url)
    )
    page.goto((SITE / f"{name}.html").as_uri())
    return page, asked


@pytest.mark.skipif(not AXE.is_file(), reason="axe is not installed: .ci/programs does it")
@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("index", "dark"),
        ("guide/mathematics", "light"),
        ("api/eigen-packing", "dark"),
        ("gallery/index", "light"),
        ("gallery/constraints/index", "dark"),
        ("gallery/constraints/plot_monotone", "light"),
    ],
)
def test_axe_finds_nothing_serious(browser, name, scheme):
    page, _ = opened(browser, name, scheme=scheme)
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run()")["violations"]
    serious = [rule for rule in found if rule["impact"] in ("serious", "critical") and rule["id"] not in EXEMPT]
    assert [(rule["id"], [node["html"][:200] for node in rule["nodes"][:3]]) for rule in serious] == []
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_a_phone_and_load_nothing_from_a_network(browser, name):
    page, asked = opened(browser, name, PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert asked == []
    page.close()


def test_formulas_are_typeset_in_the_browser(browser):
    page, _ = opened(browser, "guide/mathematics")
    page.wait_for_selector("mjx-container")
    assert page.locator("mjx-container").count() > 10
    page.close()


def test_eigenvalues_move_with_the_slider(browser):
    page, _ = opened(browser, "guide/mathematics")
    figure = page.locator('.eigenvalues[data-scene="monotone"]')
    heights = []
    for x in ("-2", "0", "2"):
        figure.locator("input").evaluate(
            "(slider, x) => { slider.value = x; slider.dispatchEvent(new Event('input')) }", x
        )
        heights.append(float(figure.locator(".dot.chosen").get_attribute("cy")))
    assert heights[0] > heights[1] > heights[2]  # up on the screen
    page.close()


@pytest.mark.parametrize("word", ["quantile", "export", "monotonic", "reasons"])
def test_a_search_shows_the_guide_and_the_estimators_first(browser, word):
    page = browser.new_page()
    page.goto((SITE / "search.html").as_uri() + f"?q={word}")
    page.wait_for_selector("#search-results ul.search > li:nth-child(4)")
    found = page.locator("#search-results ul.search > li").evaluate_all(
        "items => items.map(item => item.querySelector('a').getAttribute('href'))"
    )
    assert found[0].startswith("guide/")
    assert {target.partition("/")[0] for target in found[:4]} <= {"guide", "gallery", "api"}
    assert [target for target in found[:4] if target.startswith("api/") and "#lambdak.Spectral" not in target] == []
    page.close()


def test_titles_of_gallery_cards_break_between_words_only(browser):
    page, _ = opened(browser, "gallery/index", PHONE)
    cut = page.locator(".sphx-glr-thumbcontainer p a").evaluate_all(
        "links => links.filter(link => link.scrollWidth > link.parentElement.clientWidth + 1 ||"
        " getComputedStyle(link).overflowWrap === 'anywhere').map(link => link.textContent)"
    )
    assert cut == []
    page.close()
