"""The page has no numbers of its own where Python has one: it reads them from the payload."""

from __future__ import annotations

import re
from importlib.resources import files

import numpy as np
import pytest
from report_cases import Visit, X, fitted

from lambdak.explain.what_if import TEETH
from lambdak.export.javascript.engine import ENGINE, engine_script
from lambdak.losses.links import IDENTITY, LOG, LOGIT, SOFTMAX
from lambdak.losses.log_link import EXPONENT_LIMIT
from lambdak.pencil import REPEATED_TOL
from lambdak.pencil.tolerances import rounding_tol
from lambdak.report import write_report
from lambdak.report.constants import constants

PAGE = files("lambdak.report") / "page"
SCRIPTS = {path.name: path.read_text(encoding="utf-8") for path in PAGE.rglob("*.js")} | {
    f"{name}.js": engine_script(name) for name in ENGINE
}
TOLERANCE = re.compile(r"\d[eE]-\d|\*\*\s*\(?-|\b0?\.00\d")


def test_constants_are_those_of_the_modules_that_define_them():
    found = constants(7, LOG, 1e-12)
    assert found["rounding"] == 4e-12
    assert found["link_rounding"] == LOG.rounding
    assert found["repeated_tol"] == REPEATED_TOL
    assert found["rounding_tol"] == pytest.approx(64 * 7 * 2**-52)
    assert found["rounding_tol"] >= rounding_tol(7, np.float64)
    assert found["exponent_limit"] == EXPONENT_LIMIT
    assert found["what_if_nodes"] == 2 * TEETH
    assert {constants(7, link, 0.0)["unit"] for link in (IDENTITY, LOG, LOGIT, SOFTMAX)} > {"", " (log-odds)"}


def test_scripts_read_every_constant_and_no_other():
    read = {name for text in SCRIPTS.values() for name in re.findall(r"CONSTANTS\.(\w+)", text)}
    assert read == set(constants(5, IDENTITY, 0.0))


@pytest.mark.parametrize("copy", ["gap <= 1e-9 * size", "64 * dim * 2 ** -52", "tol = 0.001;", "2.5E-8"])
def test_tolerances_are_recognised(copy):
    assert TOLERANCE.search(copy)


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_scripts_hold_no_tolerance_of_their_own(name):
    assert not TOLERANCE.findall(SCRIPTS[name])


@pytest.fixture
def changed(browser, tmp_path):
    """A function that opens the report of a model after one constant in its payload was changed."""

    def open_changed(kind, name, value):
        path = tmp_path / "report.html"
        write_report(fitted(kind).model_, path, X)
        text, count = re.subn(rf'("{name}": )[^,}}]+', rf"\g<1>{value}", path.read_text(encoding="utf-8"), count=1)
        assert count == 1
        path.write_text(text, encoding="utf-8")
        return Visit.of(browser.new_page(), path)

    return open_changed


def test_the_page_follows_the_tolerance_of_repeated_eigenvalues(changed):
    for tol, repeated in ((1e-300, False), (1e3, True)):
        opened = changed("regressor", "repeated_tol", tol)
        opened.small_changes()
        assert ("(nearly) repeated" in opened.page.inner_text("#influence-note")) == repeated


def test_the_page_follows_the_limit_of_exponents(changed):
    opened = changed("poisson", "exponent_limit", -1.0)
    assert opened.predict()[0][0] > -1.0
    assert opened.predict()[1][0] == pytest.approx(np.exp(-1.0))


def test_the_page_follows_the_allowance_for_rounding(changed):
    narrow, wide = (
        np.array(changed("regressor", "rounding_tol", tol).page.evaluate("lambdak.whatIf(0, 0, 1, 2)"))
        for tol in (0.0, 0.01)
    )
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_the_page_follows_the_number_of_bars(changed):
    opened = changed("regressor", "most_bars", 2)
    assert len(opened.small_changes()["names"]) == 2
    assert opened.page.locator("#all-field").is_visible()
