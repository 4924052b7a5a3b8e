"""In a real browser, axes and sliders of columns with far tails are where the rows are, and reach all of the range."""

from __future__ import annotations

import json
from dataclasses import astuple
from importlib.resources import files

import numpy as np
import pytest
from desk_cases import X, Y, desk_model
from report_cases import Visit

from lambdak.losses.links import IDENTITY
from lambdak.report.constants import constants

RATIO = 3


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    path = desk_model().report(tmp_path_factory.mktemp("axes") / "report.html", X, Y, n_resamples=0)
    visit = Visit.of(browser.new_page(viewport={"width": 1280, "height": 900}), path)
    yield visit
    assert visit.problems == []


@pytest.fixture(scope="module")
def scripts(browser):
    """A page with the scripts alone."""
    page, folder = browser.new_page(), files("lambdak.report") / "page"
    texts = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in ("svg", "number_scale", "controls")]
    page.add_script_tag(content="\n".join([f"const CONSTANTS = {json.dumps(constants(3, IDENTITY, 0.0))};", *texts]))
    return page


def test_the_page_places_numbers_as_python_does(scripts):
    for i, name in enumerate(X.columns):
        scale = desk_model().model_.encoder.columns[i].axis_scale
        x = np.quantile(X[name], np.linspace(0, 1, 9)).tolist()
        there = scripts.evaluate(
            """([axis, x]) => {
              const s = new NumberScale(axis);
              return [x.map((v) => s.place(v)), x.map((v) => s.number(s.place(v))), s.ticks(4)];
            }""",
            [list(astuple(scale)[:4]), x],
        )
        np.testing.assert_allclose(there[0], scale.places(x), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(there[1], x, rtol=1e-9, atol=1e-9)
        assert scale.is_even or there[2] == pytest.approx(scale.ticks(4))


def test_a_small_ratio_is_shown_and_an_arrow_key_moves_it_a_little(opened):
    slider, box = opened.control(RATIO, "input[type=range]"), opened.control(RATIO, "input[type=number]")
    box.fill("0.324")
    assert box.input_value() == "0.324"
    slider.press("ArrowRight")
    moved = opened.page.evaluate("lambdak.row()")[RATIO]
    assert 0.324 < moved < 0.4
    assert float(box.input_value()) == pytest.approx(moved, abs=1e-3)
    slider.press("End")
    assert opened.page.evaluate("lambdak.row()")[RATIO] == pytest.approx(X["ratio"].max(), rel=1e-3)
    slider.press("Home")
    assert opened.page.evaluate("lambdak.row()")[RATIO] == pytest.approx(X["ratio"].min(), abs=1e-3)


def test_a_step_of_a_slider_always_reaches_another_whole_number(scripts):
    reached = scripts.evaluate(
        """() => {
          const column = { axis: [0, 0, 8, 90000], low: 0, high: 90000, whole: true };
          const scale = new NumberScale(column.axis), found = [0];
          while (found.at(-1) < 90000 && found.length < 400) {
            const now = found.at(-1), at = Math.min(scale.place(now) + 1 / CONSTANTS.slider_steps, 1);
            found.push(Controls.prototype.chosen(column, scale, at, now));
          }
          return found;
        }"""
    )
    assert reached[:9] == list(range(9))
    assert (np.diff(reached) >= 1).all()
    assert (reached[-1], len(reached) < 100) == (90000, True)


def test_the_picture_says_what_is_compressed(opened):
    opened.page.locator(f".effect[data-column='{RATIO}']").scroll_into_view_if_needed()
    opened.page.wait_for_selector(f".effect[data-column='{RATIO}'] rect.compressed")
    assert "compressed where it is shaded" in opened.page.inner_text(f".effect[data-column='{RATIO}']")
