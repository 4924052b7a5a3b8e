"""Reports and documents say what was promised of columns in plain words, whatever the shape."""

from __future__ import annotations

import json
import re

import pytest
from shape_cases import CONSTRAINTS, shaped

from lambdak.shapes import Concave, MaxInfluence, Rising, Valley

_TECHNICAL = re.compile(r"λ|⪰|eigen|matri|semidefinite|raw score")
KNOWN = [
    Valley("age", at=40),
    Concave("income"),
    Rising("grade", order=["low", "mid", "high"]),
    MaxInfluence("size", 1),
]
SENTENCES = {
    "age": "the prediction never rises as age rises up to 40, and never falls after it",
    "income": "every further unit of income adds at most as much to the prediction as the one before (concave)",
    "grade": "the prediction never falls as grade rises from low to mid to high",
    "size": "no change of size moves the prediction by more than 1",
}


@pytest.fixture(scope="module")
def known():
    return shaped(KNOWN)


def columns_of(model, X, path):
    """The columns that the page's scripts read."""
    model.report(path, X)
    found = re.search(r'<script type="application/json" id="payload">(.*?)</script>', path.read_text(), re.DOTALL)
    return json.loads(found[1])["columns"]


def test_the_page_has_every_promise_at_its_column_and_the_turn(known, tmp_path):
    columns = columns_of(*known, tmp_path / "report.html")
    found = {column["name"]: column["promised"] for column in columns}
    assert found == {name: [words] for name, words in SENTENCES.items()} | {"dose": []}
    assert {column["name"]: column["named"] for column in columns if column["named"]} == {"age": [40.0]}


@pytest.mark.parametrize("write", ["dossier", "model_card"])
def test_documents_say_what_was_promised(known, tmp_path, write):
    model, X = known
    text = getattr(model, write)(tmp_path / "document.md", X).read_text()
    assert all(f"| {column} | " in text for column in SENTENCES)
    claims = [claim for claim in model.certify().claims if claim.requested]
    assert len(claims) == len(SENTENCES)
    for claim in claims:
        assert f"{claim.statement[0].upper()}{claim.statement[1:]}." in text


def test_a_dossier_says_of_every_column_what_was_promised_of_it(known, tmp_path):
    model, X = known
    text = model.dossier(tmp_path / "document.md", X).read_text()
    for column, words in SENTENCES.items():
        assert re.search(rf"\| {column} \| [^|]*\| [^|]*\| {re.escape(words)} \|", text), column


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_what_is_said_of_a_shape_on_the_page_has_no_mathematics(name, tmp_path):
    for column in columns_of(*shaped(CONSTRAINTS[name]), tmp_path / "report.html"):
        for words in column["promised"]:
            assert not _TECHNICAL.search(words)
