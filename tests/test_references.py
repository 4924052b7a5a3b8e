"""What the pages on the paper name exists: modules, tests, pages, headings; CITATION.cff is of its format."""

from __future__ import annotations

import importlib
import re
from functools import reduce
from pathlib import Path

import pytest
import yaml

import lambdak

ROOT = Path(__file__).parent.parent
CLAIMS, REFERENCES = ROOT / "docs" / "paper" / "claims.md", ROOT / "docs" / "references.md"
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
ROWS = ROW.findall(CLAIMS.read_text())
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]+))?\)")


def exists(name):
    """Whether a dotted name is a module, or an attribute of one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        missing = object()
        found = reduce(lambda found, part: getattr(found, part, missing), parts[length:], module)
        return found is not missing
    return False


def text_of(path):
    """The text of a file of the repository; empty if there is none."""
    return (ROOT / path).read_text() if (ROOT / path).exists() else ""


def headings(page):
    """The anchors of a page: its headings as they are linked to, and names given by hand."""
    text = page.read_text()
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
    return slugs | set(re.findall(r"^:name: (.+)$", text, re.MULTILINE))


def missing_targets(page, text):
    """Links of a text that lead to no file, or to no heading of it."""
    for target, anchor in LINK.findall(text):
        path = (page.parent / target).resolve() if target else page
        if not path.exists():
            yield target
        elif anchor and anchor not in headings(path):
            yield f"{target}#{anchor}"


def test_the_table_has_the_forty_claims_in_order():
    assert [int(number) for number, *_ in ROWS] == list(range(1, 41))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_module_page_and_test_of_a_claim_exists(row):
    _, _, implemented, documented, tested = row
    names = re.findall(r"`(lambdak[\w.]*)`", implemented)
    assert names
    assert [name for name in names if not exists(name)] == []
    assert LINK.search(documented)
    assert list(missing_targets(CLAIMS, documented)) == []
    tests = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", tested)
    assert tests
    assert tested.count("`") == 2 * len(tests)
    assert [name for path, name in tests if not re.search(rf"^ *def {name}\(", text_of(path), re.MULTILINE)] == []


def test_what_stays_open_names_the_files_that_were_not_run():
    gaps = CLAIMS.read_text().split("## What stays open")[1]
    assert "the full HIGGS and Criteo files have not been run here" in gaps
    assert list(missing_targets(CLAIMS, gaps)) == []


@pytest.mark.parametrize("page", [REFERENCES, ROOT / "README.md", ROOT / "docs" / "guide" / "theory.md"], ids=str)
def test_pages_that_name_ideas_link_to_headings_that_exist(page):
    assert list(missing_targets(page, page.read_text())) == []


def test_every_entry_of_the_bibliography_has_an_author_a_title_a_year_and_where_it_is():
    entries = re.findall(r"^@(\w+)\{(\w+),\n(.*?)^\}", REFERENCES.read_text(), re.MULTILINE | re.DOTALL)
    assert len({key for _, key, _ in entries}) == len(entries) >= 11
    for _, key, body in entries:
        fields = dict(re.findall(r"^  (\w+) = \{(.+)\},$", body, re.MULTILINE))
        assert len(fields) == body.count("\n"), key  # one field a line
        assert {"author", "title", "year"} <= fields.keys(), key
        assert fields.keys() & {"doi", "eprint", "journal"}, key


def test_the_readme_and_the_first_page_name_the_paper_and_its_author():
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        text = page.read_text()
        assert "Alex Shtoff" in text, page
        assert "2608.08003" in text, page
        assert "references" in text, page


def test_each_idea_that_is_used_is_named_on_the_page_of_references():
    text = REFERENCES.read_text()
    for idea in ("2608.08003", "Parametric matrix models", "Maxout", "Lasso", "Weyl", "Ky Fan", "Courant", "Davis"):
        assert idea in text, idea


# Of version 1.2.0 of the Citation File Format, the part that the file uses.
KEYS = {"abstract", "authors", "cff-version", "keywords", "license", "message", "references", "title", "type",
        "version"}  # fmt: skip
REFERENCE = {"authors", "doi", "identifiers", "journal", "start", "title", "type", "url", "volume", "year"}
PERSON, ENTITY = {"affiliation", "family-names", "given-names"}, {"name"}


def test_the_citation_file_is_of_its_format_and_of_this_version():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"authors", "cff-version", "message", "title"} <= found.keys() <= KEYS
    assert (found["cff-version"], found["type"], found["license"]) == ("1.2.0", "software", "BSD-3-Clause")
    assert found["version"] == lambdak.__version__
    assert len(set(found["keywords"])) == len(found["keywords"])
    for reference in found["references"]:
        assert {"authors", "title", "type"} <= reference.keys() <= REFERENCE
        assert isinstance(reference["year"], int)
        if "doi" in reference:
            assert re.fullmatch(r"10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-.()\[\]\\]+", reference["doi"])
        for identifier in reference.get("identifiers", []):
            assert identifier.keys() == {"type", "value", "description"}
            assert identifier["type"] in {"doi", "url", "swh", "other"}
    people = [author for part in (found, *found["references"]) for author in part["authors"]]
    assert people
    assert all(author.keys() <= PERSON or author.keys() == ENTITY for author in people)


def test_what_the_citation_file_refers_to_is_on_the_page_of_references():
    text = REFERENCES.read_text()
    for reference in yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"]:
        assert f"title = {{{reference['title']}}}" in text
        assert all(author["family-names"] in text for author in reference["authors"])
