"""Pages that a code host shows without Sphinx: tables of parameters and of names stand in them as Markdown."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest

import lambdak

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
ESTIMATORS = ("SpectralRegressor", "SpectralClassifier", "SpectralQuantileRegressor", "SpectralOrdinalClassifier")


@pytest.fixture(scope="module")
def plain_tables():
    pytest.importorskip("sphinx")
    sys.path.insert(0, str(DOCS / "extensions"))
    import plain_tables

    yield plain_tables
    sys.path.remove(str(DOCS / "extensions"))


@pytest.mark.filterwarnings("ignore::UserWarning")  # of MLflow, at its import
def test_tables_in_pages_are_what_signatures_and_docstrings_say(plain_tables):
    pages = plain_tables.pages()
    assert DOCS / "guide" / "parameters.md" in pages
    for page in pages:
        text = page.read_text(encoding="utf-8")
        advice = f"run python docs/extensions/plain_tables.py: {page.relative_to(ROOT)} is older than what it is about"
        assert plain_tables.rewritten(text) == text, advice


def test_every_parameter_has_its_row_with_its_default():
    rows = dict(
        re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", (DOCS / "guide" / "parameters.md").read_text(), re.MULTILINE)
    )
    for name in ESTIMATORS:
        for own in inspect.signature(getattr(lambdak, name)).parameters.values():
            assert rows[own.name] == repr(own.default)


def test_every_api_page_names_what_it_documents_in_plain_markdown():
    for page in (DOCS / "api").glob("*.md"):
        text = page.read_text()
        if "```{api}" in text:
            assert text.index("| name | what it is |\n|---|---|\n| `lambdak") < text.index("```{api}"), page.name


def test_make_says_where_the_pages_were_written():
    recipes = re.split(r"^(?=\w[\w-]*:)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    for target in ("docs:", "pages:"):
        recipe = next(own for own in recipes if own.startswith(target))
        assert "site/index.html" in [line for line in recipe.split("\n") if line.startswith("\t")][-1]
