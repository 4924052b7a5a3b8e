"""A topic is one file and one line for each document it is in, a format one writer and one line."""

from __future__ import annotations

from typing import get_args

import pytest
from dossier_cases import docx_text, fitted, white_png

from lambdak.report import dossier, live_page
from lambdak.report.document import (
    Answer,
    Answers,
    Block,
    Bullets,
    Code,
    Document,
    Fold,
    Gallery,
    Glossary,
    Heading,
    Note,
    Paragraph,
    Picture,
    Scripted,
    Section,
    Table,
)
from lambdak.report.findings import Findings
from lambdak.report.sections import DOSSIER, PAGE, PageSection


def toy(findings):
    """A section as a file in sections/ has it, at both depths."""
    words = f"{len(findings.names)} columns, {len(findings.certificate.claims)} claims"
    return Section("toy", "A toy", (Paragraph(words), Table("Toys", ("Name", "Size"), (("ball", "3"),))))


@pytest.fixture
def _with_toy(monkeypatch):
    monkeypatch.setattr(live_page, "PAGE", (PageSection("toy", "To the toy", toy), *PAGE))
    monkeypatch.setattr(dossier, "DOSSIER", (*DOSSIER, toy))


@pytest.mark.usefixtures("_with_toy")
def test_a_section_is_a_function_and_one_line_for_each_document(tmp_path):
    claims = len(fitted().certify().claims)
    page = fitted().report(tmp_path / "r.html").read_text()
    assert '<a href="#toy">To the toy</a>' in page
    assert page.index('id="toy-title">A toy</h2>') < page.index('id="certificate"')
    html, markdown, word = (fitted().dossier(tmp_path / f"d.{ending}") for ending in ("html", "md", "docx"))
    number = len(DOSSIER) + 1
    assert f"{number}. A toy</h2>" in html.read_text()
    assert f"## {number}. A toy" in markdown.read_text()
    docx = pytest.importorskip("docx")
    texts = [page, html.read_text(), markdown.read_text(), docx_text(docx.Document(word))]
    assert all(f"3 columns, {claims} claims" in text and "ball" in text for text in texts)


def test_a_format_is_a_writer_and_one_line(tmp_path, monkeypatch):
    def outline(path, written):
        path.write_text("\n".join(title for title, _ in written.numbered()))

    monkeypatch.setitem(dossier.WRITERS, ".txt", outline)
    titles = fitted().dossier(tmp_path / "d.txt").read_text().split("\n")
    assert titles[0] == "1. Purpose"
    assert len(titles) == len(DOSSIER) + 1
    with pytest.raises(ValueError, match=r"path must end in .html, .md, .docx, .txt, which is the format"):
        fitted().dossier(tmp_path / "d.pdf")


TOY = Picture("toy", "SAID", white_png())
EVERY_BLOCK = {
    Heading: Heading("SAID"),
    Paragraph: Paragraph("SAID"),
    Note: Note("SAID", "bad"),
    Bullets: Bullets(("SAID",)),
    Fold: Fold(
        "title", (Paragraph("first"), Bullets(("SAID",)), Table("t", ("a",), (("SAID",),)), Glossary((("a", "b"),)))
    ),
    Table: Table("caption", ("Name",), (("SAID",),)),
    Picture: TOY,
    Gallery: Gallery((TOY,)),
    Code: Code("SAID", "sh"),
    Glossary: Glossary((("word", "SAID"),)),
    Answer: Answer("question", "answer", ("SAID",)),
    Answers: Answers((Answer("question", "SAID", ()),)),
    Scripted: Scripted("SAID"),
}


@pytest.mark.parametrize("ending", [".html", ".md", ".docx"])
def test_every_writer_writes_every_block(tmp_path, ending):
    assert set(get_args(Block)) == set(EVERY_BLOCK)
    for kind, block in EVERY_BLOCK.items():
        path = tmp_path / f"{kind.__name__}{ending}"
        dossier.WRITERS[ending](path, Document("title", "subtitle", (), (Section("key", "section", (block,)),)))
        text = path.read_text() if ending != ".docx" else docx_text(pytest.importorskip("docx").Document(path))
        assert ("SAID" in text) == (kind is not Scripted or ending == ".html"), kind


def test_a_finding_is_computed_when_a_section_asks_for_it_and_only_once(monkeypatch):
    calls = []
    monkeypatch.setattr("lambdak.report.findings.explain_global", lambda *arguments: calls.append(arguments) or calls)
    findings = Findings(fitted().model_, None, None, None, dossier.Options())
    assert findings.assessment is None
    assert calls == []
    assert findings.explanation is findings.explanation
    assert len(calls) == 1
