"""One document, three writers: everything is there in each, and nothing that a name says is obeyed.

Tests ``document`` and its writers ``html``, ``markdown`` and ``word``.
"""

from __future__ import annotations

import re
import zipfile
from io import BytesIO

import docx
import pytest
from dossier_cases import HOSTILE, LEVEL, Reader, docx_text, markdown_cells

from lambdak.report.document import (
    TO_COMPLETE,
    Bullets,
    Code,
    Document,
    Fold,
    Gallery,
    Heading,
    Mark,
    Note,
    Paragraph,
    Picture,
    Section,
    Table,
    said,
)
from lambdak.report.html import to_html
from lambdak.report.markdown import plain, to_markdown
from lambdak.report.word import to_docx
from lambdak.table.visible import visible

TEXTS = (HOSTILE, LEVEL, "plain", "- no item", "1. no number", "# no heading", "</td></tr>", "tab\tand \ud800 half")


def picture():
    from PIL import Image

    data = BytesIO()
    Image.new("RGB", (4, 4), "white").save(data, "PNG")
    return Picture("shape", f"caption {HOSTILE}", data.getvalue())


def document(*texts):
    rows = tuple((text, Mark(text, "good")) for text in texts)
    blocks = [
        Heading("heading"), *map(Paragraph, texts), Note(texts[0], "bad"), Bullets(texts),
        Fold(texts[0], (Paragraph(texts[1]),)),
        Table(f"table {texts[0]}", ("name", texts[0]), rows), Code("print('`' * 3, '```')", "python"), picture(),
        Gallery((picture(), picture(), picture())),
    ]  # fmt: skip
    other = Section("two", "Second", (Paragraph(TO_COMPLETE), Paragraph(said("one\n- two"))))
    return Document(texts[0], texts[1], (Note("front"),), (Section("one", "First", tuple(blocks)), other))


def test_html_shows_hostile_text_as_text_and_has_no_script_and_no_request():
    page = Reader(to_html(document(*TEXTS)))
    for text in TEXTS:
        assert visible(text) in page.text
    assert not {"script", "link", "iframe", "object", "base", "form"} & {tag for tag, _ in page.tags}
    sources = [attributes["src"] for tag, attributes in page.tags if "src" in attributes]
    assert sources
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert all(own["href"].startswith("#") for tag, own in page.tags if "href" in own)
    assert not [name for _, own in page.tags for name in own if name.startswith("on")]
    policy = next(own["content"] for tag, own in page.tags if own.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def test_links_of_the_contents_lead_to_sections():
    page = Reader(to_html(document(*TEXTS)))
    sections = {attributes["id"] for tag, attributes in page.tags if tag == "section"}
    links = {attributes["href"] for _, attributes in page.tags if "href" in attributes}
    assert links == {f"#{key}" for key in sections} == {"#one", "#two"}


def test_markdown_tables_have_as_many_cells_in_every_line():
    text, _ = to_markdown(document(*TEXTS), "pictures")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == len(TEXTS) + 2
    assert {len(markdown_cells(line)) for line in lines} == {2}


def test_markdown_holds_no_markup_of_the_data():
    text, pictures = to_markdown(document(*TEXTS), "pictures")
    assert "<" not in text.replace("<br>", "")
    assert "](http" not in text
    assert "http://" not in text
    assert "\n- no item" not in text
    assert "\n# no heading" not in text
    assert "\n1. no number" not in text
    assert set(pictures) == set(re.findall(r"\(pictures/([^)]+)\)", text))
    assert text.isprintable() or set(filter(lambda letter: not letter.isprintable(), text)) == {"\n"}


def test_a_markdown_renderer_finds_the_text_and_nothing_else():
    markdown = pytest.importorskip("markdown_it", reason="markdown-it-py comes with rich").MarkdownIt(
        "gfm-like", {"linkify": False}
    )
    page = Reader(markdown.render(to_markdown(document(*TEXTS), "pictures")[0]))
    assert page.cells[::2] == [" ".join(visible(text).split(" ")).strip() for text in TEXTS]
    assert not {"script", "a"} & {tag for tag, _ in page.tags}
    assert all(own["src"].startswith("pictures/") for tag, own in page.tags if tag == "img")


def test_a_fence_is_longer_than_any_in_the_code():
    text, _ = to_markdown(document(*TEXTS), "pictures")
    assert "````python\nprint('`' * 3, '```')\n````" in text


def test_word_opens_with_headings_tables_pictures_contents_and_page_numbers():
    word = docx.Document(BytesIO(to_docx(document(*TEXTS))))
    headings = [own.text for own in word.paragraphs if own.style.name == "Heading 1"]
    assert headings == ["1. First", "2. Second"]
    for text in TEXTS:
        assert visible(text) in docx_text(word)
    assert [cell.text for cell in word.tables[0].rows[0].cells] == ["name", visible(HOSTILE)]
    assert len(word.inline_shapes) == 4
    body, foot = word.element.xml, word.sections[0].footer._element.xml
    assert "TOC \\o" in body
    assert body.count('w:fldCharType="begin"') == body.count('w:fldCharType="end"')
    assert "PAGE" in foot
    assert "NUMPAGES" in foot


def test_word_and_html_are_the_same_bytes_at_any_time(monkeypatch):
    first = to_docx(document(*TEXTS)), to_html(document(*TEXTS))
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 3, 33, 20, 2, 138, 0))
    assert (to_docx(document(*TEXTS)), to_html(document(*TEXTS))) == first
    with zipfile.ZipFile(BytesIO(first[0])) as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {2000}


def test_marked_text_keeps_its_lines_and_other_text_does_not():
    page = to_html(Document("t", "s", (), (Section("a", "A", (Paragraph(said("one\ntwo")), Paragraph("one\ntwo"))),)))
    assert "one\ntwo</span>" in page
    assert "one\\ntwo</p>" in page


def test_a_row_with_too_few_cells_is_refused():
    with pytest.raises(ValueError, match="a row must have 2 cells, as 'sizes' has; got 1"):
        Table("sizes", ("a", "b"), (("1",),))


def test_plain_text_comes_back_from_its_markdown():
    markdown = pytest.importorskip("markdown_it", reason="markdown-it-py comes with rich").MarkdownIt("commonmark")
    for text in ("a*b*c_d_ `e` ~f~ [g](h) <i> &amp; \\ | # ! {j} $k$", "http://a.b www.c.d mailto:e"):
        assert Reader(markdown.render(plain(text))).text.strip() == text
